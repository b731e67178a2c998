package cycle

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/worker"
)

// Calls makes external calls and measures them, for all boxes. It is safe for concurrent use.
type Calls struct {
	// Client sends the calls.
	Client *external.Client
	// Clock tells the time.
	Clock clock.PassiveClock
	// Metrics records. nil: nothing is recorded.
	Metrics *metrics.Recorder
}

// Call implements pipeline.Caller.
func (c *Calls) Call(ctx context.Context, r *external.Request) (*external.Answer, error) {
	began := c.Clock.Now()
	answer, err := c.Client.Call(ctx, r)
	// A call that our own deadline or shutdown has ended says nothing about the service, and is not measured.
	if ctx.Err() == nil || err == nil {
		c.Metrics.ExternalRequested(r.Box, codeOf(answer, err), c.Clock.Since(began))
	}
	return answer, err
}

// codeOf gives the metrics label "code" of a call: the HTTP status of its answer, or a word where there was none.
func codeOf(answer *external.Answer, err error) string {
	failure, ok := errors.AsType[*external.Error](err)
	switch {
	case err == nil && answer.Cached:
		return metrics.CodeCached
	case err == nil:
		return strconv.Itoa(answer.Status)
	case ok && failure.Held:
		return metrics.CodeHeld
	case ok && failure.Status != 0:
		return strconv.Itoa(failure.Status)
	default:
		return metrics.CodeNone
	}
}

// yieldingCaller makes the external calls of one reconcile, and gives up its slot while a call is under way. A call may wait for a slow
// host for as long as a reconcile may last, and needs no CPU meanwhile: if it kept its slot, slow hosts of one box could stop all boxes.
type yieldingCaller struct {
	next pipeline.Caller
	slot *worker.Slot
}

var _ pipeline.Caller = yieldingCaller{}

// Call implements pipeline.Caller. The slot is held again when it returns, unless ctx ended first, which is an error then, or
// the call panics.
func (y yieldingCaller) Call(ctx context.Context, r *external.Request) (*external.Answer, error) {
	y.slot.Leave()
	answer, err := y.next.Call(ctx, r)
	if !y.slot.Take(ctx) && err == nil {
		return nil, fmt.Errorf("the answer came, but none of the %d reconciles that may run at the same time ended: %w",
			y.slot.Most(), ctx.Err())
	}
	return answer, err
}
