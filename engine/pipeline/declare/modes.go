package declare

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// modes reads how the object is written, and what becomes of it.
func (e *entry) modes() {
	e.once()
	if why := e.d.unfitForRollout(e.d.Phase, e.d.IsJob(), e.Once); why != "" {
		e.c.Fail(field.Forbidden(e.at.Child("forEach", "rollout"), why))
	}
	e.replace()
	e.failurePolicy()
	e.c.rerun(e)
	e.initial()
	e.whenFalse()
}

// once says whether a child is made once or kept corrected.
func (e *entry) once() {
	asked := e.Reconcile != nil && *e.Reconcile
	switch e.d.Phase {
	case OnCreate:
		e.d.Once = e.Once || !asked
	case OnReconcile, OnRollback:
		e.d.Once = e.Once || e.Reconcile != nil && !asked
	default:
		e.d.Once = true
		if asked {
			e.c.Fail(field.Forbidden(e.at.Child("reconcile"), "onDelete makes its objects once"))
		}
	}
	if e.d.Phase == OnDelete && e.Adopt == v1alpha1.AdoptIfUnowned {
		e.c.Fail(field.Forbidden(e.at.Child("adopt"), "a clean-up takes over nothing that others made; remove it"))
	}
	if e.Once && asked {
		e.c.Fail(field.Forbidden(e.at.Child("once"), "once and reconcile: true contradict each other"))
	}
}

// whenFalse fills in what a false gate does: a choice deletes, but for what holds data; a wait keeps.
func (e *entry) whenFalse() {
	d, policy, gates := e.d, e.WhenFalse, []v1alpha1.Gate{e.Gate, e.c.Spec.Gate}
	switch at := e.at.Child("whenFalse"); {
	case d.Phase == OnDelete && policy != "":
		e.c.Fail(field.Forbidden(at, "a gate of onDelete says whether its object is made, and deletes none; remove it"))
	case d.Phase == OnCreate && d.Once && policy == v1alpha1.GateDelete:
		e.c.Fail(field.Forbidden(at, "this object is made once, and no gate deletes it; "+mendOnce(e.d.Phase, e.Once, "whenFalse")))
	case policy != "" && !slices.ContainsFunc(gates, func(g v1alpha1.Gate) bool { return len(g.When)+len(g.AnyOf) > 0 }):
		e.c.Fail(field.Forbidden(at, "there is no gate that could be false; write when or anyOf, or remove whenFalse"))
	default:
	}
	precious := slices.ContainsFunc(d.Kinds, func(gvk schema.GroupVersionKind) bool {
		return slices.Contains([]string{"PersistentVolumeClaim", "Namespace", "StatefulSet"}, gvk.Kind)
	})
	d.keepsOnChoice = policy == v1alpha1.GateKeep || policy == "" && precious
	d.keepsOnWait = policy != v1alpha1.GateDelete
	d.neverDeletes = d.Once && d.Phase == OnCreate
}

// failurePolicy reads what becomes of a clean-up whose Job fails.
func (e *entry) failurePolicy() {
	const name = "failurePolicy"
	if !e.d.IsJob() || e.d.IsManifest() {
		return
	}
	policy, err := kinds.FailurePolicyOf(only(e.short, name))
	if err != nil {
		e.c.Fail(field.Invalid(e.at, "", err.Error()))
		return
	}
	if e.short[name] != nil && e.d.Phase != OnDelete {
		e.c.Fail(field.Forbidden(e.at.Child(name), "only jobs of onDelete have a failure policy"))
	}
	e.d.FailurePolicy = policy
}

// rerun reads whether a Job runs for the values of rerunOn. What a Secret holds can't be one of them: their hash stands on the Job, for all
// to read, and a short secret could be found by trying.
func (c *compiler) rerun(e *entry) {
	written := e.short[kinds.RerunOn]
	at := e.at.Child(kinds.RerunOn)
	switch d := e.d; {
	case !d.IsJob() || d.IsManifest() || written == nil || shape.Empty(written):
	case d.Phase == OnDelete:
		c.Fail(field.Forbidden(at, "a Job of onDelete runs once, when the resource goes; remove rerunOn"))
	case d.Once:
		c.Fail(field.Forbidden(at, "this Job is made once; "+mendOnce(e.d.Phase, e.Once, kinds.RerunOn)))
	case e.Replace:
		c.Fail(field.Forbidden(at, "rerunOn and replace contradict each other: with replace, the Job runs again for each change; remove one of them"))
	default:
		d.Rerun = true
		if e.rerunOn != nil && slices.ContainsFunc(e.rerunOn.Paths(), c.LeadsToSecret) {
			c.Fail(field.Forbidden(at, "it reads a Secret, and the hash of these values can be read on the Job"))
		}
		if e.rerunOn != nil {
			c.runsFor[d] = e.rerunOn.Paths()
		}
	}
}

// runForThemselves reports Jobs that would run again for what they come to themselves: without end.
func (c *compiler) runForThemselves(all []*Declaration) {
	children := childrenByName(all)
	for _, d := range all {
		for name := range childNamesIn(c.runsFor[d]) {
			if slices.Contains(children[name], d) {
				c.Fail(field.Forbidden(field.NewPath(d.Where).Child(kinds.RerunOn), fmt.Sprintf(
					"children.%s is the Job itself, which would run again for each end that it comes to; read what the Job is for", name)))
			}
		}
	}
}

// ClaimKind is the kind whose objects hold data.
var ClaimKind = schema.GroupKind{Kind: "PersistentVolumeClaim"}

// ClaimHoldsData is why a volume claim is never replaced.
const ClaimHoldsData = "a PersistentVolumeClaim holds data and is never replaced"

// irreplaceable are kinds that are never deleted to be made again, with the reason.
var irreplaceable = map[schema.GroupKind]string{
	ClaimKind:           ClaimHoldsData,
	{Kind: "Namespace"}: "all that is in a Namespace would go with it, so that it is never replaced",
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "all resources of a CustomResourceDefinition would go with it, so that it is never replaced",
}

// Irreplaceable says why objects of one of these kinds are never deleted to be made again; empty: they may be.
func Irreplaceable(all ...schema.GroupVersionKind) string {
	for _, gvk := range all {
		if why := irreplaceable[gvk.GroupKind()]; why != "" {
			return why
		}
	}
	return ""
}

// replace reads whether a child may be deleted and made again.
func (e *entry) replace() {
	why := Irreplaceable(e.d.Kinds...)
	switch at := e.at.Child("replace"); {
	case !e.Replace:
	case e.d.Once:
		e.c.Fail(field.Forbidden(at, fmt.Sprintf(
			"this %s is made once and does not follow its declaration; %s", e.d.Kinds, mendOnce(e.d.Phase, e.Once, "replace"))))
	case why != "":
		e.c.Fail(field.Forbidden(at, why+"; remove replace"))
	default:
		e.d.Replace = true
	}
}
