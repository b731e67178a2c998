package declare

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/pipeline/check"
)

// literals reports what is written out, without a template, and that no API server takes: it would be refused only when the first
// resource comes.
func (e *entry) literals() {
	d, c := e.d, e.c
	name, where := e.writtenName()
	body, at := e.body()
	if d.IsManifest() {
		metadata, at := e.metadata(), at.Child("metadata")
		c.Fail(check.Labels(check.Texts(metadata["labels"]), at.Child("labels"))...)
		c.Fail(check.Annotations(check.Texts(metadata["annotations"]), at.Child("annotations"))...)
	}
	for _, gvk := range d.Kinds {
		c.Fail(check.Name(gvk, name, where)...)
		c.Fail(check.TemplatedName(gvk, d.Name, name, where)...)
		c.Fail(check.DataKeys(gvk, body, at)...)
	}
	c.Fail(check.Labels(e.labels.Written, e.at.Child("labels"))...)
	c.Fail(check.Annotations(e.annotations.Written, e.at.Child("annotations"))...)
	if d.Kind.IsWorkload() {
		c.Fail(check.Labels(check.Texts(e.short["podLabels"]), e.at.Child("podLabels"))...)
		c.Fail(check.Annotations(check.Texts(e.short["podAnnotations"]), e.at.Child("podAnnotations"))...)
	}
	c.Fail(check.Marks(body, at)...)
	c.Fail(check.Marks(e.spec, e.at.Child("spec"))...)
}

// place checks where the object of a declaration goes: a cluster-scoped one has no namespace, and one that has one must be told
// it where the resource has none.
func (e *entry) place() {
	crd, kind := e.c.Env.CRD, e.d.Kinds
	written, where := e.writtenNamespace()
	all := func(scope meta.RESTScopeName) bool {
		return !slices.ContainsFunc(e.d.Kinds, func(gvk schema.GroupVersionKind) bool { return check.Scope(gvk, e.c.Env.Mapper) != scope })
	}
	switch {
	case written != "" && all(meta.RESTScopeNameRoot):
		e.c.Fail(field.Forbidden(where, fmt.Sprintf("a %s is cluster-scoped and goes into no namespace; remove it", kind)))
	case written == "" && crd.Name != "" && !crd.Namespaced && all(meta.RESTScopeNameNamespace):
		e.c.Fail(field.Required(where, fmt.Sprintf("the resources are cluster-scoped: say in which namespace the %s goes", kind)))
	default:
		e.c.Fail(check.Namespace(written, where)...)
	}
}

// grants reports objects that would grant rights, that the box would serve itself, or that resources of several namespaces would share.
// What templates make is checked again when it is rendered.
func (e *entry) grants() {
	d, crd := e.d, e.c.Env.CRD
	d.MayGrant = e.c.Env.AllowGrantingKinds
	leave := check.Leave{Account: e.c.Spec.ServiceAccountRef != nil, Flag: d.MayGrant}
	for i, gvk := range d.Kinds {
		at, root := e.at, check.Scope(gvk, e.c.Env.Mapper) == meta.RESTScopeNameRoot
		switch {
		case d.Coded:
			at = e.at.Child("resources").Index(i)
		case d.Whole:
			at = e.at.Child("kinds").Index(i)
		}
		if why := check.GrantsRights(e.asWritten(gvk), root, leave); why != "" {
			e.c.Fail(field.Forbidden(at, why))
		}
		if gvk.GroupKind() == crd.Kind.GroupKind() && crd.Name != "" {
			e.c.Fail(field.Forbidden(at, fmt.Sprintf("a box can't make children of the kind that it serves (%s): it would never end", gvk.Kind)))
		}
		if root && crd.Namespaced && d.Name != nil && !d.ReadsNamespace() {
			e.c.Fail(field.Invalid(e.at.Child("name"), d.Name.String(), check.SharedName(gvk.Kind)))
		}
	}
}

// asWritten is the object of a kind as far as it is written out.
func (e *entry) asWritten(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	body, _ := e.body()
	if kind, ok := body["type"].(string); ok {
		obj.Object["type"] = kind
	}
	metadata, _ := body["metadata"].(map[string]any)
	obj.SetGroupVersionKind(gvk)
	obj.SetLabels(merged(check.Texts(metadata["labels"]), e.commonLabels.Written, e.labels.Written))
	obj.SetAnnotations(merged(check.Texts(metadata["annotations"]), e.commonAnnotations.Written, e.annotations.Written))
	return obj
}

func merged(into map[string]string, others ...map[string]string) map[string]string {
	for _, more := range others {
		maps.Copy(into, more)
	}
	return into
}
