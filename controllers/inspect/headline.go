package inspect

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/value"
)

const (
	// reasonUnseen is that of a resource whose status does not say how it stands.
	reasonUnseen = "Unseen"
	// reasonNotRunning is that of one whose box does not run, so that nobody says how it stands.
	reasonNotRunning = "NotRunning"
	// reasonOutdated is that of one whose status says it of an older generation.
	reasonOutdated = "Outdated"
)

// Headline says in one line what the resource is, and what keeps it from being ready.
func (r *Resource) Headline() string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + r.Name
	}
	switch {
	case r.Unselected:
		return fmt.Sprintf("The box does not select %s %s: %s", r.Kind, name, r.Message)
	case r.Unknown:
		return fmt.Sprintf("Whether %s %s is ready is not known: %s", r.Kind, name, r.Said())
	case !r.Ready:
		return fmt.Sprintf("%s %s is not ready: %s", r.Kind, name, r.Said())
	case r.Message != "":
		return fmt.Sprintf("%s %s is ready, but has not settled: %s", r.Kind, name, r.Said())
	default:
		return fmt.Sprintf("%s %s is ready", r.Kind, name)
	}
}

// Said is the reason with its message.
func (r *Resource) Said() string { return strings.TrimSuffix(r.Reason+": "+r.Message, ": ") }

// unknown says why nobody knows whether it is ready.
func (r *Resource) unknown(reason, message string) {
	r.Ready, r.Unknown, r.Reason, r.Message = false, true, reason, message
}

// conditions fills in readiness, reason and message from the status.
func (r *Resource) conditions(live *unstructured.Unstructured) {
	conditions := value.Conditions(live)
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	going, known := live.GetDeletionTimestamp() != nil, ready != nil
	failed := known && ready.Status == metav1.ConditionFalse && ready.Reason == v1alpha1.ReasonReconcileError
	seen := value.SeenGeneration(live, ready)
	old := seen > 0 && seen < live.GetGeneration()
	switch {
	case going && (!known || old || ready.Status == metav1.ConditionTrue): // a status of the time before
		r.Reason, r.Message = v1alpha1.ReasonDeleting, "it is being deleted"+settle.HeldBy(live)
	case old:
		r.Reason, r.Message, r.Failed = reasonOutdated, fmt.Sprintf("its status is that of generation %d, and generation %d is there", seen, live.GetGeneration()), failed
		if known && ready.Status == metav1.ConditionFalse {
			r.Message += "; before that: " + telling(conditions, ready) + ": " + ready.Message
		}
	case !known:
		r.Reason, r.Message = reasonUnseen, "no manager has looked at it yet"
	case ready.Status == metav1.ConditionTrue:
		r.Ready = true
		if seen <= 0 {
			r.Notes = append(r.Notes, "Its status does not say of which generation it is: it has no observedGeneration")
		}
		// What is under way does not keep it from being ready, and may be what somebody looks for.
		if now := meta.FindStatusCondition(conditions, v1alpha1.ConditionReconciling); now != nil && now.Status == metav1.ConditionTrue {
			r.Reason, r.Message = now.Reason, now.Message
		}
	default:
		r.Reason, r.Message, r.Failed = telling(conditions, ready), ready.Message, failed
	}
}

// telling is the reason of Stalled where that is True: it says more than that of Ready, that the last cycle failed.
func telling(conditions []metav1.Condition, ready *metav1.Condition) string {
	if stalled := meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		return stalled.Reason
	}
	return ready.Reason
}
