package pipeline

import "context"

// metadata puts finalizers, label and annotations on a resource before anything is made for it.
type metadata struct{}

func compileMetadata(*compiler) Stage { return metadata{} }

// Name implements Stage.
func (metadata) Name() string { return stepMetadata }

// Run implements Stage.
func (metadata) Run(ctx context.Context, r *Run) (Outcome, error) {
	return Next, r.mark(ctx)
}
