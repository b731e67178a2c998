package worker

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"k8s.io/utils/third_party/forked/golang/btree"
)

// Queue holds the keys of the resources of one box that are to be reconciled. What events ask for comes before what time asks for,
// and in each of the two who came first. A key is in it once, with the best priority and the earliest time that was asked for, and
// is not given out again before it is done. It is safe for concurrent use.
//
// It may be fair: then namespaces take turns, see turns.
//
// The queue may have a bound. Above it, keys wait outside in the same order, and enter one by one as others are given out: a key that may
// pass the bound has no more than that many in front. A key that is not due yet, and one that is being reconciled, is in
// neither of the two until its time has come.
type Queue struct {
	passes func(key types.NamespacedName) bool
	waited func(time.Duration) // nil: nobody is told
	clock  clock.WithDelayedExecution

	mu      sync.Mutex // guards everything below
	changed *sync.Cond // signaled when a key can be given out, or the queue is shut down
	open    bool
	shut    bool
	bound   int
	fair    bool
	keys    map[types.NamespacedName]*entry // that are to be given out
	given   sets.Set[types.NamespacedName]  // given out, and not done
	inside  *order
	outside *order
	delayed *order
	timer   clock.Timer // for the first one of delayed; nil: there was none yet
	last    uint64      // turn that was given
}

// entry is a key that is to be given out.
type entry struct {
	key  types.NamespacedName
	low  bool      // behind everything that is not
	due  time.Time // zero: now
	from time.Time // since when it is due; zero: it is not yet
	// round is that of its namespace, among those of its priority; 0 in all where namespaces take no turns.
	round uint64
	turn  uint64 // among those of its round
	in    *order // nil: its key is given out, and it is due
}

// order is where entries stand, one behind another.
type order struct {
	*btree.BTree[*entry]

	turns turns
}

func newOrder(before btree.LessFunc[*entry]) *order {
	const degree = 32 // that of controller-runtime's queue
	return &order{BTree: btree.New(degree, before)}
}

// take takes the first entry; nil: there is none.
func (o *order) take() *entry {
	e, found := o.DeleteMin()
	if !found {
		return nil
	}
	o.turns.taken(e.round, e.low)
	e.in = nil
	return e
}

// NewQueue gives a queue without a bound that keeps nothing until Open: nobody may ever work on it, on a replica that never leads. It
// must be shut down. passes is asked about a key for which there is no room inside: it says whether it enters nevertheless. It is
// called under the queue's lock, so it must not block, nor call the queue. nil: no key does.
func NewQueue(passes func(key types.NamespacedName) bool) *Queue {
	if passes == nil {
		passes = func(types.NamespacedName) bool { return false }
	}
	q := &Queue{
		passes: passes, clock: clock.RealClock{}, keys: map[types.NamespacedName]*entry{}, given: sets.Set[types.NamespacedName]{},
		inside: newOrder(before), outside: newOrder(before), delayed: newOrder(dueBefore),
	}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// Tell has waited told, each time that a key is given out, how long that was due before. It is called before the queue is opened. waited must not
// block.
func (q *Queue) Tell(waited func(time.Duration)) { q.waited = waited }

func before(a, b *entry) bool {
	if a.low != b.low {
		return b.low
	}
	if a.round != b.round {
		return a.round < b.round
	}
	return a.turn < b.turn
}

func dueBefore(a, b *entry) bool {
	if !a.due.Equal(b.due) {
		return a.due.Before(b.due)
	}
	return a.turn < b.turn
}

// Open has the queue keep what is added from now on.
func (q *Queue) Open() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = true
}

// IsOpen says whether what is added is kept.
func (q *Queue) IsOpen() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open
}

// Enqueue adds keys as an event does, now or after a while.
func (q *Queue) Enqueue(after time.Duration, keys ...types.NamespacedName) { q.add(after, false, keys) }

// EnqueueLow adds keys behind everything that events have asked for.
func (q *Queue) EnqueueLow(after time.Duration, keys ...types.NamespacedName) {
	q.add(after, true, keys)
}

