package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/worker"
)

// openQueue is a queue that keeps what is added.
func openQueue() *worker.Queue {
	q := worker.NewQueue()
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
		Metrics: recorder, Log: log, Clock: testingclock.NewFakeClock(time.Unix(0, 0)), Changed: func(string) {},
	}}
	b = &box{engine: e, name: "website", log: log, queue: openQueue(), resources: watch.NewResources(watch.Config{Client: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())}, schema.GroupVersionResource{Group: "a", Version: "v1", Resource: "websites"}, nil, watch.ResourceEvents{})}
	t.Cleanup(b.queue.ShutDown)
	b.overdue = worker.NewOverdue(func() {})
	plan := &pipeline.Plan{}
	plan.Runtime.Resync = time.Minute
	b.plan.Store(plan)
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
		"of what all boxes share": {"", func(b *box) { b.engine.guard(func() { panic("oops") }) }},
		"of a box":                {"website", func(b *box) { b.guard(func() { panic("oops") }) }},
		"of a look":               {"website", func(b *box) { b.safely(types.NamespacedName{Name: "web"}, func() { panic("oops") }) }},
		"of the box's watch":      {"website", func(b *box) { b.watchConfig().Panicked("oops", []byte("safe_test.go")) }},
		"of a shared watch":       {"", func(b *box) { b.engine.watchConfig().Panicked("oops", []byte("safe_test.go")) }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, panics, logged := panicking(t)
			tc.run(b)
			g.Expect(panics(tc.box)).To(Equal(1.0))
			g.Expect(*logged).To(ConsistOf(And(ContainSubstring("panic: oops"), ContainSubstring("safe_test.go"))))
		})
	}
}

func TestGuardsLetOthersPass(t *testing.T) {
	g := NewWithT(t)
	b, panics, _ := panicking(t)
	ran := 0
	b.guard(func() { ran++ })
	b.engine.guard(func() { ran++ })
	b.safely(types.NamespacedName{Name: "web"}, func() { ran++ })
	g.Expect(ran).To(Equal(3))
	g.Expect(panics("website")).To(BeZero())
	g.Expect(b.queue.Len()).To(BeZero())
	b.guard(func() { panic("oops") })
	g.Expect(b.problem).To(Equal("panic: oops"), "a box that can't run says why")
}

func TestAReconcileEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b, panics, _ := panicking(t)
		b.engine.config.ReconcileTimeout = time.Minute
		hanging := func(ctx context.Context) error {
			<-ctx.Done()
			return &pipeline.StepError{Step: "external", Class: pipeline.Transient, Err: fmt.Errorf("calling quota: %w", ctx.Err())}
		}
		began := time.Now()
		step := pipeline.AsStepError(b.within(t.Context(), types.NamespacedName{}, worker.NewSlot(worker.Places{}), hanging))
		g.Expect(time.Since(began)).To(Equal(time.Minute))
		g.Expect(step.Class).To(Equal(pipeline.Transient))
		g.Expect(step.Error()).To(Equal("external: the reconcile took longer than 1m0s and was ended: calling quota: context deadline exceeded"))

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		g.Expect(b.within(gone, types.NamespacedName{}, worker.NewSlot(worker.Places{}), hanging)).NotTo(MatchError(ContainSubstring("took longer")), "the process stops")
		for name, err := range map[string]error{
			"none":       nil,
			"its own":    &pipeline.StepError{Step: "validation", Class: pipeline.Permanent, Err: errors.New("no")},
			"a bug":      &pipeline.StepError{Step: "onReconcile", Class: pipeline.Panic, Err: &pipeline.PanicError{Value: "oops"}},
			"in no time": errors.New("away"),
		} {
			late := b.within(t.Context(), types.NamespacedName{}, worker.NewSlot(worker.Places{}), func(ctx context.Context) error {
				if name != "in no time" {
					<-ctx.Done()
				}
				return err
			})
			if err == nil {
				g.Expect(late).NotTo(HaveOccurred(), name)
			} else {
				g.Expect(late).To(BeIdenticalTo(err), name)
			}
		}
		g.Expect(panics("website")).To(Equal(1.0))
		g.Expect(pipeline.AsStepError(b.within(t.Context(), types.NamespacedName{}, worker.NewSlot(worker.Places{}), func(context.Context) error { panic("oops") })).Class).To(Equal(pipeline.Panic))
		g.Expect(panics("website")).To(Equal(2.0))
	})
}
