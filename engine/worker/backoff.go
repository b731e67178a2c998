package worker

import "time"

const (
	firstDelay = 5 * time.Millisecond
	maxDelay   = 1000 * time.Second
)

// Backoff says when a resource is tried again that fails for a reason that may go away by itself (design: semantics.md, "Errors").
// The zero value is that of a resource that has not failed.
type Backoff struct {
	failures int
	restarts int
}

// Next gives the time to the next attempt, and whether that is one at resync. A resource that has not been reconciled for resync
// starts again with short delays, but each such restart without a success doubles the first of them, so that many failing resources
// do not become a load.
func (b *Backoff) Next(resync time.Duration) (delay time.Duration, atResync bool) {
	delay = min(doubled(firstDelay, b.restarts), resync)
	delay = min(doubled(delay, b.failures), maxDelay)
	if delay < resync {
		b.failures++
		return delay, false
	}
	b.failures = 0
	b.restarts++
	return resync, true
}

// Reset starts over: the resource succeeded.
func (b *Backoff) Reset() { *b = Backoff{} }

// doubled doubles d n times, up to maxDelay.
func doubled(d time.Duration, n int) time.Duration {
	for range n {
		if d >= maxDelay {
			return maxDelay
		}
		d *= 2
	}
	return d
}
