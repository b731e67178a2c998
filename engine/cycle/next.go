package cycle

// When a resource is reconciled next.

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// shortest is the shortest time between two reconciles of which resync is the only reason: resync is the longest, so jittered goes
// from 90 % of it to 99 %.
func shortest(plan *pipeline.Plan) time.Duration { return plan.Runtime.Resync * 9 / 10 }

// jittered is the time to the next reconcile, with jitter, so that resources that were created together are not reconciled together
// for ever. Those that are due within a beat are due together: to wake a process that sleeps takes far longer than a cycle that finds
// nothing to do. A beat is 4 % of a resync, and a second at most.
func jittered(plan *pipeline.Plan, now time.Time) time.Duration {
	const spread, beats = 0.05, 25
	after, beat := wait.Jitter(shortest(plan), spread), min(time.Second, max(1, plan.Runtime.Resync/beats))
	return after + beat - time.Duration(now.Add(after).UnixNano()%int64(beat))
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
		// The cycle that an event asked for has taken the place of the one that the backoff had queued, so that is queued anew.
		return &Next{After: s.retry.due.Sub(now)}
	case pipeline.Permission:
		return s.requeueAfter(now, min(access.RetryInterval, plan.Runtime.Resync))
	default:
		return s.requeueAfter(now, jittered(plan, now))
	}
}

// requeue is the next reconcile after one that ran a plan. unreached says that a request of it has not reached the API server.
func (s *state) requeue(plan *pipeline.Plan, now time.Time, unreached bool) *Next {
	switch s.last.class {
	case "":
		if s.again {
			delay, _ := s.retry.backoff.Next(plan.Runtime.Resync)
			return s.requeueAfter(now, delay)
		}
		s.retry.backoff.Reset()
		return s.requeueAfter(now, jittered(plan, now))
	case pipeline.Transient, pipeline.Panic:
		if unreached && s.last.class == pipeline.Transient {
			delay := s.retry.backoff.Unreached(plan.Runtime.Resync)
			s.retry.wait(now, delay)
			return &Next{After: delay}
		}
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

// requeueBackoff is the next try of something that failed where no plan ran, such as a release.
func (s *state) requeueBackoff(plan *pipeline.Plan, now time.Time) *Next {
	delay, _ := s.retry.backoff.Next(plan.Runtime.Resync)
	return s.requeueAfter(now, delay)
}
