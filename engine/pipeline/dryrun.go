package pipeline

import (
	"context"
	"fmt"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// dryRun runs the groups once against the API server's dry run, before a cycle of a box with rollback changes anything: what it
// refuses ends the cycle.
type dryRun struct{ groups []Stage }

func compileDryRun(c *compiler) Stage {
	if c.plan.Rollback == nil {
		return nil
	}
	var s dryRun
	for _, group := range []Stage{compileOnCreate(c), compileOnReconcile(c)} {
		if group != nil {
			s.groups = append(s.groups, group)
		}
	}
	return s
}

// Name implements Stage.
func (dryRun) Name() string { return stage.StepDryRun }

// Run implements Stage.
func (s dryRun) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	if r.Ports.DryRun == nil {
		return stage.Next, nil
	}
	r.children.All() // their versions from before the dry run are what it has seen
	probe := r.Plan.newRun(r.Probe())
	ctx, giveBack := budget.WithCycle(ctx, nil) // what is only tried is not what is rendered
	defer giveBack()
	for _, group := range s.groups {
		_, err := group.Run(ctx, probe)
		r.Inputs.Take(probe.Inputs)
		if err != nil {
			return stage.Hold, fmt.Errorf("%s: %w", group.Name(), err)
		}
	}
	r.DryRunPassed = true
	return stage.Next, nil
}
