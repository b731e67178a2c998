package engine

import (
	"context"
	"io"
	"net/http"
)

const (
	// maxInFlight is how many requests may be under way at the same time, over all boxes. A box may have half of them.
	maxInFlight = 128
	// paramTimeout tells the API server when nobody waits for the answer any more.
	paramTimeout = "timeout"
)

// places bound how many do something at the same time: of one box, and of all boxes. The box's own place is taken first, so that
// those of a busy box wait for each other and not in front of what is shared.
type places struct {
	own, shared chan struct{}
}

// newPlaces gives one box its part of shared places: half of them, so that no box can take them all.
func newPlaces(shared chan struct{}) places {
	return places{own: make(chan struct{}, max(1, cap(shared)/2)), shared: shared}
}

// take waits for a place. It fails only when ctx ends first.
func (p places) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.own <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case p.shared <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-p.own
		return ctx.Err()
	}
}

func (p places) leave() {
	<-p.shared
	<-p.own
}

// inFlight is the transport of one box: each request takes a place from when it is sent until its answer has been read. What
// waits for a place has not been sent, so that its time begins with the place; and a request that the API server has told to
// come back later has none meanwhile.
type inFlight struct {
	places places
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *inFlight) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.places.take(r.Context()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a transport closes the body of every request; that it could not be closed matters to nobody
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), RequestTimeout)
	done := func() {
		cancel()
		t.places.leave()
	}
	answered := false
	defer func() {
		if !answered { // also after a panic, which ends this request alone
			done()
		}
	}()
	timed := r.Clone(ctx)
	query := timed.URL.Query()
	query.Set(paramTimeout, RequestTimeout.String())
	timed.URL.RawQuery = query.Encode()
	response, err := t.next.RoundTrip(timed)
	if err != nil {
		return nil, err
	}
	answered = true
	response.Body = &answer{ReadCloser: response.Body, done: done}
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport behind this one.
func (t *inFlight) WrappedRoundTripper() http.RoundTripper { return t.next }

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
