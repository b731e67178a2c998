package release

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/cleanup"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/inventory"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/watch"
)

var websites = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}

// cache has the resources of a box.
type cache struct {
	filling     bool
	all, unread []*unstructured.Unstructured
}

func (c *cache) Unread() []*unstructured.Unstructured { return c.unread }

func (c *cache) HasSynced() bool { return !c.filling }

func (c *cache) Keys() (keys []types.NamespacedName) {
	for _, obj := range c.all {
		keys = append(keys, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
	}
	return keys
}

func (c *cache) Get(key types.NamespacedName) (*unstructured.Unstructured, bool) {
	for _, obj := range c.all {
		if obj.GetNamespace() == key.Namespace && obj.GetName() == key.Name {
			return obj, true
		}
	}
	return nil, false
}

// known are kinds of which nothing is to be learned.
type known struct{}

func (known) Learn(context.Context, schema.GroupVersionKind) error { return nil }

func (known) Knows(schema.GroupVersionKind) bool { return true }

func website(name string, held bool) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(websites)
	obj.SetNamespace("team-a")
	obj.SetName(name)
	obj.SetUID(types.UID(name))
	obj.SetResourceVersion("7")
	if held {
		obj.SetFinalizers([]string{v1alpha1.Finalizer})
		obj.SetLabels(map[string]string{v1alpha1.LabelManaged: v1alpha1.True})
	}
	return obj
}

// box is one that releases resources at an API server that answers each write with refusal, or takes it where that is 0.
func box(t *testing.T, refusal *int, resources ...*unstructured.Unstructured) (*Everything, func() []string) {
	t.Helper()
	g := NewWithT(t)
	var mu sync.Mutex
	var written []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a body that breaks off is not what the test looks for
		mu.Lock()
		written = append(written, r.Method+" "+r.URL.Path+" "+string(body))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if *refusal != 0 {
			w.WriteHeader(*refusal)
			return
		}
		_, _ = w.Write([]byte(`{"apiVersion":"demo.example.com/v1","kind":"Website","metadata":{"name":"shop","namespace":"team-a","resourceVersion":"8"}}`)) // the client notices
	}))
	t.Cleanup(server.Close)
	object := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website", UID: "box"}}
	object.Spec.CRD.Name = "websites.demo.example.com"
	plan, errs := pipeline.Compile(object, pipeline.Env{CRD: pipeline.CRD{
		Name: "websites.demo.example.com", UID: "crd", Namespaced: true, HasStatus: true, Kind: websites,
		Resource: websites.GroupVersion().WithResource("websites"), Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
	}})
	g.Expect(errs).To(BeEmpty())
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(websites, meta.RESTScopeNamespace)
	client, err := apply.NewClient(&rest.Config{Host: server.URL, QPS: -1}, server.Client(), mapper)
	g.Expect(err).NotTo(HaveOccurred())
	var live []runtime.Object
	for _, obj := range resources {
		live = append(live, obj)
	}
	lists := map[schema.GroupVersionResource]string{plan.CRD.Resource: "WebsiteList"}
	dynamic := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, live...)
	children := watch.NewChildren(watch.Config{Client: dynamic, Mapper: mapper}, func(types.UID, string, schema.GroupVersionKind) {})
	current := func() *pipeline.Plan { return plan }
	clk := testingclock.NewFakeClock(time.Unix(0, 0))
	writer := apply.NewWriter(client, children, drift.NewComparer(func(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps { return nil }))
	inv := inventory.New("website", current, children, known{}, time.Minute)
	return &Everything{
		Releaser:  &Releaser{Box: "website", Plan: current, Client: client, Writer: writer, FormerFinalizers: func(context.Context) ([]string, error) { return nil, nil }, Clock: clk},
		Cache:     &cache{all: resources},
		Finder:    &Finder{},
		Inventory: inv, Owners: &cleanup.Owners{Box: "website", Inventory: inv, Snapshots: &rollback.Store{Cache: children}, Writer: writer, Clock: clk, Plan: current},
	}, func() []string { mu.Lock(); defer mu.Unlock(); return written }
}

func TestAResourceSaysWhyItIsLetGo(t *testing.T) {
	g := NewWithT(t)
	e, written := box(t, new(int), website("shop", true), website("free", false))
	left, err := e.All(t.Context(), Marks, BoxDeleted("website", Marks))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(BeEmpty())
	all := written()
	g.Expect(all).To(HaveLen(2), "one that is not held is left alone")
	g.Expect(all[0]).To(And(ContainSubstring("/websites/shop/status"), ContainSubstring(`OperatorBox \"website\" was deleted: nobody keeps this resource and its children any more`)))
	g.Expect(all[1]).To(And(ContainSubstring("/websites/shop"), Not(ContainSubstring("/status")), Not(ContainSubstring(v1alpha1.LabelManaged))), "then the marks go")
}

