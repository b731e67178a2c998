package cluster

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock tells the time as the API server has it: ages, and whether a Lease has run out, are told by the times that the cluster has written, and must not
// be wrong where the clock of this machine is. It goes by the Date of the server's last answer, and by this machine's own clock until there is one and
// where both agree but for seconds. It implements clock.PassiveClock, and is safe for concurrent use.
type Clock struct {
	local clock.PassiveClock

	mu    sync.Mutex    // guards all below
	ahead time.Duration // of this machine's clock
}

// NewClock makes a clock that goes by another one until it has heard an API server.
func NewClock(local clock.PassiveClock) *Clock { return &Clock{local: local} }

// tolerated is how far both may differ: a Date has whole seconds, and what keeps clocks in time is not exact either.
const tolerated = 3 * time.Second

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time { return c.At(c.local.Now()) }

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// At is the server's time when this machine's clock shows a time.
func (c *Clock) At(local time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return local.Add(c.ahead)
}

// Wrap gives a transport that hears the Date of each answer. It fits into rest.Config.Wrap.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper { return &hearing{clock: c, next: next} }

// heard takes the server's time from an answer that it gave after this machine's clock showed one time, and before it showed another.
func (c *Clock) heard(date string, sent, got time.Time) {
	said, err := http.ParseTime(date)
	if err != nil {
		return // a proxy may leave it out
	}
	var ahead time.Duration
	switch {
	case said.After(got.Add(tolerated)):
		ahead = said.Sub(got)
	case said.Before(sent.Add(-tolerated)):
		ahead = said.Sub(sent)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
}

// hearing is a transport that hears what time it is.
type hearing struct {
	clock *Clock
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h *hearing) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := h.clock.local.Now()
	answer, err := h.next.RoundTrip(r)
	if err == nil {
		h.clock.heard(answer.Header.Get("Date"), sent, h.clock.local.Now())
	}
	return answer, err //nolint:wrapcheck // a transport changes no error
}
