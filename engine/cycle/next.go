package cycle

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// shortest is the shortest time between two reconciles that nothing but resync asked for.
func shortest(plan *pipeline.Plan) time.Duration { return plan.Runtime.Resync * 9 / 10 }

// jittered is the time to the next reconcile, spread so that resources made together do not come back together.
func jittered(plan *pipeline.Plan) time.Duration {
	const spread = 0.1
	return wait.Jitter(shortest(plan), spread)
}

// requeueAfter is the next reconcile after a time, or when the inputs change by themselves. It stands behind what events ask for.
func (s *state) requeueAfter(now time.Time, after time.Duration) *Next {
	if expires := s.last.inputs.Expires(); !expires.IsZero() {
		after = min(after, max(0, expires.Sub(now)))
	}
	return &Next{After: after, Low: true}
}

// requeueUnchanged is the next reconcile of a resource that need not be evaluated now.
func (s *state) requeueUnchanged(plan *pipeline.Plan, now time.Time) *Next {
	switch s.last.class {
	case pipeline.Transient, pipeline.Panic:
		// An event used up the reconcile that the backoff had queued.
		return &Next{After: s.retry.due.Sub(now)}
	case pipeline.Permission:
		return s.requeueAfter(now, min(access.RetryInterval, plan.Runtime.Resync))
	default:
		return s.requeueAfter(now, jittered(plan))
	}
}

// requeue is the next reconcile after one that ran a plan.
func (s *state) requeue(plan *pipeline.Plan, now time.Time) *Next {
	switch s.last.class {
	case "":
		s.retry.backoff.Reset()
		return s.requeueAfter(now, jittered(plan))
	case pipeline.Transient, pipeline.Panic:
		delay, atResync := s.retry.backoff.Next(plan.Runtime.Resync)
		s.retry.wait(now, delay)
		if atResync {
			return s.requeueAfter(now, delay)
		}
		return &Next{After: delay}
	default:
		return s.requeueUnchanged(plan, now)
	}
}

// requeueBackoff is the next try of what failed beside a plan.
func (s *state) requeueBackoff(plan *pipeline.Plan, now time.Time) *Next {
	delay, _ := s.retry.backoff.Next(plan.Runtime.Resync)
	return s.requeueAfter(now, delay)
}
