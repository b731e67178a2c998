package engine

import (
	"context"
	"errors"

	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/metrics"
)

// calls makes external calls and measures them, for all boxes.
type calls struct {
	client  *external.Client
	clock   clock.PassiveClock
	metrics *metrics.Recorder
}

// Call implements pipeline.Caller.
func (c *calls) Call(ctx context.Context, r *external.Request) (*external.Answer, error) {
	began := c.clock.Now()
	answer, err := c.client.Call(ctx, r)
	if ctx.Err() == nil || err == nil {
		c.metrics.ExternalCalled(r.Box, outcomeOf(answer, err), c.clock.Since(began))
	}
	return answer, err
}

// outcomeOf names what became of a call.
func outcomeOf(answer *external.Answer, err error) string {
	failure, ok := errors.AsType[*external.Error](err)
	switch {
	case err == nil && answer.Cached:
		return metrics.CallCached
	case err == nil:
		return metrics.CallSuccess
	case ok && failure.Held:
		return metrics.CallHeld
	case ok && failure.Refused:
		return metrics.CallRefused
	default:
		return metrics.CallFailed
	}
}
