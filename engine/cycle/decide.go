// Package cycle is one reconcile of one resource: gather the facts, decide, run the action, record what came of it.
//
// Decide is pure: it has the whole precedence of what is asked about a resource, and its table test names every case. Whatever a
// cycle read, decided and did is in one Record, from which status, health, logs, metrics, events and the next reconcile are made,
// each at one place.
package cycle

import (
	"time"

	"github.com/orkspace/orkestra/engine/pipeline"
)

// Action is what one cycle does with a resource.
type Action string

// The actions.
const (
	// Forget drops what is remembered of a resource that is gone, or that was never the box's.
	Forget Action = "Forget"
	// Await does nothing: an event is on the way that has the resource reconciled again.
	Await Action = "Await"
	// Ignore does nothing, and queues nothing: the box has nothing to do with the resource as it is.
	Ignore Action = "Ignore"
	// Release takes the marks off a resource that left the selection. Its children stay.
	Release Action = "Release"
	// ShowPaused says on the resource that it is paused.
	ShowPaused Action = "ShowPaused"
	// Skip queues the next reconcile: another cycle would do what the last one did.
	Skip Action = "Skip"
	// Delay queues the resource again after a while.
	Delay Action = "Delay"
	// RollBack takes the children back to what they were when the resource last succeeded.
	RollBack Action = "RollBack"
	// KeepRolledBack keeps the children of a resource that is rolled back as they were then.
	KeepRolledBack Action = "KeepRolledBack"
	// Retry reconciles a resource that failed, if the retry budget of its box has room: nothing but time asked for it.
	Retry Action = "Retry"
	// Reconcile runs the plan.
	Reconcile Action = "Reconcile"
)

// Decision is an action, and why it was chosen.
type Decision struct {
	// Action to take.
	Action Action
	// Why it is taken, in a few words for a log or a page.
	Why string
	// After is how long Delay waits.
	After time.Duration
}

// Facts are what is known of a resource before a cycle decides: what the caches, the clock, the plan and the last cycle say.
// They are gathered beforehand, so that deciding has no side effects. Facts that can't matter any more, because another one has
// decided already, are left at their zero values.
type Facts struct {
	// Found says that the cache has the resource.
	Found bool
	// AwaitsOwnWrite says that the cache does not show our last write to the resource yet.
	AwaitsOwnWrite bool
	// Deleting says that the resource has a deletion time.
	Deleting bool
	// Held says that the resource carries Orkestra's finalizer.
	Held bool
	// Marked says that it carries all marks that the plan wants.
	Marked bool
	// HandsOver says that it carries marks of a plan in whose place a reconciler of the user's own is now.
	HandsOver bool
	// Selected says that the box selects it.
	Selected bool
	// Released says that the marks of a resource that left the selection were taken off, which the cache does not show yet.
	Released bool
	// Paused says that the resource has the annotation that pauses it.
	Paused bool
	// CleanupOnly says that the box serves deletions and nothing else.
	CleanupOnly bool

	// Throttled is how long the resource must wait because its cycles write without end; zero or less: it need not.
	Throttled time.Duration
	// Class of the last cycle's error; empty: it had none, or there was no cycle.
	Class pipeline.Class
	// Due says that the backoff after an error that may pass is over.
	Due bool
	// ResyncOver says that the last cycle is one resync ago.
	ResyncOver bool
	// Granted says that the manager has the right that the last cycle lacked.
	Granted bool
	// Unchanged says that all that the last cycle read is as it was, and, where a resync is over, that nobody else has written to the resource.
	Unchanged bool
	// SeenUnchanged is Unchanged, or that the last cycle has left no inputs (after a panic, or where the status could not be
	// written), but has seen the resource in the version that it has now.
	SeenUnchanged bool

	// RollbackDue says that the resource has to be rolled back.
	RollbackDue bool
	// RollbackTried says that the rollback has failed before: it is retried like any other error of its class.
	RollbackTried bool
	// RolledBack says that the resource is rolled back, and nothing has changed that ends it.
	RolledBack bool
	// AttemptDue says that a resource that is rolled back, and not held, is to be tried again.
	AttemptDue bool
}

