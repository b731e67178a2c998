package pipeline

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/deletion"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
)

// Run is one reconcile of one resource: the cycle that all stages share, with what its groups make, and the plan that runs.
type Run struct {
	*children.Cycle

	// Plan that runs.
	Plan *Plan
}

// NewRun gives a run for a resource.
func (p *Plan) NewRun(stored *unstructured.Unstructured, now time.Time, ports Ports) *Run {
	return &Run{Cycle: children.NewCycle(stage.NewCycle(&p.Plan, stored, now, ports), p.declared), Plan: p}
}

// Execute runs the stages in their order until one ends the cycle. An error is always a *StepError.
func (p *Plan) Execute(ctx context.Context, r *Run) error {
	defer r.CountWrites()
	r.WarnMisread(r.Stored.GetAnnotations())
	for _, s := range p.stages {
		next, err := s.Run(r.Ports.Begin(ctx, s.Name()), r)
		r.Ports.Ended(s.Name(), err)
		if err != nil {
			return r.failed(ctx, stage.Classify(s.Name(), err))
		}
		if next != stage.Next {
			return nil
		}
	}
	return deletion.Lighten(ctx, r.Cycle)
}

// failed ends a cycle with the error of a stage. What else fails is said behind it, and tried again with the next cycle.
func (r *Run) failed(ctx context.Context, first *StepError) error {
	err := children.PruneAfterError(r.Ports.Begin(ctx, stage.StepPrune), r.Cycle)
	r.Ports.Ended(stage.StepPrune, err)
	if err != nil {
		first.Err = fmt.Errorf("%w; %s: %w", first.Err, stage.StepPrune, err)
		r.ReconcileAt(r.NextRead())
	}
	return first
}

// Overview says how each declaration of the box stands for the resource of a run that was not executed. It only reads: of the stages, those run that
// what declarations read depends on. No child is rendered, and nothing is called or written. Patches are evaluated, and compared with their targets.
func (p *Plan) Overview(ctx context.Context, r *Run, hidden map[schema.GroupVersionKind]overview.Hidden, comparer func() *drift.Comparer) []overview.Status {
	see := func(ctx context.Context, in children.Instance) (overview.Patch, error) {
		seen, err := patches.See(ctx, r.Cycle, in, comparer())
		return overview.Patch(seen), err
	}
	if failed := Read(ctx, p, r); failed != nil {
		return overview.Of(ctx, r.Cycle, failed, hidden, see)
	}
	return overview.Of(ctx, r.Cycle, nil, hidden, see)
}

// Undo deletes what providers have made for the resource of a run whose box goes, and says whether nothing is left to do.
func (r *Run) Undo(ctx context.Context) (done bool, err error) {
	return r.Plan.providers.Undo(ctx, r.Cycle)
}

// Result says what the resource shows after the cycle that ended with err (nil: success).
func (r *Run) Result(ctx context.Context, err error) (status.Result, error) {
	return r.Plan.outcome.Result(ctx, r.Cycle.Cycle, r.Living, err)
}

// Unstorable gives the result of a cycle whose declared fields the API server refuses to store.
func (r *Run) Unstorable(res status.Result, err, refused error) (status.Result, error) {
	return r.Plan.outcome.Unstorable(r.Cycle.Cycle, r.Living, res, err, refused)
}

// ResultBack says what a resource shows that is rolled back. err is the error of the rollback; nil: it is complete.
func (r *Run) ResultBack(ctx context.Context, m *rollback.Mark, err error) status.Result {
	return r.Plan.outcome.RolledBack(ctx, r.Cycle.Cycle, m, err)
}

// Read runs the stages of a plan that what declarations read depends on, for a run that is not executed. It only reads: nothing is called or written.
func Read(ctx context.Context, p *Plan, r *Run) *StepError {
	for _, s := range p.stages {
		switch s.Name() {
		case stage.StepNormalize, stage.StepMutation, stage.StepCross:
		default:
			continue
		}
		if _, err := s.Run(ctx, r); err != nil {
			return stage.Classify(s.Name(), err)
		}
	}
	return nil
}
