package operatorbox

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// runner hands plans to the engine.
type runner struct{ Ports }

// checkRights stops a box for which the manager lacks a right: its reconciles would fail halfway, with some of the children made.
func (r *runner) checkRights(ctx context.Context, s *scope) (stop bool, err error) {
	missing, err := r.Rights.Missing(ctx, s.plan.Rules)
	if err != nil || len(missing) == 0 {
		return false, err
	}
	s.missing, s.requeueAfter = missing, access.RetryInterval
	s.notReady(health.Pending, v1alpha1.ReasonForbidden, access.Sentence(missing))
	return true, r.serveDeletions(ctx, s)
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
	return false, r.ensure(ctx, s.box, plan)
}

// ensure starts the sub-controller of a box, or gives it another plan.
func (r *runner) ensure(ctx context.Context, box *v1alpha1.OperatorBox, plan *pipeline.Plan) error {
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
