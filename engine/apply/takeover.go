package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// What Orkestra itself puts on a child, whatever a declaration says.
var (
	// OwnershipLabels say whose a child is.
	OwnershipLabels = []string{
		v1alpha1.LabelManaged, v1alpha1.LabelOwner, v1alpha1.LabelOwnerUID, v1alpha1.LabelBox, v1alpha1.LabelManagedBy,
	}
	// OwnershipAnnotations say from which declaration a child was made, and how it is treated.
	OwnershipAnnotations = []string{
		v1alpha1.AnnotationDeclaration, v1alpha1.AnnotationApplied, v1alpha1.AnnotationDeletionPolicy, v1alpha1.AnnotationInitial,
		v1alpha1.AnnotationRun, v1alpha1.AnnotationRerunOn, v1alpha1.AnnotationLifeTime,
	}
)

// reclaim takes back a child of a former resource of the same name. The old controller reference must go first: an object
// can have only one.
func (w *Writer) reclaim(ctx context.Context, child Child, obj, live *unstructured.Unstructured) (Outcome, error) {
	keep := slices.DeleteFunc(live.GetOwnerReferences(), isController)
	patch, err := json.Marshal(map[string]any{keyMetadata: map[string]any{
		keyVersion: live.GetResourceVersion(), "uid": live.GetUID(), "ownerReferences": keep,
	}})
	if err != nil {
		return Outcome{}, fmt.Errorf("encoding owner references: %w", err)
	}
	released, err := w.client.mergePatch(ctx, targetOf(live), v1alpha1.FieldManager, patch)
	if err != nil {
		return Outcome{}, err
	}
	return w.take(ctx, child, obj, released, Adopted, nil)
}

// Orphan takes our labels, annotations and owner reference off a child and leaves the rest.
func (w *Writer) Orphan(ctx context.Context, owner Owner, child *unstructured.Unstructured) error {
	refs := slices.DeleteFunc(child.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.UID() })
	labels, annotations := map[string]any{}, map[string]any{}
	for _, name := range OwnershipLabels {
		labels[name] = nil
	}
	for _, name := range OwnershipAnnotations {
		annotations[name] = nil
	}
	patch, err := json.Marshal(map[string]any{keyMetadata: map[string]any{
		"uid": child.GetUID(), "resourceVersion": child.GetResourceVersion(), "ownerReferences": refs,
		keyLabels: labels, keyAnnotations: annotations,
	}})
	if err != nil {
		return fmt.Errorf("encoding the release of %s %q: %w", child.GetKind(), child.GetName(), err)
	}
	_, err = w.patch(ctx, child, patch)
	switch {
	case IsGone(err, child):
		w.cache.Gone(child.GroupVersionKind(), child)
		return nil
	case w.refresh(ctx, child, err):
		return nil
	case err != nil:
		return fmt.Errorf("releasing %s %q: %w", child.GetKind(), child.GetName(), err)
	default:
		return nil
	}
}

// take applies what is declared to an object of which only the metadata was read. Where initial fields must be handed over, the whole
// object is read, because their values are applied as they are; it is refused with a conflict if it has changed since.
func (w *Writer) take(ctx context.Context, child Child, obj, live *unstructured.Unstructured, action Action, drifted []drift.Difference) (Outcome, error) {
	version := live.GetResourceVersion()
	if held, leaving := initialOn(live); !samePaths(held, child.Initial) || len(leaving) > 0 {
		full, err := w.client.get(ctx, targetOf(live))
		if err != nil {
			return Outcome{}, err
		}
		if full.GetUID() != live.GetUID() || full.GetResourceVersion() != version {
			return Outcome{}, apierrors.NewConflict(schema.GroupResource{Group: live.GroupVersionKind().Group, Resource: live.GetKind()},
				live.GetName(), fmt.Errorf("the object has changed since it was read"))
		}
		live = full
	}
	if action == Adopted {
		// Somebody else may have become its owner since it was read: with the version, that is a conflict.
		obj.SetResourceVersion(version)
	}
	return w.takeLive(ctx, child, obj, live, action, drifted)
}

// takeLive hands the initial fields over, applies the rest by force, and releases the fields that are no longer initial.
func (w *Writer) takeLive(
	ctx context.Context, child Child, obj, live *unstructured.Unstructured, action Action, drifted []drift.Difference,
) (Outcome, error) {
	after, leaving, err := w.initial().handOver(ctx, child.Initial, live)
	if err != nil {
		return Outcome{}, err
	}
	obj = withoutInitial(obj, child.Initial)
	if obj.GetResourceVersion() != "" {
		obj.SetResourceVersion(after.GetResourceVersion())
	}
	out, err := w.force(ctx, w.comparer.Prepare(obj), obj, after, action, drifted)
	if err != nil {
		return Outcome{}, err
	}
	return w.releaseInitial(ctx, child.Initial, leaving, out)
}
