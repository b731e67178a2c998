// Package worker is what the reconciles of a box run on: its queue and its workers, whose number can change while it runs; and what
// they may take of what all boxes share: slots for reconciles, requests in flight, requests per second, and retries of what fails.
//
// It knows keys, and nothing of what is reconciled.
package worker

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Pool reconciles the keys of a queue, as many at the same time as it has workers. It is safe for concurrent use.
type Pool struct {
	queue     *Queue
	reconcile func(ctx context.Context, key types.NamespacedName)
	panicked  func(key types.NamespacedName, value any, stack []byte)
	clock     clock.PassiveClock

	mu      sync.Mutex
	changed *sync.Cond // signaled when a worker becomes free, there are more, or the pool stops
	workers int        // guarded by mu
	busy    int        // guarded by mu
	stopped bool       // guarded by mu
	used    used       // guarded by mu
}

// used is what the workers have done until a moment.
type used struct {
	busy, had time.Duration
	until     time.Time
}

// NewPool gives a pool that does nothing until Run. panicked is told of a panic of reconcile, or that it called runtime.Goexit, which ends that
// reconcile alone. It must not panic itself.
func NewPool(
	queue *Queue, workers int, reconcile func(ctx context.Context, key types.NamespacedName),
	panicked func(key types.NamespacedName, value any, stack []byte),
) *Pool {
	p := &Pool{queue: queue, workers: workers, reconcile: reconcile, panicked: panicked, clock: clock.RealClock{}}
	p.changed = sync.NewCond(&p.mu)
	p.used.until = p.clock.Now()
	return p
}

// Run takes keys from the queue until ctx ends, and returns when the last reconcile is over. Reconciles run on work, which may
// outlive ctx. The queue is shut down then.
//
// One loop starts a goroutine for a key while a worker is free. That goroutine takes the next keys itself and ends when there is none, so
// that a box at rest has no workers that wait, and the stack of a busy one grows once and not for each key. With a fixed set
// of workers, lowering their number would have to end one that waits, and the queue can't wake a particular one.
func (p *Pool) Run(ctx, work context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	defer context.AfterFunc(ctx, p.stop)()
	// A key is taken only when a worker is free: until then, one with a higher priority may be added.
	for p.queue.Wait() && p.awaitWorker() {
		if key, found := p.queue.Take(); found {
			p.begin()
			working.Go(func() { p.work(work, key) })
		}
	}
}

// work reconciles a key, and others as long as there are some and the worker is wanted.
func (p *Pool) work(ctx context.Context, key types.NamespacedName) {
	returned := false
	defer func() {
		if !returned { // runtime.Goexit ends the goroutine behind Guard
			p.queue.Done(key)
			p.end()
		}
	}()
	for more := true; more; key, more = p.next(key) {
		Guard(func() { p.reconcile(ctx, key) }, func(value any, stack []byte) { p.panicked(key, value, stack) })
	}
	returned = true
}

// next gives the worker of a key that is done another one. It says false where there is none, or there are fewer workers by now, and has given
// the worker back then.
func (p *Pool) next(done types.NamespacedName) (key types.NamespacedName, more bool) {
	// The queue may hand it out again from here on, to this worker, too.
	p.queue.Done(done)
	if p.wanted() {
		if key, more = p.queue.Take(); more {
			return key, true
		}
	}
	p.end()
	return key, false
}

// SetWorkers changes the number of workers. Reconciles that are under way are finished, and no others begin before there are fewer
// than that.
func (p *Pool) SetWorkers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.useLocked()
	p.workers = n
	p.changed.Signal()
}

// Workers is the number of workers that are wanted. After a lowering, Busy may be higher for a while.
func (p *Pool) Workers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

// Busy is the number of reconciles that are under way.
func (p *Pool) Busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy
}

// Used is the time that reconciles have taken, and the time that there were workers for them, both of all workers together: with two workers
// that are busy, both grow by two seconds in each second.
func (p *Pool) Used() (busy, had time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.useLocked()
	return p.used.busy, p.used.had
}

// useLocked counts the time since the last change of the numbers.
func (p *Pool) useLocked() {
	now := p.clock.Now()
	passed := max(0, now.Sub(p.used.until))
	p.used.busy += passed * time.Duration(p.busy)
	p.used.had += passed * time.Duration(p.workers)
	p.used.until = now
}

// awaitWorker waits until a worker is free. It says false where the pool stops first.
func (p *Pool) awaitWorker() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.busy >= p.workers && !p.stopped {
		p.changed.Wait()
	}
	return !p.stopped
}

func (p *Pool) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.useLocked()
	p.busy++
}

// wanted says whether there are no more workers than there should be.
func (p *Pool) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy <= p.workers
}

// end gives a worker back.
func (p *Pool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.useLocked()
	p.busy--
	p.changed.Signal()
}

func (p *Pool) stop() {
	p.queue.ShutDown()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.changed.Signal()
}

// errExited stands for the value of a panic where something calls runtime.Goexit.
var errExited = errors.New("runtime.Goexit was called")

// Guard runs f, and calls panicked with the value and the stack of a panic. Without it, a panic on any goroutine ends the process.
// runtime.Goexit counts as a panic; the goroutine ends behind panicked then.
func Guard(f func(), panicked func(value any, stack []byte)) {
	returned := false
	defer func() {
		value := recover()
		if value == nil && !returned {
			value = errExited
		}
		if value != nil {
			panicked(value, debug.Stack())
		}
	}()
	f()
	returned = true
}
