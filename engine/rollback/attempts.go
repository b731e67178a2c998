package rollback

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// The triggers of a rollback, as CRDHealth shows them.
const (
	// TriggerError is an error that no retry mends.
	TriggerError = "Error"
	// TriggerFailures are so many failures in a row.
	TriggerFailures = "ConsecutiveFailures"
	// TriggerDegraded says that the box is degraded.
	TriggerDegraded = "Degraded"
)

// Attempts is what the engine remembers of the attempts at a resource of a box with rollback. All of it is of one generation, one
// plan and one value of reconcile-at. The zero value is that of a process that knows nothing yet.
type Attempts struct {
	// Of is what they were made at.
	Of Attempt
	// Failure of the last attempt; nil: it had none.
	Failure *stage.StepError
	// Touched says that children may be others than those of the last snapshot.
	Touched bool
	// Clean says that the dry run had nothing against it.
	Clean bool
	// Due is the trigger why the resource must go back now; empty: it need not.
	Due string
	// Unavailable says that there was nothing to go back to.
	Unavailable bool
	// Tried says that going back has failed, and is tried again as its error asks for.
	Tried bool
	// Announce says that a rollback has begun, and people have not been told that it is complete.
	Announce bool

	failures []time.Time // of those in a row that may pass by themselves, at most as many as the trigger wants
}

// Attempt is what an attempt is made at.
type Attempt struct {
	generation int64
	revision   string
	// ReconcileAt is the annotation of that name.
	ReconcileAt string
}

// AttemptOf gives what an attempt at a resource is made at, under a revision of its box.
func AttemptOf(revision string, stored *unstructured.Unstructured) Attempt {
	return Attempt{generation: stored.GetGeneration(), revision: revision, ReconcileAt: stored.GetAnnotations()[v1alpha1.AnnotationReconcileAt]}
}

// Renew begins anew for another attempt. A process that knows nothing yet does not know either whether a former one has changed
// children since the last snapshot, if there is one: another than this attempt's says that it may have.
func (a *Attempts) Renew(now Attempt, unlike bool) {
	if a.Of == now {
		return
	}
	// What was changed for one attempt, and has not succeeded since, is still changed.
	*a = Attempts{Of: now, Touched: a.Touched || a.Of == Attempt{} && unlike}
}

// Note notes how an attempt ended. A failure that may pass is one of at most `most` that count.
func (a *Attempts) Note(step *stage.StepError, wrote bool, now time.Time, most int) {
	a.Touched = a.Touched || wrote
	a.Failure = step
	if step == nil {
		a.failures, a.Unavailable = nil, false
		return
	}
	a.failures = append(a.failures, now)
	if over := len(a.failures) - max(most, 1); over > 0 {
		a.failures = a.failures[over:]
	}
}

// RollbackDue says whether a resource goes back in its next cycle.
func (a *Attempts) RollbackDue(now Attempt, rule *stage.Rollback, degraded bool) bool {
	return a.Failure != nil && !a.Unavailable && a.Of == now && (a.Due != "" || rule.OnDegrade && degraded)
}

// Holds says whether nothing is tried after going back until something is changed. With rollBackOnError too, where a child has failed:
// it mostly takes long until that is known, and each further attempt would replace what works for as long.
func (a *Attempts) Holds(rule *stage.Rollback) bool {
	return !rule.OnError || a.Failure.Reason == v1alpha1.ReasonChildFailed
}

// Trigger says why the resource has to go back after an attempt that failed; empty: it has not. marked says that it is still
// rolled back from an earlier attempt: then it goes back to that as soon as anything would make it.
func (a *Attempts) Trigger(rule *stage.Rollback, marked, degraded bool, now time.Time) string {
	enough := rule.Failures > 0 && len(a.failures) >= rule.Failures && (rule.Within == 0 || now.Sub(a.failures[0]) <= rule.Within)
	atOnce := a.Failure.Class == stage.Permanent || a.Failure.Class == stage.Refused
	switch {
	case rule.OnDegrade && degraded:
		return TriggerDegraded
	case rule.OnDegrade && !marked, rule.OnError && !a.Touched && !marked:
		return ""
	case atOnce:
		return TriggerError
	case enough:
		return TriggerFailures
	default:
		return ""
	}
}
