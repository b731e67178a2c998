package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// slot is the right of one look to run: one of those that all boxes share, half of which one box may hold. It is used by one
// goroutine, but for lapse.
type slot struct {
	places places

	mu     sync.Mutex
	held   bool // guarded by mu
	lapsed bool // guarded by mu
}

// take waits for the slot, unless it is held, and says whether it is held then. It is not only when ctx ended first, or the look is
// past its deadline.
func (s *slot) take(ctx context.Context) bool {
	if s.has() {
		return true
	}
	if s.places.take(ctx) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held = !s.lapsed; !s.held {
		s.places.leave()
	}
	return s.held
}

func (s *slot) has() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// leave gives the slot back, if it is held.
func (s *slot) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		s.places.leave()
		s.held = false
	}
}

// lapse takes the slot from a look that is past its deadline, and keeps it from taking another until it goes on.
func (s *slot) lapse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		s.places.leave()
	}
	s.held, s.lapsed = false, true
}

// goOn lets a look that was past its deadline take a slot again: what hung in it has ended.
func (s *slot) goOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapsed = false
}

// outside makes the external calls of one look. A call may wait for a host for as long as a reconcile lasts, and needs nothing
// of this process meanwhile, so that it leaves the slot to others: else the hosts of one box could stop all boxes.
type outside struct {
	next pipeline.Caller
	slot *slot
}

var _ pipeline.Caller = outside{}

// Call implements pipeline.Caller. The slot is held again when it returns, unless ctx ended first, which is an error then, or
// the call panics.
func (o outside) Call(ctx context.Context, r *external.Request) (*external.Answer, error) {
	o.slot.leave()
	answer, err := o.next.Call(ctx, r)
	if !o.slot.take(ctx) && err == nil {
		return nil, fmt.Errorf("the answer came, but none of the %d reconciles that may run at the same time ended: %w",
			cap(o.slot.places.own), ctx.Err())
	}
	return answer, err
}
