package engine

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// leadership says whether this process leads, and since when. It is safe for concurrent use.
type leadership struct {
	clock   clock.PassiveClock
	once    sync.Once
	leading chan struct{} // closed when this process leads
	led     time.Time     // when it began to; set before leading is closed
}

// begins notes that this process leads. It is called once.
func (l *leadership) begins() {
	l.led = l.clock.Now()
	close(l.leading)
}

// Leading says whether this process leads.
func (l *leadership) Leading() bool {
	select {
	case <-l.leading:
		return true
	default:
		return false
	}
}

// settleTime is how long a process that begins to lead may take until its boxes run.
const settleTime = 10 * time.Second

// Settling is how long boxes that ran before this process led may still be starting. Until then, what was last written of them
// holds: a restart changes nothing about them. 0: that is over.
func (l *leadership) Settling() time.Duration {
	if !l.Leading() {
		return settleTime
	}
	return max(0, settleTime-max(0, l.clock.Since(l.led)))
}
