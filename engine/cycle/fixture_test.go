package cycle

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/inventory"
	"github.com/orkspace/orkestra/engine/observe"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/worker"
)

// plain resolves kinds of which there is no schema.
type plain struct{}

func (plain) Namespaced(schema.GroupVersionKind) (bool, error) { return true, nil }

func (plain) Schema(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps { return nil }

func (plain) Learn(context.Context, schema.GroupVersionKind) error { return nil }

func (plain) Knows(schema.GroupVersionKind) bool { return true }

// nobody hears what there is to tell, and has no right.
type nobody struct{}

func (nobody) BoxChanged(string) {}

func (nobody) RightDenied(string) {}

func (nobody) Granted(context.Context, access.Right) bool { return false }

// Lost implements Rights.
func (nobody) Lost(access.Right) bool { return false }

var websites = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}

// patience is longer than anything that a test waits for.
func patience(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// serving gives the reconciler of a box, whose API server is a handler, and a resource of it that needs no mark any more.
func serving(tb testing.TB, spec v1alpha1.OperatorBoxSpec, handler http.HandlerFunc) (*Reconciler, *unstructured.Unstructured) {
	tb.Helper()
	g := NewWithT(tb)
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	object := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website", UID: "box"}, Spec: spec}
	object.Spec.CRD.Name = "websites.demo.example.com"
	plan, errs := pipeline.Compile(object, pipeline.Env{CRD: pipeline.CRD{
		Name: "websites.demo.example.com", UID: "crd", Namespaced: true, HasStatus: true, Kind: websites,
		Resource: websites.GroupVersion().WithResource("websites"), Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
	}})
	g.Expect(errs).To(BeEmpty())
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(websites, meta.RESTScopeNamespace)
	places := worker.NewPlaces(make(chan struct{}, 1))
	through := worker.NewTransport(http.DefaultTransport, worker.NewPlaces(make(chan struct{}, 4)), time.Minute)
	config := &rest.Config{Host: server.URL, QPS: -1}
	client, err := apply.NewClient(config, &http.Client{Transport: through}, mapper)
	g.Expect(err).NotTo(HaveOccurred())
	mapper.Add(rollback.Kind, meta.RESTScopeNamespace)
	lists := map[schema.GroupVersionResource]string{rollback.Kind.GroupVersion().WithResource("controllerrevisions"): "ControllerRevisionList"}
	watching := watch.Config{Client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), Mapper: mapper}
	children := watch.NewChildren(watching, func(types.UID, string, schema.GroupVersionKind) {})
	ctx, cancel := context.WithCancel(tb.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = children.Run(ctx) }) // it ends with the test
	tb.Cleanup(func() {
		cancel()
		running.Wait()
	})
	current := func() *pipeline.Plan { return plan }
	queue := worker.NewQueue(nil)
	queue.Open()
	tb.Cleanup(queue.ShutDown)
	writer := apply.NewWriter(client, children, drift.NewComparer(plain{}.Schema))
	writer.Lives = func(types.UID) bool { return true }
	r := New(Config{
		Box: "website", Plan: current, Inventory: inventory.New("website", current, children, plain{}, time.Minute),
		Client: client, Writer: writer, Children: children, Kinds: plain{}, ForgetSchemas: func([]schema.GroupVersionKind) {},
		Resources: watch.NewResources(watching, plan.CRD.Resource, nil, watch.Selection{}, watch.ResourceEvents{}),
		Snapshots: &rollback.Store{Client: client, Cache: children, Namespace: "orkestra-system", Keys: keys(), Ours: watch.OursByFields},
		Observer:  observe.New("website", observe.Sources{}),
		Rights:    nobody{}, Notifier: nobody{}, Tracker: health.NewTracker(clock.RealClock{}, 5, func(bool) {}),
		Known: func() *v1alpha1.CRDHealthStatus { return nil }, Queue: queue, Slots: places, Overdue: worker.NewOverdue(func() {}),
		Retries: worker.NewRetries(config, clock.RealClock{}), Timeout: time.Minute, Clock: clock.RealClock{},
	})
	resource := &unstructured.Unstructured{}
	resource.SetGroupVersionKind(websites)
	resource.SetNamespace("team-a")
	resource.SetName("shop")
	resource.SetUID("u1")
	resource.SetResourceVersion("7")
	resource.SetFinalizers([]string{v1alpha1.Finalizer})
	resource.SetLabels(map[string]string{v1alpha1.LabelManaged: v1alpha1.True})
	resource.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "website", v1alpha1.AnnotationManagedSince: "2026-01-01T00:00:00Z",
		v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z"})
	return r, resource
}

// of is a cycle of a resource that is about to begin.
func of(t *testing.T, r *Reconciler, resource *unstructured.Unstructured, st *state) *cycle {
	t.Helper()
	slot := worker.NewSlot(r.Slots)
	NewWithT(t).Expect(slot.Take(patience(t))).To(BeTrue())
	t.Cleanup(slot.Leave)
	return &cycle{Reconciler: r, stored: resource, st: st, slot: slot, record: &Record{
		Key: client.ObjectKeyFromObject(resource), Resource: resource, Plan: r.Plan(), Began: r.Clock.Now(), Decision: Decision{Action: Reconcile},
	}}
}

// keys gives the key of snapshots, from an API server that has nothing yet.
func keys() *rollback.Keys {
	client := fake.NewClientBuilder().Build()
	return rollback.NewKeys(client, client, "orkestra-system")
}
