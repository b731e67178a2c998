package pipeline

import (
	"context"
	"slices"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// metadata puts finalizers, label and annotations on a resource before anything is made for it.
type metadata struct {
	// activates says that nothing has to be completed once. A resource is Active then as soon as nothing of what its box depends
	// on holds it back, and the mark goes with the others: that saves a write in the life of each resource.
	activates bool
}

func compileMetadata(c *compiler) Stage { return metadata{activates: !c.completesOnce()} }

// completesOnce says whether the first cycles of a resource are others than those that follow: they make what onCreate declares, or wait
// as a whole for what cross requires.
func (c *compiler) completesOnce() bool {
	required := func(s v1alpha1.CrossSource) bool { return !s.Optional }
	return len(c.createGroup) > 0 || slices.ContainsFunc(c.Spec.Cross, required)
}

// Name implements Stage.
func (metadata) Name() string { return stepMetadata }

// Run implements Stage.
func (s metadata) Run(ctx context.Context, r *Run) (Outcome, error) {
	if s.activates && !r.isActive && r.dependenciesMet() {
		r.activate()
	}
	return Next, r.mark(ctx)
}
