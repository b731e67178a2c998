package cycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/worker"
)

func TestAReconcileThatIsOverdueSendsNothing(t *testing.T) {
	g := NewWithT(t)
	r, resource := serving(t, v1alpha1.OperatorBoxSpec{}, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	r.Timeout = 10 * time.Millisecond
	patient := patience(t)
	c := of(t, r, resource, &state{})
	err := c.within(t.Context(), func(ctx context.Context) error {
		g.Eventually(r.Overdue.Count).WithContext(patient).Should(Equal(1))
		_, err := r.Client.WriteStatus(ctx, resource, []byte(`{"status":{}}`))
		return err
	})
	g.Expect(err).To(MatchError(ContainSubstring("the reconcile took longer than 10ms and was ended")))
	g.Expect(r.Overdue.Count()).To(BeZero())
}

func TestAReconcileEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, logged := logging(t.Context())
		r := New(Config{Timeout: time.Minute, Overdue: worker.NewOverdue(func() {})})
		c := &cycle{Reconciler: r, slot: &worker.Slot{}, record: &Record{}}
		hanging := func(ctx context.Context) error {
			<-ctx.Done()
			return &pipeline.StepError{Step: "external", Class: pipeline.Transient, Err: fmt.Errorf("calling quota: %w", ctx.Err())}
		}
		began := time.Now()
		step := pipeline.AsStepError(c.within(t.Context(), hanging))
		g.Expect(time.Since(began)).To(Equal(time.Minute))
		g.Expect(step.Class).To(Equal(pipeline.Transient))
		g.Expect(step.Error()).To(Equal("external: the reconcile took longer than 1m0s and was ended: calling quota: context deadline exceeded"))

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		g.Expect(c.within(gone, hanging)).NotTo(MatchError(ContainSubstring("took longer")), "the process stops")
		for name, err := range map[string]error{
			"none":       nil,
			"its own":    &pipeline.StepError{Step: "validation", Class: pipeline.Permanent, Err: errors.New("no")},
			"a bug":      &pipeline.StepError{Step: "onReconcile", Class: pipeline.Panic, Err: &pipeline.PanicError{Value: "oops"}},
			"in no time": errors.New("away"),
		} {
			late := c.within(ctx, func(ctx context.Context) error {
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
		g.Expect(*logged).To(ConsistOf(ContainSubstring("panic: oops")))
		g.Expect(c.within(ctx, func(context.Context) error { panic("oops") })).To(MatchError("reconcile: panic: oops"))
		g.Expect(*logged).To(HaveLen(2))
	})
}

// A hook that ignores its context is overdue as any other stage is: its worker is kept, and its slot is not.
func TestAHookThatDoesNotComeBackIsOverdue(t *testing.T) {
	g := NewWithT(t)
	back := make(chan struct{})
	code, err := hook.NewRegistry()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hook.AddHooks(code, "a.F", func() hook.Hooks[*unstructured.Unstructured] {
		return hook.Hooks[*unstructured.Unstructured]{OnReconcile: func(context.Context, *hook.Call[*unstructured.Unstructured]) error {
			<-back
			return nil
		}}
	})).To(Succeed())
	box := &v1alpha1.OperatorBox{}
	box.Spec.Reconciler = &v1alpha1.ReconcilerSpec{Hooks: &v1alpha1.HookSpec{GoFunction: v1alpha1.GoFunction{Location: "a", Function: "F"}}}
	plan, errs := pipeline.Compile(box, pipeline.Env{Code: code})
	g.Expect(errs).To(BeEmpty())
	r, resource := serving(t, v1alpha1.OperatorBoxSpec{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	r.Timeout = 10 * time.Millisecond
	patient := patience(t)
	c := of(t, r, resource, &state{})
	ended := make(chan error)
	go func() {
		ended <- c.within(t.Context(), func(ctx context.Context) error {
			run := plan.NewRun(resource, time.Now(), pipeline.Ports{Inventory: none{}, Marker: none{}})
			return plan.Execute(ctx, run)
		})
	}()
	g.Eventually(r.Overdue.Count).WithContext(patient).Should(Equal(1))
	g.Expect(r.Overdue.Stuck(1, r.Timeout)).To(ContainSubstring("do not end"))
	close(back)
	g.Eventually(ended).WithContext(patient).Should(Receive())
	g.Expect(r.Overdue.Count()).To(BeZero())
}

// TestAReconcileThatDoesNotEndIsTold by one event on its resource, which nothing else tells of until it ends. One that ends when its context does is not.
func TestAReconcileThatDoesNotEndIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		resource := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "demo.example.com/v1", "kind": "Website", "metadata": map[string]any{"namespace": "team-a", "name": "shop"}}}
		sent := events.NewFakeRecorder(9)
		r := New(Config{Box: "website", Timeout: time.Minute, Overdue: worker.NewOverdue(func() {}), Events: sent})
		c := &cycle{Reconciler: r, stored: resource, slot: &worker.Slot{}, record: &Record{}}
		for after, want := range map[time.Duration]int{0: 0, overdueGrace / 2: 0, overdueGrace + time.Hour: 1} {
			g.Expect(c.within(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(after)
				return nil
			})).To(Succeed())
			g.Expect(sent.Events).To(HaveLen(want), after.String())
			for range want {
				g.Expect(<-sent.Events).To(Equal("Warning Overdue its reconcile is past the deadline of 1m0s and does not end: what runs in it does not heed its context. It keeps a worker of box website until it does, or the manager is restarted"))
			}
		}
		stopped, stop := context.WithCancel(t.Context())
		g.Expect(c.within(stopped, func(context.Context) error {
			stop()
			time.Sleep(time.Hour)
			return nil
		})).To(Succeed())
		g.Expect(sent.Events).To(BeEmpty(), "the process stops")
	})
}

// none has no children, and marks nothing.
type none struct{}

func (none) Kinds() []schema.GroupVersionKind { return nil }

func (none) Owned(schema.GroupVersionKind, *unstructured.Unstructured) []*unstructured.Unstructured {
	return nil
}

func (none) Mark(_ context.Context, resource *unstructured.Unstructured, _ apply.Marks) (*unstructured.Unstructured, error) {
	return resource, nil
}

func (none) Finish(context.Context, *unstructured.Unstructured, []string) error { return nil }

func (none) Gone(context.Context, *unstructured.Unstructured) (bool, error) { return false, nil }
