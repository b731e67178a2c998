// Package baseline is a controller written by hand, as good as we can write it, for the benchmarks: three ConfigMaps for each resource,
// made by server-side apply, read from a cache, and left alone where nothing differs.
package baseline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

const (
	manager = "baseline"
	// LabelManaged is on every child, so that the cache holds no other ConfigMaps.
	LabelManaged = "bench.example.com/baseline"
	// Workers are as many as a box has by default.
	Workers = 3
)

// Reconciler makes the children of resources of one kind.
type Reconciler struct {
	// Client reads from the cache of a manager and writes.
	Client client.Client
	// Kind of the resources. Each has the text spec.host.
	Kind schema.GroupVersionKind
	// Holder holds the resources; nil: nobody does.
	Holder *Holder
}

// SetupWithManager makes the controller, with a number of workers.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	resource := &unstructured.Unstructured{}
	resource.SetGroupVersionKind(r.Kind)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("baseline-" + strings.ToLower(r.Kind.Kind)).
		For(resource).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the baseline: %w", err)
	}
	return nil
}

// Reconcile brings the children of one resource to what they should be, and says in its status that they are.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	resource := &unstructured.Unstructured{}
	resource.SetGroupVersionKind(r.Kind)
	if err := r.Client.Get(ctx, req.NamespacedName, resource); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if deleted, err := r.Holder.hold(ctx, resource); deleted || err != nil {
		return ctrl.Result{}, err
	}
	host, _, err := unstructured.NestedString(resource.Object, "spec", "host")
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading spec.host: %w", err)
	}
	wanted := map[string]map[string]string{"a": {"host": host}, "b": {"a": "b"}, "c": {"c": "d"}}
	for _, suffix := range slices.Sorted(maps.Keys(wanted)) {
		if err := r.child(ctx, resource, req.Name+"-"+suffix, wanted[suffix]); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.ready(ctx, resource)
}

// child applies a child unless the cache shows it as it should be.
func (r *Reconciler) child(ctx context.Context, owner *unstructured.Unstructured, name string, data map[string]string) error {
	live := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}, live)
	switch {
	case err == nil && metav1.IsControlledBy(live, owner) && equality.Semantic.DeepEqual(live.Data, data):
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("reading ConfigMap %q: %w", name, err)
	}
	wanted := corev1ac.ConfigMap(name, owner.GetNamespace()).
		WithLabels(map[string]string{LabelManaged: "true"}).
		WithData(data).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(owner.GetAPIVersion()).WithKind(owner.GetKind()).WithName(owner.GetName()).WithUID(owner.GetUID()).
			WithController(true).WithBlockOwnerDeletion(true))
	if err := r.Client.Apply(ctx, wanted, client.FieldOwner(manager), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying ConfigMap %q: %w", name, err)
	}
	return nil
}

// ready writes the status, unless it says so already.
func (r *Reconciler) ready(ctx context.Context, resource *unstructured.Unstructured) error {
	observed, _, err := unstructured.NestedInt64(resource.Object, "status", "observedGeneration")
	if err == nil && observed == resource.GetGeneration() {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": resource.GetGeneration(),
		"conditions":         []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Applied", LastTransitionTime: metav1.Now()}},
	}})
	if err != nil {
		return fmt.Errorf("encoding the status of %q: %w", resource.GetName(), err)
	}
	err = r.Client.Status().Patch(ctx, resource, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(manager))
	if apierrors.IsNotFound(err) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("writing the status of %q: %w", resource.GetName(), err)
	}
	r.Holder.ready(resource)
	return nil
}
