package controllers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// coalesce is how long a mark that is not urgent waits, so that all marks of a box within that time make one reconcile.
const coalesce = time.Second

// DirtyQueue has a controller reconcile the names that are marked: of boxes, or of the Lease. Workers of boxes mark, and must never wait for
// a controller, so the marks go straight into the controller's queue; a channel could be full. The zero value is ready for use.
type DirtyQueue struct {
	mu    sync.Mutex // guards all below
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early map[string]bool // marks from before the start, with their urgency
}

// marks are the queues of the controllers, into which the names of boxes go that have changed in the engine.
type marks struct {
	boxes, healths, dependencies DirtyQueue
}

// health marks a box whose report has changed. Boxes that depend on it need only changes that are urgent, such as one of its state.
func (m *marks) health(box string, urgent bool) {
	m.healths.Mark(box, urgent)
	if urgent {
		m.dependencies.Mark(box, true)
	}
}

// Source gives the source that the controller starts. What was marked before is delivered then.
func (d *DirtyQueue) Source() source.Source {
	return source.Func(d.start)
}

// Mark has the controller reconcile a box: at once where it is urgent, otherwise within a second.
func (d *DirtyQueue) Mark(box string, urgent bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue != nil {
		d.deliverLocked(box, urgent)
		return
	}
	if d.early == nil {
		d.early = map[string]bool{}
	}
	d.early[box] = d.early[box] || urgent
}

func (d *DirtyQueue) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = queue
	for _, box := range slices.Sorted(maps.Keys(d.early)) {
		d.deliverLocked(box, d.early[box])
	}
	d.early = nil
	return nil
}

// deliverLocked adds a box to the queue. That never blocks, and does nothing when the queue has been shut down.
func (d *DirtyQueue) deliverLocked(box string, urgent bool) {
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: box}}
	if urgent {
		d.queue.Add(request)
		return
	}
	d.queue.AddAfter(request, coalesce)
}
