package cycle

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/value"
)

// statusTimeout is how long writing the status may take. It is not part of the deadline of the cycle.
const statusTimeout = 5 * time.Second

// writeStatus shows a result on the resource. It has a timeout of its own, so that a cycle that ran into its deadline can still show
// that. It writes nothing where ctx has ended: the process stops, or no longer leads.
func (c *cycle) writeStatus(ctx context.Context, stored *unstructured.Unstructured, result status.Result) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	writer := c.record.Plan.Status
	if !writer.Writable() || c.record.Plan.AccountProblem.Reason != "" {
		return nil
	}
	desired, _, err := writer.Desired(stored, result, metav1.NewTime(c.Clock.Now()))
	if err != nil {
		return err
	}
	patch, err := status.Patch(stored, desired)
	if err != nil || patch == nil {
		c.st.own.selfTriggered = 0 // a status that does not change ends the row of cycles that it led to
		return err
	}
	answer, err := c.Client.WriteStatus(ctx, stored, patch)
	switch {
	case apply.IsGone(err, stored):
		return nil // the resource is gone; its event is on the way
	case err != nil:
		if apply.MayHaveBeenDone(err) {
			c.st.own.unconfirmed = stored.GetResourceVersion()
		}
		return err
	}
	c.st.wrote(stored, answer)
	return nil
}

// showPaused says on the resource that it is paused, and leaves the rest of its status as it is, for the generation that was reconciled
// last. Only a resource that was never reconciled gets its current generation there.
func (c *cycle) showPaused(ctx context.Context) {
	stored, told := c.stored, shown(c.record.Plan, c.stored)
	result := status.Result{
		Generation:  reconciledGeneration(told),
		Ready:       conditionOf(told, v1alpha1.ConditionReady),
		Reconciling: status.Paused(),
		Stalled:     conditionOf(told, v1alpha1.ConditionStalled),
	}
	if result.Ready.Type == "" {
		result.Ready = c.st.last.ready // as it was found, where no status can show it
	}
	if result.Ready.Type == "" {
		result.Ready = status.NotReady(v1alpha1.ReasonPaused, "not reconciled yet: the resource is paused")
	}
	if result.Stalled.Type == "" {
		result.Stalled = status.NotStalled()
	}
	pipeline.ShowMisread(&result.Ready, stored.GetAnnotations())
	c.st.last.inputs = nil // the status speaks of the pause: when that ends, the resource is evaluated
	c.record.Status.After = result
	if c.record.Status.Err = c.writeStatus(ctx, stored, result); c.record.Status.Err != nil {
		c.record.Next = c.st.requeueBackoff(c.record.Plan, c.Clock.Now())
	}
}

// statusFailed records that the status could not be written after a plan ran. An error of the plan goes first; without one, this is
// the error of the cycle, since the resource does not show its state. The next cycle evaluates and writes again.
func (c *cycle) statusFailed(ctx context.Context, unwritten error) {
	rec := c.record
	rec.Status.Err = unwritten
	c.st.last.inputs = nil
	switch {
	case ctx.Err() != nil, rec.Err != nil: // the process stops, or another error stands before this one
	case apierrors.IsConflict(unwritten):
		rec.Class = pipeline.Transient // the resource has changed since it was read: its event is on the way
	default:
		missing, confirmed := confirmDenial(ctx, c.Rights, pipeline.StatusError(unwritten))
		rec.Status.Failure, rec.Missing = pipeline.AsStepError(confirmed), missing
		rec.Class = rec.Status.Failure.Class
	}
}

// readyBefore is the condition Ready before this cycle, with which the events and the counts compare. Where the CRD has no conditions,
// it is what the last cycle of this process found; and in the first cycle, what a former process has left: the list of failing
// resources in CRDHealth, and the annotation that says since when the resource is Active.
func (c *cycle) readyBefore(resource *unstructured.Unstructured) metav1.Condition {
	before, known := c.st.readyBefore(shown(c.record.Plan, resource)), c.Known()
	if before.Type != "" || !c.st.last.at.IsZero() || known == nil {
		return before
	}
	for _, f := range known.Failing {
		if f.Namespace == c.record.Key.Namespace && f.Name == c.record.Key.Name {
			return status.Formerly(&f)
		}
	}
	if since := value.Annotation(resource, v1alpha1.AnnotationActiveSince); since != "" && since != c.record.Began.UTC().Format(time.RFC3339) {
		return status.Succeeded()
	}
	return before
}

// repeats says whether a cycle evaluates again what health has counted before, so that it counts only if it comes to something else.
// Such is the first cycle of this process for a generation that a former one has reconciled: a restart is neither a success nor a
// failure. And so is an error that no retry mends, as long as the resource is unchanged: it counts once, although it is evaluated
// again when a child changes, be it by our own write, and once per resync where the API server refuses.
func (c *cycle) repeats() bool {
	last, plan := &c.st.last, c.record.Plan
	if !last.at.IsZero() {
		return (last.class == pipeline.Permanent || last.class == pipeline.Refused) && last.inputs.SameResource(&plan.Plan, c.stored)
	}
	told := shown(plan, c.stored)
	if conditionOf(told, v1alpha1.ConditionReady).Status == metav1.ConditionTrue && c.Tracker.Fails(c.record.Key) {
		// Ready although CRDHealth lists it as failing: a former process saw it succeed, and ended before it could write that there. The
		// next success counts in its place: nothing else would take the resource off the list.
		return false
	}
	known, of := c.Known(), observedGeneration(told)
	// 0: the CRD has no observedGeneration. Then the comparison with readyBefore, in conclude, has to be enough.
	return known != nil && known.Revision == plan.Revision && (of == 0 || of == c.stored.GetGeneration())
}
