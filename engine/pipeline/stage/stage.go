// Package stage is the contract between a cycle and its stages: what a stage is, what it is given, and what it reports. Packages of the
// pipeline that hold stages import this package, and not the plan that puts them into their order.
package stage

import "context"

// Outcome says how a cycle goes on after a stage.
type Outcome int

// The outcomes of a stage.
const (
	// Next goes on with the next stage.
	Next Outcome = iota
	// Hold ends the cycle: something must happen first, and a watch event will queue the resource then.
	Hold
	// Done ends the cycle: nothing is left to do.
	Done
)

// Stage is one step of a reconcile. C is what it works on: the cycle, or what a package has put around it.
type Stage[C any] interface {
	// Name is the step's name in errors, logs and CRDHealth.
	Name() string
	// Run does the step for one resource. What it reads, waits for and does it notes in the cycle.
	Run(ctx context.Context, c C) (Outcome, error)
}

// The names of the steps.
const (
	StepDeletion     = "deletion"
	StepMetadata     = "metadata"
	StepDependencies = "dependencies"
	StepNormalize    = "normalize"
	StepMutation     = "mutation"
	StepValidation   = "validation"
	StepCross        = "cross"
	StepExternal     = "external"
	StepOnCreate     = "onCreate"
	StepOnReconcile  = "onReconcile"
	StepHook         = "hook"
	StepConstructor  = "constructor" // no stage: the reconciler that takes the place of all
	StepPrune        = "prune"
	StepPatches      = "patches"
	StepOutputs      = "outputs" // what providers have made before
	StepProviders    = "providers"
	StepDryRun       = "dryRun"
	StepSettle       = "settle"
	StepOnRollback   = "onRollback"
	StepActive       = "active"
	StepChildren     = "children" // no stage: what became of what the stages made
	StepStatus       = "status"
	StepGather       = "gather" // no stage: what is read before the first of them
)
