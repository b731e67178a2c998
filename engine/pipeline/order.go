package pipeline

import (
	"context"

	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/deletion"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// stageEntry names a stage and how it is compiled. compile gives nil when the box does not use the stage.
type stageEntry struct {
	name    string
	compile func(c *compiler) Stage
}

// order is the order of the stages, and the only place that knows it (design: semantics.md, "The pipeline"). The cache
// read stands before it, status and health after it: they run whatever the stages answer, and belong to the engine.
func order() []stageEntry {
	return []stageEntry{
		{stage.StepDeletion, func(c *compiler) Stage { return onGroups(deletion.Compile(c.Box, c.declared)) }},
		{stage.StepMetadata, compileMetadata},
		{stage.StepDependencies, compileDependencies},
		{stage.StepNormalize, compileNormalize},
		{stage.StepMutation, compileMutation},
		{stage.StepValidation, compileValidation},
		{stage.StepCross, func(c *compiler) Stage { return onCycle(c.cross) }},
		{stage.StepExternal, func(c *compiler) Stage { return onCycle(c.external) }},
		{stage.StepDryRun, compileDryRun},
		{stage.StepOnCreate, func(c *compiler) Stage { return onGroups(children.OnCreate(c.declared)) }},
		{stage.StepOnReconcile, func(c *compiler) Stage { return onGroups(children.OnReconcile(c.declared)) }},
		{stage.StepPrune, func(c *compiler) Stage { return onGroups(children.NewPrune(c.plan.outcome)) }},
		{stage.StepSettle, compileSettle},
		{stage.StepActive, compileActive},
	}
}

// cycleStage is a stage that works on the cycle alone, and knows nothing of the groups.
type cycleStage struct {
	stage.Stage[*stage.Cycle]
}

func onCycle(s stage.Stage[*stage.Cycle]) Stage {
	if s == nil {
		return nil
	}
	return cycleStage{s}
}

// Run implements Stage.
func (s cycleStage) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	return s.Stage.Run(ctx, r.Cycle.Cycle)
}

// groupStage is a stage that works on a cycle and what its declarations make.
type groupStage struct {
	stage.Stage[*children.Cycle]
}

func onGroups(s stage.Stage[*children.Cycle]) Stage {
	if s == nil {
		return nil
	}
	return groupStage{s}
}

// Run implements Stage.
func (s groupStage) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	return s.Stage.Run(ctx, r.Cycle)
}

// compileDryRun gives a box with rollback a dry run: what it refuses ends the cycle before anything is changed.
func compileDryRun(c *compiler) Stage {
	if c.plan.Rollback == nil {
		return nil
	}
	return onGroups(children.NewDryRun(c.declared))
}
