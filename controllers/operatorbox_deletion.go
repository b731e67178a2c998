package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// finalizeInterval is how long a deleted box waits without an event before it looks again. The engine tells when a resource
// is let go, and the watch of CRDs when one is gone; this is for what neither of them sees.
const finalizeInterval = 30 * time.Second

// whileDeleted begins what a deleted box says of what holds it up.
const whileDeleted = "the box is being deleted and "

// finalize lets go of everything that a deleted box holds: its resources lose Orkestra's marks, their children stay, unless
// the box asks for more. Then the box goes.
func (r *OperatorBoxReconciler) finalize(ctx context.Context, box *v1alpha1.OperatorBox) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(box, v1alpha1.Finalizer) {
		return ctrl.Result{}, r.forget(ctx, box.Name)
	}
	if !r.Engine.Leading() {
		r.Engine.Remove(box.Name)
		return ctrl.Result{}, nil
	}
	v := &view{crdName: crds.NameOf(box), phase: health.Stopped, reason: v1alpha1.ReasonDeletionBlocked}
	r.noteMisread(box, v)
	done, err := r.release(ctx, box, v)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !done {
		r.Reports.Set(box.Name, v.report())
		if err := r.writeStatus(ctx, box, v); err != nil && !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: finalizeInterval}, nil
	}
	if err := r.handOver(ctx, box, v.crdName); err != nil {
		return ctrl.Result{}, err
	}
	r.Engine.Remove(box.Name)
	r.dropRevisions(ctx, box.Name)
	if err := r.unhold(ctx, box); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.forget(ctx, box.Name)
}

// release says whether nothing of the cluster is held by the box any more.
func (r *OperatorBoxReconciler) release(ctx context.Context, box *v1alpha1.OperatorBox, v *view) (bool, error) {
	ready, err := r.serveRelease(ctx, box, v)
	if err != nil || !ready {
		return false, err
	}
	if r.Engine.Plan(box.Name) != nil {
		how := engine.ReleaseMarks
		if box.Annotations[v1alpha1.AnnotationCleanup] == v1alpha1.True {
			how = engine.ReleaseChildren
		}
		if deletesCRD(box, v.live) {
			how = engine.DeleteResources
		}
		left, err := r.Engine.Release(ctx, box.Name, how, engine.FarewellOf(box.Name, how))
		if errors.Is(err, engine.ErrFilling) {
			v.message = whileDeleted + "waits for its caches to fill"
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("releasing the resources of OperatorBox %q: %w", box.Name, err)
		}
		if len(left) > 0 {
			v.message = awaiting(left)
			return false, nil
		}
	}
	gone, err := r.removeCRD(ctx, box)
	v.message = fmt.Sprintf(whileDeleted+"waits for CustomResourceDefinition %q to be gone", v.crdName)
	return gone, err
}

// awaiting names resources that are not let go yet, the first of them where there are many.
func awaiting(left []types.NamespacedName) string {
	const most = 3
	names := make([]string, 0, most+1)
	for _, name := range left[:min(most, len(left))] {
		names = append(names, strings.TrimPrefix(name.String(), "/"))
	}
	if more := len(left) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return whileDeleted + "waits for resources that are not let go yet: " + strings.Join(names, ", ")
}

