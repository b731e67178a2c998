package lifecycle

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// canceledTime is how long work may take to end once it is canceled. What heeds its context ends at once; what has not ended by then may
// never do.
const canceledTime = 2 * time.Second

// Ending is the end of one sub-controller. It goes on beside those that wait for it, since code that ignores its context can't be ended: they
// give up where it takes too long. It is safe for concurrent use.
type Ending struct {
	begun   atomic.Bool
	running sync.WaitGroup // the goroutine that ends it
	ended   chan struct{}  // closed when all of it is gone
	late    chan struct{}  // closed when that takes too long
}

// Steps are what ends a sub-controller.
type Steps struct {
	Clock clock.WithTicker
	// Finish tells it to begin nothing any more. Wait returns when nothing of it is at work any more.
	Finish, Wait func()
	// Cancel ends the contexts of what is still under way when Over says that its time is over.
	Cancel func()
	Over   <-chan time.Time
	// Late is told that what was canceled does not end.
	Late func()
	// Release gives up what it has had, once nothing is at work.
	Release func()
	// Told is called after all of that, where Late has been: those that have given up waiting may try again.
	Told func()
}

// NewEnding gives an end that has not begun.
func NewEnding() *Ending { return &Ending{ended: make(chan struct{}), late: make(chan struct{})} }

// Begin ends a sub-controller on a goroutine of its own, which Wait waits for. Only the first call does something.
func (e *Ending) Begin(s Steps) {
	if e.begun.CompareAndSwap(false, true) {
		e.running.Go(func() { e.run(s) })
	}
}

// Begun says whether the end has begun.
func (e *Ending) Begun() bool { return e.begun.Load() }

// Await waits until the end has come, and says whether it has: it is false where that takes too long. Begin has been called.
func (e *Ending) Await() bool {
	select {
	case <-e.ended:
		return true
	case <-e.late:
	}
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

// Wait waits until the end has come, however long that takes.
func (e *Ending) Wait() {
	<-e.ended
	e.running.Wait()
}

func (e *Ending) run(s Steps) {
	s.Finish()
	done, late := make(chan struct{}), false
	var timing sync.WaitGroup
	timing.Go(func() { late = e.time(done, s) })
	s.Wait()
	close(done)
	timing.Wait()
	s.Release()
	close(e.ended)
	if late {
		s.Told()
	}
}

// time cancels what is under way when it is time, and says whether it took too long to end. It returns when it has ended before, too.
func (e *Ending) time(done <-chan struct{}, s Steps) (late bool) {
	select {
	case <-done:
		return false
	case <-s.Over:
	}
	s.Cancel()
	select {
	case <-done:
		return false
	case <-s.Clock.After(canceledTime):
	}
	s.Late()
	close(e.late)
	return true
}
