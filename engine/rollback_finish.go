package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// finishBack does what is done after a look at a resource that is rolled back: it is neither a success nor a failure.
func (b *box) finishBack(ctx context.Context, look *rollingBack, run *pipeline.Run, err error) {
	st, mark := look.st, look.mark
	missing, err := confirmDenial(ctx, b.engine.config.Rights, err)
	result := run.ResultBack(ctx, mark, err)
	run.Inputs.ExpireAt(mark.Retry(run.Plan.Runtime.Resync))
	st.inputs, st.class, st.looked, st.missing = run.Inputs, "", run.Now, missing
	unwritten := b.writeStatus(ctx, run, result, st)
	if apierrors.IsInvalid(unwritten) && len(result.Fields) > 0 {
		result.Fields = nil
		unwritten = b.writeStatus(ctx, run, result, st)
	}
	if err != nil {
		step := pipeline.AsStepError(err)
		st.class = step.Class
		log.FromContext(ctx).Error(step.Err, "Rollback failed", "stage", step.Step, "class", step.Class)
	}
	for _, w := range run.Writes {
		log.FromContext(ctx).Info("Child written", "child", w.Kind+"/"+w.Name, "action", w.Action)
		b.engine.config.Metrics.ChildWritten(b.name, string(w.Action))
	}
	if unwritten != nil {
		// No step is counted here: a look at a resource that is rolled back is no failure.
		_ = b.statusUnwritten(ctx, st, pipeline.StatusError(unwritten), unwritten)
	}
	if st.missing != nil {
		b.engine.config.Denied(b.name, *st.missing)
	}
	st.shown = result.Ready
	st.ready, st.waiting = false, result.Reconciling.Status == metav1.ConditionTrue
	b.tracker.Observe(health.Observation{
		Resource: keyOf(run.Stored), Waiting: st.waiting, LeftBehind: run.LeftBehind, Back: true, Reason: result.Ready.Reason, Message: result.Ready.Message,
	})
	if err != nil {
		b.backFailed(look, run, result)
	} else {
		b.tracker.SetRolledBack(keyOf(run.Stored), pipeline.BackOf(run.Stored).Why())
		b.wentBackTo(ctx, look, run)
	}
	b.schedule(run, st)
}

// backFailed notes that going back has failed: the children are neither those of the spec nor, all of them, those of the snapshot. It is
// told once.
func (b *box) backFailed(look *rollingBack, run *pipeline.Run, result status.Result) {
	b.tracker.SetRolledBack(keyOf(run.Stored), "")
	if !look.st.attempts.tried {
		b.warn(run.Stored, v1alpha1.ReasonRollbackFailed, result.Conditions[len(result.Conditions)-1].Condition.Message)
	}
	look.st.attempts.tried = true
}

// warn makes an event of what befell the rollback of a resource.
func (b *box) warn(about *unstructured.Unstructured, reason, message string) {
	if recorder := b.engine.config.Events; recorder != nil {
		recorder.Eventf(about, nil, corev1.EventTypeWarning, reason, "Rollback", "%s", message)
	}
}

// wentBackTo tells, once, that a resource is rolled back. Its next attempt begins anew.
func (b *box) wentBackTo(ctx context.Context, look *rollingBack, run *pipeline.Run) {
	a := &look.st.attempts
	announce := a.announce
	*a = attempts{of: a.of}
	if !announce {
		return
	}
	log.FromContext(ctx).Info("Resource rolled back", "generation", look.mark.Generation, "to", look.mark.ToGeneration, "trigger", look.mark.Trigger)
	b.engine.config.Metrics.RolledBack(b.name)
	if look.mark.Count == 1 { // a further try that failed is nothing new
		b.warn(run.Stored, v1alpha1.ReasonRolledBack, look.mark.String()+"; "+look.mark.Message)
	}
}
