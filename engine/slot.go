package engine

import (
	"context"
	"fmt"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// slot is the right of one look to run: one of those that all boxes share. It is used by one goroutine.
type slot struct {
	shared chan struct{}
	held   bool
}

// take waits for the slot, unless it is held, and says whether it is held then. It is not only when ctx ended first.
func (s *slot) take(ctx context.Context) bool {
	if s.held {
		return true
	}
	select {
	case s.shared <- struct{}{}:
		s.held = true
	case <-ctx.Done():
	}
	return s.held
}

// leave gives the slot back, if it is held.
func (s *slot) leave() {
	if s.held {
		<-s.shared
		s.held = false
	}
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
		return nil, fmt.Errorf("the answer came, but none of the %d reconciles that may run at the same time ended: %w", cap(o.slot.shared), ctx.Err())
	}
	return answer, err
}
