package view

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/web/api"
)

// Row is a resource as its own status shows it. What fails counts as health counts it: see healthShownBy in engine/cycle.
func Row(resource *unstructured.Unstructured) api.Row {
	row, shown := rowOf(resource), value.Conditions(resource)
	if counts := countsAs(shown, row.State); counts != row.State {
		row.CountsAs = counts
	}
	return row
}

// countsAs is the state as which the health of a box counts a resource in another state that is laid over it.
func countsAs(conditions []metav1.Condition, state api.State) api.State {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	waiting := meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReconciling)
	switch {
	case state == api.RolledBack:
		return api.Failing
	case ready == nil || state != api.Deleting && state != api.Paused && (state != api.Waiting || waiting):
		return state
	case failing(ready, waiting):
		return api.Failing
	case waiting:
		return api.Waiting
	case ready.Status == metav1.ConditionTrue:
		return api.Ready
	default:
		return state
	}
}

// failing says whether a resource that is not Ready counts as failing. One that was paused before its first reconcile does not.
func failing(ready *metav1.Condition, waiting bool) bool {
	return ready.Status == metav1.ConditionFalse && (ready.Reason == v1alpha1.ReasonReconcileError || !waiting && ready.Reason != v1alpha1.ReasonPaused)
}

func rowOf(resource *unstructured.Unstructured) api.Row {
	row := api.Row{Reference: api.Reference{Namespace: resource.GetNamespace(), Name: resource.GetName()}, Created: resource.GetCreationTimestamp().Time}
	conditions := value.Conditions(resource)
	ready, reconciling := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(conditions, v1alpha1.ConditionReconciling)
	waiting := reconciling != nil && reconciling.Status == metav1.ConditionTrue
	stalled := meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled)
	say := func(state api.State, c *metav1.Condition) api.Row {
		row.State = state
		if c != nil {
			row.Reason, row.Message, row.Since = c.Reason, oneLine(c.Message), timeOf(&c.LastTransitionTime)
		}
		if c != nil && c == ready && c.Status == metav1.ConditionFalse && stalled != nil && stalled.Status == metav1.ConditionTrue {
			row.Reason = stalled.Reason // it names the sort of error, and Ready only that there was one
		}
		return row
	}
	switch {
	case resource.GetDeletionTimestamp() != nil:
		row = say(api.Deleting, ready)
		row.Since = timeOf(resource.GetDeletionTimestamp())
		return row
	case resource.GetAnnotations()[v1alpha1.AnnotationPaused] == v1alpha1.True:
		return say(api.Paused, ready)
	case resource.GetAnnotations()[v1alpha1.AnnotationRolledBack] != "":
		return say(api.RolledBack, ready)
	case ready == nil:
		row.Since = timeOf(new(resource.GetCreationTimestamp()))
		return say(api.Unknown, nil)
	case failing(ready, waiting):
		return say(api.Failing, ready)
	case waiting:
		return say(api.Waiting, reconciling)
	case ready.Status == metav1.ConditionTrue && outdated(resource, ready):
		row.State, row.Reason, row.Message = api.Waiting, reasonOutdated, "its status is that of an older generation of its spec"
		return row
	case ready.Status == metav1.ConditionTrue:
		row.State, row.Since = api.Ready, timeOf(&ready.LastTransitionTime)
		return row
	default:
		return say(api.Unknown, ready)
	}
}

// reasonOutdated is that of a resource whose spec has changed since its status was written, as orkestra status has it.
const reasonOutdated = "Outdated"

// outdated says whether a condition is about an older generation than there is; a condition that names none, of a status that names none, is not.
func outdated(resource *unstructured.Unstructured, c *metav1.Condition) bool {
	seen := value.SeenGeneration(resource, c)
	return seen > 0 && seen < resource.GetGeneration()
}

// ResourceConditions are those of a resource's status; none where it has none that can be read.
func ResourceConditions(resource *unstructured.Unstructured) []api.Condition {
	return Conditions(value.Conditions(resource))
}
