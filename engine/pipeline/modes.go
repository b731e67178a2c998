package pipeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// mode says whether a child is made once or kept corrected.
func (c *compiler) mode(d *declaration, in *v1alpha1.Declaration, at *field.Path) {
	switch d.phase {
	case stage.StepOnCreate:
		d.once = in.Once || in.Reconcile == nil || !*in.Reconcile
	case stage.StepOnReconcile, stage.StepOnRollback:
		d.once = in.Once || in.Reconcile != nil && !*in.Reconcile
	default:
		d.once = true
		if in.Reconcile != nil && *in.Reconcile {
			c.Fail(field.Forbidden(at.Child("reconcile"), "onDelete makes its objects once"))
		}
	}
	if d.phase == stage.StepDeletion && in.Adopt == v1alpha1.AdoptIfUnowned {
		c.Fail(field.Forbidden(at.Child("adopt"), "a clean-up takes over nothing that others made; remove it"))
	}
	if in.Once && in.Reconcile != nil && *in.Reconcile {
		c.Fail(field.Forbidden(at.Child("once"), "once and reconcile: true contradict each other"))
	}
}

// whenFalse fills in what a false gate does: a choice deletes, but for what holds data; a wait keeps.
func (c *compiler) whenFalse(d *declaration, in *v1alpha1.Declaration, at *field.Path) {
	policy, gates := in.WhenFalse, []v1alpha1.Gate{in.Gate, c.Spec.Gate}
	switch at = at.Child("whenFalse"); {
	case d.phase == stage.StepDeletion && policy != "":
		c.Fail(field.Forbidden(at, "a gate of onDelete says whether its object is made, and deletes none; remove it"))
	case d.phase == stage.StepOnCreate && d.once && policy == v1alpha1.GateDelete:
		c.Fail(field.Forbidden(at, "this object is made once, and no gate deletes it; move it to onReconcile, or set reconcile: true, or remove whenFalse"))
	case policy != "" && !slices.ContainsFunc(gates, func(g v1alpha1.Gate) bool { return len(g.When)+len(g.AnyOf) > 0 }):
		c.Fail(field.Forbidden(at, "there is no gate that could be false; write when or anyOf, or remove whenFalse"))
	default:
	}
	precious := slices.Contains([]string{"PersistentVolumeClaim", "Namespace", "StatefulSet"}, d.gvk.Kind)
	d.keepWhenFalse = map[bool]bool{
		true:  policy == v1alpha1.GateKeep || policy == "" && precious,
		false: policy != v1alpha1.GateDelete,
	}
}
