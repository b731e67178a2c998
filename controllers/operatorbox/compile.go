package operatorbox

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// planner makes the plan of a box.
type planner struct {
	Ports

	run *runner
}

// compile compiles the box against its CRD. A box that does not compile goes on with its last plan; without one, it serves deletions only.
func (p *planner) compile(ctx context.Context, s *scope) (stop bool, err error) {
	switch {
	case s.crd == nil:
		return true, p.run.serveOtherVersion(ctx, s)
	case s.refused && (len(s.errors) > 0 || p.run.runningPlan(s.box, s.live) != nil):
		// The definition was refused, or does not compile: the box is served with the CRD that it installed before. A plan that runs
		// goes on as it is; after a restart, a spec that fits that CRD runs.
		return true, p.run.serveDeletions(ctx, s)
	}
	plan, errs, err := p.plan(ctx, s.box, s.crd)
	if err != nil {
		return false, err
	}
	if len(errs) > 0 {
		if !s.refused { // else the definition is what is to be mended first
			s.errors = append(s.errors, errs...)
			s.notReady(health.Pending, reasonOf(errs), words.Mistakes(errs))
		}
		return true, p.run.serveDeletions(ctx, s)
	}
	p.noteAdded(s.box, plan)
	s.plan = plan
	return false, nil
}

// reasonOf is the reason of mistakes: where all there is to mend is a function that the manager does not have, the spec may be right, and
// another manager may run it.
func reasonOf(errs field.ErrorList) string {
	if slices.ContainsFunc(errs, func(e *field.Error) bool { return !hook.IsUnknown(e) }) {
		return v1alpha1.ReasonCompileFailed
	}
	return v1alpha1.ReasonUnknownFunction
}

// plan gives the plan of a box; the one that runs, where neither the spec nor the CRD has changed: most reconciles compile nothing.
func (p *planner) plan(ctx context.Context, box *v1alpha1.OperatorBox, crd *pipeline.CRD) (*pipeline.Plan, field.ErrorList, error) {
	running := p.Engine.Plan(box.Name)
	if running != nil && !running.CleanupOnly && !box.Spec.Suspend && running.UID == box.UID && running.Generation == box.Generation &&
		running.CRD.Same(*crd) && running.SameElders(p.Compiler.Elders(ctx, box)) {
		return running, nil, nil
	}
	return p.Compiler.Compile(ctx, box, *crd, p.dependsOn(ctx, box))
}
