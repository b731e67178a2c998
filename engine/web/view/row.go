package view

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web/api"
)

// Row is a resource as its own status shows it. What fails counts as health counts it: see healthShownBy in engine/cycle.
func Row(resource *unstructured.Unstructured) api.Row {
	row, shown := rowOf(resource), conditionsOf(resource)
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
	case state != api.Deleting && state != api.Paused || ready == nil:
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
	conditions := conditionsOf(resource)
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
	case ready.Status == metav1.ConditionTrue:
		row.State, row.Since = api.Ready, timeOf(&ready.LastTransitionTime)
		return row
	default:
		return say(api.Unknown, ready)
	}
}

// ResourceConditions are those of a resource's status; none where it has none that can be read.
func ResourceConditions(resource *unstructured.Unstructured) []api.Condition {
	return Conditions(conditionsOf(resource))
}

func conditionsOf(resource *unstructured.Unstructured) []metav1.Condition {
	list, _, err := unstructured.NestedSlice(resource.Object, "status", "conditions")
	if err != nil {
		return nil // another type stands there: nobody can say what it means
	}
	out := make([]metav1.Condition, 0, len(list))
	for _, item := range list {
		fields, isObject := item.(map[string]any)
		if !isObject {
			continue
		}
		out = append(out, conditionOf(fields))
	}
	return out
}

// conditionOf reads the fields that are of the right type: a CRD of others may have more, or fewer.
func conditionOf(fields map[string]any) metav1.Condition {
	text := func(key string) string {
		s, _ := fields[key].(string) // another type is as good as none
		return s
	}
	c := metav1.Condition{Type: text("type"), Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message")}
	if at, err := time.Parse(time.RFC3339, text("lastTransitionTime")); err == nil {
		c.LastTransitionTime = metav1.Time{Time: at}
	}
	switch n := fields["observedGeneration"].(type) {
	case int64:
		c.ObservedGeneration = n
	case json.Number:
		c.ObservedGeneration, _ = n.Int64() // no number is 0
	default:
	}
	return c
}
