package cycle

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/value"
)

// reporting hands on what a cycle came to. It is a type of its own so that what happens after a cycle is not among the methods of
// what happens in it.
type reporting struct{ *cycle }

// report hands the record on: to the log, metrics, the box that lacks a right, health, events and the queue, in this order. Whether
// the resource has to be rolled back is decided after health has counted the cycle, since that may have degraded the box.
func (c reporting) report(ctx context.Context) {
	rec := c.record
	c.log(ctx)
	c.measure()
	c.note()
	if rec.Missing != nil && c.Rights.Lost(*rec.Missing) {
		c.Notifier.RightDenied(c.Box)
	}
	if o, counts := rec.observation(); counts {
		c.Tracker.Observe(o)
	}
	switch {
	case rec.Back != nil && rec.Back.Unavailable != "":
		c.Tracker.SetRolledBack(rec.Key, "")
		c.warn(rec.Resource, rec.Back.Unavailable, rec.Back.Message)
	case rec.Back != nil:
		c.endRollback(ctx)
	case rec.Run != nil:
		c.endAttempt()
		c.sendEvents()
	}
	if rec.Run != nil && !rec.Run.Released {
		rec.Next = c.st.requeue(rec.Plan, c.Clock.Now(), rec.Unreached)
	}
	switch {
	case rec.Next == nil:
	case rec.Next.Low:
		c.Queue.EnqueueLow(rec.Next.After, rec.Key)
	default:
		c.Queue.Enqueue(rec.Next.After, rec.Key)
	}
}

// log says what failed and what was written.
func (c reporting) log(ctx context.Context) {
	rec, logger := c.record, log.FromContext(ctx)
	if rec.Back != nil && rec.Back.Unavailable != "" {
		logger.Info("Nothing is rolled back", "reason", rec.Back.Unavailable, "message", rec.Back.Message)
	}
	if rec.Err != nil {
		message := "Reconcile failed"
		if rec.Back != nil {
			message = "Rollback failed"
		}
		logger.Error(value.Loggable(rec.Err.Err), message, "stage", rec.Err.Step, "class", rec.Err.Class)
	}
	if err := rec.Status.Err; err != nil && ctx.Err() == nil {
		const message = "Status could not be written"
		if apierrors.IsConflict(err) {
			logger.V(1).Info(message, "reason", err.Error()) // the resource has changed since it was read
		} else {
			logger.Error(value.Loggable(err), message, "class", rec.Class)
		}
	}
	if rec.Run == nil {
		return
	}
	for _, w := range rec.Run.Writes {
		logger.Info("Child written", "child", w.Kind+"/"+w.Name, "action", w.Action)
	}
}

// panicked counts a panic and logs it with its stack, once for each that the resource has not had the last time: the line of each failure has the rest.
func (c reporting) panicked(ctx context.Context, p *pipeline.PanicError) {
	c.Metrics.Panicked(c.Box)
	text := status.Truncate(stage.Steady(p.Error()))
	if c.st != nil {
		if c.st.panicked == text {
			return
		}
		c.st.panicked = text
	}
	logPanic(log.FromContext(ctx), p)
}

func logPanic(logger logr.Logger, p *pipeline.PanicError) {
	logger.Error(value.Loggable(p), "Panic was caught", "stack", string(p.Stack))
}

// measure counts the cycle and its writes in the metrics.
func (c reporting) measure() {
	result := c.record.result()
	if result != "" {
		c.Metrics.Reconciled(c.Box, result, c.record.Took)
	}
	if result != "" && result != metrics.ResultSkipped && c.Measured != nil {
		c.Measured(c.record.Took, result != metrics.ResultSuccess && result != metrics.ResultWaiting)
	}
	if c.record.Run == nil {
		return
	}
	for _, w := range c.record.Run.Writes {
		action := string(w.Action)
		if w.Patch {
			action = metrics.ActionPatched
		}
		c.Metrics.ChildWritten(c.Box, action)
	}
	c.Metrics.Contended(c.Box, c.st.writes.Begun())
	if over := stage.BudgetOf(c.record.Err); over != "" {
		c.Metrics.BudgetExceeded(c.Box, over)
	}
}

// observation is what health counts of the cycle; ok is false where it counts nothing.
func (r *Record) observation() (o health.Observation, ok bool) {
	run, after := r.Run, &r.Status.After
	o = health.Observation{Resource: r.Key, Reason: after.Reason(), Message: after.Ready.Message}
	switch {
	case r.Decision.Action == ShowPaused:
		// It is counted as it is; but nothing has succeeded or failed.
		o.Ready = after.Ready.Status == metav1.ConditionTrue
		return o, true
	case run == nil: // nothing was run, so nothing succeeded or failed
		return o, false
	}
	o.LeftBehind, o.Waiting = run.LeftBehind, after.Reconciling.Status == metav1.ConditionTrue
	if r.Back != nil { // neither a success nor a failure
		o.Back = true
		return o, true
	}
	o.Ready, o.Revision = after.Ready.Status == metav1.ConditionTrue && !o.Waiting, r.Plan.Revision
	step := r.failure()
	o.Counts = !r.Repeats && (step != nil || !run.AwaitsDependency)
	if step != nil {
		o.Failed, o.Step, o.Reason = true, step.Step, cmp.Or(step.Reason, v1alpha1.ReasonReconcileError)
		o.Message = strings.TrimPrefix(step.Error(), step.Step+": ")
	}
	if run.Released {
		// Its last finalizer is off: the delete event will take it out of the counts.
		o.Ready, o.Waiting = false, true
	}
	return o, true
}

