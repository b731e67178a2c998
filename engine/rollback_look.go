package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/worker"
)

// stayBack keeps the children of a resource that is rolled back as they were in its snapshot.
func (b *box) stayBack(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state, place *worker.Slot) {
	back := pipeline.BackOf(stored)
	entry, err := b.snapshots.Named(stored, back.Snapshot, back.SnapshotHash)
	if err != nil {
		err = pipeline.NoWayBack(err)
	}
	b.runBack(ctx, &rollingBack{plan: plan, stored: stored, st: st, mark: back, snapshot: entry, err: err}, place)
}

// goBack finds out what there is to go back to, and goes there. What is doubtful is not gone back to, nor is anything older then:
// nobody could tell what the resource would become.
func (b *box) goBack(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state, place *worker.Slot) {
	before := pipeline.BackOf(stored)
	st.attempts.due = cmp.Or(st.attempts.due, triggerDegraded)
	newest := b.snapshots.Newest(stored)
	switch {
	case newest == nil:
		b.nothingBack(ctx, plan, stored, st, v1alpha1.ReasonNoSnapshot, "nothing is rolled back: no snapshot of this resource is kept; one is taken when a generation succeeds")
		return
	case newest.Err != nil:
		b.nothingBack(ctx, plan, stored, st, v1alpha1.ReasonSnapshotRefused, fmt.Sprintf(
			"nothing is rolled back: ControllerRevision %q can't be trusted: %s; delete it, or mend the spec", newest.Object.GetName(), newest.Err))
		return
	case !plan.Rollback.OwnGroups && newest.Snapshot.Of(stored.GetGeneration(), plan.Revision):
		b.nothingBack(ctx, plan, stored, st, v1alpha1.ReasonNoSnapshot, fmt.Sprintf(
			"nothing is rolled back: generation %d is itself the last one that succeeded, so what has changed is outside of the spec", stored.GetGeneration()))
		return
	}
	if _, err := b.planTo(ctx, plan, newest.Snapshot.Revision, newest.Snapshot.RevisionHash); err != nil && !plan.Rollback.OwnGroups && pipeline.AsStepError(err).Stalls() {
		b.nothingBack(ctx, plan, stored, st, v1alpha1.ReasonRollbackFailed, "nothing is rolled back: "+err.Error())
		return
	}
	a := &st.attempts
	mark := &pipeline.RolledBack{
		Generation: stored.GetGeneration(), Revision: plan.Revision, ReconcileAt: a.of.reconcileAt,
		Snapshot: newest.Object.GetName(), ToGeneration: newest.Snapshot.Generation, ToRevision: newest.Snapshot.Revision,
		SnapshotHash: newest.Snapshot.Hash(), ToRevisionHash: newest.Snapshot.RevisionHash,
		OwnGroups: plan.Rollback.OwnGroups, Held: a.holds(plan.Rollback),
		Since: metav1.NewTime(b.engine.config.Clock.Now()), Count: 1, Trigger: a.due,
	}
	mark.Failed(a.failure)
	if before != nil && before.Stands(plan.Revision, stored) {
		mark.Count = before.Count + 1
	}
	a.announce = a.announce || a.touched || before == nil
	b.runBack(ctx, &rollingBack{plan: plan, stored: stored, st: st, mark: mark, snapshot: newest.Snapshot, fresh: true}, place)
}

// nothingBack says that there is nothing to go back to. The resource goes on as it would without rollback.
func (b *box) nothingBack(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state, reason, message string) {
	st.attempts.nothing, st.attempts.due = true, ""
	b.tracker.SetRolledBack(keyOf(stored), "")
	b.warn(stored, reason, message)
	log.FromContext(ctx).Info("Nothing is rolled back", "reason", reason, "message", message)
	result := status.Result{Generation: reconciled(stored), Conditions: []status.Own{
		status.RolledBack(metav1.ConditionFalse, reason, message),
	}}
	if err := b.patchStatus(ctx, plan, stored, result, st); err != nil && !apierrors.IsConflict(err) {
		log.FromContext(ctx).Error(err, "Status could not be written")
	}
	b.await(plan, keyOf(stored), st)
}

