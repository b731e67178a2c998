package lifecycle

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
)

// noted are the steps of an end, as they are taken.
type noted struct {
	mu    sync.Mutex
	steps []string
}

func (n *noted) add(step string) func() {
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.steps = append(n.steps, step)
	}
}

func (n *noted) taken() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, n.steps...)
}

// ends are steps that take a minute until they cancel, and wait for work.
func (n *noted) ends(work <-chan struct{}) Steps {
	return Steps{
		Clock: clock.RealClock{}, Over: time.After(time.Minute),
		Finish: n.add("finish"), Cancel: n.add("cancel"), Late: n.add("late"), Release: n.add("release"), Told: n.add("told"),
		Wait: func() { <-work },
	}
}

func TestWhatEndsInTimeIsNotLate(t *testing.T) {
	for name, tc := range map[string]struct {
		takes time.Duration
		want  []string
	}{
		"by itself":           {time.Second, []string{"finish", "release"}},
		"when it is canceled": {time.Minute + canceledTime/2, []string{"finish", "cancel", "release"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				var n noted
				work := make(chan struct{})
				time.AfterFunc(tc.takes, func() { close(work) })
				e := NewEnding()
				g.Expect(e.Begun()).To(BeFalse())
				e.Begin(n.ends(work))
				g.Expect(e.Begun()).To(BeTrue())
				g.Expect(e.Await()).To(BeTrue())
				e.Wait()
				g.Expect(n.taken()).To(Equal(tc.want))
			})
		})
	}
}

// Those that wait give up, each of them; the end comes all the same, and whoever is told may rely on it.
func TestTheEndOfWhatDoesNotComeBackGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var n noted
		work, began := make(chan struct{}), time.Now()
		e := NewEnding()
		steps := n.ends(work)
		steps.Told = func() {
			g.Expect(e.Await()).To(BeTrue(), "it has ended when it is told")
			n.add("told")()
		}
		e.Begin(steps)
		g.Expect(e.Await()).To(BeFalse())
		g.Expect(time.Since(began)).To(Equal(time.Minute + canceledTime))
		e.Begin(n.ends(work)) // nothing ends twice
		g.Expect(e.Await()).To(BeFalse())
		g.Expect(time.Since(began)).To(Equal(time.Minute+canceledTime), "nobody waits again")
		synctest.Wait()
		g.Expect(n.taken()).To(Equal([]string{"finish", "cancel", "late"}))
		close(work)
		e.Wait()
		g.Expect(e.Await()).To(BeTrue())
		g.Expect(n.taken()).To(Equal([]string{"finish", "cancel", "late", "release", "told"}))
	})
}
