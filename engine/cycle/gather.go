package cycle

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/release"
	"github.com/orkspace/orkestra/engine/rollback"
)

// gather finds out what a cycle knows before it decides. What costs something is asked only where it may matter; whether a
// missing right was granted meanwhile is all that may cost a request.
func (c *cycle) gather(ctx context.Context) *Facts {
	stored, st, plan, now := c.stored, c.st, c.record.Plan, c.record.Began
	if stored == nil {
		return &Facts{}
	}
	f := &Facts{
		Found:          true,
		AwaitsOwnWrite: st.own.version != "" && !c.Resources.Seen(c.record.Key, st.own.version),
		Deleting:       stored.GetDeletionTimestamp() != nil,
		Held:           release.Held(stored),
		Marked:         plan.Marked(stored),
		Selected:       plan.Selection.Selects(stored),
		Released:       st.released,
		Paused:         paused(stored),
		CleanupOnly:    plan.CleanupOnly,
		Throttled:      st.writes.Delay(stored, now),
	}
	if Decide(f).Action != Reconcile {
		return f // nothing else would change that
	}
	f.Class, f.Due, f.ResyncOver = st.last.class, st.retry.isDue(now), st.since(now) >= shortest(plan)
	inputs := st.inputsOf(stored)
	f.Unchanged = inputs.Unchanged(&plan.Plan, stored, reader{c.Inventory, c.Observer}, now)
	f.SeenUnchanged = f.Unchanged || inputs == nil && st.last.version == stored.GetResourceVersion()
	if rule := plan.Rollback; rule != nil && !f.Deleting {
		f.RollbackDue = st.attempts.RollbackDue(rollback.AttemptOf(plan.Revision, stored), rule, c.Tracker.Degraded())
		f.RollbackTried = st.attempts.Tried
		if back := rollback.MarkOf(stored); back != nil && back.Stands(plan.Revision, stored) {
			f.RolledBack, f.AttemptDue = true, back.MustRetry(plan.Runtime.Resync, now)
		}
	}
	if f.Class == pipeline.Permission && Decide(f).Action == Skip {
		f.Granted = st.last.missing == nil || c.Rights.Granted(ctx, *st.last.missing)
	}
	return f
}

// reader reads what the inputs of a cycle are made of, without noting who reads.
type reader struct {
	pipeline.Inventory
	pipeline.Observer
}

// paused says whether everything but deletion is stopped for a resource.
func paused(obj *unstructured.Unstructured) bool {
	return obj.GetDeletionTimestamp() == nil && obj.GetAnnotations()[v1alpha1.AnnotationPaused] == v1alpha1.True
}

// shows reads from a resource's own status what it last came to.
func shows(obj *unstructured.Unstructured) (ready, waiting, failing bool) {
	r := conditionOf(obj, v1alpha1.ConditionReady)
	waiting = conditionOf(obj, v1alpha1.ConditionReconciling).Status == metav1.ConditionTrue
	ready = r.Status == metav1.ConditionTrue && !waiting
	// What is not Ready fails, unless something is under way: its cycle may have succeeded, and a child has failed. What is paused
	// before its first cycle has not come to anything.
	failing = r.Reason == v1alpha1.ReasonReconcileError || !waiting && r.Reason != v1alpha1.ReasonPaused
	return ready, waiting, r.Status == metav1.ConditionFalse && failing
}

// reconciledGeneration is the generation that a paused resource's status speaks of: the last one that was reconciled, and the
// current one where none was. Some schemas keep it in conditions only, others have no conditions.
func reconciledGeneration(obj *unstructured.Unstructured) int64 {
	ready, last := conditionOf(obj, v1alpha1.ConditionReady), observedGeneration(obj)
	switch {
	case ready.Reason == v1alpha1.ReasonPaused || ready.Type == "" && last == 0:
		return obj.GetGeneration()
	case last != 0:
		return last
	default:
		return ready.ObservedGeneration
	}
}

// observedGeneration is the generation that the status of a resource speaks of.
func observedGeneration(obj *unstructured.Unstructured) int64 {
	// A status of another shape speaks of none, and so does the -1 that a CRD may give as a default.
	n, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	return max(0, n)
}

// conditionOf reads a condition of a resource; an empty one where there is none.
func conditionOf(obj *unstructured.Unstructured, kind string) metav1.Condition {
	// A status of another shape has no conditions.
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, entry := range list {
		m, ok := entry.(map[string]any)
		if !ok || m["type"] != kind {
			continue
		}
		c := metav1.Condition{Type: kind}
		s, _ := m["status"].(string)
		c.Status = metav1.ConditionStatus(s)
		c.Reason, _ = m["reason"].(string)
		c.Message, _ = m["message"].(string)
		c.ObservedGeneration, _ = m["observedGeneration"].(int64)
		return c
	}
	return metav1.Condition{}
}
