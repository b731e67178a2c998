package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

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
		defer b.turn.Begun()
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
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		e := idle(t, nil)
		var started order
		starts := func(ctx context.Context, b *box) {
			if b.engine.turns.Await(ctx, b.turn) {
				started.add(b.name)
			}
		}
		for name, dependsOn := range chain(8) {
			idleBox(t, e, name, dependsOn, starts)
		}
		gone := idleBox(t, e, "gone", nil, starts)
		gone.cancel()
		gone.working.Wait()
		synctest.Wait() // all others wait
		e.Lead()
		g.Expect(started.names).To(Equal([]string{"box-7", "box-6", "box-5", "box-4", "box-3", "box-2", "box-1", "box-0"}))
		g.Expect(e.Leading()).To(BeTrue())
		e.stopAll(e.boxes)
	})
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