// A status that the API server takes no more, for good, holds nothing; anything else is tried again.
func TestALastStatusThatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		code  int
		fails bool
	}{
		"not valid": {http.StatusUnprocessableEntity, false},
		"forbidden": {http.StatusForbidden, false},
		"away":      {http.StatusServiceUnavailable, true},
		"conflict":  {http.StatusConflict, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code := tc.code
			e, _ := box(t, &code)
			written, err := e.tell(t.Context(), website("shop", true), Drained())
			g.Expect(err != nil).To(Equal(tc.fails))
			g.Expect(written == nil).To(Equal(tc.fails))
		})
	}
}

func TestWhatIsLeftIsSaid(t *testing.T) {
	g := NewWithT(t)
	going := website("going", true)
	going.SetDeletionTimestamp(new(metav1.Now()))
	code := http.StatusServiceUnavailable
	e, written := box(t, &code, website("shop", true), going)
	left, err := e.All(t.Context(), Marks, Drained())
	g.Expect(err).To(MatchError(ContainSubstring(`Website "shop"`)))
	g.Expect(left).To(Equal([]types.NamespacedName{{Namespace: "team-a", Name: "going"}, {Namespace: "team-a", Name: "shop"}}))
	g.Expect(written()).NotTo(ContainElement(ContainSubstring("going")), "its own events bring it to its end")
	e.Cache = &cache{unread: []*unstructured.Unstructured{website("unread", true), website("free", false)}}
	left, err = e.All(t.Context(), Marks, Drained())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(Equal([]types.NamespacedName{{Namespace: "team-a", Name: "unread"}}), "it is let go when it can be read")
	e.Cache = &cache{filling: true}
	_, err = e.All(t.Context(), Marks, Drained())
	g.Expect(err).To(MatchError(ErrFilling))
}

func TestResourcesAreDeletedOnce(t *testing.T) {
	g := NewWithT(t)
	shop := website("shop", true)
	e, written := box(t, new(int), shop, website("free", false))
	left, err := e.All(t.Context(), Resources, Cause{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(HaveLen(2), "each of them finishes by itself")
	all := written()
	g.Expect(all).To(HaveLen(2))
	g.Expect(all[0]).To(And(ContainSubstring("DELETE"), ContainSubstring("/websites/shop"), ContainSubstring(string(shop.GetUID()))), "one that was made again stays")
	g.Expect(all[1]).To(ContainSubstring("/websites/free"))
}

func TestCauses(t *testing.T) {
	g := NewWithT(t)
	g.Expect(BoxDeleted("b", Children).Message).To(ContainSubstring("and the children of this resource"))
	g.Expect(BoxDeleted("b", Marks).Reason).To(Equal(v1alpha1.ReasonBoxDeleted))
	g.Expect(Drained().Reason).To(Equal(v1alpha1.ReasonDrained))
	g.Expect(NotSelected("b").Message).To(HavePrefix(`OperatorBox "b" does not select this resource any more`))
	g.Expect(strings.Contains(NotSelected("b").Reason, " ")).To(BeFalse())
}

func TestABoxMayWatchMoreThanItSelects(t *testing.T) {
	g := NewWithT(t)
	object := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website"}}
	object.Spec.CRD.Name = "websites.demo.example.com"
	object.Spec.Namespaces.Include = []v1alpha1.ShortString{"team-b"}
	plan, errs := pipeline.Compile(object, pipeline.Env{CRD: pipeline.CRD{
		Name: "websites.demo.example.com", Namespaced: true, Kind: websites, Resource: websites.GroupVersion().WithResource("websites"),
		Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"},
	}})
	g.Expect(errs).To(BeEmpty())
	g.Expect(Wide(plan, []string{"team-b"})).To(BeFalse())
	g.Expect(Wide(plan, []string{"team-a", "team-b"})).To(BeTrue())
	g.Expect(Wide(plan, nil)).To(BeTrue())
	g.Expect(Narrow(plan, nil, &cache{all: []*unstructured.Unstructured{website("shop", true)}})).To(BeFalse(), "it is held there")
	g.Expect(Narrow(plan, nil, &cache{all: []*unstructured.Unstructured{website("shop", false)}})).To(BeTrue())
	g.Expect(Narrow(plan, nil, &cache{unread: []*unstructured.Unstructured{website("shop", true)}})).To(BeFalse(), "it can't be read, and is held")
	g.Expect(Narrow(plan, []string{"team-b"}, &cache{})).To(BeFalse(), "there is nothing to let go of")
}