// Decide says what a cycle does. The cases stand in their order of precedence: a resource that is not ours is not touched, a pause
// stops everything but deletion, a cycle that would change nothing is not run, and a rollback comes before a reconcile.
func Decide(f *Facts) Decision {
	switch {
	case !f.Found:
		return Decision{Action: Forget, Why: "the resource is gone"}
	case f.AwaitsOwnWrite:
		return Decision{Action: Await, Why: "the cache does not show our own last write yet"}
	case !f.Deleting && f.CleanupOnly:
		return Decision{Action: Ignore, Why: "the box serves deletions only"}
	case !f.Deleting && !f.Selected:
		return f.unselected()
	case f.HandsOver:
		return Decision{Action: Release, Why: "a constructor has taken the place of the declarations"}
	case f.Deleting && !f.Held:
		return Decision{Action: Ignore, Why: "the resource is being deleted, and nothing of ours holds it"}
	case !f.Deleting && f.Paused:
		return Decision{Action: ShowPaused, Why: "the resource is paused"}
	case !f.Deleting && f.Throttled > 0:
		return Decision{Action: Delay, After: f.Throttled, Why: "its cycles write without end"}
	case !f.mustRollBackNow() && f.upToDate():
		return Decision{Action: Skip, Why: "nothing has changed"}
	case f.RollbackDue:
		return Decision{Action: RollBack, Why: "the last attempt failed"}
	case f.RolledBack && !f.AttemptDue:
		return Decision{Action: KeepRolledBack, Why: "the resource is rolled back"}
	case f.onlyRetryDue():
		return Decision{Action: Retry, Why: "the last cycle failed, and its time has come"}
	default:
		return Decision{Action: Reconcile, Why: "something has changed"}
	}
}

// unselected decides about a resource that the box does not select.
func (f *Facts) unselected() Decision {
	switch {
	case !f.Held:
		return Decision{Action: Forget, Why: "the box does not select the resource"}
	case f.Released:
		return Decision{Action: Await, Why: "the marks are off, which the cache does not show yet"}
	default:
		return Decision{Action: Release, Why: "the resource left the selection"}
	}
}

// mustRollBackNow says that the resource is rolled back in this cycle although nothing has changed: the attempt before this cycle
// failed. A rollback that has failed itself waits for its backoff, as other errors do.
func (f *Facts) mustRollBackNow() bool { return f.RollbackDue && !f.RollbackTried }

// upToDate says that another cycle would do the same as the last one. That includes failing with an error that no retry mends
// (Permanent): as long as the inputs are the same, so is the error.
func (f *Facts) upToDate() bool {
	if !f.Deleting && !f.Marked {
		return false // somebody took the marks off: without the finalizer, nothing would be cleaned up
	}
	switch f.Class {
	case pipeline.Permission: // no event tells that a right was granted, so that is asked
		return !f.Granted && f.Unchanged
	default:
		return !f.retryDue() && f.Unchanged
	}
}

// retryDue says that the time has come to try a resource again that failed.
func (f *Facts) retryDue() bool {
	switch f.Class {
	case pipeline.Transient, pipeline.Panic:
		return f.Due
	case pipeline.Refused:
		return f.ResyncOver // what refuses (a webhook, a quota) can't be watched, so it is asked again once per resync
	default:
		return false
	}
}

// onlyRetryDue says that the only reason for this cycle is that a backoff is over. Such cycles share a small part of the box's
// requests, so that ten thousand failing resources are no load. A resource for which something has changed does not wait for that.
func (f *Facts) onlyRetryDue() bool { return f.retryDue() && f.SeenUnchanged }
