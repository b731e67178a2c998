package cycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/value"
)

// Back is what a resource is rolled back from and to.
type Back struct {
	// Mark is the annotation on the resource while it is rolled back.
	Mark *rollback.Mark
	// Announce says that people have not been told yet.
	Announce bool
	// Unavailable is the reason why there is nothing to go back to, and Message says it in words; empty: there is.
	Unavailable, Message string

	snapshot    rollback.Snapshot
	fresh       bool  // the mark is not written yet
	snapshotErr error // why the snapshot can't be had
}

// rollBack finds the snapshot to go back to, and rolls the resource back to it. It says whether there is something to report.
func (c *cycle) rollBack(ctx context.Context) bool {
	a, plan := &c.st.attempts, c.record.Plan
	a.Due = cmp.Or(a.Due, rollback.TriggerDegraded)
	before := rollback.MarkOf(c.stored)
	c.Snapshots.Prepare(ctx)
	newest := c.Snapshots.Newest(c.stored)
	reason, message := unavailable(newest, plan, c.stored)
	if reason == "" && !plan.Rollback.OwnGroups {
		// Only an error that no retry mends means that there is no way back. Any other one fails the cycle, in runRollback.
		if _, err := c.planTo(ctx, newest.Snapshot.Revision, newest.Snapshot.RevisionHash); err != nil && pipeline.AsStepError(err).Stalls() {
			reason, message = v1alpha1.ReasonRollbackFailed, "nothing is rolled back: "+err.Error()
		}
	}
	if reason != "" {
		c.rollbackUnavailable(ctx, reason, message)
		return true
	}
	mark := &rollback.Mark{
		Generation: c.stored.GetGeneration(), Revision: plan.Revision, ReconcileAt: a.Of.ReconcileAt,
		Snapshot: newest.Object.GetName(), ToGeneration: newest.Snapshot.Generation, ToRevision: newest.Snapshot.Revision,
		SnapshotHash: newest.Snapshot.Hash(), ToRevisionHash: newest.Snapshot.RevisionHash,
		OwnGroups: plan.Rollback.OwnGroups, Held: a.Holds(plan.Rollback),
		Since: metav1.NewTime(c.Clock.Now()), Count: 1, Trigger: a.Due,
	}
	mark.Failed(a.Failure)
	if before.Stands(plan.Revision, c.stored) {
		mark.Count = before.Count + 1 // the same generation was tried again, and failed again
	}
	// Where the failed attempt had changed no child of a resource that is rolled back already, there is nothing new to tell.
	a.Announce = a.Announce || a.Touched || before == nil
	c.record.Back = &Back{Mark: mark, Announce: a.Announce, snapshot: newest.Snapshot, fresh: true}
	return c.execute(ctx)
}

// keepRolledBack keeps the children of a resource that is rolled back as they were in its snapshot.
func (c *cycle) keepRolledBack(ctx context.Context) bool {
	mark := rollback.MarkOf(c.stored)
	c.Snapshots.Prepare(ctx)
	snapshot, err := c.Snapshots.Named(c.stored, mark.Snapshot, mark.SnapshotHash)
	if err != nil {
		err = rollback.Unavailable(err)
	}
	c.record.Back = &Back{Mark: mark, Announce: c.st.attempts.Announce, snapshot: snapshot, snapshotErr: err}
	return c.execute(ctx)
}

// unavailable says why there is nothing to go back to; empty: there is the newest snapshot. If that one can't be trusted, older ones are
// not used either: the user has seen a newer state succeed, and would not expect the resource to become something older.
func unavailable(newest *rollback.Entry, plan *pipeline.Plan, stored *unstructured.Unstructured) (reason, message string) {
	switch {
	case newest == nil:
		return v1alpha1.ReasonNoSnapshot, "nothing is rolled back: no snapshot of this resource is kept; one is taken when a generation succeeds"
	case newest.Err != nil:
		return v1alpha1.ReasonSnapshotRefused, fmt.Sprintf(
			"nothing is rolled back: ControllerRevision %q can't be trusted: %s; delete it, or mend the spec", newest.Object.GetName(), newest.Err)
	case !plan.Rollback.OwnGroups && newest.Snapshot.Of(stored.GetGeneration(), plan.Revision):
		return v1alpha1.ReasonNoSnapshot, fmt.Sprintf(
			"nothing is rolled back: generation %d is itself the last one that succeeded, so what has changed is outside of the spec", stored.GetGeneration())
	default:
		return "", ""
	}
}

