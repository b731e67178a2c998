package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Marks are the metadata that Orkestra puts on a resource. They are always written together, in one server-side apply, so
// that an apply without them releases them all.
type Marks struct {
	// Finalizers that must be there.
	Finalizers []string
	// Labels of ours.
	Labels map[string]string
	// Annotations of ours.
	Annotations map[string]string
	// Fewer has them written although the resource has all: it has more, which go.
	Fewer bool
}

// On says whether a resource has all marks, and none that an earlier spec of the box put there.
func (m Marks) On(resource *unstructured.Unstructured) bool {
	annotations := resource.GetAnnotations()
	for _, k := range []string{v1alpha1.AnnotationFinalizers, v1alpha1.AnnotationRolledBack} {
		// Of these two, one that is there but no longer wanted must be removed as well, by the next apply.
		if annotations[k] != m.Annotations[k] {
			return false
		}
	}
	return m.Carried(resource)
}

// Carried says whether a resource has all marks. It may have more.
func (m Marks) Carried(resource *unstructured.Unstructured) bool {
	lacks := func(finalizer string) bool { return !slices.Contains(resource.GetFinalizers(), finalizer) }
	return !slices.ContainsFunc(m.Finalizers, lacks) && has(resource.GetLabels(), m.Labels) && has(resource.GetAnnotations(), m.Annotations)
}

func has(all, wanted map[string]string) bool {
	for k, v := range wanted {
		if all[k] != v {
			return false
		}
	}
	return true
}

// OwnFinalizers are those of a box besides Orkestra's, as the annotation of a resource lists them.
func OwnFinalizers(finalizers []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == v1alpha1.Finalizer }), ",")
}

// FormerFinalizers gives the finalizers that the kept revisions of a box name. It may ask the API server.
type FormerFinalizers func(ctx context.Context) ([]string, error)

// Finalizers gives those that the box may take off a resource: the ones of its plan, and those that an older plan has put there. An
// annotation lists the latter, but the resource's author can write that too, and could so have the finalizers of other controllers removed.
// So only those count that a kept revision of the box names. former is called only where that makes a difference.
func Finalizers(ctx context.Context, resource *unstructured.Unstructured, ofPlan []string, former FormerFinalizers) ([]string, error) {
	var noted []string
	for f := range strings.SplitSeq(resource.GetAnnotations()[v1alpha1.AnnotationFinalizers], ",") {
		if !slices.Contains(ofPlan, f) && slices.Contains(resource.GetFinalizers(), f) {
			noted = append(noted, f)
		}
	}
	if len(noted) == 0 || former == nil {
		return slices.Clone(ofPlan), nil
	}
	named, err := former(ctx)
	if err != nil {
		return nil, fmt.Errorf("finalizers of former revisions: %w", err)
	}
	return slices.Concat(ofPlan, slices.DeleteFunc(noted, func(f string) bool { return !slices.Contains(named, f) })), nil
}

// Marker writes the marks of resources. It is safe for concurrent use.
type Marker struct{ requests *Client }

// NewMarker gives a marker.
func NewMarker(client *Client) Marker { return Marker{requests: client} }

// Mark puts marks on a resource that lacks some, and gives the resource as it is then. It sends nothing where all are there.
func (m Marker) Mark(ctx context.Context, resource *unstructured.Unstructured, marks Marks) (*unstructured.Unstructured, error) {
	if marks.On(resource) && !marks.Fewer {
		return resource, nil
	}
	obj := nothing(resource)
	if len(marks.Labels) > 0 {
		obj.SetLabels(marks.Labels)
	}
	if len(marks.Annotations) > 0 {
		obj.SetAnnotations(marks.Annotations)
	}
	if len(marks.Finalizers) > 0 {
		obj.SetFinalizers(marks.Finalizers)
	}
	answer, err := m.applyMarks(ctx, obj)
	if err != nil {
		return nil, fmt.Errorf("marking %s %q: %w", resource.GetKind(), resource.GetName(), err)
	}
	return answer, nil
}

