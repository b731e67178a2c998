package operatorbox

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/revision"
)

// historian keeps the specs of boxes as revisions, and finds out from these what a box has made.
type historian struct{ Ports }

// keep stores the spec of a box that is about to run. Where that fails, the box runs all the same: a new spec must not wait for its
// history. The status says so, because nothing can go back to this spec until it is stored, and it is tried again.
func (h *historian) keep(ctx context.Context, s *scope) (stop bool, err error) {
	if !h.Engine.Leading() {
		return false, nil
	}
	err = h.Revisions.Keep(ctx, s.box, func(ctx context.Context) (spared []string, known bool, err error) {
		if spared, known = h.Engine.SnapshotRevisions(s.box.Name); !known {
			return nil, false, nil
		}
		good, err := h.knownGood(ctx, s.box.Name)
		return append(spared, good), true, err
	})
	if err == nil {
		return false, nil
	}
	ctrl.LoggerFrom(ctx).Error(err, "The revision of a box can't be kept")
	s.note(unkept(err, h.Revisions.Namespace()))
	s.requeueAfter = access.RetryInterval
	return false, nil
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
func (h *historian) knownGood(ctx context.Context, box string) (string, error) {
	known := &v1alpha1.CRDHealth{}
	err := h.Client.Get(ctx, types.NamespacedName{Name: box}, known)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading CRDHealth %q: %w", box, err)
	}
	if known.Status.LastKnownGood == nil {
		return "", nil
	}
	return known.Status.LastKnownGood.Revision, nil
}

// recall finds out, from the kept revisions, what a box has made whose status was lost: the kinds of its children, and where its
// resources are. Without that, children whose declaration is gone would be left for ever. It is done before the box runs.
func (h *historian) recall(ctx context.Context, s *scope) (stop bool, err error) {
	box := s.box
	if box.Status.ObservedGeneration > 0 { // without a status it has the default, which is -1
		return false, nil
	}
	all, err := h.Revisions.List(ctx, box.Name)
	if err != nil {
		// A box without a status is nearly always new, has no revisions, and must not wait. What is wrong is shown when its first one is
		// kept.
		ctrl.LoggerFrom(ctx).Error(err, "What a box has made can't be found out from its revisions")
		return false, nil
	}
	base := box.DeepCopy()
	for i := range all {
		plan, err := h.Plans.Compile(ctx, box, s.live, revision.Ref{Name: all[i].Name}, "")
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "What a revision has made can't be found out", "revision", all[i].Name)
			continue
		}
		noteMade(box, plan)
	}
	if len(box.Status.ManagedKinds)+len(box.Status.WatchedNamespaces) == 0 || !h.Engine.Leading() {
		return false, nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := h.Client.Status().Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return false, fmt.Errorf("writing what OperatorBox %q has made to its status: %w", box.Name, err)
	}
	return false, nil
}

// markGoneBoxes queues boxes that are gone and have left revisions: somebody took their finalizer off.
func (h *historian) markGoneBoxes(ctx context.Context, boxes []v1alpha1.OperatorBox) {
	kept, err := h.Revisions.Boxes(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Revisions of boxes that are gone can't be found")
		return
	}
	for _, name := range kept {
		if !slices.ContainsFunc(boxes, func(b v1alpha1.OperatorBox) bool { return b.Name == name }) {
			h.Boxes.Mark(name, true)
		}
	}
}

// drop removes the revisions of a box that is gone, or has let go of everything. An error does not hold up the deletion: the
// next leader finds what is left.
func (h *historian) drop(ctx context.Context, box string) {
	if !h.Engine.Leading() {
		return
	}
	if err := h.Revisions.Forget(ctx, box); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Revisions of a box that is gone can't be removed")
	}
}