// rollbackUnavailable shows on the resource that there is nothing to go back to. Its retries go on as they would without rollback.
func (c *cycle) rollbackUnavailable(ctx context.Context, reason, message string) {
	c.st.attempts.Unavailable, c.st.attempts.Due = true, ""
	result := status.Result{Generation: reconciledGeneration(c.stored), Conditions: []status.Own{
		status.RolledBack(metav1.ConditionFalse, reason, message),
	}}
	c.record.Back = &Back{Unavailable: reason, Message: message}
	c.record.Status.After = result
	c.record.Status.Err = c.writeStatus(ctx, c.stored, result)
	c.record.Next = c.st.requeueUnchanged(c.record.Plan, c.Clock.Now())
}

// runRollback makes the children of a snapshot, or runs onRollback. The order matters: first the plan, so that nothing is marked where
// there is none; then the mark, so that a process that takes over in the middle goes on with the rollback; then the children.
func (c *cycle) runRollback(ctx context.Context) error {
	back, run := c.record.Back, c.record.Run
	var to *pipeline.Plan
	if !back.Mark.OwnGroups {
		var err error
		if to, err = c.planTo(ctx, back.Mark.ToRevision, back.Mark.ToRevisionHash); err != nil {
			return err
		}
	}
	if back.fresh {
		if err := run.WriteBack(ctx, back.Mark); err != nil {
			return err
		}
		if run.Stored.GetGeneration() != back.Mark.Generation {
			return errors.New("the resource has changed meanwhile") // its event is on the way
		}
	}
	if to == nil {
		return c.record.Plan.RunOnRollback(ctx, run, back.snapshot)
	}
	return run.RollBackTo(ctx, to, back.snapshot)
}

// planTo gives the plan of the revision that a snapshot was taken under, and sees to it that its kinds are watched.
func (c *cycle) planTo(ctx context.Context, revision, hash string) (*pipeline.Plan, error) {
	plan := c.record.Plan
	if revision == plan.Revision && (hash == "" || hash == plan.RevisionHash) {
		return plan, nil
	}
	to, err := c.Plans.PlanOf(ctx, c.Box, revision, hash)
	if err != nil {
		var answer apierrors.APIStatus
		if !errors.As(err, &answer) || apierrors.IsNotFound(err) {
			err = rollback.Unavailable(err) // it is not there any more, or does not compile: asking again would not help
		}
		return nil, err
	}
	if c.Inventory.Add(to.ChildKinds) {
		c.Notifier.BoxChanged(c.Box) // its reconciler writes the managed kinds into the status of the box
	}
	return to, c.Inventory.Refill(ctx)
}

// succeeded says whether a resource has succeeded before at its generation, under a plan with rollback.
func (c *cycle) succeeded() bool {
	return c.record.Plan.Rollback != nil && c.Snapshots.Has(c.stored, c.stored.GetGeneration(), c.record.Plan.Revision)
}

// dryRun gives the port that tries all writes of an attempt before the first of them is made; nil: no dry run is needed. One is
// needed for a generation and plan that have not succeeded yet, until a dry run has passed: so a change that the API server refuses
// touches no child, and needs no rollback.
func (c *cycle) dryRun() pipeline.DryRun {
	if c.record.Plan.Rollback == nil || c.stored.GetDeletionTimestamp() != nil {
		return nil
	}
	succeeded, a := c.succeeded(), &c.st.attempts
	a.Renew(rollback.AttemptOf(c.record.Plan.Revision, c.stored), !succeeded && c.Snapshots.Newest(c.stored) != nil)
	if rollback.MarkOf(c.stored) == nil && (succeeded || a.Clean) {
		return nil
	}
	return c.Writer.DryRun()
}

