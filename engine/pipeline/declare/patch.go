package declare

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// patches compiles the patches of a group. They are no children: they have a list of their own in the Set.
func (c *compiler) patches(kind kinds.Kind, list v1alpha1.DeclarationList, phase Phase, at *field.Path) {
	if phase != OnReconcile {
		c.Fail(field.Forbidden(at, fmt.Sprintf("a patch stands as long as its declaration does, and %s is over before that; move it to onReconcile, with when for a moment of its own", phase)))
		return
	}
	for i := range list {
		if d := c.patch(kind, &list[i], at.Index(i)); d != nil {
			c.patched = append(c.patched, d)
		}
	}
}

// patch compiles one patch; it is nil where its target can't be told.
func (c *compiler) patch(kind kinds.Kind, in *v1alpha1.Declaration, at *field.Path) *Declaration {
	d := &Declaration{Kind: kind, Phase: OnReconcile, Where: at.String()}
	d.Optional, d.MayGrant = in.Optional, c.Env.AllowGrantingKinds
	e := patchEntry{entry: &entry{Declaration: in, c: c, at: at, d: d}}
	e.short = e.decodeShort()
	d.Patch, _ = e.short["patch"].(map[string]any)
	e.onlyOfChildren()
	d.Force, _ = e.short["force"].(bool)
	gvk := kinds.PatchGVK(e.short)
	d.Kinds = kinds.Set{gvk}
	target, _ := e.short["target"].(map[string]any)
	e.name, _ = target["name"].(string)
	e.namespace, _ = target["namespace"].(string)
	if !gvk.Empty() {
		c.Fail(unknownKind(at.Child("target", "kind"), c.Box, gvk, gvk.Kind)...)
	}
	e.templates()
	c.Fail(kind.Check(e.short, nil, compile.Yields(e.scope, &c.Spec), at)...)
	e.whenFalse()
	if gvk.Empty() {
		return nil
	}
	e.target()
	e.granted()
	return d
}

// patchEntry is a patch as it is written, while it is compiled.
type patchEntry struct {
	*entry

	name, namespace string // of its target
}

// onlyOfChildren refuses the common fields that say how a child is made, which a patch has no use for.
func (e patchEntry) onlyOfChildren() {
	for name, set := range map[string]bool{
		"name": e.Name != "", "namespace": e.Namespace != "", "labels": e.Labels != nil, "annotations": e.Annotations != nil, "spec": e.Declaration.Spec != nil,
		"reconcile": e.Reconcile != nil, "once": e.Once, "adopt": e.Adopt != "", "deletionPolicy": e.DeletionPolicy != "", "replace": e.Replace,
		"initialFields": len(e.InitialFields) > 0, "readyWhen": len(e.ReadyWhen) > 0, "after": len(e.After) > 0,
	} {
		if !set {
			continue
		}
		why := "it says how a child is made, and a patch makes none; remove it"
		switch name {
		case "name", "namespace":
			why = "the object is named in target; write it there"
		case "after":
			why = "patches come after all children; ask for what must be there with when, of children"
		case "labels", "annotations", "spec":
			why = "what is set of the object stands in patch; write it there"
		}
		e.c.Fail(field.Forbidden(e.at.Child(name), why))
	}
}

// templates compiles what may hold templates. What Secrets hold is not read: people see what is patched.
func (e patchEntry) templates() {
	d, at := e.d, e.at
	scope := e.loop(e.c.Scope)
	e.scope = scope
	if e.ForEach != nil && e.ForEach.Rollout != nil {
		e.c.Fail(field.Forbidden(at.Child("forEach", "rollout"), "a patch makes no object that could get current; remove rollout"))
	}
	d.Name = e.c.Template(scope, e.name, at.Child("target", "name"))
	d.Namespace = e.c.Template(scope, e.namespace, at.Child("target", "namespace"))
	if d.ID, d.Explicit = e.ID, e.ID != ""; !d.Explicit {
		d.ID = d.Kind.Key + "/" + d.Kinds.Only().Kind + "/" + e.name
	} else if kinds.IsName(d.ID) {
		e.c.Fail(field.Invalid(at.Child("id"), d.ID, noKindAsID))
	}
	d.Short = e.c.Tree(scope, only(e.short, "patch"), at)
	e.c.gateOf(e.entry, scope, e.c.gate)
	d.UsesChildren = e.c.Reads(d.paths())
	e.c.LeadsTo(d.Namespace)
}

