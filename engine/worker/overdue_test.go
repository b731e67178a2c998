package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// A reconcile that does not heed its deadline keeps its worker and its key, but not its slot; a box all of whose workers are in one is
// stuck, and says on what.
func TestABoxWhoseReconcilesDoNotEndIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		shared := make(chan struct{}, 10)
		places := NewPlaces(shared)
		var changes atomic.Int32
		o := NewOverdue(func() { changes.Add(1) })
		ended := make(chan struct{})
		hang := func(n int) {
			slot := NewSlot(places)
			g.Expect(slot.Take(t.Context())).To(BeTrue())
			go func() {
				defer slot.Leave()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				goesOn := o.Watch(ctx, types.NamespacedName{Namespace: "a", Name: fmt.Sprint(n)}, slot)
				<-ended // whatever becomes of ctx
				goesOn()
				g.Expect(slot.Take(t.Context())).To(BeTrue(), "it goes on where it was")
			}()
		}
		for n := range 4 {
			hang(n)
		}
		synctest.Wait()
		g.Expect(shared).To(HaveLen(4))
		g.Expect(o.Stuck(4, time.Minute)).To(BeEmpty(), "they are in time")
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(shared).To(BeEmpty(), "other boxes go on at once")
		g.Expect(o.Stuck(4, time.Minute)).To(BeEmpty(), "what heeds its context needs a moment")
		time.Sleep(overdueGrace)
		synctest.Wait()
		g.Expect(changes.Load()).To(BeEquivalentTo(4))
		g.Expect(o.Stuck(5, time.Minute)).To(BeEmpty(), "one worker is left")
		g.Expect(o.Some(5, time.Minute)).To(Equal("4 of 5 workers are in reconciles past the deadline of 1m0s without an end: a/0, a/1, a/2, and 1 more; " +
			"they stay as they are, and the workers are kept, until they do, or the manager is restarted"))
		g.Expect(o.Some(4, time.Minute)).To(BeEmpty(), "the box is stuck, which says it")
		g.Expect(o.Stuck(4, time.Minute)).To(Equal("all 4 workers are in reconciles that took longer than 1m0s and do not end: a/0, a/1, a/2, and 1 more; " +
			"nothing else of this box is reconciled until they do, or the manager is restarted"))
		close(ended)
		synctest.Wait()
		g.Expect(o.Stuck(1, time.Minute)).To(BeEmpty())
		g.Expect(o.Some(5, time.Minute)).To(BeEmpty())
		g.Expect(o.Count()).To(BeZero())
		g.Expect(changes.Load()).To(BeEquivalentTo(8))
		g.Expect(shared).To(BeEmpty())
	})
}

// A reconcile that heeds its context ends a moment after its deadline, while others look at what is overdue. That is not said of it.
func TestAReconcileThatEndsAtItsDeadlineIsNotOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		o := NewOverdue(func() { t.Error("nothing has changed") })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		slot := NewSlot(NewPlaces(make(chan struct{}, 1)))
		g.Expect(slot.Take(ctx)).To(BeTrue())
		ended := o.Watch(ctx, types.NamespacedName{Name: "web"}, slot)
		<-ctx.Done()
		synctest.Wait() // what its end sets off has run
		g.Expect(o.Stuck(1, time.Minute)).To(BeEmpty())
		time.Sleep(overdueGrace - time.Millisecond)
		synctest.Wait()
		g.Expect(o.Stuck(1, time.Minute)).To(BeEmpty())
		ended()
		g.Expect(o.Count()).To(BeZero())
	})
}

// Who cancels a reconcile waits a moment for it, and then asks what does not end.
func TestAReconcileThatIsCanceledIsOverdueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		o := NewOverdue(func() {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		ended := o.Watch(ctx, types.NamespacedName{Name: "web"}, NewSlot(NewPlaces(make(chan struct{}, 1))))
		cancel()
		synctest.Wait()
		g.Expect(o.Count()).To(Equal(1))
		ended()
		g.Expect(o.Count()).To(BeZero())
	})
}

func TestAReconcileThatIsInTimeIsNotOverdue(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := NewOverdue(func() { t.Error("nothing has changed") })
	slot := NewSlot(NewPlaces(make(chan struct{}, 1)))
	g.Expect(slot.Take(ctx)).To(BeTrue())
	o.Watch(ctx, types.NamespacedName{Name: "web"}, slot)()
	cancel()
	g.Expect(slot.Held()).To(BeTrue())
	g.Expect(o.Count()).To(BeZero())
}
