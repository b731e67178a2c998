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

	// held has boxes by name, each as it was when this process last saw the finalizer on it at the API server. A box of which this process
	// has removed the finalizer is not there.
	held sync.Map
}

// addFinalizer puts Orkestra's finalizer on a box, so that its resources can be let go when it is deleted.
func (h *holder) addFinalizer(ctx context.Context, s *scope) (stop bool, err error) {
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

// removeFinalizer takes Orkestra's finalizer off a box.
func (h *holder) removeFinalizer(ctx context.Context, box *v1alpha1.OperatorBox) error {
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

// read gives a box from the cache. A leader that has not seen the finalizer of the box at the API server yet reads the box from there: the
// cache may still show a finalizer that a drain has just taken off, and a box that is deleted without one leaves its resources marked for
// ever.
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

// last gives a box as this process last saw it with the finalizer; nil: it never has, or it has removed the finalizer.
func (h *holder) last(name string) *v1alpha1.OperatorBox {
	last, _ := h.held.Load(name)
	box, _ := last.(*v1alpha1.OperatorBox)
	return box
}
