package operatorbox

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// runner hands plans to the engine.
type runner struct{ Ports }

// checkRights stops a box for which a right is missing: its reconciles would fail halfway, with some of the children made.
func (r *runner) checkRights(ctx context.Context, s *scope) (stop bool, err error) {
	missing, err := r.missing(ctx, s.plan)
	if err != nil || len(missing) == 0 {
		return false, err
	}
	s.lacks(missing)
	return true, r.serveDeletions(ctx, s)
}

// missing gives the rights without which a plan can't run: of as whom the box acts, and of the manager, whose caches it is served from.
func (p Ports) missing(ctx context.Context, plan *pipeline.Plan) ([]access.Missing, error) {
	needs := plan.Needed()
	var all []access.Missing
	for _, asked := range []struct {
		account identity.Account
		rules   []v1alpha1.RequiredRule
	}{{plan.Account, needs.Own}, {identity.Account{}, needs.Manager}} {
		missing, err := p.Rights.Of(asked.account, plan.Box).Missing(ctx, asked.rules)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			everywhere := !asked.account.IsManager() && slices.ContainsFunc(missing, needs.Unselected)
			all = append(all, access.Missing{Account: asked.account, Box: plan.Box, AsManager: plan.Account.IsManager(), Everywhere: everywhere, Rights: missing})
		}
	}
	return all, nil
}

// lacks says that rights are missing without which the box can't run. It is looked at again soon.
func (s *scope) lacks(missing []access.Missing) {
	s.missing, s.requeueAfter = missing, access.RetryInterval
	s.notReady(health.Pending, v1alpha1.ReasonForbidden, access.Sentence(missing...))
}

// start has the engine run the plan.
func (r *runner) start(ctx context.Context, s *scope) (stop bool, err error) {
	plan := s.plan
	if s.box.Spec.Suspend {
		s.notReady(health.Suspended, v1alpha1.ReasonSuspended, "spec.suspend is true; deletions are still served")
		plan = plan.ForCleanup()
	}
	if err := r.remember(ctx, s.box, plan); err != nil {
		return false, err
	}
	return false, r.ensure(ctx, s, plan)
}

// ensure starts the sub-controller of a box, or gives it another plan. Whichever plan that is, the box acts as its account of today.
func (r *runner) ensure(ctx context.Context, s *scope, plan *pipeline.Plan) error {
	box := s.box
	plan = s.account.run(plan)
	options := engine.Options{ManagedKinds: kindsOf(box), Namespaces: watchedNamespaces(box, plan)}
	known := &v1alpha1.CRDHealth{}
	switch err := r.Client.Get(ctx, types.NamespacedName{Name: box.Name}, known); {
	case err == nil:
		options.Health = &known.Status
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading CRDHealth %q: %w", box.Name, err)
	}
	if err := r.Engine.Ensure(plan, options); err != nil {
		return fmt.Errorf("starting OperatorBox %q: %w", box.Name, err)
	}
	return nil
}

// remember writes to the box's status, before the plan runs, what must be undone when no plan speaks of it any more: the kinds that it
// may make children of, and the namespaces in which it may mark resources.
func (r *runner) remember(ctx context.Context, box *v1alpha1.OperatorBox, plan *pipeline.Plan) error {
	if !r.Engine.Leading() {
		return nil
	}
	base := box.DeepCopy()
	noteMade(box, plan)
	s := &box.Status
	if len(base.Status.ManagedKinds) == len(s.ManagedKinds) && slices.Equal(base.Status.WatchedNamespaces, s.WatchedNamespaces) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing what OperatorBox %q manages to its status: %w", box.Name, err)
	}
	return nil
}

// allNamespaces stands for all namespaces in a box's status.
const allNamespaces = "*"

// kindsOf are the kinds that a box has made children of, by its status.
func kindsOf(box *v1alpha1.OperatorBox) []schema.GroupVersionKind {
	out := make([]schema.GroupVersionKind, 0, len(box.Status.ManagedKinds))
	for _, k := range box.Status.ManagedKinds {
		out = append(out, schema.GroupVersionKind(k))
	}
	return out
}

// watchedNamespaces are those in which a plan is to watch resources; nil: all. A namespace in which an older plan may have marked
// resources is watched until the marks are off: without an informer, nobody would take them off.
func watchedNamespaces(box *v1alpha1.OperatorBox, plan *pipeline.Plan) []string {
	known, selected := box.Status.WatchedNamespaces, plan.Selection.Namespaces()
	switch {
	case slices.Contains(known, allNamespaces):
		return nil
	case plan.CleanupOnly && len(known) > 0:
		// It marks nothing, and a plan that was made without the spec does not know what it selected.
		return slices.Sorted(slices.Values(known))
	case selected == nil:
		return nil
	default:
		return slices.Compact(slices.Sorted(slices.Values(slices.Concat(known, selected))))
	}
}

// noteMade adds to a box's status what a plan may make, and where.
func noteMade(box *v1alpha1.OperatorBox, plan *pipeline.Plan) {
	s := &box.Status
	for _, kind := range plan.ChildKinds {
		if k := v1alpha1.GroupVersionKind(kind); !slices.Contains(s.ManagedKinds, k) {
			s.ManagedKinds = append(s.ManagedKinds, k)
		}
	}
	s.WatchedNamespaces = watchedNamespaces(box, plan)
	if s.WatchedNamespaces == nil {
		s.WatchedNamespaces = []string{allNamespaces}
	}
}

// MarkWaiting queues the boxes that may wait for a right, because rights may have changed: those that do not run as they should, or not in
// every way.
func (r *Reconciler) MarkWaiting(ctx context.Context) {
	var boxes v1alpha1.OperatorBoxList
	if err := r.ports.Client.List(ctx, &boxes); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Boxes that wait for a right could not be listed; they ask for it again by themselves")
		return
	}
	for i := range boxes.Items {
		if mayWait(&boxes.Items[i]) {
			r.ports.Boxes.Mark(boxes.Items[i].Name, true)
		}
	}
}

// mayWait says whether a box shows that something is missing. A box without a condition has not been looked at, and will be.
func mayWait(box *v1alpha1.OperatorBox) bool {
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionPermissionsGranted, v1alpha1.ConditionAdmissionEnforced} {
		if meta.IsStatusConditionFalse(box.Status.Conditions, kind) {
			return true
		}
	}
	return false
}
