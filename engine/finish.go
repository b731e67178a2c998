package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// statusTimeout is how long the status may take, after a cycle that may have used up its own time.
const statusTimeout = 5 * time.Second

// finish does what is done after every cycle, whatever it came to: status, health, events, and the next look.
func (b *box) finish(ctx context.Context, run *pipeline.Run, st *state, err error) {
	missing, err := confirmDenial(ctx, b.engine.config.Rights, err)
	result, err := run.Result(ctx, err)
	before := b.readyBefore(run, st)
	st.inputs, st.class, st.looked, st.missing = run.Inputs, "", run.Now, missing
	st.version = run.Stored.GetResourceVersion()
	if err == nil {
		result = b.keepSnapshot(ctx, run, result, st)
	}
	var unwritten error
	if !run.Released {
		unwritten = b.writeStatus(ctx, run, result, st)
		if apierrors.IsInvalid(unwritten) && len(result.Fields) > 0 {
			result, err = run.Unstorable(result, err, unwritten)
			unwritten = b.writeStatus(ctx, run, result, st)
		}
	}
	var step *pipeline.StepError
	if err != nil {
		step = pipeline.AsStepError(err)
		st.class = step.Class
		if step.Reason == v1alpha1.ReasonInvalidChild || step.Reason == v1alpha1.ReasonTemplateError {
			b.engine.kinds.Forget(b.inventory.Kinds())
		}
		log.FromContext(ctx).Error(step.Err, "Reconcile failed", "stage", step.Step, "class", step.Class)
	}
	for _, w := range run.Writes {
		log.FromContext(ctx).Info("Child written", "child", w.Kind+"/"+w.Name, "action", w.Action)
		b.engine.config.Metrics.ChildWritten(b.name, string(w.Action))
	}
	if unwritten != nil {
		step = b.statusUnwritten(ctx, st, step, unwritten)
	}
	if st.missing != nil {
		b.engine.config.Denied(b.name, *st.missing)
	}
	st.shown = result.Ready
	same := before.Status == result.Ready.Status && before.Reason == result.Ready.Reason && before.Message == result.Ready.Message
	st.repeats = st.repeats && same && len(run.Writes) == 0 && (step == nil || step.Stalls())
	b.observe(run, result, step, st)
	b.noteAttempt(run, step, st)
	if !pipeline.Terminates(run.Stored.GetNamespace(), err) {
		b.sendEvents(run, result, before, st)
	}
	b.schedule(run, st)
}

// statusUnwritten notes that the status could not be written. It hides no error of the cycle; without one, it is the error that
// is counted: nobody could read from the resource how it fares. The next look evaluates and writes again.
func (b *box) statusUnwritten(ctx context.Context, st *state, step *pipeline.StepError, unwritten error) *pipeline.StepError {
	st.inputs = nil
	if ctx.Err() != nil {
		return step // the process stops: what could not be written any more says nothing about the resource
	}
	if step != nil {
		log.FromContext(ctx).Error(unwritten, "Status could not be written")
		return step
	}
	if apierrors.IsConflict(unwritten) {
		// The resource has changed since it was read: its event is on the way.
		log.FromContext(ctx).V(1).Info("Status could not be written", "reason", unwritten.Error())
		st.class = pipeline.Transient
		return nil
	}
	missing, confirmed := confirmDenial(ctx, b.engine.config.Rights, pipeline.StatusError(unwritten))
	step = pipeline.AsStepError(confirmed)
	st.missing, st.class = missing, step.Class
	log.FromContext(ctx).Error(unwritten, "Status could not be written", "class", step.Class)
	return step
}

// writeStatus shows the result on the resource. It has a time of its own, so that a cycle that ran into its deadline says so
// too. A process that stops, or lost the lease, writes nothing any more.
func (b *box) writeStatus(ctx context.Context, run *pipeline.Run, result status.Result, st *state) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	return b.patchStatus(ctx, run.Plan, run.Stored, result, st)
}

func (b *box) patchStatus(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, result status.Result, st *state) error {
	if !plan.Status.Writable() {
		return nil
	}
	desired, _, err := plan.Status.Desired(stored, result, metav1.NewTime(b.engine.config.Clock.Now()))
	if err != nil {
		return err
	}
	patch, err := status.Patch(stored, desired)
	if err != nil || patch == nil {
		st.echoes = 0
		return err
	}
	answer, err := b.client.WriteStatus(ctx, stored, patch)
	switch {
	case apply.IsGone(err, stored):
		return nil // the resource is gone; its event is on the way
	case err != nil:
		if apply.MayHaveBeenDone(err) {
			st.unsure = stored.GetResourceVersion()
		}
		return err
	}
	st.wrote(stored, answer)
	return nil
}

