package engine

import (
	"time"

	"github.com/orkspace/orkestra/engine/pipeline"
)

// The backoff of a resource that fails for a reason that may go away by itself (design: semantics.md, "Errors").
const (
	firstDelay = 5 * time.Millisecond
	maxDelay   = 1000 * time.Second
)

// backoff is one resource's backoff. The zero value is that of a resource that has not failed.
type backoff struct {
	failures int
	restarts int
}

// next gives the time to the next attempt, and whether that is a resync look: a resource that has not been looked at for
// resync starts again with short delays, but each such restart without a success doubles the first of them, so that many
// failing resources do not become a load.
func (b *backoff) next(resync time.Duration) (delay time.Duration, look bool) {
	delay = min(shifted(firstDelay, b.restarts), resync)
	delay = min(shifted(delay, b.failures), maxDelay)
	if delay < resync {
		b.failures++
		return delay, false
	}
	b.failures = 0
	b.restarts++
	return resync, true
}

// forget starts over: the resource succeeded.
func (b *backoff) forget() { *b = backoff{} }

// shifted doubles d n times, without overflow.
func shifted(d time.Duration, n int) time.Duration {
	for range n {
		if d >= maxDelay {
			return maxDelay
		}
		d *= 2
	}
	return d
}

// schedule queues the next look.
func (b *box) schedule(run *pipeline.Run, st *state) {
	key := keyOf(run.Stored)
	if run.Released {
		return
	}
	switch st.class {
	case "":
		st.backoff.forget()
		b.again(key, st, b.resync(run.Plan))
	case pipeline.Transient, pipeline.Panic:
		delay, look := st.backoff.next(run.Plan.Runtime.Resync)
		st.wait(b.engine.config.Clock.Now(), delay)
		if look {
			b.again(key, st, delay)
			return
		}
		b.soon(key, delay)
	default:
		b.await(run.Plan, key, st)
	}
}
