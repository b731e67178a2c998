package taken

import (
	"errors"
	"maps"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Managed gives the fields that a manager has applied to an object, and those that others manage.
func Managed(live *unstructured.Unstructured, manager string) (ours, others *fieldpath.Set) {
	ours, others = fieldpath.NewSet(), fieldpath.NewSet()
	for _, e := range setsOf(live) {
		if e.holder.Manager == manager && e.holder.Operation == metav1.ManagedFieldsOperationApply {
			ours = ours.Union(e.set)
		} else {
			others = others.Union(e.set)
		}
	}
	return ours, others
}

// WithoutNames is the object of a patch without what names it, which nobody manages.
func WithoutNames(object map[string]any) map[string]any {
	out := maps.Clone(object)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(out, name)
	}
	metadata, _ := object["metadata"].(map[string]any)
	texts := maps.Clone(metadata)
	maps.DeleteFunc(texts, func(name string, _ any) bool { return name != "labels" && name != "annotations" })
	if len(texts) > 0 {
		out["metadata"] = texts
	}
	return out
}

// Applied gives the fields that a manager has applied to an object, as managed fields write them; nil: none.
func Applied(live *unstructured.Unstructured, manager string) map[string]any {
	metadata, _ := live.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if entry["manager"] == manager && entry["operation"] == string(metav1.ManagedFieldsOperationApply) {
			fields, _ := entry["fieldsV1"].(map[string]any)
			return fields
		}
	}
	return nil
}

// Conflict is a field that stands in the way of an apply.
type Conflict struct {
	// Manager that has the field with another value; empty: the API server does not say who.
	Manager string
	// Field is its place.
	Field string
}

// byManager finds the other manager in the words of a conflict.
var byManager = regexp.MustCompile(`^conflict with ("(?:[^"\\]|\\.)*")`)

// Conflicts reads in the refusal of an apply what others stand in the way with. An error of another kind says nothing of that.
func Conflicts(err error) []Conflict {
	var answer apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &answer) || answer.Status().Details == nil {
		return nil
	}
	var all []Conflict
	for _, cause := range answer.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		one := Conflict{Field: strings.TrimPrefix(cause.Field, ".")}
		if m := byManager.FindStringSubmatch(cause.Message); m != nil {
			one.Manager = strings.Trim(m[1], `"`)
		}
		all = append(all, one)
	}
	return all
}
