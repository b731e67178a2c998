package cycle

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/inventory"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/value"
)

// gather collects the facts. What is costly is found out only where it may still matter: that is why Decide is asked twice on the
// way. The only request that it may send is the review whether a missing right was granted meanwhile.
func (c *cycle) gather(ctx context.Context) *Facts {
	stored, st, plan, now := c.stored, c.st, c.record.Plan, c.record.Began
	if stored == nil {
		return &Facts{}
	}
	f := &Facts{
		Found:          true,
		AwaitsOwnWrite: st.own.version != "" && !c.Resources.Seen(c.record.Key, st.own.version),
		Deleting:       stored.GetDeletionTimestamp() != nil,
		Held:           plan.Holds(stored) || plan.CRD.OfOthers && c.Owners.HasChildren(stored),
		Marked:         plan.Marked(stored),
		Selected:       plan.Selection.Selects(stored),
		Released:       st.released,
		Paused:         paused(stored),
		CleanupOnly:    plan.CleanupOnly,
		Throttled:      st.writes.Delay(stored, now),
	}
	if plan.Constructor != nil {
		f.HandsOver, f.Marked = handsOver(f, plan) && !st.released, true
		f.Held = f.Held || servedByCode(f, plan)
	}
	if Decide(f).Action != Reconcile {
		return f // none of the facts below comes before this decision
	}
	f.Class, f.Due, f.ResyncOver = st.last.class, st.retry.isDue(now), st.since(now) >= shortest(plan)
	inputs := st.inputsOf(stored)
	if plan.Constructor == nil {
		// The Observer itself and not a Reading: comparing what was read must not replace what the last cycle was interested in.
		f.Unchanged = inputs.Unchanged(&plan.Plan, stored, reader{c.Inventory, c.Observer}, now)
	} else {
		asking{c}.gather(f)
	}
	if f.ResyncOver && showsOwn(plan) && st.rewritten(stored) {
		f.Unchanged = false // what others have written over its status is put right once per resync, and not at each write: two would chase each other
	}
	if st.last.missing == nil && c.waiters.woken(c.record.Key) {
		f.Unchanged = false // what it may read is found out when it reads; a right that a write lacked is asked for below
	}
	if plan.Constructor == nil {
		f.SeenUnchanged = f.Unchanged || inputs == nil && st.last.version == stored.GetResourceVersion()
	}
	if rule := plan.Rollback; rule != nil && !f.Deleting {
		f.RollbackDue = st.attempts.RollbackDue(rollback.AttemptOf(plan.Revision, stored), rule, c.Tracker.Degraded())
		f.RollbackTried = st.attempts.Tried
		if back := rollback.MarkOf(stored); back.Stands(plan.Revision, stored) {
			f.RolledBack, f.AttemptDue = true, back.MustRetry(plan.Runtime.Resync, now)
		}
	}
	if f.Class == pipeline.Permission && Decide(f).Action == Skip {
		f.Granted = st.last.missing == nil || c.Rights.Granted(ctx, *st.last.missing)
	}
	return f
}

// reader reads what the inputs of a cycle are compared with, without noting it as read.
type reader struct {
	*inventory.Inventory
	pipeline.Observer
}

// paused says whether everything but deletion is stopped for a resource.
func paused(obj *unstructured.Unstructured) bool {
	return obj.GetDeletionTimestamp() == nil && value.Annotation(obj, v1alpha1.AnnotationPaused) == v1alpha1.True
}

// showsOwn says whether the status of a box's resources speaks of our cycles: that of an object of others speaks of others, also where it has a condition
// Ready, as that of a Pod; and that of a constructor's box is written by the code.
func showsOwn(plan *pipeline.Plan) bool { return !plan.CRD.OfOthers && plan.Constructor == nil }

// shown is a resource with what its status says of our cycles.
func shown(plan *pipeline.Plan, resource *unstructured.Unstructured) *unstructured.Unstructured {
	if !showsOwn(plan) {
		return &unstructured.Unstructured{}
	}
	return resource
}

// healthShownBy reads from a resource's own status how its last cycle ended, maybe in a former process.
func healthShownBy(obj *unstructured.Unstructured) (ready, waiting, failing bool) {
	r := conditionOf(obj, v1alpha1.ConditionReady)
	waiting = conditionOf(obj, v1alpha1.ConditionReconciling).Status == metav1.ConditionTrue
	ready = r.Status == metav1.ConditionTrue && !waiting
	// A resource that is not Ready counts as failing, also without an error of its cycle: a child may have failed. It does not while it
	// is Reconciling, nor when it was paused before its first cycle: then nothing was tried.
	failing = r.Reason == v1alpha1.ReasonReconcileError || !waiting && r.Reason != v1alpha1.ReasonPaused
	return ready, waiting, r.Status == metav1.ConditionFalse && failing
}

// Urgent says whether a resource is not to wait behind others in great number: it is being deleted, or its status says that it fails
// and speaks of a former generation, so that somebody has changed it since.
func Urgent(plan *pipeline.Plan, resource *unstructured.Unstructured) bool {
	if resource.GetDeletionTimestamp() != nil {
		return true
	}
	resource = shown(plan, resource)
	last := cmp.Or(observedGeneration(resource), conditionOf(resource, v1alpha1.ConditionReady).ObservedGeneration)
	_, _, failing := healthShownBy(resource)
	return failing && last != 0 && last != resource.GetGeneration()
}

// reconciledGeneration is the generation that the status of a paused resource is about: the last one that was reconciled, or the
// current one where none was. Some CRDs have observedGeneration in their conditions only, others have no conditions.
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

// observedGeneration is the generation that the status of a resource is about; 0: it names none.
func observedGeneration(obj *unstructured.Unstructured) int64 {
	// An error means that the field has another type, which counts as none. So does the -1 that some CRDs have as its default.
	n, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	return max(0, n)
}

// conditionOf reads a condition of a resource; an empty one where there is none.
func conditionOf(obj *unstructured.Unstructured, kind string) metav1.Condition {
	stored := status.ConditionOf(obj, kind)
	if stored == nil {
		return metav1.Condition{}
	}
	c := metav1.Condition{Type: kind}
	s, _ := stored["status"].(string)
	c.Status = metav1.ConditionStatus(s)
	c.Reason, _ = stored["reason"].(string)
	c.Message, _ = stored["message"].(string)
	c.ObservedGeneration, _ = stored["observedGeneration"].(int64)
	return c
}
