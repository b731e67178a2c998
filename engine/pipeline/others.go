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

// noParents are kinds of Kubernetes that no box serves, and why.
var noParents = map[schema.GroupKind]string{
	compile.SecretKind.GroupKind():                "templates would read what Secrets hold as if it were no secret",
	{Kind: "Event"}:                               "events come and go by the thousand, and Orkestra itself makes some",
	{Group: "events.k8s.io", Kind: "Event"}:       "events come and go by the thousand, and Orkestra itself makes some",
	{Group: "coordination.k8s.io", Kind: "Lease"}: "Leases change every few seconds, and one of them is Orkestra's own",
}

// controls are the kinds whose objects a controller of Kubernetes takes for its own where they name an object of a kind as their controller: it
// would count them, or let them go.
var controls = map[string][]string{
	"Deployment.apps":       {"ReplicaSet"},
	"ReplicaSet.apps":       {podKind},
	"StatefulSet.apps":      {podKind, "ControllerRevision"},
	"DaemonSet.apps":        {podKind, "ControllerRevision"},
	"Job.batch":             {podKind},
	"CronJob.batch":         {"Job"},
	"ReplicationController": {podKind},
}

const podKind = "Pod"

// othersKind checks a box that serves objects of others: it selects some, and has nothing that would write to them.
func (c *compiler) othersKind() {
	if !c.Env.CRD.OfOthers {
		return
	}
	at := field.NewPath("spec")
	kind := schema.FromAPIVersionAndKind(c.Spec.CRD.APIVersion, c.Spec.CRD.Kind)
	if why := noParents[kind.GroupKind()]; why != "" {
		c.Fail(field.Forbidden(at.Child("crd", "kind"), fmt.Sprintf("a box can't serve %ss: %s", kind.Kind, why)))
	}
	if kind.Group == v1alpha1.GroupName && c.Env.CRD.Kind.Empty() {
		c.Fail(field.Invalid(at.Child("crd"), kind.Kind, "a box can't serve Orkestra's own kinds"))
	}
	if hint, unknown := kinds.Unknown(kind); unknown {
		c.Fail(field.Invalid(at.Child("crd", "kind"), kind.Kind, fmt.Sprintf("%s has no such kind%s", kind.GroupVersion(), hint)))
	}
	if usual, _ := meta.UnsafeGuessKindToResource(kind); c.Spec.CRD.Plural != "" && c.Spec.CRD.Plural != usual.Resource && kinds.Schema(kind) != nil {
		c.Fail(field.Invalid(at.Child("crd", "plural"), c.Spec.CRD.Plural, fmt.Sprintf("the plural of %s is %s; leave it out", kind.Kind, usual.Resource)))
	}
	if s := c.Spec.Selector; s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		c.Fail(field.Required(at.Child("selector"), "with crd.kind, it says which objects are served: give matchLabels or matchExpressions"))
	}
	for name, set := range map[string]bool{stage.StepNormalize: c.Spec.Normalize != nil, stage.StepMutation: c.Spec.Mutation != nil, partAdmission: c.Spec.Admission != nil} {
		if set {
			c.Fail(field.Forbidden(at.Child(name), "it is for resources of the box's own: the objects of others stay as they are; name values instead"))
		}
	}
	for name, set := range map[string]bool{
		"finalizers": len(c.Spec.Finalizers) > 0, stage.StepOnCreate: len(c.Spec.OnCreate) > 0, "onDelete": len(c.Spec.OnDelete) > 0, stage.StepDeletion: c.Spec.Deletion != nil,
		"external": len(c.Spec.External) > 0, "reconciler": c.Spec.Reconciler != nil && c.Spec.Reconciler.Hooks != nil, stage.StepProviders: len(c.Spec.Providers) > 0, "dependsOn": len(c.Spec.DependsOn) > 0,
		"rollBackOnError": c.Spec.RollBackOnError, "rollback": c.Spec.Rollback != nil,
	} {
		if set {
			c.notWithOthers(at.Child(name))
		}
	}
}

// notWithOthers refuses what would have to be noted on an object of others.
func (c *compiler) notWithOthers(at *field.Path) {
	c.Fail(field.Forbidden(at, "not supported yet for objects of others: it would have to be noted on them"))
}

// othersChildren checks what is made for objects of others: the garbage collector must be able to delete it with them.
func (c *compiler) othersChildren() {
	if !c.Env.CRD.OfOthers {
		return
	}
	at := field.NewPath("spec", "onReconcile")
	if len(c.declared.Patches) > 0 {
		c.notWithOthers(at.Child("patches"))
	}
	served := schema.FromAPIVersionAndKind(c.Spec.CRD.APIVersion, c.Spec.CRD.Kind).GroupKind()
	for _, kind := range c.plan.ChildKinds {
		switch {
		case kind.GroupKind() == served:
			c.Fail(field.Forbidden(at, fmt.Sprintf("a %s makes no %ss: they could be selected in their turn, without end", served.Kind, served.Kind)))
		case slices.Contains(controls[served.String()], kind.Kind):
			c.Fail(field.Forbidden(at, fmt.Sprintf("a %s makes no %ss: its controller takes those for its own that name it as their owner", served.Kind, kind.Kind)))
		case kind.Group == "batch" && kind.Kind == "Job":
			c.Fail(field.Forbidden(at, "Jobs are not supported yet for objects of others: it would have to be noted on them which have run"))
		case c.Env.CRD.Namespaced && check.Scope(kind, c.Env.Mapper) == meta.RESTScopeNameRoot:
			c.Fail(field.Forbidden(at, fmt.Sprintf("%ss are in no namespace, and nobody would delete them with a %s that is in one: not supported yet for objects of others", kind.Kind, served.Kind)))
		}
	}
	for _, d := range boxspec.Declarations(c.OperatorBox) {
		if d.DeletionPolicy == v1alpha1.ChildOrphan {
			c.Fail(field.Forbidden(at, "deletionPolicy: Orphan is not supported yet for objects of others: nobody would let the children go when their object is deleted"))
			break
		}
	}
	if places := boxspec.PlacesOf(&c.Spec); c.Env.CRD.Namespaced && (places.Templated || len(places.Literal) > 0) {
		c.Fail(field.Forbidden(at, "children in other namespaces are not supported yet for objects of others: nobody would delete them with their object"))
	}
}