// serveRelease makes sure that the box runs a plan that serves deletions alone. The old plan is stopped first, and waited
// for, so that nothing marks a resource again that has been let go.
func (r *OperatorBoxReconciler) serveRelease(ctx context.Context, box *v1alpha1.OperatorBox, v *view) (bool, error) {
	if holder, err := r.Claims.Take(ctx, box, v.crdName); err != nil {
		return false, err
	} else if holder != box.Name {
		return true, nil // it never ran: another box has the resources
	}
	live, err := r.CRDs.Find(ctx, box.Name, v.crdName)
	if apierrors.IsNotFound(err) || err == nil && crds.NotEstablished(live) != "" {
		r.Engine.Remove(box.Name)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	v.live = live
	v.established()
	if _, ok := crds.OwnVersion(box, live); !ok {
		v.crdReason, v.crdMessage = v1alpha1.ReasonCRDVersionNotServed, crds.NotServed(box, live)
	}
	picked, ok := r.anyVersion(box, live)
	if !ok {
		r.Engine.Remove(box.Name)
		v.message = fmt.Sprintf(whileDeleted+"waits for CustomResourceDefinition %q to serve a version again: "+
			"without one, its resources can't be let go", live.Name)
		return len(box.Status.WatchedNamespaces) == 0, nil // in none of them may a resource be marked
	}
	going := picked.Going || deletesCRD(box, live) || picked.Kind.Version != crds.WorkedIn(box, live)
	running := r.running(box, live)
	if running != nil && running.CleanupOnly && (running.CRD.Going || !going) {
		return true, nil
	}
	var plan *pipeline.Plan
	if running != nil {
		plan = running.ForCleanup()
	} else if plan, err = r.cleanupPlan(ctx, box, picked, v); err != nil {
		return false, fmt.Errorf("compiling OperatorBox %q for its deletion: %w", box.Name, err)
	}
	if going {
		plan = plan.ForGoingCRD()
	}
	r.Engine.Remove(box.Name)
	return true, r.ensure(ctx, box, plan)
}

// serveOtherVersion serves the deletions of a box whose own version is not served, in another one.
func (r *OperatorBoxReconciler) serveOtherVersion(ctx context.Context, box *v1alpha1.OperatorBox, v *view) error {
	other, ok := r.anyVersion(box, v.live)
	if !ok {
		r.Engine.Remove(box.Name) // there is nothing that could be watched
		return nil
	}
	return r.serveDeletions(ctx, box, &other, v)
}

// serveDeletions keeps resources of a box that can't run deletable. A plan that runs goes on as it is, unless the box is to
// be suspended, or the version that it works in is no longer served. In a process that never ran it, the revision that ran
// last goes on.
func (r *OperatorBoxReconciler) serveDeletions(ctx context.Context, box *v1alpha1.OperatorBox, crd *pipeline.CRD, v *view) error {
	running := r.running(box, v.live)
	if running == nil || running.CleanupOnly {
		if revived, err := r.revive(ctx, box, v); err != nil || revived {
			return err
		}
	}
	if running != nil {
		next := running
		if box.Spec.Suspend {
			next = next.ForCleanup()
		}
		if crd.Going && !running.CRD.Going {
			next = next.ForGoingCRD()
		}
		if next == running {
			return nil
		}
		return r.ensure(ctx, box, next)
	}
	bare, err := pipeline.CompileCleanup(box, r.Compiler.Env(ctx, box.Name, *crd))
	if err != nil {
		// Even its CRD part is wrong: there is nothing that could be watched. The status says why.
		r.Engine.Remove(box.Name)
		return nil //nolint:nilerr // see above
	}
	if missing, err := r.Rights.Missing(ctx, bare.Rules); err != nil || len(missing) > 0 {
		v.again = access.RetryInterval
		return err
	}
	plan, err := r.cleanupPlan(ctx, box, *crd, v)
	if err != nil {
		return fmt.Errorf("compiling OperatorBox %q for deletions: %w", box.Name, err)
	}
	if crd.Kind.Version != crds.WorkedIn(box, v.live) {
		// Children name an owner in the version that the box worked in. Where that is not served, nobody but us deletes them.
		plan = plan.ForGoingCRD()
	}
	return r.ensure(ctx, box, plan)
}

// cleanupPlan gives a plan that serves deletions alone: as the box declares them, or as it did when it last compiled.
func (r *OperatorBoxReconciler) cleanupPlan(ctx context.Context, box *v1alpha1.OperatorBox, crd pipeline.CRD, v *view) (*pipeline.Plan, error) {
	if plan, errs := pipeline.Compile(box, r.Compiler.Env(ctx, box.Name, crd)); len(errs) == 0 {
		return plan.ForCleanup(), nil
	}
	if last, err := r.lastPlan(ctx, box, v, crd.Kind.Version); err != nil {
		return nil, err
	} else if last != nil {
		return last.ForCleanup(), nil
	}
	return pipeline.CompileCleanup(box, r.Compiler.Env(ctx, box.Name, crd))
}

// deletesCRD says whether the box takes its CRD with it, and the resources: only one that it made itself.
func deletesCRD(box *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition) bool {
	return box.Spec.CRD.Definition != nil && box.Spec.CRD.DeletionPolicy == v1alpha1.CRDDelete && live != nil &&
		live.Labels[v1alpha1.LabelBox] == box.Name && installedBy(box, live)
}

// installedBy says whether a box made a CRD, by what it noted there when it did.
func installedBy(box *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition) bool {
	return live.Annotations[v1alpha1.AnnotationInstalledBy] == box.Name
}

// claimants are the boxes that serve, or wait for, a CRD.
func (r *OperatorBoxReconciler) claimants(ctx context.Context, crd string) ([]v1alpha1.OperatorBox, error) {
	var boxes v1alpha1.OperatorBoxList
	if err := r.Client.List(ctx, &boxes); err != nil {
		return nil, fmt.Errorf("listing boxes: %w", err)
	}
	return slices.DeleteFunc(boxes.Items, func(b v1alpha1.OperatorBox) bool { return crds.NameOf(&b) != crd }), nil
}

// handOver tells those who wait for the CRD of a box which kinds of children it leaves behind, so that they watch them and
// count what they do not take over.
func (r *OperatorBoxReconciler) handOver(ctx context.Context, box *v1alpha1.OperatorBox, crd string) error {
	if r.Claims.Holder(crd) != box.Name {
		return nil
	}
	waiting, err := r.claimants(ctx, crd)
	if err != nil {
		return err
	}
	for i := range waiting {
		heir := &waiting[i]
		base := heir.DeepCopy()
		for _, kind := range box.Status.ManagedKinds {
			if !slices.Contains(heir.Status.ManagedKinds, kind) {
				heir.Status.ManagedKinds = append(heir.Status.ManagedKinds, kind)
			}
		}
		if heir.DeletionTimestamp != nil || len(heir.Status.ManagedKinds) == len(base.Status.ManagedKinds) {
			continue
		}
		patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
		err := r.Client.Status().Patch(ctx, heir, patch, client.FieldOwner(v1alpha1.FieldManager))
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("handing the kinds of OperatorBox %q over to %q: %w", box.Name, heir.Name, err)
		}
	}
	return nil
}
