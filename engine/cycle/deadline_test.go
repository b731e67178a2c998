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

	"github.com/orkspace/orkestra/api/v1alpha1"
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
		panics := 0
		r := New(Config{Timeout: time.Minute, Overdue: worker.NewOverdue(func() {}), Panicked: func(any, []byte) { panics++ }})
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
			late := c.within(t.Context(), func(ctx context.Context) error {
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
		g.Expect(panics).To(Equal(1))
		g.Expect(pipeline.AsStepError(c.within(t.Context(), func(context.Context) error { panic("oops") })).Class).To(Equal(pipeline.Panic))
		g.Expect(panics).To(Equal(2))
	})
}
