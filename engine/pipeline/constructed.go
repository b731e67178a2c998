package pipeline

import (
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/hooks"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// A box with a constructor has no declarations: a reconciler of the user's own takes their place.

// constructed says whether a spec names a constructor.
func constructed(spec *v1alpha1.OperatorBoxSpec) bool {
	return spec.Reconciler != nil && spec.Reconciler.Constructor != nil
}

// constructor compiles spec.reconciler.constructor, and refuses all that would have to be done beside the reconciler.
func (c *compiler) constructor() {
	if c.plan.Constructor = hooks.CompileConstructor(c.Box); c.plan.Constructor == nil {
		return
	}
	parts := beside(&c.Spec)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if parts[name] {
			c.Fail(field.Forbidden(field.NewPath("spec").Child(name), "the reconciler of spec.reconciler.constructor does everything that is done for a resource; remove it, or take a hook in place of the constructor (docs/how-to/hooks.md)"))
		}
	}
	if c.Spec.Reconciler.Hooks != nil {
		c.Fail(field.Forbidden(field.NewPath("spec", "reconciler", "hooks"), "hooks run beside declarations, and a constructor takes the place of these; remove one of the two"))
	}
	if !c.Env.AllKinds {
		return
	}
	for _, kind := range c.plan.Constructor.Kinds {
		if !c.Installed(kind) {
			c.plan.Notes = append(c.plan.Notes, fmt.Sprintf("%s has no kind %s on this API server yet: it is watched when it is installed", kind.GroupVersion(), kind.Kind))
		}
	}
}

// beside are the parts of a box that say what is done for a resource, and whether the box has them.
func beside(s *v1alpha1.OperatorBoxSpec) map[string]bool {
	return map[string]bool{
		"annotationSelector": s.AnnotationSelector != nil, "commonLabels": s.CommonLabels != nil, "commonAnnotations": s.CommonAnnotations != nil,
		"finalizers": len(s.Finalizers) > 0, stage.StepNormalize: s.Normalize != nil, stage.StepMutation: s.Mutation != nil, stage.StepValidation: s.Validation != nil,
		partAdmission: s.Admission != nil, "values": len(s.Values) > 0, stage.StepCross: len(s.Cross) > 0, stage.StepExternal: len(s.External) > 0,
		stage.StepOnCreate: len(s.OnCreate) > 0, stage.StepOnReconcile: len(s.OnReconcile) > 0, "onDelete": len(s.OnDelete) > 0, stage.StepProviders: len(s.Providers) > 0,
		"rollBackOnError": s.RollBackOnError, "rollback": s.Rollback != nil, stage.StepDeletion: s.Deletion != nil, stage.StepStatus: s.Status != nil,
		"when": len(s.When) > 0, "anyOf": len(s.AnyOf) > 0,
	}
}

// codeVerbs are what the code of a constructor may do with objects of the kinds that it lists.
var codeVerbs = append(slices.Clone(reading), verbCreate, verbUpdate, verbPatch, verbDelete)

// CodeKinds are the kinds that the code of a constructor makes or reads, besides that of the box.
func (p *Plan) CodeKinds() []schema.GroupVersionKind {
	if p.Constructor == nil {
		return nil
	}
	return p.Constructor.Kinds
}

// codeRules are the rights over the resources of a box that its constructor's code needs: it writes what it likes to them, and their status.
func (r *rights) codeRules() []rbacv1.PolicyRule {
	if r.plan.Constructor == nil {
		return nil
	}
	crd := r.Env.CRD.Resource
	return []rbacv1.PolicyRule{may(crd.Group, crd.Resource, verbUpdate, verbPatch), may(crd.Group, crd.Resource+"/status", verbGet, verbUpdate, verbPatch)}
}
