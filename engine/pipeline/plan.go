// Package pipeline turns a box into a plan, and runs the plan for one resource.
//
// Compile says everything that is wrong with a box. The Plan that it gives is immutable and safe for concurrent use. A Run is fresh for
// each reconcile, and goes through the stages in the order of order.go. All side effects go through the ports of package stage, so that
// the same plan runs in the cluster, in a test and on the command line.
//
// Each package below this one has one subject, both its compilation and its run: check and compile, which all others compile with; declare,
// what the box declares; stage, the contract of stages; outside, what is read elsewhere; children, what is made; deletion, how a resource
// is cleaned up; outcome, what a resource shows. This package puts them together, and has the stages that work on the resource alone, such
// as normalize, mutation and validation.
//
// The package may not know the engine, the watches, or how a box is scheduled.
package pipeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/admission"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/graph"
	"github.com/orkspace/orkestra/engine/pipeline/hooks"
	"github.com/orkspace/orkestra/engine/pipeline/outcome"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/pipeline/providers"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
)

// Plan is a box compiled. It is immutable and safe for concurrent use.
type Plan struct {
	stage.Plan

	// Selection says which resources are reconciled.
	Selection Selection
	// Elders are the older boxes to which the objects are left that they select.
	Elders []Elder
	// ChildKinds are the kinds that the plan may make, in a fixed order.
	ChildKinds []schema.GroupVersionKind
	// ObservedKinds are the kinds that the plan reads without owning them.
	ObservedKinds []schema.GroupVersionKind
	// CrossBoxes are the boxes whose resources the plan reads.
	CrossBoxes []string
	// DependsOn are what new resources wait for.
	DependsOn []Dependency
	// Constructor makes the reconciler that takes the place of the declarations; nil: these are reconciled. The plan has no stages then but the one
	// that waits for dependencies, and nothing is written to a resource.
	Constructor *hooks.Constructor
	// Admission are the rules that the API server is to enforce; nil: the box does not ask for that.
	Admission *admission.Rules
	// Notes are things to know that are no mistakes.
	Notes []string
	// OnCreateIDs are the ids of the onCreate declarations that run until a resource is Active; nil where that is not known.
	OnCreateIDs []string
	// Status writes the status of resources.
	Status *status.Writer
	// CleanupOnly plans serve deletions and nothing else.
	CleanupOnly bool

	rules      rules
	marks      bool // something may be written to the metadata of a resource
	stages     []Stage
	declared   *declare.Set
	restoring  []Stage // the stages of a cycle that makes the children of a snapshot: see stageEntry.restores
	onRollback Stage   // the groups of onRollback; nil: there are none
	outcome    *outcome.Plan
	providers  *providers.Plan
	sources    []outside.Source
}

// Retained are the kinds whose objects the plan reads without owning them, and those that a hook may read when it likes.
func (p *Plan) Retained() []schema.GroupVersionKind {
	if hook := p.declared.Hook; hook != nil {
		return append(slices.Concat(p.ObservedKinds, hook.Kinds), compile.SecretKind)
	}
	return p.ObservedKinds
}

// Declared gives what a resource has while it lives: the declarations of onCreate and onReconcile in their order, and the patches.
func (p *Plan) Declared() []*declare.Declaration {
	return slices.Concat(p.declared.Live, p.declared.Patches)
}

// Outline is what a plan goes through and declares, for those who show it.
type Outline struct {
	// Steps that a reconcile goes through, in this order, each once.
	Steps []string

	of *Plan
}

// Outline gives that of the plan.
func (p *Plan) Outline() Outline {
	steps := []string{stage.StepGather}
	if p.Constructor != nil {
		steps = append(steps, stage.StepConstructor)
	}
	for _, s := range p.stages {
		if !slices.Contains(steps, s.Name()) {
			steps = append(steps, s.Name())
		}
	}
	return Outline{Steps: append(steps, stage.StepStatus), of: p}
}

// Graph says what depends on what of all that is declared.
func (o Outline) Graph() graph.Graph {
	return graph.Of(o.of.declared, o.of.sources, o.of.providers.Declared())
}

// NextToGo gives those of the children that are to go that may be deleted now.
func (p *Plan) NextToGo(going []*unstructured.Unstructured) []*unstructured.Unstructured {
	return declare.NextToGo(p.declared, going, children.IDOf)
}

// ForCleanup gives the same plan for deletions only.
func (p *Plan) ForCleanup() *Plan {
	cleanup := *p
	cleanup.CleanupOnly, cleanup.Runtime.Autoscale = true, nil
	return &cleanup
}

// As gives the same plan for an account.
func (p *Plan) As(account identity.Account) *Plan {
	return p.identified(account, identity.Problem{})
}

// WithoutAccount gives the same plan for a box that can't act as its account.
func (p *Plan) WithoutAccount(problem identity.Problem) *Plan {
	if !p.CleanupOnly {
		p = p.ForCleanup()
	}
	return p.identified(identity.Account{}, problem)
}

func (p *Plan) identified(account identity.Account, problem identity.Problem) *Plan {
	if p.Account == account && p.AccountProblem == problem {
		return p
	}
	as := *p
	as.Account, as.AccountProblem = account, problem
	return &as
}

// ForGoingCRD gives the same plan for a CRD that is about to go.
func (p *Plan) ForGoingCRD() *Plan {
	going := *p
	going.CRD.Going = true
	return &going
}
