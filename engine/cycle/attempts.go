package cycle

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// The triggers of a rollback, as CRDHealth shows them.
const (
	// triggerError: an error that no retry mends.
	triggerError = "Error"
	// triggerFailures: so many failures in a row.
	triggerFailures = "ConsecutiveFailures"
	// triggerDegraded: the box is degraded.
	triggerDegraded = "Degraded"
)

// attempts is what the engine remembers of the attempts at a resource of a box with rollback. All of it is of one generation, one
// plan and one value of reconcile-at. The zero value is that of a process that knows nothing yet.
type attempts struct {
	of attemptKey
	// failure of the last attempt; nil: it had none.
	failure *pipeline.StepError
	// failures are the times of those in a row that may pass by themselves, at most as many as the trigger wants.
	failures []time.Time
	// touched says that children may be others than those of the last snapshot.
	touched bool
	// clean says that the dry run had nothing against it.
	clean bool
	// due is the trigger why the resource must go back now; empty: it need not.
	due string
	// nothing says that there was nothing to go back to.
	nothing bool
	// tried says that going back has failed, and is tried again as its error asks for.
	tried bool
	// announce says that a rollback has begun, and people have not been told that it is complete.
	announce bool
}

// attemptKey is what an attempt is made at.
type attemptKey struct {
	generation            int64
	revision, reconcileAt string
}

func attemptOf(plan *pipeline.Plan, stored *unstructured.Unstructured) attemptKey {
	return attemptKey{
		generation: stored.GetGeneration(), revision: plan.Revision, reconcileAt: stored.GetAnnotations()[v1alpha1.AnnotationReconcileAt],
	}
}

// renew begins anew for another attemptKey. A process that knows nothing yet does not know either whether a former one has changed
// children since the last snapshot, if there is one: another than this attemptKey's says that it may have.
func (a *attempts) renew(now attemptKey, unlike bool) {
	if a.of == now {
		return
	}
	// What was changed for one attemptKey, and has not succeeded since, is still changed.
	*a = attempts{of: now, touched: a.touched || a.of == attemptKey{} && unlike}
}

// note notes how an attempt ended. A failure that may pass is one of at most `most` that count.
func (a *attempts) note(step *pipeline.StepError, wrote bool, now time.Time, most int) {
	a.touched = a.touched || wrote
	a.failure = step
	if step == nil {
		a.failures, a.nothing = nil, false
		return
	}
	a.failures = append(a.failures, now)
	if over := len(a.failures) - max(most, 1); over > 0 {
		a.failures = a.failures[over:]
	}
}

// mustGoBack says whether a resource goes back in its next cycle.
func (a *attempts) mustGoBack(now attemptKey, rule *pipeline.Rollback, degraded bool) bool {
	return a.failure != nil && !a.nothing && a.of == now && (a.due != "" || rule.OnDegrade && degraded)
}

// holds says whether nothing is tried after going back until something is changed. With rollBackOnError too, where a child has failed:
// it mostly takes long until that is known, and each further attempt would replace what works for as long.
func (a *attempts) holds(rule *pipeline.Rollback) bool {
	return !rule.OnError || a.failure.Reason == v1alpha1.ReasonChildFailed
}

// trigger says why the resource has to go back after an attempt that failed; empty: it has not. marked says that it is still
// rolled back from an earlier attempt: then it goes back to that as soon as anything would make it.
func (a *attempts) trigger(rule *pipeline.Rollback, marked, degraded bool, now time.Time) string {
	enough := rule.Failures > 0 && len(a.failures) >= rule.Failures && (rule.Within == 0 || now.Sub(a.failures[0]) <= rule.Within)
	atOnce := a.failure.Class == pipeline.Permanent || a.failure.Class == pipeline.Refused
	switch {
	case rule.OnDegrade && degraded:
		return triggerDegraded
	case rule.OnDegrade && !marked, rule.OnError && !a.touched && !marked:
		return ""
	case atOnce:
		return triggerError
	case enough:
		return triggerFailures
	default:
		return ""
	}
}
