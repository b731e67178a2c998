package pipeline

import "context"

// metadata puts finalizers, label and annotations on a resource before anything is made for it.
type metadata struct {
	// activates says that there is no onCreate to be completed. A resource is Active then as soon as nothing of what its box depends
	// on holds it back, and the mark goes with the others: that saves a write in the life of each resource.
	activates bool
}

func compileMetadata(c *compiler) Stage { return metadata{activates: len(c.createGroup) == 0} }

// Name implements Stage.
func (metadata) Name() string { return stepMetadata }

// Run implements Stage.
func (s metadata) Run(ctx context.Context, r *Run) (Outcome, error) {
	if s.activates && !r.isActive && r.dependenciesMet() {
		r.activate()
	}
	return Next, r.mark(ctx)
}
