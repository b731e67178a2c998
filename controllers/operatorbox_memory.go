package controllers

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

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

// watchedNamespaces are those in which a plan is to watch resources; nil: all. Where an older plan may have left its marks
// is watched until they are off: without an informer, nobody would ever let go of those resources.
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

// remember writes to the box's status what a plan is about to do and what must be undone when no plan says so any more: the
// kinds that it may make children of, and the namespaces in which it may mark resources.
func (r *OperatorBoxReconciler) remember(ctx context.Context, box *v1alpha1.OperatorBox, plan *pipeline.Plan) error {
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