// applyMarks applies marks; an object without any takes off those that are there. Older versions wrote marks as FieldManager, which would
// keep them on the resource for ever, so that manager applies nothing once.
func (m Marker) applyMarks(ctx context.Context, marks *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	answer, _, err := m.requests.applyAs(ctx, v1alpha1.FieldManagerMarks, marks, true)
	// The first question is about the entries as they are; the second one decodes them.
	if err != nil || !ManagedByUs(answer) || !slices.ContainsFunc(answer.GetManagedFields(), ownsFinalizer) {
		return answer, err
	}
	answer, _, err = m.requests.apply(ctx, nothing(answer), true)
	return answer, err
}

// ownsFinalizer says whether the manager of declarations owns Orkestra's finalizer. No child has one by its declaration, so such an
// entry holds marks and nothing else.
func ownsFinalizer(e metav1.ManagedFieldsEntry) bool {
	if e.Manager != v1alpha1.FieldManager || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" || e.FieldsV1 == nil {
		return false
	}
	var set fieldpath.Set
	if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
		return false
	}
	return set.Has(fieldpath.MakePathOrDie(keyMetadata, "finalizers", value.NewValueInterface(v1alpha1.Finalizer)))
}

// Release takes these finalizers and all marks but some annotations off a resource that Orkestra no longer manages. Its children stay.
func (m Marker) Release(ctx context.Context, resource *unstructured.Unstructured, finalizers []string, stay map[string]string) error {
	marks := nothing(resource)
	marks.SetAnnotations(stay)
	answer, err := m.applyMarks(ctx, marks)
	switch {
	case IsGone(err, resource), apierrors.IsConflict(err) && m.isGone(ctx, resource):
		return nil
	case err != nil:
		return fmt.Errorf("releasing %s %q: %w", resource.GetKind(), resource.GetName(), err)
	}
	// Another manager may own the same finalizer, for example after someone applied the whole object. Ours must still go.
	return m.Finish(ctx, answer, finalizers)
}

// isGone says whether a resource no longer exists. An apply that names a UID answers 409, not 404, when it is gone.
func (m Marker) isGone(ctx context.Context, resource *unstructured.Unstructured) bool {
	gone, err := m.Gone(ctx, resource)
	return err == nil && gone
}

// Gone asks the API server whether a resource no longer exists. Another one of its name is not it.
func (m Marker) Gone(ctx context.Context, resource *unstructured.Unstructured) (bool, error) {
	live, err := m.Metadata(ctx, resource)
	return err == nil && (live == nil || live.GetUID() != resource.GetUID()), err
}

// Metadata reads that of a resource from the API server; nil: there is none of its name.
func (m Marker) Metadata(ctx context.Context, resource *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := m.requests.metadata(ctx, targetOf(resource))
	switch {
	case IsGone(err, resource):
		return nil, nil //nolint:nilnil // see the comment above
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", resource.GetKind(), resource.GetName(), err)
	}
	return live, nil
}

// Read reads a resource from the API server; nil: there is none of its name.
func (m Marker) Read(ctx context.Context, resource *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := m.requests.get(ctx, targetOf(resource))
	switch {
	case IsGone(err, resource):
		return nil, nil //nolint:nilnil // see the comment above
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", resource.GetKind(), resource.GetName(), err)
	}
	return live, nil
}

// Finish removes finalizers from a resource, in one patch.
func (m Marker) Finish(ctx context.Context, resource *unstructured.Unstructured, finalizers []string) error {
	keep := slices.DeleteFunc(resource.GetFinalizers(), func(f string) bool { return slices.Contains(finalizers, f) })
	if len(keep) == len(resource.GetFinalizers()) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{keyMetadata: map[string]any{
		"uid": resource.GetUID(), keyVersion: resource.GetResourceVersion(), "finalizers": keep,
	}})
	if err != nil {
		return fmt.Errorf("encoding finalizers: %w", err)
	}
	err = m.requests.removeFinalizers(ctx, targetOf(resource), patch)
	if err != nil && !IsGone(err, resource) {
		return fmt.Errorf("removing finalizers of %s %q: %w", resource.GetKind(), resource.GetName(), err)
	}
	return nil
}
