package patches

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// maxTaken is how large the mark may be, in bytes, where it keeps former values. An object has 256 KiB for all of its annotations.
const maxTaken = 64 << 10

// place is what is patched, and by which patch of a resource. Who writes resources may be able to write the mark that lists it, too. So it says no
// more than what a patch of this very resource is for: its manager follows from the UID of the resource.
type place struct {
	ID         string `json:"id"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// noted is one patch that a resource has made, as the mark of the resource lists it.
type noted struct {
	place

	// Taken is what a forced patch has taken from others; nil: nothing.
	Taken *taken.Fields `json:"taken,omitempty"`
	// Of is the resource that has taken it. By it the note is known on an object of others that was let go, and is not taken for one that a
	// controller has copied there; empty: nothing was taken.
	Of types.UID `json:"of,omitempty"`
}

func placeOf(id string, obj *unstructured.Unstructured) place {
	return place{ID: id, APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// target is the object that was patched, with nothing but what names it.
func (p place) target() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(p.APIVersion, p.Kind))
	obj.SetNamespace(p.Namespace)
	obj.SetName(p.Name)
	return obj
}

// compare is the order in which patches are noted and taken back.
func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(p.ID, other.ID), cmp.Compare(p.APIVersion, other.APIVersion), cmp.Compare(p.Kind, other.Kind),
		cmp.Compare(p.Namespace, other.Namespace), cmp.Compare(p.Name, other.Name))
}

// find gives what is noted of a place.
func find(all []noted, of place) (noted, bool) {
	i := slices.IndexFunc(all, func(n noted) bool { return n.place == of })
	if i < 0 {
		return noted{place: of}, false
	}
	return all[i], true
}

// read gives what a resource has patched. A mark that can't be read was not written by Orkestra, and lists nothing.
func read(resource *unstructured.Unstructured) []noted {
	var all []noted
	if json.Unmarshal([]byte(resource.GetAnnotations()[v1alpha1.AnnotationPatches]), &all) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(n noted) bool { return n.Kind == "" || n.Name == "" || n.APIVersion == "" })
}

// Named says in words which patch of a resource has a field manager; empty: none.
func Named(resource *unstructured.Unstructured, box, manager string) string {
	for _, n := range read(resource) {
		if v1alpha1.PatchManager(resource.GetUID(), n.ID) == manager {
			return fmt.Sprintf("the patch %q of %s (box %q)", n.ID, stage.Describe(resource.GroupVersionKind(), resource.GetNamespace(), resource.GetName()), box)
		}
	}
	return ""
}

// Target is an object that a resource patches, as it is noted on the resource.
type Target struct {
	// ID of the patch, and its field Manager.
	ID, Manager string
	// Object has nothing but what names it.
	Object *unstructured.Unstructured
}

// Targets lists what a resource patches.
func Targets(resource *unstructured.Unstructured) []Target {
	var all []Target
	for _, n := range read(resource) {
		all = append(all, Target{ID: n.ID, Manager: v1alpha1.PatchManager(resource.GetUID(), n.ID), Object: n.target()})
	}
	return all
}

// owner is the resource that has taken fields; empty where none are taken.
func owner(resource *unstructured.Unstructured, fields *taken.Fields) types.UID {
	if fields == nil {
		return ""
	}
	return resource.GetUID()
}

// keep notes what one patch has taken, in place of what was noted of it before. Where former values would make the mark too large, nothing is noted,
// and so nothing is taken.
func keep(ctx context.Context, c *children.Cycle, of place, fields *taken.Fields) error {
	all := slices.DeleteFunc(read(c.Stored), func(n noted) bool { return n.place == of })
	text, err := encode(append(all, noted{place: of, Taken: fields, Of: owner(c.Stored, fields)}))
	if err != nil {
		return err
	}
	if fields != nil && len(text) > maxTaken {
		largest := slices.MaxFunc(fields.Fields, func(a, b taken.Field) int { return cmp.Compare(len(a.Value), len(b.Value)) })
		return stage.NewPermanent(v1alpha1.ReasonBudgetExceeded, fmt.Errorf(
			"%q manages %s, whose value has %d bytes: a resource can keep %d of what its patches take, and what can't be kept is not taken; take the field out of the patch",
			largest.Manager, largest.Place(), len(largest.Value), maxTaken))
	}
	return c.MarkWith(ctx, v1alpha1.AnnotationPatches, text)
}

// write notes on the resource what it patches; nothing where nothing is.
func write(ctx context.Context, c *children.Cycle, all []noted) error {
	text, err := encode(all)
	if err != nil {
		return err
	}
	return c.MarkWith(ctx, v1alpha1.AnnotationPatches, text)
}

// encode gives the text of a mark. A place is listed once, as it comes first.
func encode(all []noted) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	slices.SortStableFunc(all, func(a, b noted) int { return a.compare(b.place) })
	text, err := json.Marshal(slices.CompactFunc(all, func(a, b noted) bool { return a.place == b.place }))
	if err != nil {
		return "", fmt.Errorf("encoding what is patched: %w", err)
	}
	return string(text), nil
}