// target checks where the object is that is patched, by the rules for children.
func (e patchEntry) target() {
	d, c, at := e.d, e.c, e.at.Child("target")
	crd, kind, scope := c.Env.CRD, d.Kinds.Only().Kind, check.Scope(d.Kinds.Only(), c.Env.Mapper)
	switch {
	case scope == meta.RESTScopeNameRoot && e.namespace != "":
		c.Fail(field.Forbidden(at.Child("namespace"), fmt.Sprintf("a %s is cluster-scoped and is in no namespace; remove it", kind)))
	case scope == meta.RESTScopeNameNamespace && e.namespace == "" && crd.Name != "" && !crd.Namespaced:
		c.Fail(field.Required(at.Child("namespace"), fmt.Sprintf("the resources are cluster-scoped: say in which namespace the %s is", kind)))
	default:
		c.Fail(check.Namespace(e.namespace, at.Child("namespace"))...)
	}
	c.Fail(check.Name(d.Kinds.Only(), e.name, at.Child("name"))...)
	if scope == meta.RESTScopeNameRoot && crd.Namespaced && !d.NamesItself() && !d.ReadsNamespace() {
		c.Fail(field.Invalid(at.Child("name"), e.name, SharedTarget(kind)))
	}
	c.Observe(d.Kinds.Only())
	c.Patches = append(c.Patches, compile.OutsideRead{Kind: d.Kinds.Only(), Namespace: e.namespace, Name: e.name})
}

// granted refuses patches that would grant rights, write marks, or change what the box serves. What templates make is checked again when it is
// rendered.
func (e patchEntry) granted() {
	d, c, crd := e.d, e.c, e.c.Env.CRD
	if kind := d.Kinds.Only(); kind.Group == v1alpha1.GroupName || kind.GroupKind() == crd.Kind.GroupKind() && crd.Name != "" {
		c.Fail(field.Forbidden(e.at.Child("target"), fmt.Sprintf("a box can't patch the kind that it serves, nor Orkestra's own (%s); to set fields of what others own, serve a kind of your own, and read them by cross: "+
			"docs/how-to/coming-from-metacontroller.md#fields-of-objects-with-an-annotation", kind.Kind)))
		return
	}
	body, _ := e.short["patch"].(map[string]any)
	metadata, _ := body["metadata"].(map[string]any)
	labels, annotations := check.Texts(metadata["labels"]), check.Texts(metadata["annotations"])
	in := e.at.Child("patch", "metadata")
	c.Fail(check.OwnLabels(labels, in.Child("labels"))...)
	c.Fail(check.OwnAnnotations(annotations, in.Child("annotations"))...)
	c.Fail(check.Labels(labels, in.Child("labels"))...)
	c.Fail(check.Annotations(annotations, in.Child("annotations"))...)
	c.Fail(check.Marks(map[string]any{"patch": body}, e.at)...)
	obj := &unstructured.Unstructured{Object: map[string]any{"type": body["type"]}}
	obj.SetGroupVersionKind(d.Kinds.Only())
	obj.SetLabels(labels)
	leave := check.Leave{Account: c.Spec.ServiceAccountRef != nil, Flag: d.MayGrant}
	if why := check.GrantsRights(obj, check.Scope(d.Kinds.Only(), c.Env.Mapper) == meta.RESTScopeNameRoot, leave); why != "" {
		c.Fail(field.Forbidden(e.at, why))
	}
}

// NamesItself says whether the name is written without a template, which is for the author of the box to decide.
func (c *Content) NamesItself() bool {
	if c.Name == nil {
		return false
	}
	_, literal := c.Name.Literal()
	return literal
}

// SharedTarget says what is wrong with the name of a cluster-scoped object that resources of several namespaces could lead to.
func SharedTarget(kind string) string {
	return kind + " is cluster-scoped and the resources are not: its name must be written without a template, or hold {{ .metadata.namespace }}, or who writes resources in one namespace could patch any"
}