// rollingBack is one look at a resource that goes back, or stays there.
type rollingBack struct {
	plan     *pipeline.Plan
	stored   *unstructured.Unstructured
	st       *state
	mark     *pipeline.RolledBack
	snapshot rollback.Snapshot
	fresh    bool  // the mark is not written yet
	err      error // why the snapshot can't be had
}

// runBack makes the children of a snapshot, or runs onRollback.
func (b *box) runBack(ctx context.Context, look *rollingBack, place *worker.Slot) {
	clk := b.engine.config.Clock
	began := clk.Now()
	plan, stored, st := look.plan, look.stored, look.st
	reading := b.observer.For(keyOf(stored))
	st.writes.Begin(stored, began)
	ports := pipeline.Ports{
		Inventory: b.inventory, Applier: st.writes.Applier(b.writer, b.engine.children, stored, began, plan.Runtime.Resync),
		LoopGuard: &st.writes, Marker: b.writer, Kinds: b.engine.kinds,
		Observer: reading, Caller: outside{next: b.engine.calls, slot: place},
	}
	run := plan.NewRun(stored, began, ports)
	run.Succeeded = true // what is gone back to has
	err := look.err
	if err == nil {
		err = b.inventory.Refill(ctx)
	}
	if err == nil {
		err = b.within(ctx, keyOf(stored), place, func(ctx context.Context) error { return b.back(ctx, look, run) })
	}
	reading.End(false)
	if !place.Take(ctx) || ctx.Err() != nil {
		return // the process stops, or no longer leads
	}
	if v := run.Stored.GetResourceVersion(); v != stored.GetResourceVersion() {
		st.written = v
	}
	b.finishBack(ctx, look, run, err)
	b.engine.config.Metrics.Reconciled(b.name, resultOf(run, st), clk.Since(began))
}

// back does it. The plan is found before anything is marked, and the mark is written before the first child is touched.
func (b *box) back(ctx context.Context, look *rollingBack, run *pipeline.Run) error {
	plan := look.plan
	var to *pipeline.Plan
	if !look.mark.OwnGroups {
		var err error
		if to, err = b.planTo(ctx, plan, look.mark.ToRevision, look.mark.ToRevisionHash); err != nil {
			return err
		}
	}
	if look.fresh {
		if err := run.WriteBack(ctx, look.mark); err != nil {
			return err
		}
		if run.Stored.GetGeneration() != look.mark.Generation {
			return errors.New("the resource has changed meanwhile") // its event is on the way
		}
	}
	if to == nil {
		return plan.RunOnRollback(ctx, run, look.snapshot)
	}
	back := to.NewRunTo(look.snapshot, run.Stored, run.Now, run.Ports)
	back.Succeeded = true // there is nothing further to go back to: what it does not declare goes, whatever is waited for
	err := to.GoBack(ctx, back)
	run.Writes, run.Events, run.LeftBehind = back.Writes, back.Events, back.LeftBehind
	run.Stored = back.Stored // going back may have marked it
	run.Inputs = back.Inputs.As(&plan.Plan, run.Stored)
	return err
}

// planTo gives the plan of the revision that a snapshot was taken under, and sees to it that its kinds are watched.
func (b *box) planTo(ctx context.Context, plan *pipeline.Plan, revision, hash string) (*pipeline.Plan, error) {
	if revision == plan.Revision && (hash == "" || hash == plan.RevisionHash) {
		return plan, nil
	}
	to, err := b.engine.config.PlanOf(ctx, b.name, revision, hash)
	if err != nil {
		var answer apierrors.APIStatus
		if !errors.As(err, &answer) || apierrors.IsNotFound(err) {
			err = pipeline.NoWayBack(err) // it is not there any more, or does not compile: asking again would not help
		}
		return nil, err
	}
	if b.inventory.Add(to.ChildKinds) {
		b.engine.config.Changed(b.name) // which kinds the box manages is written down
	}
	return to, b.inventory.Refill(ctx)
}
