package operatorbox

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
)

// serveOtherVersion serves deletions in another version of the CRD, because the one that the box works in is not served.
func (r *runner) serveOtherVersion(ctx context.Context, s *scope) error {
	other, ok := r.anyVersion(s.box, s.live)
	if !ok {
		return r.Engine.Remove(s.box.Name) // there is nothing that could be watched
	}
	return r.serveDeletionsIn(ctx, s, &other)
}

// serveDeletions keeps resources of a box that can't run deletable. A plan that runs goes on as it is, unless the box is to
// be suspended, or the version that it works in is no longer served. In a process that never ran it, the revision that ran
// last goes on.
func (r *runner) serveDeletions(ctx context.Context, s *scope) error {
	return r.serveDeletionsIn(ctx, s, s.crd)
}

func (r *runner) serveDeletionsIn(ctx context.Context, s *scope, crd *pipeline.CRD) error {
	box := s.box
	running := r.runningPlan(box, s.live)
	if s.account.problem.Reason == "" && (running == nil || running.CleanupOnly) {
		if revived, err := r.revive(ctx, s); err != nil || revived {
			return err
		}
	}
	if running != nil {
		next := s.account.run(running)
		if box.Spec.Suspend {
			next = next.ForCleanup()
		}
		if crd.Going && !running.CRD.Going {
			next = next.ForGoingCRD()
		}
		if next == running {
			return nil
		}
		return r.ensure(ctx, s, next)
	}
	bare, err := pipeline.CompileCleanup(box, r.Compiler.Env(ctx, box, *crd))
	if err != nil {
		// Even its CRD part is wrong: there is nothing that could be watched. The status says why.
		return r.Engine.Remove(box.Name)
	}
	bare = s.account.run(bare)
	if missing, err := r.missing(ctx, bare); err != nil || len(missing) > 0 {
		s.requeueAfter = access.RetryInterval
		return err
	}
	plan, err := r.cleanupPlan(ctx, s, *crd)
	if err != nil {
		return fmt.Errorf("compiling OperatorBox %q for deletions: %w", box.Name, err)
	}
	if crd.Kind.Version != crds.WorkedIn(box, s.live) {
		// Children name an owner in the version that the box worked in. Where that is not served, nobody but us deletes them.
		plan = plan.ForGoingCRD()
	}
	return r.ensure(ctx, s, plan)
}

// cleanupPlan gives a plan that serves deletions alone: as the box declares them, or as it did when it last compiled.
func (r *runner) cleanupPlan(ctx context.Context, s *scope, crd pipeline.CRD) (*pipeline.Plan, error) {
	if plan, errs := pipeline.Compile(s.box, r.Compiler.Env(ctx, s.box, crd)); len(errs) == 0 {
		return plan.ForCleanup(), nil
	}
	if last, err := r.lastPlan(ctx, s, crd.Kind.Version); err != nil {
		return nil, err
	} else if last != nil {
		return last.ForCleanup(), nil
	}
	return pipeline.CompileCleanup(s.box, r.Compiler.Env(ctx, s.box, crd))
}

// runningPlan is the plan that a box runs, if it can: its CRD still is the same, and serves the version that it works in.
func (r *runner) runningPlan(box *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition) *pipeline.Plan {
	plan := r.Engine.Plan(box.Name)
	if plan == nil || plan.UID != box.UID || plan.CRD.UID != live.UID {
		return nil
	}
	if _, ok := pipeline.NewCRD(live, plan.CRD.Kind.Version); !ok {
		return nil
	}
	return plan
}

// anyVersion is the version in which deletions are served when the box's own can't be relied on: that of the plan that runs,
// the box's own, the one that it worked in, the storage version, or the first; ok is false when none is served.
func (r *runner) anyVersion(box *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition) (picked pipeline.CRD, ok bool) {
	var wanted []string
	if running := r.runningPlan(box, live); running != nil {
		wanted = append(wanted, running.CRD.Kind.Version)
	}
	if own, ok := crds.OwnVersion(box, live); ok {
		wanted = append(wanted, own.Kind.Version)
	}
	return crds.First(live, append(wanted, crds.WorkedIn(box, live), "")...)
}

// lastPlan compiles the revision that a box ran last, for a process that has not run it. nil: there is none, or it can't go on, and the
// scope says why. version is the CRD's version to work in; empty: that of the revision.
func (r *runner) lastPlan(ctx context.Context, s *scope, version string) (*pipeline.Plan, error) {
	of, err := r.Revisions.Last(ctx, s.box)
	if err == nil && (of.Name == "" || of.Name == boxspec.Revision(s.box)) {
		return nil, nil //nolint:nilnil // none is kept, or what ran is what can't run now
	}
	var plan *pipeline.Plan
	if err == nil {
		plan, err = r.Plans.Compile(ctx, s.box, s.live, of, version)
	}
	_, refused := errors.AsType[revision.Error](err)
	if refused || apierrors.IsForbidden(err) {
		// Deletions must be served all the same, though without what the box says of them. Nothing tells when somebody brings the
		// revision back, so it is asked for now and then.
		s.requeueAfter = access.RetryInterval
		s.stopped(fmt.Sprintf("it can't go on with what it ran before: %v", err))
		return nil, nil //nolint:nilnil // see the comment above
	}
	return plan, err
}

// revive has a box that can't run its spec go on with the revision that it ran before, in a process that has not run it: after a restart,
// or on a new leader. It says whether the box goes on so.
func (r *runner) revive(ctx context.Context, s *scope) (bool, error) {
	if s.box.Spec.Suspend {
		return false, nil
	}
	plan, err := r.lastPlan(ctx, s, "")
	if err != nil || plan == nil {
		return false, err
	}
	missing, err := r.missing(ctx, s.account.run(plan))
	if err != nil {
		return false, err
	}
	if len(missing) > 0 {
		s.requeueAfter = access.RetryInterval
		s.stopped(fmt.Sprintf("revision %q can't go on: %s", plan.Revision, access.Sentence(missing...)))
		return false, nil
	}
	if err := r.remember(ctx, s.box, plan); err != nil {
		return false, err
	}
	return true, r.ensure(ctx, s, plan)
}
