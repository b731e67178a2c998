package patches

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
)

// noted is one patch that a resource has made, as the mark of the resource lists it. Who writes resources may be able to write that mark, too. So it
// says no more than what a patch of this very resource is for: its manager follows from the UID of the resource.
type noted struct {
	ID         string `json:"id"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

func noteFor(id string, obj *unstructured.Unstructured) noted {
	return noted{ID: id, APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// target is the object that was patched, with nothing but what names it.
func (n noted) target() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(n.APIVersion, n.Kind))
	obj.SetNamespace(n.Namespace)
	obj.SetName(n.Name)
	return obj
}

// compare is the order in which patches are noted and taken back.
func (n noted) compare(other noted) int {
	return cmp.Or(cmp.Compare(n.ID, other.ID), cmp.Compare(n.APIVersion, other.APIVersion), cmp.Compare(n.Kind, other.Kind),
		cmp.Compare(n.Namespace, other.Namespace), cmp.Compare(n.Name, other.Name))
}

// read gives what a resource has patched. A mark that can't be read was not written by Orkestra, and lists nothing.
func read(resource *unstructured.Unstructured) []noted {
	var all []noted
	if json.Unmarshal([]byte(resource.GetAnnotations()[v1alpha1.AnnotationPatches]), &all) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(n noted) bool { return n.Kind == "" || n.Name == "" || n.APIVersion == "" })
}

// write notes on the resource what it patches; nothing where nothing is.
func write(ctx context.Context, c *children.Cycle, all []noted) error {
	if len(all) == 0 {
		return c.MarkWith(ctx, v1alpha1.AnnotationPatches, "")
	}
	slices.SortFunc(all, noted.compare)
	text, err := json.Marshal(slices.Compact(all))
	if err != nil {
		return fmt.Errorf("encoding what is patched: %w", err)
	}
	return c.MarkWith(ctx, v1alpha1.AnnotationPatches, string(text))
}
