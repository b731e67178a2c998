package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/health"
)

// drained is what a box says that holds nothing any more.
const drained = "the manager is drained: no resource of the box is held, their children stay; " +
	"orkestra drain --undo, or installing Orkestra again, makes the box go on"

// drain brings a box of an installation that is being drained to its end: its resources lose Orkestra's marks and are not
// marked again, deletions that are under way are finished, children stay, and then the box itself is let go. It does not go
// away, so that Orkestra can go on where it was.
func (r *OperatorBoxReconciler) drain(ctx context.Context, box *v1alpha1.OperatorBox) (ctrl.Result, error) {
	if !r.Engine.Leading() {
		r.Engine.Remove(box.Name)
		return ctrl.Result{}, nil
	}
	v := &view{crdName: crds.NameOf(box), phase: health.Suspended, reason: v1alpha1.ReasonDraining}
	done, err := r.letGo(ctx, box, v)
	if done {
		err = r.unhold(ctx, box)
		v.reason, v.message = v1alpha1.ReasonDrained, drained
	}
	if err != nil {
		v.reason, v.message = v1alpha1.ReasonDraining, err.Error()
	}
	v.message = strings.Replace(v.message, whileDeleted, "the manager is being drained and ", 1)
	r.Reports.Set(box.Name, v.report())
	if err = errors.Join(err, r.writeStatus(ctx, box, v)); err != nil || done {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: finalizeInterval}, nil
}

// letGo takes the marks off the resources of a box, and says whether none is left that has some.
func (r *OperatorBoxReconciler) letGo(ctx context.Context, box *v1alpha1.OperatorBox, v *view) (done bool, err error) {
	ready, err := r.serveRelease(ctx, box, v)
	if err != nil || !ready {
		return false, err
	}
	left, err := r.Engine.Release(ctx, box.Name, engine.ReleaseMarks, engine.FarewellDrained())
	switch {
	case errors.Is(err, engine.ErrFilling):
		v.message = whileDeleted + "waits for its caches to fill"
		return false, nil
	case err != nil:
		return false, fmt.Errorf("releasing the resources of OperatorBox %q: %w", box.Name, err)
	case len(left) > 0:
		v.message = awaiting(left)
		return false, nil
	}
	return true, nil
}

// unhold takes Orkestra's finalizer off a box.
func (r *OperatorBoxReconciler) unhold(ctx context.Context, box *v1alpha1.OperatorBox) error {
	if !controllerutil.ContainsFinalizer(box, v1alpha1.Finalizer) {
		return nil
	}
	r.held.Delete(box.Name)
	base := box.DeepCopy()
	controllerutil.RemoveFinalizer(box, v1alpha1.Finalizer)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer of OperatorBox %q: %w", box.Name, err)
	}
	return nil
}
