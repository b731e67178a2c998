package engine

import (
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/cycle"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/worker"
)

// openQueue is a queue that keeps what is added.
func openQueue() *worker.Queue {
	q := worker.NewQueue(nil)
	q.Open()
	return q
}

// panicking is a box whose panics are counted and logged.
func panicking(t *testing.T) (b *box, panics func(box string) float64, logged *[]string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	recorder, err := metrics.New(registry)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	logged = &[]string{}
	log := funcr.New(func(_, args string) { *logged = append(*logged, args) }, funcr.Options{})
	e := &Engine{config: Config{
		Metrics: recorder, Log: log, Clock: testingclock.NewFakeClock(time.Unix(0, 0)), Notifier: noNotifier{},
	}}
	b = &box{engine: e, name: "website", log: log, queue: openQueue(), resources: watch.NewResources(watch.Config{Client: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())}, schema.GroupVersionResource{Group: "a", Version: "v1", Resource: "websites"}, nil, watch.Selection{}, watch.ResourceEvents{})}
	t.Cleanup(b.queue.ShutDown)
	b.overdue = worker.NewOverdue(func() {})
	plan := &pipeline.Plan{}
	plan.Runtime.Resync = time.Minute
	b.plan.Store(plan)
	e.ctx = t.Context()
	first := true
	b.cycles = cycle.New(cycle.Config{
		Box: b.name, Metrics: recorder, Log: log,
		Slots: worker.NewPlaces(make(chan struct{}, 1)), Queue: b.queue, Resources: b.resources,
		Plan: func() *pipeline.Plan {
			if first {
				first = false
				panic("oops")
			}
			return plan
		},
	})
	panics = func(box string) float64 {
		families, err := registry.Gather()
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "orkestra_panics_total" && m.GetLabel()[0].GetValue() == box {
					return m.GetCounter().GetValue()
				}
			}
		}
		return 0
	}
	return b, panics, logged
}

func TestPanicsAreLoggedWithTheirStackAndCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		box string
		run func(b *box)
	}{
		"of what all boxes share": {"", func(b *box) { worker.Guard(func() { panic("oops") }, b.engine.panicked) }},
		"of a box":                {"website", func(b *box) { b.guard(func() { panic("oops") }) }},
		"of a cycle": {"website", func(b *box) {
			worker.Guard(func() { b.cycles.Reconcile(b.engine.ctx, types.NamespacedName{Name: "web"}) }, func(p any, stack []byte) { b.afterPanic(types.NamespacedName{Name: "web"}, p, stack) })
		}},
		"of the box's watch": {"website", func(b *box) { b.watchConfig().Panicked("oops", []byte("panics_test.go")) }},
		"of a shared watch": {"", func(b *box) {
			b.engine.config.watch(b.engine.dynamic, b.engine.panicked).Panicked("oops", []byte("panics_test.go"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, panics, logged := panicking(t)
			tc.run(b)
			g.Expect(panics(tc.box)).To(Equal(1.0))
			g.Expect(*logged).To(ConsistOf(And(ContainSubstring("panic: oops"), ContainSubstring("panics_test.go"))))
		})
	}
}

func TestGuardsLetOthersPass(t *testing.T) {
	g := NewWithT(t)
	b, panics, _ := panicking(t)
	ran := 0
	b.guard(func() { ran++ })
	worker.Guard(func() { ran++ }, b.engine.panicked)
	g.Expect(ran).To(Equal(2))
	g.Expect(panics("website")).To(BeZero())
	g.Expect(b.queue.Len()).To(BeZero())
	b.guard(func() { panic("oops") })
	_, problem := b.startState()
	g.Expect(problem.message).To(Equal("panic: oops"), "a box that can't run says why")
}
