package serve

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/web/api"
)

// remembering has a world remember since its beginning.
func (w *world) remembering(t *testing.T) *clocktesting.FakeClock {
	t.Helper()
	clk := clocktesting.NewFakeClock(beginning)
	w.source.History = history.New(clk)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = w.source.History.Start(ctx) }) // it ends with the test
	t.Cleanup(func() { cancel(); running.Wait() })
	NewWithT(t).Eventually(clk.HasWaiters).Should(BeTrue())
	return clk
}

// TestWhatWasWrittenIsNamedToThoseWhoMayListIt: and counted for the others; so is a kind that nobody knows.
func TestWhatWasWrittenIsNamedToThoseWhoMayListIt(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	g.Expect(w.cycles(t.Context(), "web", "a", "shop")).To(Equal(api.History{Note: follows, Cycles: []api.Cycle{}}))
	w.remembering(t)
	w.reviews.may = func(namespace string) bool { return namespace == "b" }
	of := func(namespace, kind string) history.Write {
		return history.Write{Action: "created", Group: websites.Group, Kind: kind, Namespace: namespace, Name: "child"}
	}
	w.source.History.Note("web", types.NamespacedName{Namespace: "a", Name: "shop"}, &history.Cycle{
		At: beginning, Took: 1500 * time.Millisecond, Woken: "a change", Action: "Reconcile", Why: "why", Outcome: "Transient", Stage: "children", Reason: "R", Message: "m",
		Stages: []history.Stage{{Name: "gather", Took: time.Millisecond}}, Writes: []history.Write{of("a", "Website"), of("b", "Website"), of("b", "Unheard")},
	})
	since := beginning
	g.Expect(w.cycles(t.Context(), "web", "a", "shop")).To(Equal(api.History{Since: &since, Cycles: []api.Cycle{{
		Time: beginning, Seconds: 1.5, Times: 1, First: beginning, Woken: "a change", Action: "Reconcile", Why: "why", Outcome: "Transient", Stage: "children", Reason: "R", Message: "m",
		Stages: []api.Stage{{Name: "gather", Seconds: 0.001}}, Writes: []api.Write{{Action: "created", Kind: "Website", Namespace: "b", Name: "child"}}, Others: 2,
	}}}))
	g.Expect(w.cycles(t.Context(), "web", "a", "other").Cycles).To(BeEmpty())
}

func TestTheHourHasOneValueForEachMinute(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	g.Expect(w.source.hour("web")).To(BeNil())
	clk := w.remembering(t)
	w.source.History.Measure("web", func() history.Sample { return history.Sample{Total: 9, Ready: 4, Waiting: 3, Failing: 2, Queue: 1} })
	for n := range 2 {
		clk.Step(time.Minute)
		g.Eventually(func() int { return len(w.source.History.Hour("web")) }).Should(Equal(n + 1))
	}
	g.Expect(w.source.hour("web")).To(Equal(&api.Hour{
		Since: beginning, From: beginning.Add(time.Minute), To: beginning.Add(2 * time.Minute), Total: []int32{9, 9}, Ready: []int32{4, 4}, Waiting: []int32{3, 3}, Failing: []int32{2, 2},
		Queue: []int32{1, 1}, Reconciles: []int32{0, 0}, Failures: []int32{0, 0}, P95: []float64{0, 0},
	}))
}
