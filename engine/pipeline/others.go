package pipeline

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Objects of others as parents: a box serves some objects of a kind that is not its own, and leaves them as they are.

// ofOthers says of the kind that a box serves whether it is one of others. Their status is written only where the box declares a field of it.
func ofOthers(crd CRD, spec *v1alpha1.OperatorBoxSpec) CRD {
	crd.OfOthers = spec.CRD.Kind != ""
	if crd.OfOthers && (spec.Status == nil || len(spec.Status.Fields) == 0) {
		crd.HasStatus = false
	}
	return crd
}

// othersKind checks a box that serves objects of others: it selects some, and has nothing that would change what they say.
func (c *compiler) othersKind() {
	at := field.NewPath("spec")
	if !c.Env.CRD.OfOthers {
		if c.Spec.AnnotationSelector != nil {
			c.Fail(field.Forbidden(at.Child("annotationSelector"), "it is for objects of others, with crd.kind: resources of the box's own are selected by labels, in spec.selector"))
		}
		return
	}
	kind := schema.FromAPIVersionAndKind(c.Spec.CRD.APIVersion, c.Spec.CRD.Kind)
	if why := check.NoParent(kind.GroupKind()); why != "" {
		c.Fail(field.Forbidden(at.Child("crd", "kind"), fmt.Sprintf("a box can't serve %ss: %s", kind.Kind, why)))
	}
	if hint, unknown := kinds.Unknown(kind); unknown {
		c.Fail(field.Invalid(at.Child("crd", "kind"), kind.Kind, fmt.Sprintf("%s has no such kind%s", kind.GroupVersion(), hint)))
	}
	if usual, _ := meta.UnsafeGuessKindToResource(kind); c.Spec.CRD.Plural != "" && c.Spec.CRD.Plural != usual.Resource && kinds.Schema(kind) != nil {
		c.Fail(field.Invalid(at.Child("crd", "plural"), c.Spec.CRD.Plural, fmt.Sprintf("the plural of %s is %s; leave it out", kind.Kind, usual.Resource)))
	}
	c.Fail(boxspec.Some(c.Spec.Selector, c.Spec.AnnotationSelector, at)...)
	for name, set := range map[string]bool{stage.StepNormalize: c.Spec.Normalize != nil, stage.StepMutation: c.Spec.Mutation != nil, partAdmission: c.Spec.Admission != nil} {
		if set {
			c.Fail(field.Forbidden(at.Child(name), "it is for resources of the box's own: the objects of others stay as they are; name values instead"))
		}
	}
	if (c.Spec.Rollback != nil || c.Spec.RollBackOnError) && !check.HasGeneration(kind) {
		c.Fail(field.Forbidden(at.Child("crd", "kind"), fmt.Sprintf("a %s has no metadata.generation, so it can't be told which of its states has succeeded; remove rollback", kind.Kind)))
	}
	if constructed(&c.Spec) {
		c.Fail(field.Forbidden(at.Child("reconciler", "constructor"), "crd.kind says that the box is not the operator of the kind, and the reconciler of a constructor is one, with finalizers and status of its own: serve a CRD by crd.name, or use hooks"))
	}
}

// othersChildren checks what is made for objects of others, and says what has to be noted on these.
func (c *compiler) othersChildren() {
	if !c.Env.CRD.OfOthers {
		return
	}
	served := schema.FromAPIVersionAndKind(c.Spec.CRD.APIVersion, c.Spec.CRD.Kind).GroupKind()
	for _, kind := range c.plan.ChildKinds {
		at := field.NewPath("spec", "onReconcile")
		if hook := c.declared.Hook; hook != nil && slices.Contains(hook.Kinds, kind) {
			at = field.NewPath("spec", "reconciler", "hooks", "resources").Index(slices.Index(hook.Kinds, kind))
		}
		switch {
		case kind.GroupKind() == served:
			c.Fail(field.Forbidden(at, fmt.Sprintf("a %s makes no %ss: they could be selected in their turn, without end", served.Kind, served.Kind)))
		case check.Controls(served, kind.Kind):
			c.Fail(field.Forbidden(at, fmt.Sprintf("a %s makes no %ss: its controller takes those for its own that name it as their owner", served.Kind, kind.Kind)))
		}
	}
	if leavesBehind(c.Box, c.declared) || c.code.MayClean() {
		c.plan.Finalizers = append(c.plan.Finalizers, v1alpha1.Finalizer)
	}
	c.plan.NotesActive = len(c.declared.OnCreate) > 0 || c.code.Notes()
}

// leavesBehind says whether something would stay, or would not be done, if an object of others were simply gone: then our finalizer holds it until
// that is done. Children in its own namespace are the garbage collector's, or their owner references would name nobody. Of what code makes nothing
// is known beforehand: the object is held when there is something (TakeHold).
func leavesBehind(b *compile.Box, declared *declare.Set) bool {
	if len(b.Spec.Finalizers)+len(declared.OnDelete)+len(declared.Patches)+len(declared.Provided) > 0 || declared.Reverse {
		return true
	}
	for _, d := range boxspec.Declarations(b.OperatorBox) {
		if d.DeletionPolicy == v1alpha1.ChildOrphan {
			return true
		}
	}
	if !b.Env.CRD.Namespaced {
		return false // the garbage collector deletes its children in all namespaces
	}
	spec, written := b.Spec, *declared
	spec.Reconciler, written.Hook = nil, nil // without what code makes
	places := boxspec.PlacesOf(&spec)
	return places.Templated || len(places.Literal) > 0 || slices.ContainsFunc(written.Kinds(), func(kind schema.GroupVersionKind) bool {
		return check.Scope(kind, b.Env.Mapper) == meta.RESTScopeNameRoot
	})
}

// marksObjects says whether something is written to the metadata of some resources of the box.
func marksObjects(p *Plan, spec *v1alpha1.OperatorBoxSpec) bool {
	// What code makes may be where the garbage collector does not look.
	coded := p.declared.Hook != nil && len(p.declared.Hook.Kinds) > 0
	return !p.CRD.OfOthers && p.Constructor == nil || len(p.Finalizers) > 0 || p.NotesActive || p.Rollback != nil || coded ||
		slices.ContainsFunc(p.ChildKinds, func(kind schema.GroupVersionKind) bool { return kind.Group == "batch" && kind.Kind == "Job" }) ||
		slices.ContainsFunc(spec.External, func(e v1alpha1.ExternalCall) bool { return !outside.ReadOnly(&e) })
}
