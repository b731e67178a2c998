package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
)

// keep stores the spec of a box that is about to run. A box runs also where that fails: what people asked for must not wait for
// the history of it. But the box says so, because there may be no way back then, and tries again.
func (r *OperatorBoxReconciler) keep(ctx context.Context, box *v1alpha1.OperatorBox, v *view) {
	if !r.Engine.Leading() {
		return
	}
	good, err := r.knownGood(ctx, box.Name)
	if err == nil {
		err = r.Revisions.Keep(ctx, box, append(r.Engine.SnapshotRevisions(box.Name), good)...)
	}
	if err == nil {
		return
	}
	ctrl.LoggerFrom(ctx).Error(err, "The revision of a box can't be kept")
	v.notes = append(v.notes, unkept(err, r.Revisions.Namespace()))
	v.again = access.RetryInterval
}

// unkept says that a revision is not stored, and what helps.
func unkept(err error, namespace string) string {
	var help string
	switch {
	case apierrors.IsNotFound(err):
		help = fmt.Sprintf("; create namespace %q, or name another with the manager's flag --namespace", namespace)
	case apierrors.IsForbidden(err):
		help = "; the manager needs get, list, create, update and delete on controllerrevisions of the group apps there"
	}
	return fmt.Sprintf("the spec runs, but is not kept as a revision: %v%s. Until it is, nothing can go back to it", err, help)
}

// knownGood is the revision of a box that was healthy last; empty: there is none.
func (r *OperatorBoxReconciler) knownGood(ctx context.Context, box string) (string, error) {
	known := &v1alpha1.CRDHealth{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: box}, known)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading CRDHealth %q: %w", box, err)
	}
	if known.Status.LastKnownGood == nil {
		return "", nil
	}
	return known.Status.LastKnownGood.Revision, nil
}

// lastPlan gives the plan that a box ran last, in a process that never ran it: nil, and why in v, where there is none. version is
// the one to serve; empty: that of the revision.
func (r *OperatorBoxReconciler) lastPlan(ctx context.Context, box *v1alpha1.OperatorBox, v *view, version string) (*pipeline.Plan, error) {
	of, err := r.Revisions.Last(ctx, box)
	if err == nil && (of.Name == "" || of.Name == boxspec.Revision(box)) {
		return nil, nil //nolint:nilnil // none is kept, or what ran is what can't run now
	}
	var plan *pipeline.Plan
	if err == nil {
		plan, err = r.Plans.Compile(ctx, box, v.live, of, version)
	}
	_, refused := errors.AsType[revision.Error](err)
	if refused || apierrors.IsForbidden(err) {
		// Deletions must be served all the same, though without what the box says of them. Nothing tells when somebody brings the
		// revision back, so it is asked for now and then.
		v.again = access.RetryInterval
		v.lost(fmt.Sprintf("it can't go on with what it ran before: %v", err))
		return nil, nil //nolint:nilnil // see the comment above
	}
	return plan, err
}

// revive has a box that can't run its spec go on with the revision that it ran before, in a process that never ran it. It says
// whether that is so.
func (r *OperatorBoxReconciler) revive(ctx context.Context, box *v1alpha1.OperatorBox, v *view) (bool, error) {
	if box.Spec.Suspend {
		return false, nil
	}
	plan, err := r.lastPlan(ctx, box, v, "")
	if err != nil || plan == nil {
		return false, err
	}
	missing, err := r.Rights.Missing(ctx, plan.Rules)
	if err != nil {
		return false, err
	}
	if len(missing) > 0 {
		v.again = access.RetryInterval
		v.lost(fmt.Sprintf("revision %q can't go on: %s", plan.Revision, access.Sentence(missing)))
		return false, nil
	}
	if err := r.remember(ctx, box, plan); err != nil {
		return false, err
	}
	return true, r.ensure(ctx, box, plan)
}

// recall finds out, from the kept revisions, what a box has made whose status was lost: the kinds of its children, and where its
// resources are. Without that, children whose declaration is gone would be left for ever. It is done before the box runs.
func (r *OperatorBoxReconciler) recall(ctx context.Context, box *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition) error {
	if box.Status.ObservedGeneration > 0 { // without a status it has the default, which is -1
		return nil
	}
	all, err := r.Revisions.List(ctx, box.Name)
	if err != nil {
		// A box without a status is new, as a rule: it must not wait for what it has not got. Keep says what is wrong.
		ctrl.LoggerFrom(ctx).Error(err, "What a box has made can't be found out from its revisions")
		return nil
	}
	base := box.DeepCopy()
	for i := range all {
		plan, err := r.Plans.Compile(ctx, box, live, revision.Ref{Name: all[i].Name}, "")
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "What a revision has made can't be found out", "revision", all[i].Name)
			continue
		}
		noteMade(box, plan)
	}
	if len(box.Status.ManagedKinds)+len(box.Status.WatchedNamespaces) == 0 || !r.Engine.Leading() {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing what OperatorBox %q has made to its status: %w", box.Name, err)
	}
	return nil
}

// strays queues boxes that are gone and have left revisions: somebody took their finalizer off.
func (r *OperatorBoxReconciler) strays(ctx context.Context, boxes []v1alpha1.OperatorBox) {
	kept, err := r.Revisions.Boxes(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Revisions of boxes that are gone can't be found")
		return
	}
	for _, name := range kept {
		if !slices.ContainsFunc(boxes, func(b v1alpha1.OperatorBox) bool { return b.Name == name }) {
			r.Boxes.Mark(name, true)
		}
	}
}

// dropRevisions removes the revisions of a box that is gone, or has let go of everything. What fails holds up no deletion: the
// next leader finds what is left.
func (r *OperatorBoxReconciler) dropRevisions(ctx context.Context, box string) {
	if !r.Engine.Leading() {
		return
	}
	if err := r.Revisions.Forget(ctx, box); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Revisions of a box that is gone can't be removed")
	}
}

// hashOf is the whole hash of the revision that a box runs; empty where it runs another one meanwhile.
func (r *OperatorBoxReconciler) hashOf(box, name string) string {
	if running := r.Engine.Plan(box); running != nil && running.Revision == name {
		return running.RevisionHash
	}
	return ""
}
