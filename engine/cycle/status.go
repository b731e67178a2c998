package cycle

import (
	"cmp"
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// statusTimeout is how long the status may take, after a cycle that may have used up its own time.
const statusTimeout = 5 * time.Second

// writeStatus shows a result on the resource. It has a time of its own, so that a cycle that ran into its deadline says so too.
// A process that stops, or lost the lease, writes nothing any more.
func (c *cycle) writeStatus(ctx context.Context, stored *unstructured.Unstructured, result status.Result) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	writer := c.record.Plan.Status
	if !writer.Writable() {
		return nil
	}
	desired, _, err := writer.Desired(stored, result, metav1.NewTime(c.Clock.Now()))
	if err != nil {
		return err
	}
	patch, err := status.Patch(stored, desired)
	if err != nil || patch == nil {
		c.st.own.selfTriggered = 0
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

// showPaused says on the resource that it is paused, and leaves the rest of its status alone: that speaks of the generation that
// was last reconciled. Only a resource that never was says that of its current one.
func (c *cycle) showPaused(ctx context.Context) {
	stored := c.stored
	result := status.Result{
		Generation:  reconciledGeneration(stored),
		Ready:       conditionOf(stored, v1alpha1.ConditionReady),
		Reconciling: status.Paused(),
		Stalled:     conditionOf(stored, v1alpha1.ConditionStalled),
	}
	if result.Ready.Type == "" {
		result.Ready = status.NotReady(v1alpha1.ReasonPaused, "not reconciled yet: the resource is paused")
	}
	if result.Stalled.Type == "" {
		result.Stalled = status.NotStalled()
	}
	pipeline.ShowMisread(&result.Ready, stored.GetAnnotations())
	c.st.last.inputs = nil
	c.record.Status.After = result
	if c.record.Status.Err = c.writeStatus(ctx, stored, result); c.record.Status.Err != nil {
		c.record.Next = c.st.requeueBackoff(c.record.Plan, c.Clock.Now())
	}
}

// statusFailed takes in that the status could not be written after a plan ran. It hides no error of the cycle; without one, it is
// the error that is counted: nobody could read from the resource how it fares. The next cycle evaluates and writes again.
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

// readyBefore is Ready before this cycle. Where no status shows it, it is what this process found before; and in its first cycle,
// what CRDHealth and the marks of the resource tell of the process that was there before.
func (c *cycle) readyBefore(resource *unstructured.Unstructured) metav1.Condition {
	before, known := c.st.readyBefore(resource), c.Known()
	if before.Type != "" || !c.st.last.at.IsZero() || known == nil {
		return before
	}
	for _, f := range known.Failing {
		if f.Namespace == c.record.Key.Namespace && f.Name == c.record.Key.Name {
			message := strings.TrimPrefix(f.Step+": "+f.Message, ": ")
			return status.NotReady(cmp.Or(f.Reason, v1alpha1.ReasonReconcileError), message)
		}
	}
	if since := resource.GetAnnotations()[v1alpha1.AnnotationActiveSince]; since != "" && since != c.record.Began.UTC().Format(time.RFC3339) {
		return status.Succeeded()
	}
	return before
}

// repeats says whether a cycle asks again what was counted before, so that it counts only if it comes to something else. Such is
// the first cycle of this process at what a former one showed: a restart is neither a success nor a failure. And so is an error
// that no retry mends, while the resource is as it was: it counts once per input (design: semantics.md, "Errors"). It is
// evaluated again when a child changes, be it by our own write, and once per resync where the API server refuses.
func (c *cycle) repeats() bool {
	last, plan := &c.st.last, c.record.Plan
	if !last.at.IsZero() {
		return (last.class == pipeline.Permanent || last.class == pipeline.Refused) && last.inputs.SameResource(&plan.Plan, c.stored)
	}
	if conditionOf(c.stored, v1alpha1.ConditionReady).Status == metav1.ConditionTrue && c.Tracker.Fails(c.record.Key) {
		// Ready although CRDHealth lists it as failing: a former process saw it succeed, and ended before it could say so there. The
		// next success of this process is that one, and counts: nothing else would take it off the list.
		return false
	}
	known, of := c.Known(), observedGeneration(c.stored)
	// 0: its schema has no room for it; then readyBefore knows what the former process found.
	return known != nil && known.Revision == plan.Revision && (of == 0 || of == c.stored.GetGeneration())
}
