package pipeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

// mode says whether a child is made once or kept corrected.
func (c *compiler) mode(d *declaration, in *v1alpha1.Declaration, at *field.Path) {
	switch d.phase {
	case stepOnCreate:
		d.once = in.Once || in.Reconcile == nil || !*in.Reconcile
	case stepOnReconcile:
		d.once = in.Once || in.Reconcile != nil && !*in.Reconcile
	default:
		d.once = true
		if in.Reconcile != nil && *in.Reconcile {
			c.fail(field.Forbidden(at.Child("reconcile"), "onDelete makes its objects once"))
		}
	}
	if in.Once && in.Reconcile != nil && *in.Reconcile {
		c.fail(field.Forbidden(at.Child("once"), "once and reconcile: true contradict each other"))
	}
}

// jobs reads the options of Jobs. One that runs in every cycle would run again whenever it is cleaned up.
func (c *compiler) jobs(d *declaration, short map[string]any, at *field.Path) {
	if d.gvk.Group != "batch" || d.gvk.Kind != "Job" {
		return
	}
	if d.phase != stepDeletion && (d.phase != stepOnCreate || !d.once) {
		c.fail(field.Forbidden(at, "jobs that are kept reconciled are not supported yet by this version of Orkestra; use onCreate without reconcile, or onDelete"))
	}
	c.noTTL(d, at)
	if d.kind.GVK.Empty() {
		return
	}
	replace, policy, ttl, err := kinds.JobOptions(short)
	if err != nil {
		c.fail(field.Invalid(at, "", err.Error()))
		return
	}
	if replace {
		c.notYet(at.Child("replace"))
	}
	if ttl != nil {
		c.notYet(at.Child("ttlSecondsAfterFinished"))
	}
	if short["failurePolicy"] != nil && d.phase != stepDeletion {
		c.fail(field.Forbidden(at.Child("failurePolicy"), "only jobs of onDelete have a failure policy"))
	}
	d.failurePolicy = policy
}

// noTTL refuses a life time for Jobs where the short field does not: one that is gone before its end was seen would run again.
func (c *compiler) noTTL(d *declaration, at *field.Path) {
	const ttl = "ttlSecondsAfterFinished"
	manifest, _ := d.written["manifest"].(map[string]any)
	inManifest, _ := manifest["spec"].(map[string]any)
	for where, spec := range map[*field.Path]map[string]any{at.Child("spec"): d.overlay, at.Child("manifest", "spec"): inManifest} {
		if spec[ttl] != nil {
			c.notYet(where.Child(ttl))
		}
	}
}

// whenFalse fills in what a false gate does: a choice deletes, but for what holds data; a wait keeps.
func (c *compiler) whenFalse(d *declaration, policy v1alpha1.GatePolicy) {
	precious := slices.Contains([]string{"PersistentVolumeClaim", "Namespace", "StatefulSet"}, d.gvk.Kind)
	d.keepWhenFalse = map[bool]bool{
		true:  policy == v1alpha1.GateKeep || policy == "" && precious,
		false: policy != v1alpha1.GateDelete,
	}
}
