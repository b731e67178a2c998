package inspect

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// selects says whether a plan has to do with an object: one that is being deleted, and that it holds, is cleaned up after without being selected.
func selects(plan *pipeline.Plan, live *unstructured.Unstructured) bool {
	going := live.GetDeletionTimestamp() != nil && slices.Contains(live.GetFinalizers(), v1alpha1.Finalizer)
	return going || plan.Selection.Selects(live)
}

// unselected says of an object that its box does not select it. What the box declares is not to be made for it, so only children that are
// there are left of its declarations. An object of others has nothing to do with the box, and that is no fault; a resource of the box's own
// kind has a status that the box has written, and that is shown.
func (r *Resource) unselected(plan *pipeline.Plan) {
	r.Declarations = slices.DeleteFunc(r.Declarations, func(d Declaration) bool { return d.child == nil })
	if !plan.CRD.OfOthers {
		r.Notes = append(r.Notes, fmt.Sprintf("The box does not select it: see namespaces and selector of OperatorBox %q", plan.Box))
		return
	}
	r.Ready, r.Unknown, r.Unselected, r.Reason, r.Revision = false, false, true, v1alpha1.ReasonNotSelected, ""
	r.Message = fmt.Sprintf("see namespaces, selector and annotationSelector of OperatorBox %q", plan.Box)
}

// beside says that a box has nothing to do with an object, and that nothing of the box is left at it.
func (r *Resource) beside() bool { return r.Unselected && len(r.Declarations) == 0 }

// selecting says how an object stands with the first of its boxes that has to do with it. Several may be over objects of one kind.
func selecting(ctx context.Context, i *Inspector, first *v1alpha1.OperatorBox, live *unstructured.Unstructured) (*Resource, error) {
	res, err := i.inspect(ctx, first, live)
	for n := range i.boxes {
		if err != nil || !res.beside() {
			break
		}
		if box := &i.boxes[n]; box.Name != first.Name && crds.NameOf(box) == crds.NameOf(first) {
			var other *Resource
			if other, err = i.inspect(ctx, box, live); err == nil && !other.beside() {
				res = other
			}
		}
	}
	return res, err
}
