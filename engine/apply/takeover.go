package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// What Orkestra itself puts on a child, whatever a declaration says.
var (
	// OwnershipLabels say whose a child is.
	OwnershipLabels = []string{
		v1alpha1.LabelManaged, v1alpha1.LabelOwner, v1alpha1.LabelOwnerUID, v1alpha1.LabelBox, v1alpha1.LabelManagedBy,
	}
	// OwnershipAnnotations say for which declaration a child stands.
	OwnershipAnnotations = []string{
		v1alpha1.AnnotationDeclaration, v1alpha1.AnnotationApplied, v1alpha1.AnnotationDeletionPolicy, v1alpha1.AnnotationInitial,
		v1alpha1.AnnotationRun, v1alpha1.AnnotationLifeTime,
	}
	// keptAnnotations are those that a child has that is made once. The others tell of the declaration that it was made from,
	// which it does not follow.
	keptAnnotations = []string{v1alpha1.AnnotationDeclaration, v1alpha1.AnnotationDeletionPolicy}
)

// Keep makes sure that a living child that is made once says whose it is. It sends nothing where it does.
func (w *Writer) Keep(ctx context.Context, owner Owner, child Child, live *unstructured.Unstructured) (Outcome, error) {
	child.Object = &unstructured.Unstructured{Object: map[string]any{}}
	child.Object.SetGroupVersionKind(live.GroupVersionKind())
	child.Object.SetNamespace(live.GetNamespace())
	child.Object.SetName(live.GetName())
	out, err := w.keep(ctx, owner.Claimed(child), live, Changed)
	if err != nil {
		return Outcome{}, fmt.Errorf("marking %s %q: %w", live.GetKind(), live.GetName(), err)
	}
	return out, nil
}

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
	answer, err := w.client.mergePatch(ctx, targetOf(child), v1alpha1.FieldManager, patch)
	switch {
	case IsGone(err, child):
		w.cache.Gone(child.GroupVersionKind(), child)
		return nil
	case w.stale(ctx, child, err):
		return nil
	case err != nil:
		return fmt.Errorf("releasing %s %q: %w", child.GetKind(), child.GetName(), err)
	default:
		w.cache.Wrote(child.GroupVersionKind(), answer)
		return nil
	}
}

// keep makes sure that a child that is made once says whose it is, and leaves everything else of it alone. It is a merge
// patch: a server-side apply of so little would remove what an earlier apply has set. It sends nothing where nothing
// differs.
func (w *Writer) keep(ctx context.Context, obj, live *unstructured.Unstructured, action Action) (Outcome, error) {
	labels := differing(OwnershipLabels, obj.GetLabels(), live.GetLabels())
	annotations := differing(keptAnnotations, obj.GetAnnotations(), live.GetAnnotations())
	refs, same := references(obj, live)
	if len(labels) == 0 && len(annotations) == 0 && same {
		return Outcome{Action: None, Object: live}, nil
	}
	if action == Adopted {
		annotations[v1alpha1.AnnotationApplied] = obj.GetAnnotations()[v1alpha1.AnnotationApplied]
	}
	patch, err := json.Marshal(map[string]any{keyMetadata: map[string]any{
		keyVersion: live.GetResourceVersion(), "uid": live.GetUID(),
		keyLabels: labels, keyAnnotations: annotations, "ownerReferences": refs,
	}})
	if err != nil {
		return Outcome{}, fmt.Errorf("encoding ownership: %w", err)
	}
	answer, err := w.client.mergePatch(ctx, targetOf(live), v1alpha1.FieldManager, patch)
	if err != nil {
		w.stale(ctx, live, err)
		return Outcome{}, err
	}
	w.cache.Wrote(obj.GroupVersionKind(), answer)
	return Outcome{Action: action, Object: answer}, nil
}

// differing gives the named entries that are otherwise in wanted than in live, as a merge patch: null removes.
func differing(names []string, wanted, live map[string]string) map[string]any {
	patch := map[string]any{}
	for _, name := range names {
		want, wants := wanted[name]
		have, has := live[name]
		switch {
		case wants && (!has || have != want):
			patch[name] = want
		case !wants && has:
			patch[name] = nil
		}
	}
	return patch
}

// references gives the owner references that a live object is to have: those of others, and those that are wanted.
func references(wanted, live *unstructured.Unstructured) (refs []metav1.OwnerReference, same bool) {
	owner := types.UID(wanted.GetLabels()[v1alpha1.LabelOwnerUID])
	have := live.GetOwnerReferences()
	refs = slices.DeleteFunc(slices.Clone(have), func(r metav1.OwnerReference) bool { return r.UID == owner || isController(r) })
	refs = append(refs, wanted.GetOwnerReferences()...)
	byUID := func(all []metav1.OwnerReference) map[types.UID]bool {
		out := map[types.UID]bool{}
		for _, r := range all {
			out[r.UID] = isController(r)
		}
		return out
	}
	return refs, maps.Equal(byUID(have), byUID(refs))
}

func isController(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller }
