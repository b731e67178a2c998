package engine

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// A reconcile that does not heed its deadline keeps its worker and its key, but not its slot; a box all of whose workers are in one is
// stuck, and says on what.
func TestABoxWhoseReconcilesDoNotEndIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b, _, _ := panicking(t)
		b.engine.config.ReconcileTimeout = time.Minute
		shared := make(chan struct{}, 10)
		b.slots = newPlaces(shared)
		ended := make(chan struct{})
		hang := func(n int) {
			place := &slot{places: b.slots}
			g.Expect(place.take(t.Context())).To(BeTrue())
			go func() {
				defer place.leave()
				_ = b.within(t.Context(), types.NamespacedName{Namespace: "a", Name: fmt.Sprint(n)}, place, func(ctx context.Context) error {
					<-ended // whatever becomes of ctx
					return ctx.Err()
				})
				g.Expect(place.take(t.Context())).To(BeTrue(), "it goes on where it was")
			}()
		}
		for n := range 4 {
			hang(n)
		}
		synctest.Wait()
		g.Expect(shared).To(HaveLen(4))
		g.Expect(b.stuckOn(4)).To(BeEmpty(), "they are in time")
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(shared).To(BeEmpty())
		g.Expect(b.stuckOn(5)).To(BeEmpty(), "one worker is left")
		g.Expect(b.stuckOn(4)).To(Equal("all 4 workers are in reconciles that took longer than 1m0s and do not end: a/0, a/1, a/2, and 1 more; " +
			"nothing else of this box is reconciled until they do, or the manager is restarted"))
		close(ended)
		synctest.Wait()
		g.Expect(b.stuckOn(1)).To(BeEmpty())
		g.Expect(b.overdue.count()).To(BeZero())
		g.Expect(shared).To(BeEmpty())
	})
}

func TestAReconcileThatIsOverdueSendsNothing(t *testing.T) {
	g := NewWithT(t)
	e, write := asking(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	e.config.ReconcileTimeout = 10 * time.Millisecond
	b := serving(t, e, v1alpha1.OperatorBoxSpec{})
	place := &slot{places: b.slots}
	g.Expect(place.take(t.Context())).To(BeTrue())
	patient := patience(t)
	err := b.within(t.Context(), types.NamespacedName{Namespace: "team-a", Name: "shop"}, place, func(ctx context.Context) error {
		g.Eventually(b.overdue.count).WithContext(patient).Should(Equal(1))
		return write(ctx, b)
	})
	g.Expect(err).To(MatchError(ContainSubstring("the reconcile took longer than 10ms and was ended")))
	g.Expect(b.overdue.count()).To(BeZero())
}
