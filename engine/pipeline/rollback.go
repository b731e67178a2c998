package pipeline

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
)

// rollback compiles rollBackOnError and rollback.
func (c *compiler) rollback() {
	s, at := &c.Spec, field.NewPath("spec")
	switch {
	case s.RollBackOnError && s.Rollback != nil:
		c.Fail(field.Forbidden(at.Child("rollBackOnError"), "rollBackOnError and rollback are two ways back, and a resource takes only one: "+
			"rollBackOnError tries again by itself, rollback holds the resource until something is changed; remove one of them"))
	case s.RollBackOnError:
		c.plan.Rollback = &Rollback{OnError: true, Failures: int(c.plan.Runtime.FailureThreshold)}
	case s.Rollback != nil:
		c.plan.Rollback = c.rollbackForm(s.Rollback, at.Child("rollback"))
	}
}

// rollbackForm compiles the form with a trigger.
func (c *compiler) rollbackForm(in *v1alpha1.RollbackSpec, at *field.Path) *Rollback {
	out := &Rollback{OnDegrade: in.Trigger == nil, OwnGroups: len(c.declared.OnRollback) > 0}
	if in.Trigger == nil {
		return out
	}
	out.Failures = int(c.plan.Runtime.FailureThreshold)
	if n := in.Trigger.ConsecutiveFailures; n != nil {
		if out.Failures = int(*n); *n < 1 {
			c.Fail(field.Invalid(at.Child("trigger", "consecutiveFailures"), *n, "wanted a number of failures, 1 or more"))
		}
	}
	if w := in.Trigger.Within; w != nil {
		if out.Within = w.Duration; w.Duration <= 0 {
			c.Fail(field.Invalid(at.Child("trigger", "within"), w.Duration.String(), "wanted a duration above zero, such as 10m"))
		}
	}
	return out
}

// Snapshot takes one of the resource of a run.
func (r *Run) Snapshot() rollback.Snapshot {
	s := rollback.Take(r.Began, r.Plan.Box, r.Plan.Revision, stage.IsOurMark)
	s.RevisionHash = r.Plan.RevisionHash
	return s
}

// SnapshotFailed has the result of a run tell that its snapshot could not be kept, and the next cycle at a moment try again.
func (r *Run) SnapshotFailed(err error, again time.Time) {
	r.SnapshotError = err
	r.Inputs.ExpireAt(again)
}

// UnlistSnapshots takes the list of snapshots off the resource of a run: signatures tell which may be gone back to.
func (r *Run) UnlistSnapshots(ctx context.Context) error {
	r.Marks.Unlisted = true
	return r.Mark(ctx)
}
