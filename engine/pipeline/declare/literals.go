package declare

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
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
	c.Fail(check.Labels(e.Labels, e.at.Child("labels"))...)
	c.Fail(check.Annotations(e.Annotations, e.at.Child("annotations"))...)
	if d.Kind.IsWorkload() {
		c.Fail(check.Labels(check.Texts(e.short["podLabels"]), e.at.Child("podLabels"))...)
		c.Fail(check.Annotations(check.Texts(e.short["podAnnotations"]), e.at.Child("podAnnotations"))...)
	}
	c.Fail(check.DataKeys(d.GVK, body, at)...)
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
	if why := check.GrantsRights(e.asWritten(), root); why != "" && !d.MayGrant {
		e.c.Fail(field.Forbidden(e.at, why))
	}
	if d.GVK.GroupKind() == crd.Kind.GroupKind() && crd.Name != "" {
		e.c.Fail(field.Forbidden(e.at, fmt.Sprintf("a box can't make children of the kind that it serves (%s): it would never end", d.GVK.Kind)))
	}
	if root && crd.Namespaced && !d.ReadsNamespace() {
		written := ""
		if d.Name != nil {
			written = d.Name.String()
		}
		e.c.Fail(field.Invalid(e.at.Child("name"), written, d.SharedName()))
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
	obj.SetLabels(merged(check.Texts(metadata["labels"]), e.c.Spec.CommonLabels, e.Labels))
	obj.SetAnnotations(merged(check.Texts(metadata["annotations"]), e.c.Spec.CommonAnnotations, e.Annotations))
	return obj
}

func merged(into map[string]string, others ...map[string]v1alpha1.LimitedString) map[string]string {
	for _, more := range others {
		for key, value := range more {
			into[key] = string(value)
		}
	}
	return into
}
