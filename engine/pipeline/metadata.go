package pipeline

import (
	"context"
	"slices"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/deletion"
	"github.com/orkspace/orkestra/engine/pipeline/hooks"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// metadata puts finalizers, label and annotations on a resource before anything is made for it.
type metadata struct {
	// activates says that the box has nothing that must be completed once. A resource is Active then as soon as the dependencies of its
	// box are met, and that is marked together with the finalizer: it saves a write in the life of each resource.
	activates bool
	code      *hooks.Code
}

// completesOnce says whether the first cycles of a resource are others than those that follow: they make what onCreate declares, run
// the hook's OnCreate, or wait as a whole for what cross requires.
func (c *compiler) completesOnce() bool {
	required := func(s v1alpha1.CrossSource) bool { return !s.Optional }
	return len(c.declared.OnCreate) > 0 || c.code.Notes() || slices.ContainsFunc(c.Spec.Cross, required)
}

// Name implements Stage.
func (metadata) Name() string { return stage.StepMetadata }

// Run implements Stage.
func (s metadata) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	if deletion.AwaitsRelease(r.Cycle) {
		return stage.Hold, nil
	}
	if s.activates && !r.Marks.Active && r.dependenciesMet() {
		r.Marks.Activate(r.Now)
	}
	s.code.Forget(r.Cycle)
	return stage.Next, r.Mark(ctx)
}

// active marks a resource whose onCreate is complete, so that neither a restart nor a new process repeats it.
type active struct{ code *hooks.Code }

func compileActive(c *compiler) Stage {
	if !c.completesOnce() {
		return nil // metadata marks it
	}
	return active{code: c.code}
}

// Name implements Stage.
func (active) Name() string { return stage.StepActive }

// Run implements Stage.
func (s active) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	noted := s.code.Succeeded(r.Cycle)
	if !noted && (r.Marks.Active || r.Incomplete) {
		return stage.Next, nil
	}
	if !r.Marks.Active && !r.Incomplete {
		r.Marks.Activate(r.Now)
		r.Inputs.ForgetDependencies()
	}
	return stage.Next, r.Mark(ctx)
}
