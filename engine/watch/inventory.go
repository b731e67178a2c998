package watch

// What Children can be asked, and what they are told of our own writes.

import (
	"cmp"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/packed"
)

// Owned gives the children of a kind that an owner has, by namespace and name. There are none of a kind that nobody has
// acquired.
func (c *Children) Owned(gvk schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, obj := range c.Heads(gvk, owner) {
		objects = append(objects, obj.Unpack())
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

// Heads gives the children of a kind that an owner has, in no order, as they are packed.
func (c *Children) Heads(gvk schema.GroupVersionKind, owner types.UID) []*packed.Object {
	if k, ok := c.kind(gvk); ok {
		return k.selected(ownerIndex, v1alpha1.LabelOwnerUID, string(owner))
	}
	return nil
}

// Get gives the child with a name; the namespace is empty for cluster-scoped kinds. Only objects with the label
// v1alpha1.LabelOwnerUID are known.
func (c *Children) Get(gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool) {
	k, ok := c.kind(gvk)
	if !ok {
		return nil, false
	}
	obj := k.get(cache.NewObjectName(namespace, name).String())
	if obj.Label(v1alpha1.LabelOwnerUID) == "" {
		return nil, false // a write of ours has taken the label off, and the watch has not removed the object yet
	}
	return obj.Unpack(), true
}

// MadeBy goes over the children of a kind that a box has, in no order. They must not be changed. There may be many: each is unpacked when its
// turn comes.
func (c *Children) MadeBy(gvk schema.GroupVersionKind, box string) iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		for _, obj := range c.ofBox(gvk, box) {
			if !yield(obj.Unpack()) {
				return
			}
		}
	}
}

// OfBox gives the number of children of a kind that a box has.
func (c *Children) OfBox(gvk schema.GroupVersionKind, box string) int { return len(c.ofBox(gvk, box)) }

func (c *Children) ofBox(gvk schema.GroupVersionKind, box string) []*packed.Object {
	k, ok := c.kind(gvk)
	if !ok {
		return nil
	}
	return k.selected(boxIndex, v1alpha1.LabelBox, box)
}

// Wrote takes the answer of the API server to a write of ours, so that reads show it before the watch does. It is forgotten when the
// watch has caught up. The object is copied.
func (c *Children) Wrote(gvk schema.GroupVersionKind, obj *unstructured.Unstructured) {
	if k, ok := c.kind(gvk); ok && obj != nil {
		k.wrote(copyOfChild(obj))
	}
}

// Gone takes that a delete of ours has removed the object at once; obj is the newest version that is known of it. Reads do not show it
// any more, unless the watch brings a newer version. The object is copied.
func (c *Children) Gone(gvk schema.GroupVersionKind, obj *unstructured.Unstructured) {
	if k, ok := c.kind(gvk); ok && obj != nil {
		k.gone(copyOfChild(obj))
	}
}
