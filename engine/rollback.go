package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/watch"
)

// snapshotStore gives the store of the snapshots of a box's resources. They are read from the informer of their kind, which is
// among those of children, so that asking for one costs no request.
func (b *box) snapshotStore() *rollback.Store {
	return &rollback.Store{
		Client: b.client, Cache: b.engine.children, Namespace: b.engine.config.Namespace, Ours: watch.OursByFields,
	}
}

// dryRun gives what is asked before an attempt changes anything: at a generation and plan that have not succeeded yet, and
// that no dry run has had nothing against.
func (b *box) dryRun(plan *pipeline.Plan, stored *unstructured.Unstructured, st *state) pipeline.DryRun {
	if plan.Rollback == nil || stored.GetDeletionTimestamp() != nil {
		return nil
	}
	succeeded := b.succeeded(plan, stored)
	st.attempts.renew(editionOf(plan, stored), !succeeded && b.snapshots.Newest(stored) != nil)
	if pipeline.BackOf(stored) == nil && (succeeded || st.attempts.clean) {
		return nil
	}
	return b.writer.DryRun()
}

// snapshotInterval is the time to the next try where a snapshot could not be kept. Until then there is no way back to this generation.
const snapshotInterval = 10 * time.Second

// succeeded says whether a resource has succeeded before at its generation, under a plan with rollback.
func (b *box) succeeded(plan *pipeline.Plan, stored *unstructured.Unstructured) bool {
	return plan.Rollback != nil && b.snapshots.Has(stored, stored.GetGeneration(), plan.Revision)
}

// keepSnapshot keeps what a resource looked like that has succeeded: Ready, with nothing that is waited for. That it can't be kept
// is no failure of the resource, but people should know.
func (b *box) keepSnapshot(ctx context.Context, run *pipeline.Run, result status.Result, st *state) status.Result {
	if run.Plan.Rollback == nil || !run.Settled() || len(run.Waits) > 0 || result.Ready.Status != metav1.ConditionTrue {
		return result
	}
	snapshot := run.Snapshot()
	if b.snapshots.Has(run.Stored, snapshot.Generation, snapshot.Revision) {
		return result
	}
	before := run.Stored.GetResourceVersion()
	err := b.snapshots.Save(ctx, run.Stored, snapshot, run.ListSnapshots)
	if v := run.Stored.GetResourceVersion(); v != before {
		st.written, st.version = v, v
	}
	if err == nil {
		return result
	}
	log.FromContext(ctx).Error(err, "Snapshot could not be kept")
	run.Inputs.ExpireAt(run.Now.Add(min(snapshotInterval, run.Plan.Runtime.Resync)))
	result.Conditions = slices.DeleteFunc(slices.Clone(result.Conditions), func(o status.Own) bool {
		return o.Condition.Type == v1alpha1.ConditionRolledBack
	})
	result.Conditions = append(result.Conditions, status.RolledBack(metav1.ConditionFalse, v1alpha1.ReasonSnapshotFailed,
		"this generation can't be gone back to, since its snapshot could not be kept: "+err.Error()))
	return result
}

// noteAttempt notes how an attempt ended, and has the resource go back where there is a reason.
func (b *box) noteAttempt(run *pipeline.Run, step *pipeline.StepError, st *state) {
	rule := run.Plan.Rollback
	if rule == nil || run.Deleting || run.Released {
		st.attempts = attempts{}
		b.tracker.SetRolledBack(keyOf(run.Stored), "")
		return
	}
	marked := pipeline.BackOf(run.Stored)
	b.tracker.SetRolledBack(keyOf(run.Stored), marked.Why())
	a := &st.attempts
	if step == nil && !rule.OnDegrade {
		step = pipeline.ChildFailure(st.shown) // counts for no box, and so degrades none
	}
	a.note(step, len(run.Writes) > 0, run.Now, rule.Failures)
	a.clean = a.clean || run.Asked()
	if step == nil {
		b.wentBack.Store(false)
		// What the children are now is what there is to go back to.
		a.touched = a.touched && !b.snapshots.Has(run.Stored, run.Read().GetGeneration(), run.Plan.Revision)
		return
	}
	degraded := b.tracker.Degraded()
	a.due = a.trigger(rule, marked != nil, degraded, run.Now)
	if a.due != "" && !a.nothing {
		b.soon(keyOf(run.Stored), 0)
	}
	if rule.OnDegrade && degraded {
		b.degraded()
	}
}

// degraded queues the resources in failure, once each time the box degrades.
func (b *box) degraded() {
	if b.wentBack.Swap(true) {
		return
	}
	for _, key := range b.tracker.InFailure() {
		b.queue.Enqueue(0, key)
	}
}

// SnapshotRevisions names the revisions of a box that its resources would go back to, or are kept at, sorted. None where the box does
// not run.
func (e *Engine) SnapshotRevisions(name string) []string {
	b := e.box(name)
	if b == nil || !b.running() {
		return nil
	}
	needed := map[string]bool{}
	for _, key := range b.resources.Keys() {
		stored, found := b.resources.Get(key)
		if !found {
			continue
		}
		if back := pipeline.BackOf(stored); back != nil {
			needed[back.ToRevision] = true
		}
		if newest := b.snapshots.Newest(stored); newest != nil && newest.Err == nil {
			needed[newest.Snapshot.Revision] = true
		}
	}
	return slices.Sorted(maps.Keys(needed))
}

// seedRolledBack notes which resources are rolled back, as they show it themselves.
func (b *box) seedRolledBack(key types.NamespacedName, stored *unstructured.Unstructured) {
	b.tracker.SetRolledBack(key, pipeline.BackOf(stored).Why())
}
