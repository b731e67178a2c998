package pipeline

import (
	"context"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// active marks a resource whose onCreate is complete, so that neither a restart nor a new process repeats it.
type active struct{}

func compileActive(c *compiler) Stage {
	if !c.completesOnce() {
		return nil // metadata marks it
	}
	return active{}
}

// Name implements Stage.
func (active) Name() string { return stepActive }

// Run implements Stage.
func (active) Run(ctx context.Context, r *Run) (Outcome, error) {
	if r.isActive || r.notActive {
		return Next, nil
	}
	r.activate()
	r.Inputs.forgetDependencies()
	return Next, r.mark(ctx)
}

// activate has the next mark say that the resource is Active.
func (r *Run) activate() {
	r.newMarks[v1alpha1.AnnotationActiveSince] = r.Now.UTC().Format(time.RFC3339)
	r.isActive = true
}
