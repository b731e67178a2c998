package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a box's queue: controller-runtime's priority queue, behind permits. A worker takes a permit before it takes an
// item, so that the number of concurrent reconciles can change without a restart. The limit may be lowered while workers
// with a permit wait for an item: so it is checked again when they have one.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu     sync.Mutex
	wake   *sync.Cond
	limit  int // guarded by mu
	out    int // permits that were taken; guarded by mu
	busy   int // permits whose holder works on an item; guarded by mu
	closed bool

	// idle says that nobody works yet, which may be for ever: nothing is kept, and everything is queued when the work begins.
	idle atomic.Bool
}

func newQueue(limit int) *queue {
	// Without a name the queue keeps no metrics: its vectors could not be deleted per box.
	q := &queue{PriorityQueue: priorityqueue.New[reconcile.Request](""), limit: limit}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// GetWithPriority waits for a permit, then for an item.
func (q *queue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	if !q.take() {
		return reconcile.Request{}, 0, true
	}
	item, priority, shutdown = q.PriorityQueue.GetWithPriority()
	if shutdown || !q.begin() {
		q.give(false)
		return reconcile.Request{}, 0, true
	}
	return item, priority, false
}

// Get is GetWithPriority for callers that do not ask for the priority.
func (q *queue) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// Done gives the item and its permit back.
func (q *queue) Done(item reconcile.Request) {
	q.PriorityQueue.Done(item)
	q.give(true)
}

// ShutDown wakes everyone who waits. Several controllers may share the queue, and each of them shuts it down.
func (q *queue) ShutDown() {
	q.mu.Lock()
	first := !q.closed
	q.closed = true
	q.wake.Broadcast()
	q.mu.Unlock()
	if first {
		q.PriorityQueue.ShutDown()
	}
}

// ShutDownWithDrain is ShutDown: controller-runtime does not drain.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

// setLimit changes the number of permits. Items that are being worked on are finished.
func (q *queue) setLimit(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = n
	q.wake.Broadcast()
}

// inUse is the number of items that are being worked on.
func (q *queue) inUse() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy
}

func (q *queue) take() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.out >= q.limit && !q.closed {
		q.wake.Wait()
	}
	if q.closed {
		return false
	}
	q.out++
	return true
}

// begin waits until the holder of a permit may work on the item that it has.
func (q *queue) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.busy >= q.limit && !q.closed {
		q.wake.Wait()
	}
	if q.closed {
		return false
	}
	q.busy++
	return true
}

// give returns a permit.
func (q *queue) give(worked bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out--
	if worked {
		q.busy--
	}
	// Some wait for a permit and others to begin: waking one could wake the wrong one.
	q.wake.Broadcast()
}

// Add adds an item.
func (q *queue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddWithOpts adds items, unless nobody works yet.
func (q *queue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	if !q.idle.Load() {
		q.PriorityQueue.AddWithOpts(o, items...)
	}
}

// low puts items behind everything that has just happened.
func (q *queue) low(after time.Duration, items ...reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: new(handler.LowPriority)}, items...)
}
