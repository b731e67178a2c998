package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/cycle"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// gather finds out what a cycle knows before it decides. What costs something is asked only where it may matter; whether a
// missing right was granted meanwhile is all that may cost a request.
func (b *box) gather(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state) *cycle.Facts {
	now := b.engine.config.Clock.Now()
	f := &cycle.Facts{
		Found:          true,
		AwaitsOwnWrite: st.written != "" && !b.resources.Seen(keyOf(stored), st.written),
		Deleting:       stored.GetDeletionTimestamp() != nil,
		Held:           marked(stored),
		Marked:         plan.Marked(stored),
		Selected:       plan.Selection.Selects(stored),
		Released:       st.released,
		Paused:         paused(stored),
		CleanupOnly:    plan.CleanupOnly,
		Throttled:      st.writes.Delay(stored, now),
	}
	if cycle.Decide(f).Action != cycle.Reconcile {
		return f // nothing else would change that
	}
	f.Class, f.Due, f.ResyncOver = st.class, st.isDue(now), st.since(now) >= resyncFloor(plan.Runtime.Resync)
	inputs := st.inputsOf(stored)
	f.Unchanged = inputs.Unchanged(&plan.Plan, stored, reader{b.inventory, b.observer}, now)
	f.SeenUnchanged = f.Unchanged || inputs == nil && st.version == stored.GetResourceVersion()
	if rule := plan.Rollback; rule != nil && !f.Deleting {
		f.RollbackDue = st.attempts.mustGoBack(editionOf(plan, stored), rule, b.tracker.Degraded())
		f.RollbackTried = st.attempts.tried
		if back := pipeline.BackOf(stored); back != nil && back.Stands(plan.Revision, stored) {
			f.RolledBack, f.AttemptDue = true, back.MustRetry(plan.Runtime.Resync, now)
		}
	}
	if f.Class == pipeline.Permission && cycle.Decide(f).Action == cycle.Skip {
		f.Granted = st.missing == nil || b.engine.config.Rights.Granted(ctx, *st.missing)
	}
	return f
}

// reader reads what the inputs of a cycle are made of, without noting that.
type reader struct {
	pipeline.Inventory
	pipeline.Observer
}
