package autoscale

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
)

// fakeBox shows what it is told, and notes what it gets.
type fakeBox struct {
	mu      sync.Mutex
	load    Load     // guarded by mu, as is all below
	limits  []Limits // those that it got, one after another
	changes []string
	panics  int
}

func (b *fakeBox) Load() Load {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.load.Queued < 0 {
		panic("no queue")
	}
	return b.load
}

func (b *fakeBox) SetLimits(limits Limits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load.Workers = limits.Workers
	if n := len(b.limits); n == 0 || b.limits[n-1] != limits {
		b.limits = append(b.limits, limits)
	}
}

func (b *fakeBox) Scaled(change Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes = append(b.changes, change.String())
}

func (b *fakeBox) Panicked(any, []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.panics++
}

func (b *fakeBox) queue(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load.Queued = n
}

// workers gives those that the box has.
func (b *fakeBox) workers() int { return b.last().Workers }

// last gives the limits that the box has.
func (b *fakeBox) last() Limits {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limits[len(b.limits)-1]
}

// told gives what the box was told since the last call.
func (b *fakeBox) told() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.changes
	b.changes = nil
	return out
}

// bubble runs a runner of a box that works, on fake time.
func bubble(t *testing.T, test func(g Gomega, r *Runner, b *fakeBox)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &fakeBox{}
		r := NewRunner(b, clock.RealClock{})
		r.Start(t.Context())
		defer r.Stop()
		test(NewWithT(t), r, b)
	})
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const (
	up   = "workers 3→12: status.queueDepth is 500"
	back = "workers 12→3: the conditions have been false for 30s"
)

func TestLimitsAreReplacedAndGoBack(t *testing.T) {
	bubble(t, func(g Gomega, r *Runner, b *fakeBox) {
		r.Follow(rule(t, busy), ofSpec)
		b.queue(500)
		after(9 * time.Second)
		g.Expect(b.workers()).To(Equal(3))
		g.Expect(r.Status()).To(BeNil())
		after(time.Second)
		g.Expect(b.workers()).To(Equal(12))
		g.Expect(b.told()).To(Equal([]string{up}))
		status := r.Status()
		g.Expect(status.Active).To(BeTrue())
		g.Expect(status.Reason).To(Equal("status.queueDepth is 500"))
		g.Expect(*status.Workers).To(BeEquivalentTo(12))
		g.Expect(status.QueueDepth).To(BeNil())
		active, reason, changes, ok := r.Measured()
		g.Expect([]any{active, reason, changes, ok}).To(Equal([]any{true, "status.queueDepth", 1, true}), "what was measured is no part of a label")
		b.queue(0)
		after(39 * time.Second) // looks at 20, 30, 40
		g.Expect(b.workers()).To(Equal(12), "it is cooling down")
		after(time.Second)
		g.Expect(b.workers()).To(Equal(3))
		g.Expect(b.told()).To(Equal([]string{back}))
		g.Expect(r.Status()).To(BeNil())
	})
}

func TestWithoutARuleNobodyLooks(t *testing.T) {
	bubble(t, func(g Gomega, r *Runner, b *fakeBox) {
		r.Follow(nil, ofSpec)
		b.queue(-1) // a look would panic
		r.Reconciled(time.Hour, true)
		after(time.Hour)
		g.Expect(b.panics).To(BeZero())
		g.Expect(b.limits).To(Equal([]Limits{ofSpec}))
		g.Expect(r.seen.durations).To(BeEmpty())
		_, _, _, ok := r.Measured()
		g.Expect(ok).To(BeFalse())
	})
}

func TestAnEditWhileLimitsAreReplaced(t *testing.T) {
	other := Limits{Workers: 5, QueueDepth: 9, Resync: time.Minute}
	for name, tc := range map[string]struct {
		rule    string // empty: none
		workers int    // at once
		told    []string
		later   int // an interval later, still under load
	}{
		"of something else":  {busy, 12, nil, 12},
		"of autoscale":       {`{interval: 10s, conditions: {when: [{field: status.queueDepth, greaterThan: 100}]}, do: {workers: 20}}`, 5, []string{"workers 12→5, queue depth 0→9: spec.autoscale has changed"}, 20},
		"that takes it away": {"", 5, []string{"workers 12→5, queue depth 0→9: spec.autoscale is gone, or the box serves deletions alone"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(g Gomega, r *Runner, b *fakeBox) {
				r.Follow(rule(t, busy), ofSpec)
				b.queue(500)
				after(10 * time.Second)
				b.told()
				var next *Rule
				if tc.rule != "" {
					next = rule(t, tc.rule)
				}
				r.Follow(next, other)
				g.Expect(b.workers()).To(Equal(tc.workers))
				g.Expect(b.told()).To(Equal(tc.told))
				g.Expect(b.last().QueueDepth).To(Equal(9))
				after(10 * time.Second)
				g.Expect(b.workers()).To(Equal(tc.later))
			})
		})
	}
}

func TestItLooksOnlyWhileTheBoxWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := &fakeBox{}
		r := NewRunner(b, clock.RealClock{})
		r.Follow(rule(t, busy), ofSpec)
		b.queue(500)
		after(time.Minute)
		g.Expect(b.workers()).To(Equal(3), "it has not started")
		r.Start(t.Context())
		after(10 * time.Second)
		g.Expect(b.workers()).To(Equal(12))
		r.Stop() // and nothing is left in the bubble
		b.queue(0)
		after(time.Hour)
		g.Expect(b.workers()).To(Equal(12))
	})
}

func TestALookThatComesLateChangesNothing(t *testing.T) {
	bubble(t, func(g Gomega, r *Runner, b *fakeBox) {
		late := rule(t, busy)
		r.Follow(late, ofSpec)
		b.queue(500)
		r.Follow(nil, ofSpec)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		r.decide(over, late)
		g.Expect(b.workers()).To(Equal(3))
		g.Expect(b.told()).To(BeEmpty())
	})
}

func TestAPanicEndsOneLook(t *testing.T) {
	bubble(t, func(g Gomega, r *Runner, b *fakeBox) {
		r.Follow(rule(t, busy), ofSpec)
		b.queue(-1)
		after(10 * time.Second)
		g.Expect(b.panics).To(Equal(1))
		b.queue(500)
		after(10 * time.Second)
		g.Expect(b.workers()).To(Equal(12))
	})
}

func TestWhatIsMeasured(t *testing.T) {
	bubble(t, func(g Gomega, r *Runner, b *fakeBox) {
		r.Follow(rule(t, `{interval: 10s, cooldown: 0s, conditions: {when: [{field: status.workersBusyPercent, equals: 75}, {field: status.reconcileP95Ms, equals: 95},
			{field: status.errorPercent, equals: 10}, {field: status.resources, equals: 7}]}, do: {workers: 12}}`), ofSpec)
		for i := range 100 {
			r.Reconciled(time.Duration(i+1)*time.Millisecond, i < 10)
		}
		b.mu.Lock()
		b.load.Resources, b.load.Busy, b.load.Had = 7, 3*time.Second, 4*time.Second
		b.mu.Unlock()
		after(10 * time.Second)
		g.Expect(b.told()).To(HaveLen(1))
		g.Expect(b.workers()).To(Equal(12))
		after(10 * time.Second)
		g.Expect(b.workers()).To(Equal(3), "nothing was reconciled in this interval")
	})
}

func TestConditionsThatCantBeEvaluated(t *testing.T) {
	bubble(t, func(g Gomega, r *Runner, b *fakeBox) {
		r.Follow(rule(t, `{interval: 10s, conditions: {when: [{field: "{{ div 100 .status.queueDepth }}", lessThan: 2}]}, do: {workers: 12}}`), ofSpec)
		after(10 * time.Second)
		g.Expect(r.Status().Active).To(BeFalse())
		g.Expect(r.Status().Reason).To(HavePrefix("the conditions can't be evaluated: "))
		b.queue(100)
		after(10 * time.Second)
		g.Expect(r.Status().Active).To(BeTrue())
	})
}

func TestTheLastReconcilesAreKept(t *testing.T) {
	g := NewWithT(t)
	var w window
	for range kept {
		w.add(time.Hour, true)
	}
	for range kept {
		w.add(time.Second, false)
	}
	p95, failed := w.take()
	g.Expect(p95).To(Equal(time.Second))
	g.Expect(failed).To(Equal(50))
	p95, failed = w.take()
	g.Expect(p95).To(BeZero())
	g.Expect(failed).To(BeZero())
}
