// Package lifecycle says when the sub-controllers of a process may work: since when it leads, in which order they begin and stop, and
// how long that may take. It knows nothing of what they do.
package lifecycle

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// settleTime is how long a process that begins to lead may take until its boxes run.
const settleTime = 10 * time.Second

// Leadership says whether this process leads, and since when. It is safe for concurrent use.
type Leadership struct {
	clock   clock.PassiveClock
	leading chan struct{} // closed when this process leads
	led     time.Time     // when it began to; set before leading is closed
}

// NewLeadership gives that of a process that does not lead yet. Turns say when it does.
func NewLeadership(clk clock.PassiveClock) *Leadership {
	return &Leadership{clock: clk, leading: make(chan struct{})}
}

// Leading says whether this process leads.
func (l *Leadership) Leading() bool {
	select {
	case <-l.leading:
		return true
	default:
		return false
	}
}

// Settling is how long boxes that ran under the former leader may still be starting. Until then, the status that was last written of
// them stays as it is: a restart of the manager should not show every box as Starting. 0: that time is over.
func (l *Leadership) Settling() time.Duration {
	if !l.Leading() {
		return settleTime
	}
	return max(0, settleTime-max(0, l.clock.Since(l.led)))
}

func (l *Leadership) begin() {
	l.led = l.clock.Now()
	close(l.leading)
}

// Turn is that of one sub-controller to begin its work.
type Turn struct {
	come  chan struct{} // closed when one that waits may begin
	begun chan struct{} // closed when it has begun, or never will
	begin sync.Once     // closes begun
	waits bool          // guarded by the lock of Turns; never changes once the process leads
}

// NewTurn gives a turn that has not come.
func NewTurn() *Turn { return &Turn{come: make(chan struct{}), begun: make(chan struct{})} }

// Begun notes that the sub-controller works, or never will. It must be called once Await has returned, or will not be called.
func (t *Turn) Begun() { t.begin.Do(func() { close(t.begun) }) }

// Turns hold sub-controllers back until the process leads. It is safe for concurrent use.
type Turns struct {
	leadership *Leadership
	once       sync.Once
	mu         sync.Mutex // so that Lead sees that one waits, or that one sees that the process leads
}

// NewTurns gives turns that come when a process leads.
func NewTurns(l *Leadership) *Turns { return &Turns{leadership: l} }

// Await waits until the process leads, and the turn has come. It says false where ctx ends before.
func (t *Turns) Await(ctx context.Context, turn *Turn) bool {
	t.mu.Lock()
	leads := t.leadership.Leading()
	turn.waits = !leads
	t.mu.Unlock()
	if leads {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-turn.come:
		return true
	}
}

// Lead notes that this process leads, and has those begin that wait, wave by wave. waves is asked after that, so that no one that waits
// is missing: one that comes later sees that the process leads, and begins at once. Only the first call does something.
func (t *Turns) Lead(waves func() [][]*Turn) {
	t.once.Do(func() {
		t.mu.Lock()
		t.leadership.begin()
		t.mu.Unlock()
		for _, wave := range waves() {
			for _, turn := range wave {
				if turn.waits {
					close(turn.come)
				}
			}
			for _, turn := range wave {
				if turn.waits {
					<-turn.begun // closed also when one ends before it begins, so this does not wait for ever
				}
			}
		}
	})
}
