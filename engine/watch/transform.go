package watch

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/packed"
)

const (
	fieldMetadata      = "metadata"
	fieldManagedFields = "managedFields"
	fieldManager       = "manager"
	fieldAnnotations   = "annotations"
)

// OursByFields says that Orkestra has applied the object: a field of it is managed by v1alpha1.FieldManager. It can be asked
// of objects from the API server and of objects that Children hold.
func OursByFields(obj *unstructured.Unstructured) bool {
	if obj == nil {
		return false
	}
	metadata, _ := obj.Object[fieldMetadata].(map[string]any)
	return appliedByUs(metadata)
}

func appliedByUs(metadata map[string]any) bool {
	entries, _ := metadata[fieldManagedFields].([]any)
	for _, e := range entries {
		if fields, ok := e.(map[string]any); ok && fields[fieldManager] == v1alpha1.FieldManager {
			return true
		}
	}
	return false
}

// trimChild drops what nobody reads of a child. It can be done twice.
func trimChild(obj *unstructured.Unstructured) {
	metadata, ok := obj.Object[fieldMetadata].(map[string]any)
	if !ok {
		return
	}
	managed := managedByOthers(metadata)
	trim(metadata)
	if managed != nil {
		metadata[fieldManagedFields] = managed
	}
}

// managedByOthers reduces the managed fields of a child to what is read of them: that Orkestra has some, and which fields others have,
// by which a correction can say who had set a field. Those of the status, which are most of them, are left out. nil: the child is not
// ours.
func managedByOthers(metadata map[string]any) []any {
	if !appliedByUs(metadata) {
		return nil
	}
	kept := []any{map[string]any{fieldManager: v1alpha1.FieldManager}}
	entries, _ := metadata[fieldManagedFields].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		manager, _ := entry[fieldManager].(string)
		if !v1alpha1.IsFieldManager(manager) && entry["subresource"] != "status" {
			kept = append(kept, e)
		}
	}
	return kept
}

// trimWritable drops of an object what the API server keeps where it is written back without it.
func trimWritable(obj *unstructured.Unstructured) {
	if metadata, ok := obj.Object[fieldMetadata].(map[string]any); ok {
		delete(metadata, fieldManagedFields)
	}
}

// trimResource drops what nobody reads of a resource.
func trimResource(obj *unstructured.Unstructured) {
	if metadata, ok := obj.Object[fieldMetadata].(map[string]any); ok {
		trim(metadata)
	}
}

// trimObserved drops what nobody reads of an object that boxes read without owning it. What patches manage of it is read: by that it is told
// whether a patch stands.
func trimObserved(obj *unstructured.Unstructured) {
	metadata, ok := obj.Object[fieldMetadata].(map[string]any)
	if !ok {
		return
	}
	var patched []any
	entries, _ := metadata[fieldManagedFields].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if manager, _ := entry[fieldManager].(string); v1alpha1.IsPatchManager(manager) {
			patched = append(patched, e)
		}
	}
	trim(metadata)
	if len(patched) > 0 {
		metadata[fieldManagedFields] = patched
	}
}

func trim(metadata map[string]any) {
	delete(metadata, fieldManagedFields)
	annotations, ok := metadata[fieldAnnotations].(map[string]any)
	if !ok {
		return
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if len(annotations) == 0 {
		delete(metadata, fieldAnnotations)
	}
}

// packing makes an informer trim and pack objects before it stores them. What is packed comes again, and stays as it is.
func packing(trim func(*unstructured.Unstructured)) cache.TransformFunc {
	words := packed.NewWords()
	return func(item any) (any, error) {
		obj, ok := item.(*unstructured.Unstructured)
		if !ok {
			return item, nil
		}
		trim(obj)
		return words.Pack(obj), nil
	}
}

// copyOfChild gives a trimmed copy of an object that belongs to somebody else. It does not copy what is trimmed away.
func copyOfChild(obj *unstructured.Unstructured) *packed.Object {
	shallow := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	if metadata, ok := shallow.Object[fieldMetadata].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		if annotations, ok := metadata[fieldAnnotations].(map[string]any); ok {
			metadata[fieldAnnotations] = maps.Clone(annotations)
		}
		shallow.Object[fieldMetadata] = metadata
	}
	trimChild(shallow)
	return packed.Whole(shallow.DeepCopy())
}

// byLabel indexes objects by the value of a label.
func byLabel(name string) cache.IndexFunc {
	return func(item any) ([]string, error) {
		if value := objectOf(item).Label(name); value != "" {
			return []string{value}, nil
		}
		return nil, nil
	}
}
