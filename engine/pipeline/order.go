package pipeline

import (
	"context"

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
		{stage.StepDeletion, compileDeletion},
		{stage.StepMetadata, compileMetadata},
		{stage.StepDependencies, compileDependencies},
		{stage.StepNormalize, compileNormalize},
		{stage.StepMutation, compileMutation},
		{stage.StepValidation, compileValidation},
		{stage.StepCross, func(c *compiler) Stage { return onCycle(c.cross) }},
		{stage.StepExternal, func(c *compiler) Stage { return onCycle(c.external) }},
		{stage.StepDryRun, compileDryRun},
		{stage.StepOnCreate, compileOnCreate},
		{stage.StepOnReconcile, compileOnReconcile},
		{stage.StepPrune, compilePrune},
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
	return s.Stage.Run(ctx, r.Cycle)
}
