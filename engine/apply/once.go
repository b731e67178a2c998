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

// keptAnnotations are the annotations of ours that are kept up to date on a child that is made once. The others describe the
// declaration that it was made from, which it does not follow.
var keptAnnotations = []string{v1alpha1.AnnotationDeclaration, v1alpha1.AnnotationDeletionPolicy}

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
		// It has no hash yet. With that of the declaration it counts as made from it.
		annotations[v1alpha1.AnnotationApplied] = obj.GetAnnotations()[v1alpha1.AnnotationApplied]
	}
	patch, err := json.Marshal(map[string]any{keyMetadata: map[string]any{
		keyVersion: live.GetResourceVersion(), "uid": live.GetUID(),
		keyLabels: labels, keyAnnotations: annotations, "ownerReferences": refs,
	}})
	if err != nil {
		return Outcome{}, fmt.Errorf("encoding ownership: %w", err)
	}
	answer, err := w.patch(ctx, live, patch)
	if err != nil {
		w.refresh(ctx, live, err)
		return Outcome{}, err
	}
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

// references gives the owner references that a live object is to have: those of others that are no controllers, and the wanted ones.
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

// Expire sets ttlSecondsAfterFinished on a completed Job that is made once, so that Kubernetes deletes it that many seconds after it ended.
func (w *Writer) Expire(ctx context.Context, job *unstructured.Unstructured, seconds int64) (Outcome, error) {
	patch, err := json.Marshal(map[string]any{
		keyMetadata: map[string]any{"uid": job.GetUID()},
		"spec":      map[string]any{"ttlSecondsAfterFinished": seconds},
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("encoding a life time: %w", err)
	}
	answer, err := w.patch(ctx, job, patch)
	if err != nil {
		return Outcome{}, fmt.Errorf("giving %s %q its life time: %w", job.GetKind(), job.GetName(), err)
	}
	return Outcome{Action: Changed, Object: answer}, nil
}