// endAttempt notes how an attempt ended, and queues the resource if it has to be rolled back. Health has counted the cycle before.
func (c reporting) endAttempt() {
	rec, run, a := c.record, c.record.Run, &c.st.attempts
	rule := rec.Plan.Rollback
	if rule == nil || run.Deleting || run.Released {
		*a = rollback.Attempts{}
		c.Tracker.SetRolledBack(rec.Key, "")
		return
	}
	marked, step := rollback.MarkOf(run.Stored), rec.failure()
	c.Tracker.SetRolledBack(rec.Key, marked.Why())
	if step == nil && !rule.OnDegrade {
		// A failed child is no error of the cycle and so does not count towards Degraded, but is a reason for the other triggers.
		step = pipeline.ChildFailure(rec.Status.After.Ready)
	}
	a.Note(step, len(run.Writes) > 0, run.Now, rule.Failures)
	a.Clean = a.Clean || run.DryRunPassed
	if step == nil {
		c.swept.Store(false)
		// With a snapshot of this generation, the children are as in the newest snapshot.
		a.Touched = a.Touched && !c.Snapshots.Has(run.Stored, run.Began.GetGeneration(), rec.Plan.Revision)
		return
	}
	degraded := c.Tracker.Degraded()
	a.Due = a.Trigger(rule, marked != nil, degraded, run.Now)
	if a.Due != "" && !a.Unavailable {
		c.Queue.Enqueue(0, rec.Key)
	}
	if rule.OnDegrade && degraded && !c.swept.Swap(true) {
		// This failure has degraded the box: the resources that failed before it are rolled back, too.
		c.Queue.Enqueue(0, c.Tracker.InFailure()...)
	}
}

// endRollback notes how a rollback has ended, and sends an event: of a failure once, since the children are a mixture of both states
// then; of a success once, too, after which the next attempt starts anew.
func (c reporting) endRollback(ctx context.Context) {
	rec, a := c.record, &c.st.attempts
	if rec.Err != nil {
		c.Tracker.SetRolledBack(rec.Key, "")
		if !a.Tried {
			c.warn(rec.Run.Stored, v1alpha1.ReasonRollbackFailed, rec.Status.After.Conditions[len(rec.Status.After.Conditions)-1].Condition.Message)
		}
		a.Tried = true
		return
	}
	c.Tracker.SetRolledBack(rec.Key, rollback.MarkOf(rec.Run.Stored).Why())
	*a = rollback.Attempts{Of: a.Of}
	if !rec.Back.Announce {
		return
	}
	mark := rec.Back.Mark
	log.FromContext(ctx).Info("Resource rolled back", "generation", mark.Generation, "to", mark.ToGeneration, "trigger", mark.Trigger)
	c.Metrics.RolledBack(c.Box)
	if mark.Count == 1 { // a further try that failed is nothing new
		c.warn(rec.Run.Stored, v1alpha1.ReasonRolledBack, mark.String()+"; "+mark.Message)
	}
}

// carrySnapshots signs the snapshots that a former version of Orkestra took of the resource of a run, and takes its list of them off the
// resource. They count until then, so that an error only means that it is tried again.
func carrySnapshots(ctx context.Context, c *cycle) {
	run := c.record.Run
	if run.Plan.Rollback == nil || run.Deleting || run.Released || value.Annotation(run.Stored, v1alpha1.AnnotationSnapshots) == "" {
		return
	}
	kept := ""
	if mark := rollback.MarkOf(run.Stored); mark != nil {
		kept = mark.SnapshotHash
	}
	err := c.Snapshots.Carry(ctx, run.Stored, kept)
	if err == nil && !c.st.unlisted {
		err = run.UnlistSnapshots(ctx)
		c.st.unlisted = err == nil
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Snapshots of a former version could not be signed")
		run.Inputs.ExpireAt(run.Now.Add(snapshotInterval))
	}
}

// SnapshotRevisions names the revisions of the box that its resources would go back to, or are kept at, sorted.
func (r *Reconciler) SnapshotRevisions() []string {
	needed := map[string]bool{}
	for _, key := range r.Resources.Keys() {
		stored, found := r.Resources.Get(key)
		if !found {
			continue
		}
		if back := rollback.MarkOf(stored); back != nil {
			needed[back.ToRevision] = true
		}
		if newest := r.Snapshots.Newest(stored); newest != nil && newest.Err == nil {
			needed[newest.Snapshot.Revision] = true
		}
	}
	return slices.Sorted(maps.Keys(needed))
}
