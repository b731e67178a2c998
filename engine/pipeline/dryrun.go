package pipeline

import (
	"context"
	"fmt"
	"maps"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
)

// DryRun asks the API server what it would say to writes, and changes nothing.
type DryRun interface {
	Applier
	Marker
}

var _ DryRun = (*apply.DryRun)(nil)

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
func (dryRun) Name() string { return stepDryRun }

// Run implements Stage.
func (s dryRun) Run(ctx context.Context, r *Run) (Outcome, error) {
	if r.Ports.DryRun == nil {
		return Next, nil
	}
	r.children.all() // their versions from before the dry run are what it has seen
	probe := r.probe()
	ctx, giveBack := expr.WithCycle(ctx, nil) // what is only tried is not what is rendered
	defer giveBack()
	for _, group := range s.groups {
		_, err := group.Run(ctx, probe)
		r.Inputs.observed = append(r.Inputs.observed, probe.Inputs.observed...)
		probe.Inputs.observed = nil
		r.Inputs.ExpireAt(probe.Inputs.expires)
		if err != nil {
			return Hold, fmt.Errorf("%s: %w", group.Name(), err)
		}
	}
	r.back.asked = true
	return Next, nil
}

// probe gives a run that is where this one is, and whose writes go to the dry run.
func (r *Run) probe() *Run {
	ports := r.Ports
	ports.Applier, ports.Marker = r.Ports.DryRun, r.Ports.DryRun
	p := r.Plan.NewRun(r.Stored, r.Now, ports)
	p.Object, p.back.probing = r.Object, true
	p.cross, p.secretCross, p.external = r.cross, r.secretCross, r.external
	p.known, p.lacking = maps.Clone(r.known), r.lacking
	return p
}
