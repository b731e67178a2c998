package pipeline

import "context"

// Outcome says how a cycle goes on after a stage.
type Outcome int

// The outcomes of a stage.
const (
	// Next goes on with the next stage.
	Next Outcome = iota
	// Hold ends the cycle: something must happen first, and a watch will tell.
	Hold
	// Done ends the cycle: nothing is left to do.
	Done
)

// Stage is one step of a reconcile.
type Stage interface {
	// Name is the step's name in errors, logs and CRDHealth.
	Name() string
	// Run does the step for one resource.
	Run(ctx context.Context, r *Run) (Outcome, error)
}

// stageEntry names a stage and how it is compiled. compile gives nil when the box does not use the stage.
type stageEntry struct {
	name    string
	compile func(c *compiler) Stage
}

// order is the order of the stages, and the only place that knows it (design: semantics.md, "The pipeline"). The cache
// read stands before it, status and health after it: they run whatever the stages answer, and belong to the engine.
func order() []stageEntry {
	return []stageEntry{
		{stepDeletion, compileDeletion},
		{stepMetadata, compileMetadata},
		{stepDependencies, compileDependencies},
		{stepNormalize, compileNormalize},
		{stepMutation, compileMutation},
		{stepValidation, compileValidation},
		{stepCross, compileCross},
		{stepExternal, compileExternal},
		{stepDryRun, compileDryRun},
		{stepOnCreate, compileOnCreate},
		{stepOnReconcile, compileOnReconcile},
		{stepPrune, compilePrune},
		{stepSettle, compileSettle},
		{stepActive, compileActive},
	}
}

// The names of the stages.
const (
	stepDeletion     = "deletion"
	stepMetadata     = "metadata"
	stepDependencies = "dependencies"
	stepNormalize    = "normalize"
	stepMutation     = "mutation"
	stepValidation   = "validation"
	stepCross        = "cross"
	stepExternal     = "external"
	stepOnCreate     = "onCreate"
	stepOnReconcile  = "onReconcile"
	stepPrune        = "prune"
	stepDryRun       = "dryRun"
	stepSettle       = "settle"
	stepRollback     = "onRollback"
	stepActive       = "active"
	stepChildren     = "children" // no stage: what became of what the stages made
	stepStatus       = "status"
)