// announcement is an event to send.
type announcement struct {
	about, related runtime.Object
	warning        bool
	reason, note   string
}

// transition is the event for a change of Ready; ok is false where it has not changed, or another event tells of it. The first three
// cases have no event: a deletion that goes on as it should, a Ready that is as before, and a child that failed before, beside which
// others are on their way now.
func (r *Record) transition(box string) (a announcement, ok bool) {
	run, before, after := r.Run, r.Status.Before, r.Status.After.Ready
	a = announcement{about: run.Stored, warning: true, reason: after.Reason, note: after.Message}
	switch {
	case run.Deleting && after.Reason != v1alpha1.ReasonReconcileError:
	case after.Status == before.Status && after.Message == before.Message:
	case after.Reason == v1alpha1.ReasonChildFailed && before.Reason == after.Reason && status.WithoutOthers(after.Message) == status.WithoutOthers(before.Message):
	case after.Status == metav1.ConditionTrue:
		a.warning, a.reason, a.note = false, v1alpha1.ReasonReconciled, "everything that box "+box+" declares is so"
		if r.Plan.Constructor != nil {
			a.note = "the reconciler of box " + box + " has succeeded"
		}
		if before.Reason == v1alpha1.ReasonReconcileError {
			a.reason = v1alpha1.ReasonRecovered
		}
		if reconciling := r.Status.After.Reconciling; reconciling.Status == metav1.ConditionTrue {
			a.note = "reconciled by box " + box + "; " + reconciling.Message
		}
		a.note = strings.ToValidUTF8(a.note[:min(len(a.note), maxNote)], "")
		return a, true
	case rollback.MarkOf(run.Stored).Stands(r.Plan.Revision, run.Stored): // the event of the rollback has told why
	case after.Reason == v1alpha1.ReasonReconcileError, after.Reason == v1alpha1.ReasonChildFailed:
		return a, true
	}
	return a, false
}

// announcements are the events to send after a cycle: all but those in sent, which the cycle before has sent. happened is what the
// caller gives as sent next time.
func (r *Record) announcements(box string, sent []pipeline.Event) (all []announcement, happened []pipeline.Event) {
	if a, ok := r.transition(box); ok {
		all = append(all, a)
	}
	happened = merged(r.Run.Events)
	for _, e := range happened {
		if slices.Contains(sent, e) {
			continue
		}
		a := announcement{about: r.Run.Stored, warning: e.Warning, reason: e.Reason, note: e.Message}
		switch {
		case e.OfBox:
			a.about, a.related = &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: box, UID: r.Plan.UID}}, r.Run.Stored
		case e.About.Name != "":
			a.about = &e.About
		case e.Related.Name != "":
			a.related = &e.Related
		}
		all = append(all, a)
	}
	return all, happened
}

// recorderOf gives what sends an event: one about the box is the manager's own. nil: it is not sent.
func (c reporting) recorderOf(a announcement) events.EventRecorder {
	if _, ofBox := a.about.(*v1alpha1.OperatorBox); ofBox {
		return c.BoxEvents
	}
	return c.Events
}

// sendEvents sends the events of the cycle that are new. None are sent into a namespace that is being deleted: the API server would
// refuse each of them.
func (c reporting) sendEvents() {
	if c.record.Err != nil && pipeline.Terminates(c.record.Run.Stored.GetNamespace(), c.record.Err) {
		return
	}
	var all []announcement
	all, c.st.sentEvents = c.record.announcements(c.Box, c.st.sentEvents)
	for _, a := range all {
		kind := corev1.EventTypeNormal
		if a.warning {
			kind = corev1.EventTypeWarning
		}
		if recorder := c.recorderOf(a); recorder != nil {
			recorder.Eventf(a.about, a.related, kind, a.reason, "Reconcile", "%s", a.note)
		}
	}
}

// warn sends an event about the rollback of a resource.
func (c reporting) warn(about *unstructured.Unstructured, reason, message string) {
	if c.Events != nil {
		c.Events.Eventf(about, nil, corev1.EventTypeWarning, reason, "Rollback", "%s", message)
	}
}

// maxNote is what the API server accepts as the text of an event, in bytes.
const maxNote = 1024

// merged joins events of one reason about one object: the event recorder would take the second for a repetition of the first, and
// drop its text.
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
		if out[at].Related != e.Related { // an event has room for one
			out[at].Related = corev1.ObjectReference{}
		}
	}
	for i := range out {
		m := value.Readable(out[i].Message)
		out[i].Message = m
		if len(m) > maxNote {
			out[i].Message = strings.ToValidUTF8(m[:maxNote-len("…")], "") + "…"
		}
	}
	return out
}

// overdueGrace is how long a part of a cycle may take to end once its deadline is over: what heeds its context needs a moment.
const overdueGrace = 5 * time.Second

// tellOverdue sends an event about the resource where a part of a cycle goes on after the deadline of ctx: until it ends, nothing else tells of the
// resource. The caller calls ended when it has ended.
func (c reporting) tellOverdue(ctx context.Context) (ended func()) {
	about, over, told := c.stored, make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		if about == nil || c.Events == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return // it is gone, or the process stops
		}
		grace := time.NewTimer(overdueGrace)
		defer grace.Stop()
		select {
		case <-over:
		case <-grace.C:
			c.Events.Eventf(about, nil, corev1.EventTypeWarning, v1alpha1.ReasonOverdue, "Reconcile",
				"its reconcile is past the deadline of %s and does not end: what runs in it does not heed its context. It keeps a worker of box %s until it does, or the manager is restarted", c.Timeout, c.Box)
		}
	})
	return func() {
		close(over)
		if !stop() {
			<-told
		}
	}
}
