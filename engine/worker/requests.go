package worker

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// paramTimeout is the query parameter by which the API server knows when the client gives up.
const paramTimeout = "timeout"

// Transport sends the requests of one box to the API server. Each takes a place from when it is sent until its answer has been read.
// The timeout begins with the place: time spent waiting for one says nothing about the API server. client-go waits for Retry-After
// outside of the transport, so that a request which was answered with 429 holds no place meanwhile. It is safe for concurrent use.
type Transport struct {
	next    http.RoundTripper
	places  Places
	timeout time.Duration
}

// NewTransport gives a transport in front of next. timeout is how long one request may take.
func NewTransport(next http.RoundTripper, places Places, timeout time.Duration) *Transport {
	return &Transport{next: next, places: places, timeout: timeout}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.places.Take(r.Context()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a transport closes the body of every request; that it could not be closed matters to nobody
		}
		return nil, err
	}
	sent, counted := r.Context().Value(sentKey{}).(*Sent)
	if counted {
		sent.all.Add(1)
	}
	// Canceled when the body is closed, and not on return: that would cut off the body while it is read.
	ctx, cancel := context.WithTimeout(r.Context(), t.timeout)
	done := func() {
		cancel()
		t.places.Leave()
	}
	answered := false
	defer func() {
		if !answered { // also after a panic, which ends this request alone
			done()
		}
	}()
	timed := r.Clone(ctx)
	query := timed.URL.Query()
	query.Set(paramTimeout, t.timeout.String())
	timed.URL.RawQuery = query.Encode()
	response, err := t.next.RoundTrip(timed)
	if err != nil {
		if counted && ctx.Err() == nil {
			sent.unreached.Add(1)
		}
		return nil, err
	}
	answered = true
	response.Body = &answer{ReadCloser: response.Body, done: done}
	return response, nil
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper, by which client-go finds the transport behind
// this one.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// answer is the body of an answer. It holds the place until it is closed. It is used by one goroutine.
type answer struct {
	io.ReadCloser

	done func() // nil: it was closed before
}

// Close implements io.Closer.
func (a *answer) Close() error {
	err := a.ReadCloser.Close()
	if a.done != nil {
		a.done()
		a.done = nil
	}
	return err
}

// sentKey is the key of the counter of requests in a context.
type sentKey struct{}

// Sent counts the requests of a context. It is safe for concurrent use.
type Sent struct{ all, unreached atomic.Int64 }

// Requests is how many were sent.
func (s *Sent) Requests() int64 { return s.all.Load() }

// Unreached says that one of them has not reached the API server, or that the connection was lost before an answer. One that was given up
// because its answer took too long is none of them: that may be the fault of what it was about, such as a webhook that hangs.
func (s *Sent) Unreached() bool { return s.unreached.Load() > 0 }

// CountRequests gives a context in which the requests that a Transport sends are counted.
func CountRequests(ctx context.Context) (counted context.Context, sent *Sent) {
	sent = &Sent{}
	return context.WithValue(ctx, sentKey{}, sent), sent
}

// RateLimiter delays the requests of one box where the manager has a rate (--kube-api-qps): first by the box's own limit, then by the
// one that all boxes share. A request that waits for the box's own limit takes no token of the shared one, and so a busy box can't use
// up all of it. By default there is no rate: priority and fairness of the API server says who waits, and a box is bounded by how many of
// its requests may be in flight.
type RateLimiter struct {
	flowcontrol.RateLimiter // of the box

	shared flowcontrol.RateLimiter
}

// fullSpeed is how many boxes may use up their own limits of requests at the same time: the limit of the process over all boxes
// is this many times that of one.
const fullSpeed = 5

// SharedRateLimiter gives the limiter of all boxes together, where config is that of one.
func SharedRateLimiter(config *rest.Config) flowcontrol.RateLimiter { return bucket(config, fullSpeed) }

// NewRateLimiter gives the limiter of one box.
func NewRateLimiter(config *rest.Config, shared flowcontrol.RateLimiter) RateLimiter {
	return RateLimiter{RateLimiter: bucket(config, 1), shared: shared}
}

// bucket gives a limiter of times the requests that a configuration allows; one that always agrees where it sets no limit.
func bucket(config *rest.Config, times int) flowcontrol.RateLimiter {
	if config.QPS <= 0 {
		return flowcontrol.NewFakeAlwaysRateLimiter()
	}
	burst := config.Burst
	if burst <= 0 {
		burst = max(rest.DefaultBurst, int(config.QPS))
	}
	return flowcontrol.NewTokenBucketRateLimiter(config.QPS*float32(times), burst*times)
}

// Wait implements flowcontrol.RateLimiter.
func (l RateLimiter) Wait(ctx context.Context) error {
	if err := l.RateLimiter.Wait(ctx); err != nil {
		return err
	}
	return l.shared.Wait(ctx)
}

// TryAccept implements flowcontrol.RateLimiter.
func (l RateLimiter) TryAccept() bool { return l.RateLimiter.TryAccept() && l.shared.TryAccept() }

// Accept implements flowcontrol.RateLimiter.
func (l RateLimiter) Accept() {
	l.RateLimiter.Accept()
	l.shared.Accept()
}
