package cleanup

// Which children are deleted for an owner that is gone, and how owners are found after a restart.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
)

// DeleteChildren deletes what the box made for a resource, and says whether something is left. What is to outlive its
// declaration is let go. Where that is refused, all others are deleted first; the error is an *apply.RefusedError then. Where children go in
// an order, each call deletes those whose turn it is.
func (o *Owners) DeleteChildren(ctx context.Context, resource *unstructured.Unstructured) (left bool, err error) {
	var refusal error
	var going []*unstructured.Unstructured
	owner := apply.Owner{Resource: resource, Box: o.Box}
	// Kinds are sorted, the core group first. Backward, workloads go before the ConfigMaps and Secrets that they use.
	for _, kind := range slices.Backward(o.Inventory.Kinds()) {
		for _, child := range o.Inventory.Owned(kind, resource) {
			if child.GetLabels()[v1alpha1.LabelBox] != o.Box {
				continue // another box has made it
			}
			if child.GetAnnotations()[v1alpha1.AnnotationDeletionPolicy] != string(v1alpha1.ChildOrphan) {
				going = append(going, child)
				continue
			}
			err := o.Writer.Orphan(ctx, owner, child)
			if _, refused := errors.AsType[*apply.RefusedError](err); refused {
				refusal, err = cmp.Or(refusal, fmt.Errorf("letting %s %q go: %w", child.GetKind(), child.GetName(), err)), nil
			}
			if err != nil {
				return true, err
			}
		}
	}
	for _, child := range o.Plan().NextToGo(going) {
		if child.GetDeletionTimestamp() != nil {
			continue
		}
		if err := o.Writer.Delete(ctx, child); err != nil {
			return true, err
		}
	}
	return len(going) > 0, refusal
}

// collect does the work of the garbage collector where that has missed it: it deletes children whose only owner reference names an
// owner that is gone. A deletion with propagationPolicy: Orphan spares them, since the garbage collector takes the references off
// before such an owner goes. Unlike DeleteChildren it deletes them in all namespaces, as the garbage collector would.
func (o *Owners) collect(ctx context.Context, owner *unstructured.Unstructured) error {
	var left []*unstructured.Unstructured
	for _, kind := range o.Inventory.Kinds() {
		for _, child := range o.Inventory.WrittenFor(kind, owner.GetUID()) {
			refs := child.GetOwnerReferences()
			if len(refs) == 1 && refs[0].UID == owner.GetUID() && child.GetDeletionTimestamp() == nil {
				left = append(left, child)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	if gone, err := o.Writer.Gone(ctx, owner); err != nil || !gone {
		return err // a cache that did not show the owner may have been behind; the delete event will come
	}
	for _, child := range left {
		if err := o.Writer.Delete(ctx, child); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted a child that the garbage collector has left behind", "child", child.GetKind()+"/"+child.GetName(), "uid", owner.GetUID())
	}
	return nil
}

// forget deletes the snapshots of an owner. One that was found by its snapshots alone may be there: a cache could be behind.
func (o *Owners) forget(ctx context.Context, one *owner) error {
	if one.found {
		if gone, err := o.Writer.Gone(ctx, one.resource); err != nil || !gone {
			return err
		}
	}
	return o.Snapshots.Forget(ctx, one.resource.GetUID())
}

// FindForgotten remembers the resources that snapshots are of and that are not there when the box starts. Snapshots are those that the box
// has taken; lives says whether a resource is there; namespaces are those that the box watches, nil: all. It reads caches only.
func (o *Owners) FindForgotten(kind schema.GroupVersionKind, snapshots []rollback.Of, namespaces []string, lives func(types.UID) bool) {
	for _, of := range snapshots {
		watched := of.Key.Namespace == "" || namespaces == nil || slices.Contains(namespaces, of.Key.Namespace)
		if watched && !lives(of.UID) {
			o.add(&owner{resource: stub(kind, of.Key, of.UID), kept: true, found: true, left: o.Plan().CRD.OfOthers})
		}
	}
}

// FindBacklog remembers the owners that children name and that are not there when the box starts: a former process may have
// ended before their time was over. lives says whether a resource is there; namespaces are those that the box watches, nil:
// all. It reads caches only.
func (o *Owners) FindBacklog(crd pipeline.CRD, namespaces []string, lives func(types.UID) bool) {
	seen := map[types.UID]bool{}
	for _, kind := range o.Inventory.Kinds() {
		for child := range o.Inventory.Made(kind) {
			ref := metav1.GetControllerOfNoCopy(child)
			if ref == nil || seen[ref.UID] || ref.Kind != crd.Kind.Kind || groupOf(ref) != crd.Kind.Group {
				continue
			}
			seen[ref.UID] = true
			key := types.NamespacedName{Name: ref.Name}
			if crd.Namespaced {
				key.Namespace = child.GetNamespace()
			}
			watched := !crd.Namespaced || namespaces == nil || slices.Contains(namespaces, child.GetNamespace())
			if watched && !lives(ref.UID) {
				one := &owner{resource: stub(crd.Kind, key, ref.UID), delay: backlogDelay}
				if crd.OfOthers {
					one.left, one.delay = true, 0 // it may have left the selection while nobody looked
				}
				o.add(one)
			}
		}
	}
}

// groupOf is the API group of an owner.
func groupOf(ref *metav1.OwnerReference) string {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return ref.APIVersion // no group is called so
	}
	return gv.Group
}

// HasChildren says whether the box has made something for an owner that is there still.
func (o *Owners) HasChildren(resource *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.Inventory.Kinds(), func(kind schema.GroupVersionKind) bool {
		return slices.ContainsFunc(o.Inventory.Owned(kind, resource), func(child *unstructured.Unstructured) bool {
			return child.GetLabels()[v1alpha1.LabelBox] == o.Box
		})
	})
}
