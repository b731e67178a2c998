package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/worker"
)

// callerFunc makes a call by a function.
type callerFunc func(ctx context.Context) (*external.Answer, error)

func (f callerFunc) Call(ctx context.Context, _ *external.Request) (*external.Answer, error) {
	return f(ctx)
}

// patience bounds a wait for something that happens at once, so that a test that fails does not hang.
func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestCodeOf(t *testing.T) {
	for name, tc := range map[string]struct {
		answer *external.Answer
		err    error
		want   string
	}{
		"an answer":                 {&external.Answer{Status: 201}, nil, "201"},
		"an answer of before":       {&external.Answer{Status: 200, Cached: true}, nil, "cached"},
		"an answer that is refused": {nil, fmt.Errorf("calling: %w", &external.Error{Refused: true, Status: 404}), "404"},
		"a host that is left alone": {nil, &external.Error{Held: true, Status: 503}, "held"},
		"no answer":                 {nil, &external.Error{}, "none"},
		"another error":             {nil, context.DeadlineExceeded, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(codeOf(tc.answer, tc.err)).To(Equal(tc.want))
		})
	}
}

func TestACallLeavesItsSlotToOthers(t *testing.T) {
	g := NewWithT(t)
	shared := make(chan struct{}, 1)
	own, another := worker.NewSlot(worker.NewPlaces(shared)), worker.NewSlot(worker.NewPlaces(shared))
	g.Expect(own.Take(patience(t))).To(BeTrue())
	g.Expect(own.Take(patience(t))).To(BeTrue(), "it is held already")
	want := &external.Answer{Status: 200}
	answer, err := outside{slot: own, next: callerFunc(func(ctx context.Context) (*external.Answer, error) {
		g.Expect(another.Take(ctx)).To(BeTrue())
		another.Leave()
		return want, nil
	})}.Call(patience(t), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer).To(BeIdenticalTo(want))
	g.Expect(own.Held()).To(BeTrue())
	g.Expect(shared).To(HaveLen(1))
	own.Leave()
	own.Leave()
	g.Expect(shared).To(BeEmpty())
}

func TestACallWhoseSlotIsTaken(t *testing.T) {
	for name, failure := range map[string]error{"answered": nil, "failed": &external.Error{Text: "refused"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			shared := make(chan struct{}, 1)
			own, another := worker.NewSlot(worker.NewPlaces(shared)), worker.NewSlot(worker.NewPlaces(shared))
			g.Expect(own.Take(patience(t))).To(BeTrue())
			ctx, cancel := context.WithCancel(t.Context())
			answer, err := outside{slot: own, next: callerFunc(func(ctx context.Context) (*external.Answer, error) {
				g.Expect(another.Take(ctx)).To(BeTrue())
				cancel()
				return &external.Answer{}, failure
			})}.Call(ctx, nil)
			if failure == nil {
				g.Expect(err).To(MatchError(context.Canceled))
				g.Expect(answer).To(BeNil())
			} else {
				g.Expect(err).To(BeIdenticalTo(failure), "what happened to the call says more")
			}
			own.Leave()
			g.Expect(shared).To(HaveLen(1), "nobody gives back what another one holds")
		})
	}
}

func TestACallThatPanicsHoldsNoSlot(t *testing.T) {
	g := NewWithT(t)
	shared := make(chan struct{}, 1)
	own := worker.NewSlot(worker.NewPlaces(shared))
	func() {
		defer own.Leave()
		g.Expect(own.Take(patience(t))).To(BeTrue())
		g.Expect(func() {
			_, _ = outside{slot: own, next: callerFunc(func(context.Context) (*external.Answer, error) { panic("bug") })}.Call(t.Context(), nil)
		}).To(PanicWith("bug"))
	}()
	g.Expect(shared).To(BeEmpty())
}

// serving is a box with this spec, of a CRD with a status.
func serving(t *testing.T, e *Engine, spec v1alpha1.OperatorBoxSpec) *box {
	t.Helper()
	kind := schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}
	object := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "website", UID: "box"}, Spec: spec}
	object.Spec.CRD.Name = "websites.demo.example.com"
	plan, errs := pipeline.Compile(object, pipeline.Env{CRD: pipeline.CRD{
		Name: "websites.demo.example.com", UID: "crd", Namespaced: true, HasStatus: true, Kind: kind,
		Resource: kind.GroupVersion().WithResource("websites"), Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
	}})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	b, err := newBox(e, plan, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.queue.ShutDown)
	return b
}

// calling is a box whose resources call one URL, and a resource of it that needs no mark any more.
func calling(t *testing.T, e *Engine, url string) (*box, *unstructured.Unstructured) {
	t.Helper()
	var spec v1alpha1.OperatorBoxSpec
	spec.External = []v1alpha1.ExternalCall{{Name: "quota", URL: url}}
	b := serving(t, e, spec)
	kind := b.plan.Load().CRD.Kind
	resource := &unstructured.Unstructured{}
	resource.SetGroupVersionKind(kind)
	resource.SetNamespace("team-a")
	resource.SetName("shop")
	resource.SetUID("u1")
	resource.SetFinalizers([]string{v1alpha1.Finalizer})
	resource.SetLabels(map[string]string{v1alpha1.LabelManaged: v1alpha1.True})
	resource.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "website", v1alpha1.AnnotationManagedSince: "2026-01-01T00:00:00Z",
		v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z"})
	return b, resource
}
