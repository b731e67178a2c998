package external

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// The limits of calls to one host.
const (
	maxConcurrent = 16              // calls to one host at the same time
	firstHold     = time.Second     // how long a host is left alone after a failure; it doubles with each
	longestHold   = time.Minute     // and ends here, unless the host asks for more
	longestAsked  = 5 * time.Minute // what a host may ask for
	maxHosts      = 4096            // that are remembered
)

// limiter is a circuit breaker for each host: it keeps a host that does not answer from holding workers. After a failure the host is not
// called for a time that doubles; then one call at a time tries it. Hosts that answer and are not being called are not remembered.
type limiter struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	hosts map[hostKey]*host // guarded by mu
}

// hostKey is a host and a box: boxes have breakers of their own, so that one box can't stop the calls of another.
type hostKey struct{ box, host string }

// host is guarded by the limiter's mu.
type host struct {
	calls    int           // that are under way
	freed    chan struct{} // closed, and made anew, when a call ends
	failures int           // in a row
	until    time.Time     // when it may be called again, after a failure
	cause    *Error        // the last failure
}

func newLimiter(clk clock.PassiveClock) *limiter {
	return &limiter{clock: clk, hosts: map[hostKey]*host{}}
}

// turn is the right to make one call.
type turn struct {
	limiter  *limiter
	key      hostKey
	failures int // that the host had when the call began
}

// enter waits for a turn, at most for patience. A host that is held back is no reason to wait: the error says so, in the words of
// the failure that led to it, so that a resource shows the same as long as the cause is the same.
func (l *limiter) enter(ctx context.Context, key hostKey, patience time.Duration) (*turn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		freed, t, err := l.try(key)
		if err != nil || t != nil {
			return t, err
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, transient("%d calls to the host are under way, and none of them ended within %s", maxConcurrent, patience)
		}
	}
}

// try gives a turn, or what to wait for, or says that the host is held back.
func (l *limiter) try(key hostKey) (freed <-chan struct{}, t *turn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[key]
	if h == nil {
		l.makeRoom()
		h = &host{freed: make(chan struct{})}
		l.hosts[key] = h
	}
	switch {
	case h.failures > 0 && (h.calls > 0 || l.clock.Now().Before(h.until)):
		held := *h.cause
		held.Held, held.RetryAt = true, h.until
		return nil, nil, &held
	case h.calls >= maxConcurrent:
		return h.freed, nil, nil
	}
	h.calls++
	return nil, &turn{limiter: l, key: key, failures: h.failures}, nil
}

// leave ends a call. A failure of the host (trips) holds it back. No failure (nil), or one of this call alone, shows that it answers.
func (t *turn) leave(failure *Error) {
	t.end(func(h *host) {
		switch {
		case failure == nil || !failure.trips:
			h.failures = 0
		case h.failures == t.failures:
			h.failures++
			h.cause = failure
			hold := min(firstHold<<min(h.failures-1, 10), longestHold)
			h.until = t.limiter.clock.Now().Add(max(hold, min(failure.after, longestAsked)))
			if failure.after > longestHold {
				failure.Text += fmt.Sprintf("; by its Retry-After it is left alone until %s", h.until.UTC().Format(time.RFC3339))
			}
		default:
			// Another call that was under way at the same time has failed first. Both show one outage, which counts once.
		}
	})
}

// abandon ends a call that came to nothing, for a reason that has nothing to do with the host.
func (t *turn) abandon() { t.end(func(*host) {}) }

func (t *turn) end(learn func(h *host)) {
	l := t.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[t.key]
	h.calls-- // a host with calls is never dropped
	close(h.freed)
	h.freed = make(chan struct{})
	learn(h)
	if h.failures == 0 && h.calls == 0 {
		delete(l.hosts, t.key)
	}
}

// makeRoom drops a host that is not being called, if there are too many: best one whose time is over first.
func (l *limiter) makeRoom() {
	if len(l.hosts) < maxHosts {
		return
	}
	var oldest *hostKey
	for key, h := range l.hosts {
		if h.calls == 0 && (oldest == nil || h.until.Before(l.hosts[*oldest].until)) {
			oldest = &key
		}
	}
	if oldest != nil {
		delete(l.hosts, *oldest)
	}
}

func (l *limiter) forget(box string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, h := range l.hosts {
		if key.box == box && h.calls == 0 {
			delete(l.hosts, key)
		}
	}
}