// showPaused says on the resource that it is paused, and leaves the rest of its status alone: that speaks of the generation
// that was last reconciled. Only a resource that never was says that of its current one.
func (b *box) showPaused(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state) {
	result := status.Result{
		Generation:  reconciled(stored),
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
	st.inputs = nil
	// It is looked at, and so it is counted; but nothing has succeeded or failed.
	b.tracker.Observe(health.Observation{
		Resource: keyOf(stored), Ready: result.Ready.Status == metav1.ConditionTrue, Reason: result.Ready.Reason, Message: result.Ready.Message,
	})
	if err := b.patchStatus(ctx, plan, stored, result, st); err != nil {
		log.FromContext(ctx).Error(err, "Status could not be written")
		delay, _ := st.backoff.Next(plan.Runtime.Resync)
		b.again(keyOf(stored), st, delay)
	}
}

// reconciled is the generation that a paused resource's status speaks of: the last one that was reconciled, and the current
// one where none was. Some schemas keep it in conditions only, others have no conditions.
func reconciled(obj *unstructured.Unstructured) int64 {
	ready, last := conditionOf(obj, v1alpha1.ConditionReady), observed(obj)
	if ready.Reason == v1alpha1.ReasonPaused || ready.Type == "" && last == 0 {
		return obj.GetGeneration()
	}
	return cmp.Or(last, ready.ObservedGeneration)
}

// repeats says whether a cycle asks again what was counted before, so that it counts only if it comes to something else.
// Such is the first look of this process at what a former one showed: a restart is neither a success nor a failure. And so
// is an error that no retry mends, while the resource is as it was: it counts once per input (design: semantics.md, "Errors"). It is
// evaluated again when a child changes, be it by our own write, and once per resync where the API server refuses.
func (b *box) repeats(plan *pipeline.Plan, stored *unstructured.Unstructured, st *state) bool {
	if !st.looked.IsZero() {
		return (st.class == pipeline.Permanent || st.class == pipeline.Refused) && st.inputs.SameResource(&plan.Plan, stored)
	}
	if b.recovered(stored) {
		return false
	}
	known := b.known.Load()
	of := observed(stored) // 0: its schema has no room for it; then readyBefore knows what the former process found
	return known != nil && known.Revision == plan.Revision && (of == 0 || of == stored.GetGeneration())
}

// observed is the generation that the status of a resource speaks of.
func observed(obj *unstructured.Unstructured) int64 {
	// A status of another shape speaks of none, and so does the -1 that a CRD may give as a default.
	n, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	return max(0, n)
}

// observe counts the cycle.
func (b *box) observe(run *pipeline.Run, result status.Result, step *pipeline.StepError, st *state) {
	st.ready = result.Ready.Status == metav1.ConditionTrue && result.Reconciling.Status != metav1.ConditionTrue
	st.waiting = result.Reconciling.Status == metav1.ConditionTrue
	o := health.Observation{
		Resource: keyOf(run.Stored), Ready: st.ready, Waiting: st.waiting, Counts: !st.repeats && (step != nil || !run.AwaitsDependency),
		Revision: run.Plan.Revision, LeftBehind: run.LeftBehind, Reason: result.Ready.Reason, Message: result.Ready.Message,
	}
	if step != nil {
		o.Failed, o.Step, o.Reason = true, step.Step, v1alpha1.ReasonReconcileError
		o.Message = strings.TrimPrefix(step.Error(), step.Step+": ")
	}
	if run.Released {
		// It is let go: what is left is its own deletion event.
		o.Ready, o.Waiting = false, true
	}
	b.tracker.Observe(o)
}

// sendEvents sends what happened, on transitions only.
func (b *box) sendEvents(run *pipeline.Run, result status.Result, before metav1.Condition, st *state) {
	recorder := b.engine.config.Events
	if recorder == nil {
		return
	}
	switch after := result.Ready; {
	case run.Deleting && after.Reason != v1alpha1.ReasonReconcileError:
	case after.Status == before.Status && after.Message == before.Message:
	case after.Status == metav1.ConditionTrue:
		reason, note := b.wentWell(before, result)
		recorder.Eventf(run.Stored, nil, corev1.EventTypeNormal, reason, "Reconcile", "%s", note)
	case pipeline.BackOf(run.Stored).Tells(run.Plan.Revision, run.Stored):
	case after.Reason == v1alpha1.ReasonReconcileError:
		recorder.Eventf(run.Stored, nil, corev1.EventTypeWarning, v1alpha1.ReasonReconcileError, "Reconcile", "%s", after.Message)
	case after.Reason == v1alpha1.ReasonChildFailed:
		recorder.Eventf(run.Stored, nil, corev1.EventTypeWarning, v1alpha1.ReasonChildFailed, "Reconcile", "%s", after.Message)
	}
	happened, told := merged(run.Events), st.happened
	st.happened = happened
	for _, e := range happened {
		if slices.Contains(told, e) {
			continue // it goes on
		}
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		switch {
		case e.OfBox:
			box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: b.name, UID: run.Plan.UID}}
			recorder.Eventf(box, run.Stored, kind, e.Reason, "Reconcile", "%s", e.Message)
		case e.About.Name != "":
			recorder.Eventf(&e.About, nil, kind, e.Reason, "Reconcile", "%s", e.Message)
		case e.Related.Name != "":
			recorder.Eventf(run.Stored, &e.Related, kind, e.Reason, "Reconcile", "%s", e.Message)
		default:
			recorder.Eventf(run.Stored, nil, kind, e.Reason, "Reconcile", "%s", e.Message)
		}
	}
}

// maxNote is what the API server accepts as the text of an event, in bytes.
const maxNote = 1024

// merged joins events of one reason: Kubernetes takes two of them about one object for the same, and drops the second text.
func merged(all []pipeline.Event) []pipeline.Event {
	var out []pipeline.Event
	for _, e := range all {
		at := slices.IndexFunc(out, func(o pipeline.Event) bool {
			return o.Reason == e.Reason && o.Warning == e.Warning && o.About == e.About
		})
		if at < 0 {
			out = append(out, e)
			continue
		}
		out[at].Message += "; " + e.Message
		if out[at].Related != e.Related {
			out[at].Related = corev1.ObjectReference{}
		}
	}
	for i := range out {
		if m := out[i].Message; len(m) > maxNote {
			out[i].Message = strings.ToValidUTF8(m[:maxNote-len("…")], "") + "…"
		}
	}
	return out
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
