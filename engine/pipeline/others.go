package pipeline

import (
	"context"
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
	"github.com/orkspace/orkestra/engine/pipeline/deletion"
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
	c.Fail(boxspec.Some(c.Spec.Selector, c.Spec.AnnotationSelector, at)...)
	for name, set := range map[string]bool{stage.StepNormalize: c.Spec.Normalize != nil, stage.StepMutation: c.Spec.Mutation != nil, partAdmission: c.Spec.Admission != nil} {
		if set {
			c.Fail(field.Forbidden(at.Child(name), "it is for resources of the box's own: the objects of others stay as they are; name values instead"))
		}
	}
	if (c.Spec.Rollback != nil || c.Spec.RollBackOnError) && !hasGeneration(kind) {
		c.Fail(field.Forbidden(at.Child("crd", "kind"), fmt.Sprintf("a %s has no metadata.generation, so it can't be told which of its states has succeeded; remove rollback", kind.Kind)))
	}
}

// withoutGeneration are kinds of Kubernetes with a spec whose objects have no metadata.generation.
var withoutGeneration = map[schema.GroupKind]bool{
	{Kind: "Service"}: true, {Kind: "Namespace"}: true, {Kind: "Node"}: true, {Kind: podKind}: true, {Kind: "PersistentVolume"}: true,
	{Kind: "PersistentVolumeClaim"}: true, {Kind: "ResourceQuota"}: true, {Kind: "LimitRange"}: true,
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}: true, {Group: "storage.k8s.io", Kind: "VolumeAttachment"}: true,
}

// hasGeneration says whether objects of a kind have a spec, and a generation that counts its changes: that is what snapshots are of.
func hasGeneration(kind schema.GroupVersionKind) bool {
	known := kinds.Schema(kind)
	if known == nil {
		return true // a CRD defines it, and the API server counts for all of these
	}
	_, has := known.Properties["spec"]
	return has && !withoutGeneration[kind.GroupKind()]
}

// othersChildren checks what is made for objects of others, and says what has to be noted on these.
func (c *compiler) othersChildren() {
	if !c.Env.CRD.OfOthers {
		return
	}
	at := field.NewPath("spec", "onReconcile")
	served := schema.FromAPIVersionAndKind(c.Spec.CRD.APIVersion, c.Spec.CRD.Kind).GroupKind()
	for _, kind := range c.plan.ChildKinds {
		switch {
		case kind.GroupKind() == served:
			c.Fail(field.Forbidden(at, fmt.Sprintf("a %s makes no %ss: they could be selected in their turn, without end", served.Kind, served.Kind)))
		case slices.Contains(controls[served.String()], kind.Kind):
			c.Fail(field.Forbidden(at, fmt.Sprintf("a %s makes no %ss: its controller takes those for its own that name it as their owner", served.Kind, kind.Kind)))
		}
	}
	if c.leavesBehind() {
		c.plan.Finalizers = append(c.plan.Finalizers, v1alpha1.Finalizer)
	}
	c.plan.NotesActive = len(c.declared.OnCreate) > 0
}

// leavesBehind says whether something would stay, or would not be done, if an object of others were simply gone: then our finalizer holds it until
// that is done. Children in its own namespace are the garbage collector's, or their owner references would name nobody.
func (c *compiler) leavesBehind() bool {
	if len(c.Spec.Finalizers)+len(c.declared.OnDelete)+len(c.declared.Patches) > 0 || c.declared.Reverse {
		return true
	}
	for _, d := range boxspec.Declarations(c.OperatorBox) {
		if d.DeletionPolicy == v1alpha1.ChildOrphan {
			return true
		}
	}
	if !c.Env.CRD.Namespaced {
		return false // the garbage collector deletes its children in all namespaces
	}
	places := boxspec.PlacesOf(&c.Spec)
	return places.Templated || len(places.Literal) > 0 || slices.ContainsFunc(c.plan.ChildKinds, func(kind schema.GroupVersionKind) bool {
		return check.Scope(kind, c.Env.Mapper) == meta.RESTScopeNameRoot
	})
}

// marksObjects says whether something is written to the metadata of some resources of the box.
func (c *compiler) marksObjects() bool {
	return !c.Env.CRD.OfOthers || len(c.plan.Finalizers) > 0 || c.plan.NotesActive || c.plan.Rollback != nil ||
		slices.ContainsFunc(c.plan.ChildKinds, func(kind schema.GroupVersionKind) bool { return kind.Group == "batch" && kind.Kind == "Job" }) ||
		slices.ContainsFunc(c.Spec.External, func(e v1alpha1.ExternalCall) bool { return !outside.ReadOnly(&e) })
}

// lighten takes our finalizer off an object of others that the plan has no need to hold, and a former one had: when nothing is left that the
// garbage collector would not delete with the object. It comes after all stages, and only where each of them has come to its end.
func (r *Run) lighten(ctx context.Context) error {
	if !r.Plan.CRD.OfOthers || !r.StillHeld() || !r.Plan.Holds(r.Stored) || r.Stored.GetAnnotations()[v1alpha1.AnnotationPatches] != "" || deletion.LeavesBehind(r.Cycle) {
		return nil
	}
	r.Marks.LetGo = true
	if err := r.Mark(ctx); err != nil {
		return stage.Classify(stage.StepMetadata, err)
	}
	// Somebody may have written the finalizer, too, by applying the whole object.
	if err := r.Ports.Marker.Finish(ctx, r.Stored, r.Plan.Removable()); err != nil {
		return stage.Classify(stage.StepMetadata, err)
	}
	return nil
}

// awaitRelease holds an object of others that another box has not let go of yet. Its finalizer says that something is to be cleaned up first.
func (r *Run) awaitRelease() bool {
	other := r.Plan.HeldBy(r.Stored)
	if other == "" {
		return false
	}
	if !r.Ports.Observer.Dependency(other).OfBox {
		r.Marks.Inherited = true // nobody else will ever take the finalizer off
		return false
	}
	r.Wait("", v1alpha1.ReasonWaitingForRelease, fmt.Sprintf("OperatorBox %q has not let go of it yet: it cleans up first", other))
	r.ReconcileAt(r.NextRead()) // its end comes as an event; that the box is gone does not
	return true
}
