package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// selects says whether a plan has to do with an object: one that is being deleted, and that it holds, is cleaned up after without being selected.
func selects(plan *pipeline.Plan, live *unstructured.Unstructured) bool {
	going := live.GetDeletionTimestamp() != nil && slices.Contains(live.GetFinalizers(), v1alpha1.Finalizer)
	return going || plan.Selection.Selects(live)
}

// unselected says of an object that its box does not select it. What the box declares is not to be made for it, so only children that are
// there are left of its declarations: those of other boxes are theirs. An object of others has nothing to do with the box, and that is no fault; a
// resource of the box's own kind has a status that the box has written, and that is shown.
func (r *Resource) unselected(box *v1alpha1.OperatorBox) {
	others := crds.OthersName(box) != ""
	r.Declarations = slices.DeleteFunc(r.Declarations, func(d Declaration) bool {
		return d.child == nil || others && d.child.GetLabels()[v1alpha1.LabelBox] != box.Name
	})
	if !others {
		r.Notes = append(r.Notes, fmt.Sprintf("The box does not select it: see namespaces and selector of OperatorBox %q", box.Name))
		return
	}
	r.Ready, r.Unknown, r.Unselected, r.Reason, r.Revision = false, false, true, v1alpha1.ReasonNotSelected, ""
	r.Message = fmt.Sprintf("see namespaces, selector and annotationSelector of OperatorBox %q", box.Name)
}

// beside says that a box has nothing to do with an object, and that nothing of the box is left at it.
func (r *Resource) beside() bool { return r.Unselected && len(r.Declarations) == 0 }

// over gives the boxes over a kind, in the order in which an object is theirs: the one whose mark it has, those that select it by their specs, and
// the others, each by their age. A box that has the kind as its own shares it with no other.
func over(i *Inspector, crd string, live *unstructured.Unstructured) []*v1alpha1.OperatorBox {
	all := i.BoxesOver(crd)
	rank := func(box *v1alpha1.OperatorBox) int {
		switch {
		case live.GetAnnotations()[v1alpha1.AnnotationManagedBy] == box.Name:
			return 0
		case crds.OthersName(box) != "" && pipeline.Selects(compiler.ElderOf(box), live):
			return 1
		default:
			return 2
		}
	}
	slices.SortFunc(all, func(a, b *v1alpha1.OperatorBox) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), crds.Older(a, b)) })
	return all
}

// selecting says how an object stands with the box that has to do with it, of those over its kind. Where none selects it, it is one that has left
// something at it.
func selecting(ctx context.Context, i *Inspector, boxes []*v1alpha1.OperatorBox, live *unstructured.Unstructured) (*Resource, error) {
	var best *Resource
	for _, box := range boxes {
		res, err := i.ResourceIn(ctx, box, live)
		if err != nil || !res.Unselected {
			return res, err
		}
		if best == nil || best.beside() && !res.beside() {
			best = res
		}
	}
	return best, nil
}

// BoxOf gives an object and the box that has to do with it, without asking for its children. The error says that there is no such object, or that no box
// has to do with it.
func (i *Inspector) BoxOf(ctx context.Context, t Target) (*v1alpha1.OperatorBox, *unstructured.Unstructured, error) {
	live, err := i.Objects.Get(ctx, t.Kind, t.Namespace, t.Name)
	if err != nil {
		return nil, nil, err
	}
	if live == nil {
		return nil, nil, absent(t)
	}
	boxes, err := i.boxesOf(ctx, t, live)
	if err != nil {
		return nil, nil, err
	}
	box := boxes[0] // the first has to do with it, if any has
	if crds.OthersName(box) == "" || live.GetAnnotations()[v1alpha1.AnnotationManagedBy] == box.Name || pipeline.Selects(compiler.ElderOf(box), live) {
		return box, live, nil
	}
	return nil, nil, fmt.Errorf("%s %q: no OperatorBox selects it: see namespaces, selector and annotationSelector of OperatorBox %q", t.Kind.Kind, t.Name, box.Name)
}

// BoxesOver gives the boxes over a kind, <plural>.<group>, by name.
func (i *Inspector) BoxesOver(crd string) []*v1alpha1.OperatorBox {
	var all []*v1alpha1.OperatorBox
	for n := range i.boxes {
		if crds.NameOf(&i.boxes[n]) == crd {
			all = append(all, &i.boxes[n])
		}
	}
	return all
}
