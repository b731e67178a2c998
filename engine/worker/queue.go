package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// Queue holds the keys of the resources of one box that are to be reconciled. What events ask for comes before what time asks for.
// A key is in it once, and is not given out again before it is done. It is safe for concurrent use.
type Queue struct {
	keys priorityqueue.PriorityQueue[types.NamespacedName]
	open atomic.Bool
	shut sync.Once
}

// NewQueue gives a queue that keeps nothing until Open: nobody may ever work on it, on a replica that never leads. It must be shut
// down.
func NewQueue() *Queue {
	// Without a name the queue keeps no metrics: its vectors could not be deleted per box.
	return &Queue{keys: priorityqueue.New[types.NamespacedName]("")}
}

// Open has the queue keep what is added from now on.
func (q *Queue) Open() { q.open.Store(true) }

// IsOpen says whether what is added is kept.
func (q *Queue) IsOpen() bool { return q.open.Load() }

// Enqueue adds keys as an event does, now or after a while.
func (q *Queue) Enqueue(after time.Duration, keys ...types.NamespacedName) {
	q.add(priorityqueue.AddOpts{After: after}, keys)
}

// EnqueueLow adds keys behind everything that events have asked for.
func (q *Queue) EnqueueLow(after time.Duration, keys ...types.NamespacedName) {
	q.add(priorityqueue.AddOpts{After: after, Priority: new(handler.LowPriority)}, keys)
}

// add is the only way into the queue: what bounds the queue goes here.
func (q *Queue) add(how priorityqueue.AddOpts, keys []types.NamespacedName) {
	if q.IsOpen() {
		q.keys.AddWithOpts(how, keys...)
	}
}

// Get waits for the next key, which is given to Done later. over says that the queue was shut down instead.
func (q *Queue) Get() (key types.NamespacedName, over bool) { return q.keys.Get() }

// Done says that a key may be given out again.
func (q *Queue) Done(key types.NamespacedName) { q.keys.Done(key) }

// Len is the number of keys that could be given out now.
func (q *Queue) Len() int { return q.keys.Len() }

// ShutDown ends every Get, now and in future. It may be called more than once.
func (q *Queue) ShutDown() { q.shut.Do(q.keys.ShutDown) }
