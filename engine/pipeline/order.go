package pipeline

import "github.com/orkspace/orkestra/engine/pipeline/stage"

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
		{stage.StepCross, compileCross},
		{stage.StepExternal, compileExternal},
		{stage.StepDryRun, compileDryRun},
		{stage.StepOnCreate, compileOnCreate},
		{stage.StepOnReconcile, compileOnReconcile},
		{stage.StepPrune, compilePrune},
		{stage.StepSettle, compileSettle},
		{stage.StepActive, compileActive},
	}
}
