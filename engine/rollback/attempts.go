package rollback

// When a resource is rolled back: what is remembered of the attempts to reconcile it, and which of them trigger a rollback.

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// The triggers of a rollback, as CRDHealth shows them.
const (
	// TriggerError is an error that no retry mends.
	TriggerError = "Error"
	// TriggerFailures is the number of failures in a row that the box has set.
	TriggerFailures = "ConsecutiveFailures"
	// TriggerDegraded says that the box is degraded.
	TriggerDegraded = "Degraded"
)

// Attempts is what the engine remembers of its attempts to reconcile a resource of a box with rollback. All of them have the same key:
// one generation, one revision and one value of reconcile-at. The zero value is that of a process that knows nothing yet.
type Attempts struct {
	// Of is their key.
	Of Attempt
	// Failure of the last attempt; nil: it had none.
	Failure *stage.StepError
	// Touched says that the children may differ from the last snapshot.
	Touched bool
	// Clean says that a dry run has passed.
	Clean bool
	// Due is the trigger of the rollback that has to happen now; empty: none has to.
	Due string
	// Unavailable says that there was nothing to go back to.
	Unavailable bool
	// Tried says that the rollback has failed, and is retried as the class of its error says.
	Tried bool
	// Announce says that a rollback has begun, and people have not been told that it is complete.
	Announce bool

	failures []time.Time // of the failures in a row, the last ones: at most as many as the trigger counts
}

// Attempt is the key of attempts: a change of any of its fields is a new attempt.
type Attempt struct {
	generation int64
	revision   string
	// ReconcileAt is the annotation of that name.
	ReconcileAt string
}

// AttemptOf gives the key of the attempt that would be made now, under a revision of the box.
func AttemptOf(revision string, stored *unstructured.Unstructured) Attempt {
	return Attempt{generation: stored.GetGeneration(), revision: revision, ReconcileAt: stored.GetAnnotations()[v1alpha1.AnnotationReconcileAt]}
}

// Renew begins anew where the key has changed. unlike says that the newest snapshot is one of another attempt: a process that knows
// nothing yet must assume then that a former one has changed children since.
func (a *Attempts) Renew(now Attempt, unlike bool) {
	if a.Of == now {
		return
	}
	// Children that an attempt has changed stay changed when the next one begins.
	*a = Attempts{Of: now, Touched: a.Touched || a.Of == Attempt{} && unlike}
}

// Note notes how an attempt ended: step is its error, and wrote says that it has written children. Of the failures in a row, the last
// `most` are kept. A conflict is none of them: somebody else wrote first, which no former generation would have prevented.
func (a *Attempts) Note(step *stage.StepError, wrote bool, now time.Time, most int) {
	a.Touched = a.Touched || wrote
	a.Failure = step
	if step == nil {
		a.failures, a.Unavailable = nil, false
		return
	}
	if apierrors.IsConflict(step.Err) {
		return
	}
	a.failures = append(a.failures, now)
	if over := len(a.failures) - max(most, 1); over > 0 {
		a.failures = a.failures[over:]
	}
}

// RollbackDue says whether a resource is rolled back in its next cycle.
func (a *Attempts) RollbackDue(now Attempt, rule *stage.Rollback, degraded bool) bool {
	return a.Failure != nil && !a.Unavailable && a.Of == now && (a.Due != "" || rule.OnDegrade && degraded)
}

// Holds says whether, after the rollback, the resource is not tried again until somebody changes something. With rollBackOnError it
// is tried again, but not where a child has failed: that mostly takes minutes to be known, and for all that time each further attempt
// would replace children that work.
func (a *Attempts) Holds(rule *stage.Rollback) bool {
	return !rule.OnError || a.Failure.Reason == v1alpha1.ReasonChildFailed
}

// Trigger says why the resource has to be rolled back after an attempt that failed; empty: it has not. marked says that this was a
// further attempt at a resource that is rolled back already. Such a one goes back by any of the triggers, whether or not the box has
// degraded or children have changed, since its children should be those of the snapshot.
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
