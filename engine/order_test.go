package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

func TestWaves(t *testing.T) {
	cases := map[string]struct {
		dependsOn map[string][]string
		want      [][]string
	}{
		"none":                        {map[string][]string{}, nil},
		"free ones":                   {map[string][]string{"b": nil, "a": nil}, [][]string{{"a", "b"}}},
		"a chain":                     {map[string][]string{"a": {"b"}, "b": {"c"}, "c": nil}, [][]string{{"c"}, {"b"}, {"a"}}},
		"the longest way counts":      {map[string][]string{"a": {"c", "b"}, "b": {"c"}, "c": nil, "d": {"c"}}, [][]string{{"c"}, {"b", "d"}, {"a"}}},
		"what is not among them":      {map[string][]string{"a": {"gone"}}, [][]string{{"a"}}},
		"itself":                      {map[string][]string{"a": {"a"}}, [][]string{{"a"}}},
		"a ring":                      {map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}}, [][]string{{"c"}, {"b"}, {"a"}}},
		"what depends on a ring":      {map[string][]string{"a": {"z"}, "y": {"z"}, "z": {"y"}}, [][]string{{"y"}, {"z"}, {"a"}}},
		"two ways to the same in two": {map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": nil}, [][]string{{"d"}, {"b", "c"}, {"a"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var names []string
			for name := range tc.dependsOn {
				names = append(names, name)
			}
			got := Waves(names, func(name string) []string { return tc.dependsOn[name] })
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}

// idle is an engine that can reach no API server.
func idle(t *testing.T, change func(*Config)) *Engine {
	t.Helper()
	config := Config{REST: &rest.Config{Host: "https://127.0.0.1:1"}, Mapper: meta.NewDefaultRESTMapper(nil)}
	if change != nil {
		change(&config)
	}
	e, err := New(config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return e
}

// idleBox is a box that depends on others, in an engine. Its workers are a function.
func idleBox(t *testing.T, e *Engine, name string, dependsOn []string, work func(ctx context.Context, b *box)) *box {
	t.Helper()
	kind := schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}
	spec := &v1alpha1.OperatorBox{}
	spec.Name = name
	spec.Spec.CRD.Name = "websites.demo.example.com"
	for _, other := range dependsOn {
		spec.Spec.DependsOn = append(spec.Spec.DependsOn, v1alpha1.Dependency{Name: other})
	}
	plan, errs := pipeline.Compile(spec, pipeline.Env{CRD: pipeline.CRD{
		Name: "websites.demo.example.com", Namespaced: true, Kind: kind, Resource: kind.GroupVersion().WithResource("websites"),
		Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"},
	}})
	NewWithT(t).Expect(errs).To(BeEmpty())
	b, err := newBox(e, plan, Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.quit = cancel, func() {}
	b.working.Go(func() {
		defer b.hasBegun()
		work(ctx, b)
	})
	e.boxes[name] = b
	return b
}

// chain are boxes of which each depends on the next one.
func chain(n int) map[string][]string {
	dependsOn := map[string][]string{}
	for i := range n {
		dependsOn[fmt.Sprintf("box-%d", i)] = []string{fmt.Sprintf("box-%d", i+1)}
	}
	return dependsOn
}

// order notes names.
type order struct {
	mu    sync.Mutex
	names []string
}

func (o *order) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, name)
}

func TestBoxesStartAfterWhatTheyDependOn(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	var started order
	for name, dependsOn := range chain(8) {
		b := idleBox(t, e, name, dependsOn, func(ctx context.Context, b *box) {
			if b.awaitTurn(ctx) {
				started.add(b.name)
			}
		})
		g.Eventually(func() bool { e.mu.Lock(); defer e.mu.Unlock(); return b.waits }).Should(BeTrue())
	}
	gone := idleBox(t, e, "gone", nil, func(ctx context.Context, b *box) { b.awaitTurn(ctx) })
	gone.cancel()
	gone.working.Wait()
	e.Lead()
	g.Expect(started.names).To(Equal([]string{"box-7", "box-6", "box-5", "box-4", "box-3", "box-2", "box-1", "box-0"}))
	g.Expect(e.Leading()).To(BeTrue())

	late := idleBox(t, e, "late", []string{"never"}, func(ctx context.Context, b *box) {
		if b.awaitTurn(ctx) {
			started.add(b.name)
		}
	})
	late.working.Wait()
	g.Expect(started.names).To(ContainElement("late"), "one whose caches fill later waits for nobody")
	e.stopAll(e.boxes)
}

func TestBoxesStopBeforeWhatTheyDependOn(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, func(c *Config) { c.ShutdownTimeout = time.Hour })
	var stopped order
	for name, dependsOn := range chain(8) {
		idleBox(t, e, name, dependsOn, func(ctx context.Context, b *box) {
			<-ctx.Done()
			stopped.add(b.name)
		})
	}
	e.stopAll(e.boxes)
	want := []string{"box-0", "box-1", "box-2", "box-3", "box-4", "box-5", "box-6", "box-7"}
	g.Expect(stopped.names).To(Equal(want))
}

// One that hangs holds up the others for a while only, and in the end is canceled.
func TestAHangingBoxDoesNotKeepOthersFromStopping(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, func(c *Config) { c.ShutdownTimeout = 2 * time.Millisecond })
	var stopped order
	canceled, told := make(chan struct{}), make(chan struct{})
	first := idleBox(t, e, "first", []string{"second"}, func(context.Context, *box) {
		<-told // the other one has been told to stop, though this one has not
		<-canceled
		stopped.add("first")
	})
	first.quit = sync.OnceFunc(func() { close(canceled) })
	idleBox(t, e, "second", nil, func(ctx context.Context, _ *box) {
		<-ctx.Done()
		close(told)
		stopped.add("second")
	})
	e.stopAll(e.boxes)
	g.Expect(slices.Sorted(slices.Values(stopped.names))).To(Equal([]string{"first", "second"}))
}
