package health

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

const defaultThreshold = 5 // failures in a row

// Tracker counts the reconciles and resources of one box. It is safe for concurrent use and does no I/O: workers call it in every cycle.
type Tracker struct {
	clock   clock.PassiveClock
	changed func(urgent bool)

	mu        sync.Mutex // guards everything below
	threshold int32
	resources map[types.NamespacedName]*resource
	counts    v1alpha1.ResourceCounts
	inFailure int // resources in trouble
	worst     worstList
	// restored is shown instead of counts until the caches have synced, so that a restart does not count from zero.
	restored *v1alpha1.ResourceCounts

	consecutive, successes, failures int64
	lastReconcile, lastSuccess       time.Time
	lastFailure                      *v1alpha1.Failure
	goodRevision                     string
	back                             rolledBack
}

// notice says whether a change of the tracker is reported, and how urgently.
type notice int

const (
	quiet  notice = iota // nothing that CRDHealth shows
	slow                 // counters or times
	urgent               // the state, or the failing list
)

// NewTracker makes a tracker for a box that is Degraded at threshold failures in a row (default 5 where it is not positive).
// After every change of what CRDHealth shows, changed is called outside the lock; urgent says that it should be written at
// once. It may be nil, and must not block.
func NewTracker(clk clock.PassiveClock, threshold int32, changed func(urgent bool)) *Tracker {
	if changed == nil {
		changed = func(bool) {}
	}
	return &Tracker{
		clock:     clk,
		changed:   changed,
		threshold: positive(threshold),
		resources: map[types.NamespacedName]*resource{},
	}
}

// Restore takes over what a former process has written, so that a restart never makes a box look healthy. It is called before anything
// else, and again when this process begins to lead, since the former one may have gone on until then. It reports no change.
func (t *Tracker) Restore(s v1alpha1.CRDHealthStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resources, t.counts = map[types.NamespacedName]*resource{}, v1alpha1.ResourceCounts{}
	t.inFailure, t.worst = 0, worstList{}
	counts := s.Resources
	t.restored = &counts
	t.consecutive = max(0, s.ConsecutiveFailures)
	t.successes, t.failures = max(0, s.SuccessCount), max(0, s.FailureCount)
	t.lastReconcile, t.lastSuccess = timeOf(s.LastReconcile), timeOf(s.LastSuccess)
	t.lastFailure = s.LastFailure.DeepCopy()
	t.restoreRollback(s.Rollback)
	if s.LastKnownGood != nil {
		t.goodRevision = s.LastKnownGood.Revision
	}
	for _, f := range s.Failing {
		t.restoreFailing(f)
	}
}

// SetThreshold changes the number of failures in a row at which the box is Degraded.
func (t *Tracker) SetThreshold(threshold int32) {
	t.change(func() notice {
		if t.threshold == positive(threshold) {
			return quiet
		}
		t.threshold = positive(threshold)
		return slow
	})
}

// Seed notes what a resource's own status says, so that the counts are right after a restart. It counts neither as a success nor as a
// failure. Once this process has reconciled the resource, it does nothing.
func (t *Tracker) Seed(name types.NamespacedName, ready, waiting, failing bool) {
	t.change(func() notice {
		r := t.get(name)
		if r.observed {
			return quiet
		}
		return t.recount(r, func() {
			r.known = true
			r.failing = failing || r.any()
			r.ready = ready && !r.failing
			r.waiting = waiting
		})
	})
}

// Retain forgets every resource for which keep says no. It is called once, after the caches have synced: what a former
// process listed as failing may be gone. keep is called outside the lock.
func (t *Tracker) Retain(keep func(types.NamespacedName) bool) {
	var gone []types.NamespacedName
	for _, name := range t.names() {
		if !keep(name) {
			gone = append(gone, name)
		}
	}
	t.change(func() notice {
		news := slow
		t.restored = nil
		for _, name := range gone {
			news = max(news, t.remove(name))
		}
		for _, r := range t.resources {
			if !r.known {
				t.recount(r, func() { r.known = true })
			}
		}
		return news
	})
}

// Expect counts a resource that is queued for its first reconcile, as one that waits: until that has ended, nothing else is known of it, and that may
// take as long as the others before it. It does nothing for one that is counted. What came of a quick first reconcile is told with it.
func (t *Tracker) Expect(name types.NamespacedName) {
	t.change(func() notice {
		r := t.get(name)
		if r.known {
			return quiet
		}
		return t.recount(r, func() { r.known, r.waiting = true, true })
	})
}

// Left stops counting a resource that is gone, or not selected any more, before its first reconcile in this process has ended. Of others the
// reconcile that finds it out says so.
func (t *Tracker) Left(name types.NamespacedName) {
	t.change(func() notice {
		if r := t.resources[name]; r == nil || r.observed {
			return quiet
		}
		return t.remove(name)
	})
}

// Observe counts one reconcile. A message is cut to 256 characters.
func (t *Tracker) Observe(o Observation) {
	t.change(func() notice {
		t.restored = nil
		r := t.get(o.Resource)
		r.observed = true
		news := t.recount(r, func() {
			r.known = true
			r.observe(o)
		})
		if o.Counts {
			t.count(o)
			news = slow
		}
		return max(news, t.blame(r, r.troubleAfter(o)))
	})
}

// Forget stops counting and listing a resource that is gone.
func (t *Tracker) Forget(name types.NamespacedName) {
	t.change(func() notice { return t.remove(name) })
}

// Snapshot gives an immutable copy of what is known now.
func (t *Tracker) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts
	if t.restored != nil {
		counts = *t.restored
	}
	return Snapshot{
		Resources:           counts,
		ConsecutiveFailures: t.consecutive,
		SuccessCount:        t.successes,
		FailureCount:        t.failures,
		Degraded:            t.degradedLocked(),
		LastReconcile:       t.lastReconcile,
		LastSuccess:         t.lastSuccess,
		LastFailure:         t.lastFailure.DeepCopy(),
		Failing:             t.worst.export(t.resources),
		GoodRevision:        t.goodRevision,
		Rollback:            t.back.status(),
	}
}

// change runs f under the lock and tells the listener outside it. Whatever makes the box Degraded, or ends it, is urgent.
func (t *Tracker) change(f func() notice) {
	if news := t.locked(f); news != quiet {
		t.changed(news == urgent)
	}
}

func (t *Tracker) locked(f func() notice) notice {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.degradedLocked()
	news := f()
	if t.degradedLocked() != before {
		return urgent
	}
	return news
}

// degradedLocked says whether enough cycles in a row have failed. A box without resources is not degraded; but before the caches have
// synced, nobody knows that there are none.
func (t *Tracker) degradedLocked() bool {
	return t.consecutive >= int64(t.threshold) && (t.restored != nil || t.counts.Total > 0)
}

func (t *Tracker) names() []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := make([]types.NamespacedName, 0, len(t.resources))
	for name := range t.resources {
		names = append(names, name)
	}
	return names
}

func (t *Tracker) get(name types.NamespacedName) *resource {
	r := t.resources[name]
	if r == nil {
		r = &resource{name: name}
		t.resources[name] = r
	}
	return r
}

func positive(threshold int32) int32 {
	if threshold < 1 {
		return defaultThreshold
	}
	return threshold
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
