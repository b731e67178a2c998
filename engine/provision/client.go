// Package provision calls providers for boxes: how many calls there are at a time, how long one may take, what it may reach, and for how
// long a service is left alone that fails. It remembers for each resource what was answered last.
//
// It knows no templates, Secrets or stages, and decides nothing of what is called.
package provision

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/provider"
)

// Operation is what a driver is asked for.
type Operation string

// The operations.
const (
	Ensure  Operation = "ensure"
	Observe Operation = "observe"
	Delete  Operation = "delete"
)

// Call is one call of a driver.
type Call struct {
	// Box, and the Account that it acts as (namespace/name; empty: the manager), whose rules of egress hold.
	Box, Account string
	// Provider and Kind name what is called.
	Provider, Kind string
	// Driver is called.
	Driver provider.Driver
	// Operation that is asked for.
	Operation Operation
	// Request is handed to the driver, with what sends its requests.
	Request provider.Request
}

// Answer is what a driver gave.
type Answer struct {
	// Observed of Ensure and Observe.
	Observed *provider.Observed
	// Gone says of Delete that nothing is left.
	Gone bool
}

// The limits of calls.
const (
	maxConcurrent = 8                // calls of one box to one provider at the same time
	callTimeout   = 60 * time.Second // of one call, with all requests that it sends
	firstHold     = time.Second      // how long a service is left alone after a failure; it doubles with each
	longestHold   = time.Minute
	maxServices   = 4096 // that are remembered
)

// HeldError says that a service was not called, since it has failed before and is left alone for a while. It is the failure that led to it.
type HeldError struct {
	// Cause is the failure.
	Cause *provider.Error
	// Until is when it is called again.
	Until time.Time
}

// Error says what the failure says: a resource shows the same for as long as the cause is the same.
func (e *HeldError) Error() string { return e.Cause.Error() }

// Unwrap gives the failure.
func (e *HeldError) Unwrap() error { return e.Cause }

// Client calls drivers. It starts no goroutine, and is safe for concurrent use.
type Client struct {
	egress *external.Egress
	clock  clock.PassiveClock

	mu       sync.Mutex
	services map[serviceKey]*service // guarded by mu
}

// serviceKey is a service as one box sees it: no box holds up the calls of another.
type serviceKey struct{ box, provider, endpoint string }

// service is guarded by the client's mu.
type service struct {
	places   chan struct{} // one for each call that may be under way
	calls    int           // that are under way, or wait for a place
	failures int           // in a row
	until    time.Time     // when it may be called again
	cause    *provider.Error
}

// NewClient makes a client that reaches what the rules let through for the box, and the account, that a call is made for.
func NewClient(egress *external.Egress, clk clock.PassiveClock) *Client {
	return &Client{egress: egress, clock: clk, services: map[serviceKey]*service{}}
}

// Call makes a call. Errors are a *provider.Error, a *HeldError, or those of ctx. They hold no credential.
func (c *Client) Call(ctx context.Context, call *Call) (Answer, error) {
	key := serviceKey{box: call.Box, provider: call.Provider, endpoint: call.Request.Endpoint}
	s, err := c.enter(ctx, key)
	if err != nil {
		return Answer{}, err
	}
	var failure *provider.Error
	abandoned := true // a driver that panics says nothing about its service
	defer func() { c.leave(key, s, failure, abandoned) }()
	answer, err := c.send(ctx, call)
	if errors.Is(ctx.Err(), context.Canceled) && err != nil {
		return Answer{}, ctx.Err() // the process stops
	}
	abandoned = false
	if err == nil {
		return answer, nil
	}
	failure = explain(call, err)
	return Answer{}, failure
}

// send calls the driver.
func (c *Client) send(ctx context.Context, call *Call) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request := call.Request
	through := c.egress.Through(call.Box, call.Account)
	defer through.Close()
	request.HTTP, request.Dial = through, through.DialContext
	var answer Answer
	var err error
	switch call.Operation {
	case Ensure:
		answer.Observed, err = call.Driver.Ensure(ctx, &request)
	case Observe:
		answer.Observed, err = call.Driver.Observe(ctx, &request)
	case Delete:
		answer.Gone, err = call.Driver.Delete(ctx, &request)
	}
	if err == nil && answer.Observed == nil && call.Operation != Delete {
		err = &provider.Error{Class: provider.Transient, Operation: string(call.Operation), Message: "the driver gave neither an answer nor an error, which is a mistake of the driver"}
	}
	if refused := through.Refused(); refused != nil && err != nil {
		err = refused // drivers may take it for a service that is away
	}
	return answer, err
}

// explain gives the failure of a call, without the credentials that it was made with.
func explain(call *Call, err error) *provider.Error {
	out := &provider.Error{Class: provider.Transient, Operation: string(call.Operation)}
	own, ok := errors.AsType[*provider.Error](err)
	refused, ofGuard := errors.AsType[*external.Error](err)
	switch {
	case ofGuard && refused.Refused:
		out.Class, out.Message = provider.Invalid, refused.Error()
	case ok:
		*out = *own
	case errors.Is(err, context.DeadlineExceeded):
		out.Message = fmt.Sprintf("there was no answer within %s", callTimeout)
	default:
		out.Message = err.Error()
	}
	for _, text := range []*string{&out.Operation, &out.Code, &out.RequestID, &out.Message} {
		*text = call.Request.Line(*text)
	}
	return out
}

// enter waits for a place. A service that is left alone is no reason to wait.
func (c *Client) enter(ctx context.Context, key serviceKey) (*service, error) {
	c.mu.Lock()
	s := c.services[key]
	if s == nil {
		c.makeRoom()
		s = &service{places: make(chan struct{}, maxConcurrent)}
		c.services[key] = s
	}
	if s.failures > 0 && (s.calls > 0 || c.clock.Now().Before(s.until)) { // one call at a time tries whether it is well again
		held := &HeldError{Cause: s.cause, Until: s.until}
		c.mu.Unlock()
		return nil, held
	}
	s.calls++
	c.mu.Unlock()
	select {
	case s.places <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		s.calls--
		return nil, fmt.Errorf("%d calls of box %q to provider %q are under way: %w", maxConcurrent, key.box, key.provider, ctx.Err())
	}
}

// leave ends a call. What the service itself says of a resource shows that it answers.
func (c *Client) leave(key serviceKey, s *service, failure *provider.Error, abandoned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	<-s.places
	s.calls--
	switch {
	case abandoned:
	case failure != nil && (failure.Class == provider.Transient || failure.Class == provider.Throttled):
		if !c.clock.Now().Before(s.until) { // calls that were under way at the same time show one outage
			s.failures++
			s.until = c.clock.Now().Add(min(firstHold<<min(s.failures-1, 10), longestHold))
		}
		s.cause = failure
	default:
		s.failures, s.until = 0, time.Time{}
	}
	if s.failures == 0 && s.calls == 0 {
		delete(c.services, key)
	}
}

// makeRoom drops a service that is not being called, if there are too many.
func (c *Client) makeRoom() {
	if len(c.services) < maxServices {
		return
	}
	for key, s := range c.services {
		if s.calls == 0 {
			delete(c.services, key)
			return
		}
	}
}

// Forget drops what is known for a box that does not run any more.
func (c *Client) Forget(box string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, s := range c.services {
		if key.box == box && s.calls == 0 {
			delete(c.services, key)
		}
	}
}
