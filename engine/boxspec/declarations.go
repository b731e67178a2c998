package pipeline

import (
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

// groupsOf gives all resource groups of a box. A group that is not here is none.
func groupsOf(box *v1alpha1.OperatorBox) []v1alpha1.ResourceGroup {
	groups := []v1alpha1.ResourceGroup{box.Spec.OnCreate, box.Spec.OnReconcile, box.Spec.OnDelete}
	if box.Spec.Rollback != nil {
		groups = append(groups, box.Spec.Rollback.OnRollback)
	}
	return groups
}

// declarationsOf goes over the declarations of all groups as they are written, each with its kind; an empty one where it can't be
// told.
func declarationsOf(box *v1alpha1.OperatorBox) iter.Seq2[schema.GroupVersionKind, *v1alpha1.Declaration] {
	return func(yield func(schema.GroupVersionKind, *v1alpha1.Declaration) bool) {
		for _, group := range groupsOf(box) {
			for key, declarations := range group {
				kind, known := kinds.Lookup(key)
				for i := range declarations {
					gvk := kind.GVK
					if known && gvk.Empty() {
						gvk = manifestKind(&declarations[i])
					}
					if !yield(gvk, &declarations[i]) {
						return
					}
				}
			}
		}
	}
}
