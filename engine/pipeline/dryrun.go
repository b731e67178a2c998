package pipeline

import (
	"context"
	"fmt"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// dryRun runs the groups once against the API server's dry run, before a cycle of a box with rollback changes anything: what it
// refuses ends the cycle.
type dryRun struct {
	groups []stage.Stage[*children.Cycle]
}

// newDryRun gives the stage that tries the groups of a box.
func newDryRun(declared *declare.Set) stage.Stage[*children.Cycle] {
	var s dryRun
	for _, group := range []stage.Stage[*children.Cycle]{children.OnCreate(declared), children.OnReconcile(declared)} {
		if group != nil {
			s.groups = append(s.groups, group)
		}
	}
	return s
}

// Name implements Stage.
func (dryRun) Name() string { return stage.StepDryRun }

// Run implements Stage.
func (s dryRun) Run(ctx context.Context, c *children.Cycle) (stage.Outcome, error) {
	if c.Ports.DryRun == nil {
		return stage.Next, nil
	}
	c.Living.All() // their versions from before the dry run are what it has seen
	probe := children.NewCycle(c.Probe(), c.Declared)
	ctx, giveBack := budget.WithCycle(ctx, nil) // what is only tried is not what is rendered
	defer giveBack()
	for _, group := range s.groups {
		_, err := group.Run(ctx, probe)
		c.Inputs.Take(probe.Inputs)
		if err != nil {
			return stage.Hold, fmt.Errorf("%s: %w", group.Name(), err)
		}
	}
	c.DryRunPassed = true
	return stage.Next, nil
}
