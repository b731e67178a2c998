package operatorbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/admission"
)

// enforcer has the API server enforce what boxes ask for.
type enforcer struct{ Ports }

// enforce has the policies of a box say what the plan says that runs: a box that can't run its spec goes on with the policies of the
// former one. Whatever fails is said on the box, and tried again.
func (e *enforcer) enforce(ctx context.Context, s *scope) (stop bool, err error) {
	plan := e.Engine.Plan(s.box.Name)
	wants := plan != nil && !plan.CleanupOnly && plan.Admission != nil
	if !e.Engine.Leading() || !wants && s.box.Spec.Admission == nil && !e.Admission.MayHave(s.box) {
		return false, nil
	}
	ends := s.box.Spec.Suspend || s.crd == nil || plan != nil && !plan.CleanupOnly
	switch {
	case wants:
		if s.enforced, err = e.Admission.Apply(ctx, s.box, plan); s.enforced.RequeueAfter > 0 {
			s.requeueAfter = s.enforced.RequeueAfter
		}
	case ends:
		err = e.lift(ctx, s)
	case s.box.Spec.Admission != nil || s.box.Status.Admission != nil:
		s.enforced = admission.Unchanged(s.box, cmp.Or(s.reason, v1alpha1.ReasonStopped))
	}
	if err != nil {
		s.failed = errors.Join(s.failed, fmt.Errorf("enforcing the rules of OperatorBox %q: %w", s.box.Name, err))
	}
	return false, nil
}

// lift deletes the policies of a box that does not run, or does not ask for them any more.
func (e *enforcer) lift(ctx context.Context, s *scope) error {
	note, err := e.Admission.Lift(ctx, s.box)
	if err != nil {
		return err
	}
	if note != "" {
		s.note(note)
	}
	if s.box.Spec.Admission != nil && !s.deleted {
		s.enforced = admission.Lifted(cmp.Or(s.reason, v1alpha1.ReasonStopped))
	}
	return nil
}
