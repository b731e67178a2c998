package worker

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// patience bounds a wait for something that happens at once, so that a test that fails does not hang.
func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestOneBoxHoldsNoMoreThanHalfOfTheSlots(t *testing.T) {
	g := NewWithT(t)
	shared := make(chan struct{}, 4)
	greedy, modest := NewPlaces(shared), NewPlaces(shared)
	for range 2 {
		g.Expect(NewSlot(greedy).Take(patience(t))).To(BeTrue())
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	g.Expect(NewSlot(greedy).Take(short)).To(BeFalse())
	for range 2 {
		g.Expect(NewSlot(modest).Take(patience(t))).To(BeTrue())
	}
	late, cancelLate := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancelLate()
	g.Expect((NewSlot(NewPlaces(shared))).Take(late)).To(BeFalse(), "all of them together hold no more than there are")
	g.Expect(NewPlaces(make(chan struct{}, 1)).Take(patience(t))).To(Succeed(), "half of one is one")
}

func TestAReconcileThatIsPastItsDeadlineHasNoSlot(t *testing.T) {
	g := NewWithT(t)
	shared := make(chan struct{}, 1)
	own, another := NewSlot(NewPlaces(shared)), NewSlot(NewPlaces(shared))
	g.Expect(own.Take(patience(t))).To(BeTrue())
	own.lapse()
	g.Expect(own.Take(patience(t))).To(BeFalse(), "until it goes on")
	g.Expect(another.Take(patience(t))).To(BeTrue())
	own.Leave()
	g.Expect(shared).To(HaveLen(1), "the other one's")
	another.Leave()
	own.resume()
	g.Expect(own.Take(patience(t))).To(BeTrue())
	own.Leave()
	g.Expect(shared).To(BeEmpty())
}
