package operatorbox

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// holder puts Orkestra's finalizer on boxes, and takes it off.
type holder struct {
	Ports

	held sync.Map // boxes by name, as they were when this process last saw our finalizer on the API server; not those that it took it off
}

// hold puts Orkestra's finalizer on a box, so that its resources can be let go when it is deleted.
func (h *holder) hold(ctx context.Context, s *scope) (stop bool, err error) {
	box := s.box
	if !h.Engine.Leading() {
		return false, nil
	}
	if controllerutil.ContainsFinalizer(box, v1alpha1.Finalizer) {
		h.held.Store(box.Name, box.DeepCopy())
		return false, nil
	}
	base := box.DeepCopy()
	controllerutil.AddFinalizer(box, v1alpha1.Finalizer)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := h.Client.Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return false, fmt.Errorf("adding the finalizer to OperatorBox %q: %w", box.Name, err)
	}
	h.held.Store(box.Name, box.DeepCopy())
	return false, nil
}

// free takes Orkestra's finalizer off a box.
func (h *holder) free(ctx context.Context, box *v1alpha1.OperatorBox) error {
	if !controllerutil.ContainsFinalizer(box, v1alpha1.Finalizer) {
		return nil
	}
	h.held.Delete(box.Name)
	base := box.DeepCopy()
	controllerutil.RemoveFinalizer(box, v1alpha1.Finalizer)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := h.Client.Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer of OperatorBox %q: %w", box.Name, err)
	}
	return nil
}

// read gives a box from the cache. Until this process has seen the finalizer of the box on the API server, it is read from there: the
// cache may still show the one that a drain has just taken off, and a box that is deleted without one leaves its resources marked for ever.
func (h *holder) read(ctx context.Context, key types.NamespacedName, draining bool) (*v1alpha1.OperatorBox, error) {
	box := &v1alpha1.OperatorBox{}
	if err := h.Client.Get(ctx, key, box); err != nil {
		return nil, err
	}
	if last := h.last(key.Name); last != nil && last.UID == box.UID || draining || !h.Engine.Leading() || box.DeletionTimestamp != nil {
		return box, nil
	}
	live := &v1alpha1.OperatorBox{}
	if err := h.Live.Get(ctx, key, live); err != nil {
		return nil, err
	}
	return live, nil
}

// last gives a box as this process saw it last with our finalizer; nil: it has not, or has taken it off.
func (h *holder) last(name string) *v1alpha1.OperatorBox {
	last, _ := h.held.Load(name)
	box, _ := last.(*v1alpha1.OperatorBox)
	return box
}
