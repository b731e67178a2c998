package operatorbox

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/accounts"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// unknownDelay is how long a box waits for its account to be known without an event that tells.
const unknownDelay = time.Second

// acting is as whom a box acts.
type acting struct {
	identity.Account // the zero value: as the manager

	problem identity.Problem // why it can't
}

// run gives a plan for a box that acts so.
func (a acting) run(plan *pipeline.Plan) *pipeline.Plan {
	if a.problem.Reason != "" {
		return plan.WithoutAccount(a.problem)
	}
	return plan.As(a.Account)
}

// accountant finds out as whom boxes act.
type accountant struct {
	Ports

	run *runner
}

// identify finds out as whom the box acts, and pins the account. It never stops a box: its CRD is looked up and its spec is compiled all the
// same, so that people read what is wrong with them.
func (a *accountant) identify(ctx context.Context, s *scope) (stop bool, err error) {
	pin, problem := accounts.Judge(s.box, a.Accounts, a.AccountRequired)
	s.account = acting{problem: problem}
	if problem.Reason == v1alpha1.ReasonAccountUnknown {
		s.requeueAfter = unknownDelay
	}
	if problem.Reason != "" {
		return false, nil
	}
	if pin != nil {
		s.account.Account = identity.Account{Namespace: pin.Namespace, Name: pin.Name, UID: pin.UID}
	}
	return false, a.pin(ctx, s, pin)
}

// require stops a box that can't act as its account. Deletions are served.
func (a *accountant) require(ctx context.Context, s *scope) (stop bool, err error) {
	if s.account.problem.Reason == "" {
		s.plan = s.account.run(s.plan)
		return false, nil
	}
	s.notReady(health.Pending, s.account.problem.Reason, s.account.problem.Message)
	return true, a.run.serveDeletions(ctx, s)
}

// pin writes to a box's status as which account it acts, before it does: one that is made again under the same name is another.
func (a *accountant) pin(ctx context.Context, s *scope, pin *v1alpha1.ServiceAccountStatus) error {
	box := s.box
	was := box.Status.ServiceAccount
	if !a.Engine.Leading() || s.deleted || pin == nil && was == nil || pin != nil && was != nil && *pin == *was {
		return nil
	}
	base := box.DeepCopy()
	box.Status.ServiceAccount = pin
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Status().Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing the account of OperatorBox %q to its status: %w", box.Name, err)
	}
	if pin == nil || a.Events == nil {
		return nil
	}
	a.Events.Eventf(box, nil, corev1.EventTypeNormal, v1alpha1.ReasonAccountPinned, "Reconcile",
		"the box acts as %s with UID %s from now on", s.account.Account, pin.UID)
	return nil
}

// MarkUsers queues the boxes that name an account; with an empty name, those that name any account of the namespace.
func (r *Reconciler) MarkUsers(ctx context.Context, namespace, name string) {
	var boxes v1alpha1.OperatorBoxList
	if err := r.ports.Client.List(ctx, &boxes); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Boxes of an account could not be listed", "account", namespace+"/"+name)
		return
	}
	for i := range boxes.Items {
		ref := boxes.Items[i].Spec.ServiceAccountRef
		if ref != nil && ref.Namespace == namespace && (name == "" || ref.Name == name) {
			r.ports.Boxes.Mark(boxes.Items[i].Name, true)
		}
	}
}
