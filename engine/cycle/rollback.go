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
)

// Back is what a resource is rolled back from and to.
type Back struct {
	// Mark stands on the resource while it is so.
	Mark *rollback.Mark
	// Announce says that people have not been told yet.
	Announce bool
	// Unavailable is the reason why there is nothing to go back to, and Message says it in words; empty: there is.
	Unavailable, Message string

	snapshot rollback.Snapshot
	fresh    bool  // the mark is not written yet
	lost     error // why the snapshot can't be had
}

// rollBack finds out what there is to go back to, and goes there.
func (c *cycle) rollBack(ctx context.Context) bool {
	a, plan := &c.st.attempts, c.record.Plan
	a.Due = cmp.Or(a.Due, rollback.TriggerDegraded)
	before := rollback.MarkOf(c.stored)
	newest := c.Snapshots.Newest(c.stored)
	reason, message := unavailable(newest, plan, c.stored)
	if reason == "" && !plan.Rollback.OwnGroups {
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
	if before != nil && before.Stands(plan.Revision, c.stored) {
		mark.Count = before.Count + 1
	}
	a.Announce = a.Announce || a.Touched || before == nil
	c.record.Back = &Back{Mark: mark, Announce: a.Announce, snapshot: newest.Snapshot, fresh: true}
	return c.execute(ctx)
}

// keepRolledBack keeps the children of a resource that is rolled back as they were in its snapshot.
func (c *cycle) keepRolledBack(ctx context.Context) bool {
	mark := rollback.MarkOf(c.stored)
	snapshot, err := c.Snapshots.Named(c.stored, mark.Snapshot, mark.SnapshotHash)
	if err != nil {
		err = rollback.Unavailable(err)
	}
	c.record.Back = &Back{Mark: mark, Announce: c.st.attempts.Announce, snapshot: snapshot, lost: err}
	return c.execute(ctx)
}

// unavailable says why there is nothing to go back to; empty: the newest snapshot is. What is doubtful is not gone back to, nor is
// anything older then: nobody could tell what the resource would become.
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

// rollbackUnavailable says that there is nothing to go back to. The resource goes on as it would without rollback.
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

// goBack makes the children of a snapshot, or runs onRollback. The plan is found before anything is marked, and the mark is written
// before the first child is touched.
func (c *cycle) goBack(ctx context.Context) error {
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
		c.Notifier.BoxChanged(c.Box) // which kinds the box manages is written down
	}
	return to, c.Inventory.Refill(ctx)
}

// succeeded says whether a resource has succeeded before at its generation, under a plan with rollback.
func (c *cycle) succeeded() bool {
	return c.record.Plan.Rollback != nil && c.Snapshots.Has(c.stored, c.stored.GetGeneration(), c.record.Plan.Revision)
}

// dryRun gives what is asked before an attempt changes anything: at a generation and plan that have not succeeded yet, and that no
// dry run has had nothing against.
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

// endAttempt notes how an attempt ended, once it is counted, and has the resource go back in the next cycle where there is a reason.
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
		step = pipeline.ChildFailure(rec.Status.After.Ready) // counts for no box, and so degrades none
	}
	a.Note(step, len(run.Writes) > 0, run.Now, rule.Failures)
	a.Clean = a.Clean || run.DryRunPassed
	if step == nil {
		c.swept.Store(false)
		// What the children are now is what there is to go back to.
		a.Touched = a.Touched && !c.Snapshots.Has(run.Stored, run.Began.GetGeneration(), rec.Plan.Revision)
		return
	}
	degraded := c.Tracker.Degraded()
	a.Due = a.Trigger(rule, marked != nil, degraded, run.Now)
	if a.Due != "" && !a.Unavailable {
		c.Queue.Enqueue(0, rec.Key)
	}
	if rule.OnDegrade && degraded && !c.swept.Swap(true) {
		c.Queue.Enqueue(0, c.Tracker.InFailure()...) // once each time the box degrades
	}
}

// endRollback notes how going back has ended. A failure is told once: the children are neither those of the spec nor, all of them,
// those of the snapshot. So is a success, after which the next attempt begins anew.
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