// add is the only way into the queue.
func (q *Queue) add(after time.Duration, low bool, keys []types.NamespacedName) {
	var due time.Time
	if after > 0 {
		due = q.clock.Now().Add(after)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open || q.shut {
		return
	}
	for _, key := range keys {
		q.addLocked(key, due, low)
	}
	if after > 0 {
		q.awaitDueLocked()
	}
}

func (q *Queue) addLocked(key types.NamespacedName, due time.Time, low bool) {
	e := q.keys[key]
	switch {
	case e == nil:
		e = &entry{key: key, low: low, due: due}
		q.keys[key] = e
	case due.Before(e.due), e.low && !low:
		e.leave()
		e.low = e.low && low
		if due.Before(e.due) {
			e.due = due
		}
	case e.in == q.outside && q.passes(key):
		e.leave()
	default:
		return // it is as good as that already
	}
	q.placeLocked(e)
}

// leave takes an entry from where it stands.
func (e *entry) leave() {
	if e.in != nil {
		e.in.Delete(e)
	}
	e.in = nil
}

// placeLocked puts an entry that stands nowhere where it belongs, behind all others there that are like it.
func (q *Queue) placeLocked(e *entry) {
	q.last++
	e.turn, e.round = q.last, 0
	if e.due.IsZero() && e.from.IsZero() {
		e.from = q.clock.Now()
	}
	switch {
	case !e.due.IsZero():
		e.in = q.delayed
	case q.given.Has(e.key):
		return // until it is done
	case q.hasRoomLocked() || q.passes(e.key):
		e.in = q.inside
		q.changed.Signal()
	default:
		e.in = q.outside
	}
	if q.fair && e.in != q.delayed {
		e.round = e.in.turns.next(e.key.Namespace, e.low)
	}
	e.in.ReplaceOrInsert(e)
}

func (q *Queue) hasRoomLocked() bool { return q.bound <= 0 || q.inside.Len() < q.bound }

// fillLocked lets in what waits outside, as far as there is room. Who enters stands behind those who are inside: otherwise, who has
// passed the others would wait for each of them nevertheless.
func (q *Queue) fillLocked() {
	for q.hasRoomLocked() {
		e := q.outside.take()
		if e == nil {
			return
		}
		q.placeLocked(e)
	}
}

// SetBound changes the number of keys above which others wait outside; 0: no bound. A higher one lets in at once who waits. A lower
// one puts nobody out: what is inside is given out first.
func (q *Queue) SetBound(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bound = n
	q.fillLocked()
}

// SetFair says whether namespaces take turns. Keys that wait keep their order as far as they can: those inside stay there.
func (q *Queue) SetFair(fair bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fair == fair {
		return
	}
	q.fair = fair
	for _, o := range []*order{q.inside, q.outside} {
		var waiting []*entry
		o.Ascend(func(e *entry) bool {
			waiting = append(waiting, e)
			return true
		})
		o.Clear(false)
		o.turns = turns{}
		for _, e := range waiting {
			q.last++
			e.turn, e.round = q.last, 0
			if fair {
				e.round = o.turns.next(e.key.Namespace, e.low)
			}
			o.ReplaceOrInsert(e)
		}
	}
}

// Bound is the number of keys above which others wait outside; 0: no bound.
func (q *Queue) Bound() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bound
}

// Wait waits until there is a key to take. It says false where the queue was shut down.
func (q *Queue) Wait() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.inside.Len() == 0 && !q.shut {
		q.changed.Wait()
	}
	return !q.shut
}

// Take gives the next key out, which is given to Done later. It says false where there is none, or the queue was shut down.
func (q *Queue) Take() (key types.NamespacedName, found bool) {
	key, from, found := q.take()
	if found && q.waited != nil {
		q.waited(q.clock.Since(from))
	}
	return key, found
}

// take gives the next key out, and says since when that was due.
func (q *Queue) take() (key types.NamespacedName, from time.Time, found bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shut || q.inside.Len() == 0 {
		return key, from, false
	}
	e := q.inside.take()
	delete(q.keys, e.key)
	q.given.Insert(e.key)
	q.fillLocked()
	return e.key, e.from, true
}

// Done says that a key may be given out again.
func (q *Queue) Done(key types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.given.Delete(key)
	if e := q.keys[key]; e != nil && e.in == nil {
		q.placeLocked(e)
	}
}

// awaitDueLocked sets the timer for the key that is due next.
func (q *Queue) awaitDueLocked() {
	first, found := q.delayed.Min()
	switch {
	case !found:
	case q.timer == nil:
		q.timer = q.clock.AfterFunc(first.due.Sub(q.clock.Now()), q.fallDue)
	default:
		q.timer.Reset(first.due.Sub(q.clock.Now()))
	}
}

// fallDue takes in the keys whose time has come.
func (q *Queue) fallDue() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shut {
		return
	}
	now := q.clock.Now()
	for e, found := q.delayed.Min(); found && !e.due.After(now); e, found = q.delayed.Min() {
		e.leave()
		e.due = time.Time{}
		q.placeLocked(e)
	}
	q.awaitDueLocked()
}

// Len is the number of keys that are due, be it inside, outside, or because their resource has to be reconciled once more.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.keys) - q.delayed.Len()
}

// Oldest is how long the key has waited that is due for longest; 0: none is due. It looks at all keys.
func (q *Queue) Oldest() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	var oldest time.Time
	for _, e := range q.keys {
		if !e.from.IsZero() && (oldest.IsZero() || e.from.Before(oldest)) {
			oldest = e.from
		}
	}
	if oldest.IsZero() {
		return 0
	}
	return q.clock.Since(oldest)
}

// ShutDown ends every Wait, now and in future, and nothing is given out from then on. It may be called more than once.
func (q *Queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
	if q.timer != nil {
		q.timer.Stop()
	}
	q.changed.Broadcast()
}
