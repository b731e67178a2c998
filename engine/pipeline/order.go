package pipeline

import (
	"context"

	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/deletion"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
	"github.com/orkspace/orkestra/engine/pipeline/providers"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// stageEntry names a stage and how it is compiled.
type stageEntry struct {
	name string
	// restores says that the stage also runs in a cycle that makes the children of a snapshot: it makes something, or reads what that
	// needs. Such a cycle does not mark, validate or release the resource.
	restores bool
	// compile gives nil when the box does not use the stage.
	compile func(c *compiler) Stage
}

// order is the order of the stages, and the only place that knows it (design: architecture.md, "One reconcile of one resource"). Reading
// the cache comes before it, status and health after it: they run whatever the stages answer, and belong to the engine.
func order() []stageEntry {
	const restores = true
	return []stageEntry{
		{stage.StepDeletion, !restores, func(c *compiler) Stage {
			return onGroups(deletion.Compile(c.Box, c.declared, c.code, takeBack(c.plan.providers)))
		}},
		{stage.StepMetadata, !restores, func(c *compiler) Stage { return metadata{activates: !c.completesOnce(), code: c.code} }},
		{stage.StepDependencies, !restores, compileDependencies},
		{stage.StepNormalize, restores, compileNormalize},
		{stage.StepMutation, restores, compileMutation},
		{stage.StepValidation, !restores, compileValidation},
		{stage.StepCross, restores, func(c *compiler) Stage { return onCycle(c.cross) }},
		{stage.StepExternal, restores, func(c *compiler) Stage { return onCycle(c.external) }},
		{stage.StepOutputs, restores, func(c *compiler) Stage { return onGroups(c.plan.providers.Outputs()) }},
		{stage.StepHook, restores, func(c *compiler) Stage { return onGroups(c.code.Stage(true)) }},
		{stage.StepDryRun, !restores, compileDryRun},
		{stage.StepOnCreate, restores, func(c *compiler) Stage { return onGroups(children.OnCreate(c.declared)) }},
		{stage.StepOnReconcile, restores, func(c *compiler) Stage { return onGroups(children.OnReconcile(c.declared)) }},
		{stage.StepHook, restores, func(c *compiler) Stage { return onGroups(c.code.Stage(false)) }},
		{stage.StepPrune, restores, func(c *compiler) Stage { return onGroups(children.NewPrune(c.plan.outcome)) }},
		{stage.StepPatches, restores, func(c *compiler) Stage { return onGroups(patches.Compile(c.declared)) }},
		{stage.StepProviders, restores, func(c *compiler) Stage { return onGroups(c.plan.providers.Stage()) }},
		{stage.StepSettle, !restores, compileSettle},
		{stage.StepActive, !restores, compileActive},
	}
}

// stages compiles the stages in their order.
func (c *compiler) stages() {
	for _, entry := range order() {
		if c.plan.Constructor != nil && entry.name != stage.StepDependencies {
			continue // the reconciler does it, or nobody
		}
		s := entry.compile(c)
		if s == nil {
			continue
		}
		c.plan.stages = append(c.plan.stages, s)
		if entry.restores {
			c.plan.restoring = append(c.plan.restoring, s)
		}
	}
	c.plan.onRollback = onGroups(children.OnRollback(c.declared))
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

// takeBack gives what a deleted resource has to take back of what is no child, the last that is made first.
func takeBack(made *providers.Plan) []deletion.Taker {
	return []deletion.Taker{made, patches.Taker{}}
}

// compileDryRun gives a box with rollback a dry run: what it refuses ends the cycle before anything is changed.
func compileDryRun(c *compiler) Stage {
	if c.plan.Rollback == nil {
		return nil
	}
	return onGroups(newDryRun(c.declared))
}
