package declare

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	c.Fail(check.Name(d.GVK, name, where)...)
	c.Fail(check.TemplatedName(d.GVK, d.Name, name, where)...)
	c.Fail(check.Labels(e.labels.Written, e.at.Child("labels"))...)
	c.Fail(check.Annotations(e.annotations.Written, e.at.Child("annotations"))...)
	if d.Kind.IsWorkload() {
		c.Fail(check.Labels(check.Texts(e.short["podLabels"]), e.at.Child("podLabels"))...)
		c.Fail(check.Annotations(check.Texts(e.short["podAnnotations"]), e.at.Child("podAnnotations"))...)
	}
	c.Fail(check.DataKeys(d.GVK, body, at)...)
	c.Fail(check.Marks(body, at)...)
	c.Fail(check.Marks(e.spec, e.at.Child("spec"))...)
}

// place checks where the object of a declaration goes: a cluster-scoped one has no namespace, and one that has one must be told
// it where the resource has none.
func (e *entry) place() {
	crd, kind := e.c.Env.CRD, e.d.GVK.Kind
	written, where := e.writtenNamespace()
	switch scope := check.Scope(e.d.GVK, e.c.Env.Mapper); {
	case scope == meta.RESTScopeNameRoot && written != "":
		e.c.Fail(field.Forbidden(where, fmt.Sprintf("a %s is cluster-scoped and goes into no namespace; remove it", kind)))
	case scope == meta.RESTScopeNameNamespace && written == "" && crd.Name != "" && !crd.Namespaced:
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
	root := check.Scope(d.GVK, e.c.Env.Mapper) == meta.RESTScopeNameRoot
	leave := check.Leave{Account: e.c.Spec.ServiceAccountRef != nil, Flag: d.MayGrant}
	if why := check.GrantsRights(e.asWritten(), root, leave); why != "" {
		e.c.Fail(field.Forbidden(e.at, why))
	}
	if d.GVK.GroupKind() == crd.Kind.GroupKind() && crd.Name != "" {
		e.c.Fail(field.Forbidden(e.at, fmt.Sprintf("a box can't make children of the kind that it serves (%s): it would never end", d.GVK.Kind)))
	}
	if root && crd.Namespaced && d.Name != nil && !d.ReadsNamespace() {
		e.c.Fail(field.Invalid(e.at.Child("name"), d.Name.String(), d.SharedName()))
	}
}

// asWritten is the object as far as it is written out.
func (e *entry) asWritten() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	body, _ := e.body()
	if kind, ok := body["type"].(string); ok {
		obj.Object["type"] = kind
	}
	metadata, _ := body["metadata"].(map[string]any)
	obj.SetGroupVersionKind(e.d.GVK)
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
