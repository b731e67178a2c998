package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// Initial fields are set when a child is made and left alone from then on. They are applied by a field manager of their own. What
// that manager holds is written in an annotation, in the same apply: the cache does not keep the managed fields that would show it.
//
// Server-side apply removes a field that nobody applies any more, and the API server then fills in its default: a Deployment
// would go to one replica. So the manager that takes a field over applies it, with the value that it has, before the other one drops it.
// The process may stop after any of these steps: the next cycle goes on from what the annotation says.

// initialFields is the manager of initial fields.
type initialFields struct{ store }

func (w *Writer) initial() initialFields { return initialFields{w.store} }

// handOver makes the manager of initial fields hold all of them. It also keeps holding those that are no longer initial (leaving), until
// the manager of declarations has applied them. It gives the child as it is then.
func (f initialFields) handOver(ctx context.Context, wanted []drift.FieldPath, live *unstructured.Unstructured) (
	after *unstructured.Unstructured, leaving []drift.FieldPath, err error,
) {
	held, left := initialOn(live)
	leaving = without(slices.Concat(held, left), wanted)
	if samePaths(held, wanted) && samePaths(left, leaving) {
		return live, leaving, nil
	}
	after, err = f.hold(ctx, live, wanted, leaving)
	return after, leaving, err
}

// releaseInitial ends what handOver began: the declaration has been applied, so the leaving fields have another manager and are dropped.
func (w *Writer) releaseInitial(ctx context.Context, wanted, leaving []drift.FieldPath, out Outcome) (Outcome, error) {
	if len(leaving) == 0 {
		return out, nil
	}
	answer, err := w.initial().hold(ctx, out.Object, wanted, nil)
	if err != nil {
		return Outcome{}, err
	}
	out.Object = answer
	if out.Action == None {
		out.Action = Changed
	}
	return out, nil
}

// leaveInitial ends the creation of a child. The creating apply held the initial fields as well; here their own manager takes them over.
func (w *Writer) leaveInitial(ctx context.Context, child Child, obj, made *unstructured.Unstructured) (Outcome, error) {
	if len(child.Initial) == 0 || w.client.isDry() {
		return Outcome{Action: Created, Object: made}, nil // what is not stored can't be handed over
	}
	obj.SetResourceVersion("")
	return w.takeLive(ctx, child, obj, made, Created, nil)
}

// hold applies initial fields with the values that they have. Where someone has changed one just now, it is read again.
func (f initialFields) hold(ctx context.Context, live *unstructured.Unstructured, wanted, leaving []drift.FieldPath) (*unstructured.Unstructured, error) {
	obj, err := initialPart(live, wanted, leaving)
	if err != nil {
		return nil, err
	}
	answer, _, err := f.client.applyAs(ctx, v1alpha1.FieldManagerInitial, obj, false)
	if apierrors.IsConflict(err) {
		answer, err = f.holdLive(ctx, live, wanted, leaving, err)
	}
	if err != nil {
		return nil, err
	}
	f.cache.Wrote(answer.GroupVersionKind(), answer)
	return answer, nil
}

// holdLive is hold with the object as the API server has it. It may force: the values are those that the object has, and the
// resourceVersion makes sure that they still are, so nobody's change is lost.
func (f initialFields) holdLive(ctx context.Context, seen *unstructured.Unstructured, wanted, leaving []drift.FieldPath, conflict error) (*unstructured.Unstructured, error) {
	live, err := f.client.get(ctx, targetOf(seen))
	switch {
	case err != nil:
		return nil, err
	case live.GetUID() != seen.GetUID():
		return nil, conflict
	}
	obj, err := initialPart(live, wanted, leaving)
	if err != nil {
		return nil, err
	}
	obj.SetResourceVersion(live.GetResourceVersion())
	answer, _, err := f.client.applyAs(ctx, v1alpha1.FieldManagerInitial, obj, true)
	return answer, err
}

// initialPart is what the manager of initial fields applies: the fields with their live values, and what it holds. With no
// fields it is nothing.
func initialPart(live *unstructured.Unstructured, wanted, leaving []drift.FieldPath) (*unstructured.Unstructured, error) {
	obj := nothing(live)
	for _, path := range slices.Concat(wanted, leaving) {
		value, found, err := unstructured.NestedFieldNoCopy(live.Object, path...)
		if err != nil {
			return nil, badInitial(live.GetKind(), path, "it leads through something that is not an object")
		}
		if !found || value == nil {
			continue
		}
		if err := unstructured.SetNestedField(obj.Object, runtime.DeepCopyJSONValue(value), path...); err != nil {
			return nil, badInitial(live.GetKind(), path, "it is part of another initial field")
		}
	}
	if len(wanted)+len(leaving) == 0 {
		return obj, nil
	}
	text, err := initialText(wanted, leaving)
	if err != nil {
		return nil, fmt.Errorf("encoding initial fields: %w", err)
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationInitial] = text
	obj.SetAnnotations(annotations)
	return obj, nil
}

// withoutInitial gives what the manager of declarations applies to a child that has initial fields. The hash is that of what is applied:
// it differs from that of the creating apply, so an apply without the fields follows even if nothing else has changed.
func withoutInitial(obj *unstructured.Unstructured, initial []drift.FieldPath) *unstructured.Unstructured {
	if len(initial) == 0 {
		return obj
	}
	rest := obj.DeepCopy()
	rest.Object = drift.Stored(rest)
	for _, path := range initial {
		unstructured.RemoveNestedField(rest.Object, path...)
	}
	annotations := rest.GetAnnotations()
	annotations[v1alpha1.AnnotationApplied] = drift.Hash(rest)
	rest.SetAnnotations(annotations)
	return rest
}

// checkInitial refuses initial fields that can't be handed over.
func checkInitial(comparer *drift.Comparer, child Child) error {
	for _, path := range child.Initial {
		if err := comparer.CheckPart(child.Object.GroupVersionKind(), path); err != nil {
			return badInitial(child.Object.GetKind(), path, err.Error())
		}
	}
	return nil
}

func badInitial(kind string, path drift.FieldPath, why string) *RefusedError {
	return &RefusedError{
		Reason:  v1alpha1.ReasonInvalidChild,
		Message: fmt.Sprintf("initialFields: %s of a %s can't be left alone: %s", path, kind, why),
	}
}
