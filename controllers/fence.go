package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// ErrFenced refuses a write in a process that may no longer be the leader. It is a transient error: either the lease is renewed
// in a moment, or the process ends.
var ErrFenced = errors.New("not sent: this process does not lead, or has not renewed its lease in time; " +
	"the leader writes, and a process that has lost the lease ends by itself")

// Fence lets a process write only while its lease lasts for certain. Every client that writes goes through Wrap, and the lock
// of the leader election through Guard.
//
// A write is sent while the last renewal that succeeded, counted from when it was sent, is less than the lease duration minus
// the timeout of a request ago; and it is given up after that timeout. So it ends before anybody else may take the lease. That
// also holds for a process that was stopped for a while and wakes up: it finds out at its next write, before the elector does.
// Time is taken from both clocks of the machine, because the monotonic one stands still while a machine sleeps, and the other
// one can be set back. A machine on which both stood still can't know how long it was away; and the request that was just being
// sent when the process was stopped is sent when it goes on. Both are why each apply names the UID of what it changes.
//
// Reads pass, and so do reviews (of rights, of tokens), which change nothing: followers need them.
type Fence struct {
	clock   clock.PassiveClock
	lasts   time.Duration // how long after a renewal writes may be sent
	timeout time.Duration // of a write
	start   time.Time     // the zero of the monotonic clock

	mu      sync.Mutex // guards all below
	open    bool       // the lease was held after the last answer of the API server
	renewed moment     // when the last renewal that succeeded was sent
	lost    bool       // another process has had the lease: this one never writes again
}

// moment is one time on both clocks.
type moment struct {
	wall    time.Time     // the wall clock
	running time.Duration // the monotonic clock, since the start of the fence
}

// NewFence gives a fence that is closed until the lease is first held. lease is how long a lease lasts, request is the time
// after which a write is given up.
func NewFence(clk clock.PassiveClock, lease, request time.Duration) *Fence {
	return &Fence{clock: clk, lasts: lease - request, timeout: request, start: clk.Now()}
}

// now reads both clocks. Round(0) strips the monotonic reading, by which time.Time would be compared otherwise.
func (f *Fence) now() moment {
	return moment{wall: f.clock.Now().Round(0), running: f.clock.Since(f.start)}
}

// holds says whether a write may be sent now.
func (f *Fence) holds() bool {
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open && now.wall.Sub(f.renewed.wall) < f.lasts && now.running-f.renewed.running < f.lasts
}

// Renewed gives when the last renewal that succeeded was sent; zero: none has.
func (f *Fence) Renewed() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.renewed.wall
}

// renew notes that a renewal that was sent at a time has succeeded.
func (f *Fence) renew(sent moment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, f.renewed = !f.lost, sent
}

// shut stops all writes until the next renewal; for good, when another process has had the lease meanwhile.
func (f *Fence) shut(lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, f.lost = false, f.lost || lost
}

func (f *Fence) isLost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// Wrap fences a transport. It is for rest.Config.Wrap.
func (f *Fence) Wrap(next http.RoundTripper) http.RoundTripper { return &fenced{fence: f, next: next} }

// fenced is a transport behind a fence.
type fenced struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	if !changes(r) {
		return t.next.RoundTrip(r)
	}
	if !t.fence.holds() {
		if r.Body != nil {
			_ = r.Body.Close() // a transport closes the body of every request; that it could not be closed matters to nobody
		}
		return nil, ErrFenced
	}
	ctx, cancel := context.WithTimeout(r.Context(), t.fence.timeout)
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &bounded{ReadCloser: response.Body, cancel: cancel}
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport behind this one.
func (t *fenced) WrappedRoundTripper() http.RoundTripper { return t.next }

// bounded is the body of an answer. It must be read before the timeout of the write, whose timer its Close releases.
type bounded struct {
	io.ReadCloser

	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *bounded) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// changes says whether a request changes something in the cluster. Reviews are created, but nothing of them is stored.
func changes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return !strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/") && !strings.Contains(r.URL.Path, "/apis/authentication.k8s.io/")
}

// Guard has a lock of the leader election tell the fence what becomes of the lease. Once another process has had the lease, this
// one never gets it back: what it remembers is older than what the other one did. And it releases no lease but its own.
func (f *Fence) Guard(lock resourcelock.Interface) resourcelock.Interface {
	return &guarded{Interface: lock, fence: f}
}

// guarded is the lock that tells the fence. Only the goroutine of the elector uses it.
type guarded struct {
	resourcelock.Interface

	fence  *Fence
	held   bool   // this process has held the lease, and has not released it
	holder string // of the lease, as last read or written
}

// Get implements resourcelock.Interface.
func (g *guarded) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := g.Interface.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	g.holder = record.HolderIdentity
	if g.held && g.holder != g.Identity() {
		g.fence.shut(true)
	}
	return record, raw, nil
}

// RecordEvent implements resourcelock.Interface. A process that does not lead any more makes no event: it could not be sent.
func (g *guarded) RecordEvent(what string) {
	if g.fence.holds() {
		g.Interface.RecordEvent(what)
	}
}

// Create implements resourcelock.Interface.
func (g *guarded) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return g.write(ctx, record, g.Interface.Create)
}

// Update implements resourcelock.Interface. The elector releases the lease by a record without a holder; it would do so after a long stop
// as well, when another process holds the lease.
func (g *guarded) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != "" {
		return g.write(ctx, record, g.Interface.Update)
	}
	g.fence.shut(false)
	if g.holder != g.Identity() {
		return fmt.Errorf("releasing the lease %s: it is held by %q", g.Describe(), g.holder)
	}
	g.held = false
	return g.Interface.Update(ctx, record)
}

func (g *guarded) write(
	ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	if g.fence.isLost() {
		return fmt.Errorf("renewing the lease %s: another process has had it meanwhile", g.Describe())
	}
	sent := g.fence.now()
	if err := send(ctx, record); err != nil {
		return err
	}
	g.held, g.holder = true, record.HolderIdentity
	g.fence.renew(sent)
	return nil
}
