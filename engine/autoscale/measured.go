package autoscale

import (
	"slices"
	"sync"
	"time"
)

// Measured is what a box shows at one look.
type Measured struct {
	// QueueDepth is the number of resources that wait for a worker.
	QueueDepth int
	// Workers is the number of workers.
	Workers int
	// BusyPercent is how much of their time the workers have reconciled since the last look, in whole percents.
	BusyPercent int
	// P95 is the time within which 95 % of the reconciles since the last look have ended; 0: there was none.
	P95 time.Duration
	// ErrorPercent is how many of these reconciles have failed, in whole percents; 0: there was none.
	ErrorPercent int
	// Resources is the number of resources of the box.
	Resources int
}

// kept is how many durations are kept between two looks: the last ones.
const kept = 512

// window collects the reconciles between two looks. It is safe for concurrent use.
type window struct {
	mu          sync.Mutex
	durations   []time.Duration // at most kept; guarded by mu, as is all below
	next        int             // which of them is replaced next, once there are that many
	all, failed int
}

// add counts one reconcile.
func (w *window) add(took time.Duration, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all++
	if failed {
		w.failed++
	}
	if len(w.durations) < kept {
		w.durations = append(w.durations, took)
		return
	}
	w.durations[w.next] = took
	w.next = (w.next + 1) % kept
}

// take gives what was collected, and begins anew.
func (w *window) take() (p95 time.Duration, errorPercent int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all > 0 {
		slices.Sort(w.durations)
		// The smallest of those that 95 % of all are not above.
		const of, in = 95, 100
		p95 = w.durations[(len(w.durations)*of+in-1)/in-1]
		errorPercent = w.failed * percent / w.all
	}
	w.durations, w.next, w.all, w.failed = w.durations[:0], 0, 0, 0
	return p95, errorPercent
}
