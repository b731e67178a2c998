package cleanup

// Which children are deleted for an owner that is gone, and how owners are found after a restart.

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// DeleteChildren deletes what the box made for a resource, and says whether something is left. Children with deletionPolicy: Orphan
// stay, without our labels and owner references.
func (o *Owners) DeleteChildren(ctx context.Context, resource *unstructured.Unstructured) (left bool, err error) {
	owner := apply.Owner{Resource: resource, Box: o.Box}
	// Kinds are sorted, the core group first. Backward, workloads go before the ConfigMaps and Secrets that they use.
	for _, kind := range slices.Backward(o.Inventory.Kinds()) {
		for _, child := range o.Inventory.Owned(kind, resource) {
			if child.GetLabels()[v1alpha1.LabelBox] != o.Box {
				continue // another box has made it
			}
			orphan := child.GetAnnotations()[v1alpha1.AnnotationDeletionPolicy] == string(v1alpha1.ChildOrphan)
			left = left || !orphan
			switch {
			case orphan:
				err = o.Writer.Orphan(ctx, owner, child)
			case child.GetDeletionTimestamp() == nil:
				err = o.Writer.Delete(ctx, child)
			default: // it is being deleted
			}
			if err != nil {
				return true, err
			}
		}
	}
	return left, nil
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

// FindBacklog remembers the owners that children name and that are not there when the box starts: a former process may have
// ended before their time was over. lives says whether a resource is there; namespaces are those that the box watches, nil:
// all. It reads caches only.
func (o *Owners) FindBacklog(crd pipeline.CRD, namespaces []string, lives func(types.UID) bool) {
	seen := map[types.UID]bool{}
	for _, kind := range o.Inventory.Kinds() {
		for _, child := range o.Inventory.Made(kind) {
			ref := metav1.GetControllerOfNoCopy(child)
			if ref == nil || seen[ref.UID] || !strings.HasPrefix(ref.APIVersion, crd.Kind.Group+"/") || ref.Kind != crd.Kind.Kind {
				continue
			}
			seen[ref.UID] = true
			key := types.NamespacedName{Name: ref.Name}
			if crd.Namespaced {
				key.Namespace = child.GetNamespace()
			}
			watched := !crd.Namespaced || namespaces == nil || slices.Contains(namespaces, child.GetNamespace())
			if watched && !lives(ref.UID) {
				o.add(&owner{resource: stub(crd.Kind, key, ref.UID), delay: backlogDelay})
			}
		}
	}
}
