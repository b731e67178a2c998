package engine

import (
	"time"

	"github.com/orkspace/orkestra/engine/metrics"
)

// Tuning changes what a running box takes of the process: its workers, its queue and how often it looks at each resource again. A change
// holds until another plan of the box says otherwise: a plan has values of its own for all of them. A box that does not run is left as it
// is. It is safe for concurrent use.
//
// It is not part of Engine, because what tunes a box knows only its name and a number, and needs none of what starts and stops boxes.
type Tuning struct {
	box func(name string) *box // nil: it does not run
}

// Tuning changes boxes while they run.
func (e *Engine) Tuning() Tuning { return Tuning{box: e.box} }

// SetWorkers changes the number of workers of a running box. Reconciles that are under way are finished.
func (t Tuning) SetWorkers(name string, workers int) {
	if b := t.box(name); b != nil {
		b.pool.SetWorkers(workers)
	}
}

// SetQueueDepth changes the number of keys in the queue of a running box above which others wait outside; 0: no limit. No key is lost.
func (t Tuning) SetQueueDepth(name string, depth int) {
	if b := t.box(name); b != nil {
		b.queue.SetBound(depth)
	}
}

// SetResync changes the time within which each resource of a running box is reconciled once more. Every resource is reconciled, behind
// fresh events.
func (t Tuning) SetResync(name string, resync time.Duration) {
	if b := t.box(name); b != nil {
		plan := *b.plan.Load() // a copy: reconciles that are under way read the old one
		plan.Runtime.Resync = resync
		b.plan.Store(&plan)
		b.sweep()
	}
}

// sweep queues every resource, behind fresh events: there may be thousands, and somebody waits for what was just edited.
func (b *box) sweep() {
	for _, key := range b.resources.Keys() {
		b.queue.EnqueueLow(0, key)
	}
}

// load is what the gauges of the box show.
func (b *box) load() metrics.Load {
	return metrics.Load{Queued: b.queue.Len(), Oldest: b.queue.Oldest(), Workers: b.pool.Workers(), Busy: b.pool.Busy(), Overdue: b.overdue.Count()}
}
