package baseline

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const finalizer = "bench.example.com/baseline"

// Holder does what an operator does that cleans up after its resources and tells people of them: a finalizer is put on a resource before its
// first child is made, and there is an event when it is ready. Orkestra does both. A nil Holder does nothing.
type Holder struct {
	// Client writes.
	Client client.Client
	// Events is told what has become ready.
	Events events.EventRecorder
}

// hold puts the finalizer on a resource, or takes it off one that is being deleted: there is nothing to be done for that one, and the garbage
// collector takes its children.
func (h *Holder) hold(ctx context.Context, resource *unstructured.Unstructured) (deleted bool, err error) {
	deleted = resource.GetDeletionTimestamp() != nil
	if h == nil || slices.Contains(resource.GetFinalizers(), finalizer) != deleted {
		return deleted, nil
	}
	held := &unstructured.Unstructured{Object: map[string]any{}}
	held.SetGroupVersionKind(resource.GroupVersionKind())
	held.SetNamespace(resource.GetNamespace())
	held.SetName(resource.GetName())
	held.SetUID(resource.GetUID())
	if !deleted {
		held.SetFinalizers([]string{finalizer})
	}
	err = h.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(held), client.FieldOwner(manager+"-marks"), client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return deleted, fmt.Errorf("holding %s %q: %w", resource.GetKind(), resource.GetName(), err)
	}
	return deleted, nil
}

// ready tells that everything of a resource is as it should be.
func (h *Holder) ready(resource *unstructured.Unstructured) {
	if h == nil {
		return
	}
	h.Events.Eventf(resource, nil, corev1.EventTypeNormal, "Applied", "Apply", "everything is as it should be")
}
