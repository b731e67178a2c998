package pipeline

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// literals reports what is written out, without a template, and that no API server takes: it would be refused only when the first
// resource comes.
func (c *compiler) literals(d *declaration, in *v1alpha1.Declaration, short map[string]any, at *field.Path) {
	where, name := at.Child("name"), in.Name
	body, bodyAt := short, at
	if d.kind.GVK.Empty() {
		if name == "" {
			where, name = manifestMeta(short, "name", at)
		}
		body, _ = short["manifest"].(map[string]any)
		bodyAt = at.Child("manifest")
		metadata, _ := body["metadata"].(map[string]any)
		c.Fail(check.Labels(check.Texts(metadata["labels"]), bodyAt.Child("metadata", "labels"))...)
		c.Fail(check.Annotations(check.Texts(metadata["annotations"]), bodyAt.Child("metadata", "annotations"))...)
	}
	c.Fail(check.Name(d.gvk, name, where)...)
	c.Fail(check.TemplatedName(d.gvk, d.name, name, where)...)
	c.Fail(check.Labels(in.Labels, at.Child("labels"))...)
	c.Fail(check.Annotations(in.Annotations, at.Child("annotations"))...)
	if d.kind.IsWorkload() {
		c.Fail(check.Labels(check.Texts(short["podLabels"]), at.Child("podLabels"))...)
		c.Fail(check.Annotations(check.Texts(short["podAnnotations"]), at.Child("podAnnotations"))...)
	}
	c.Fail(check.DataKeys(d.gvk, body, bodyAt)...)
}

// place checks where the object of a declaration goes: a cluster-scoped one has no namespace, and one that has one must be told
// it where the resource has none.
func (c *compiler) place(d *declaration, in *v1alpha1.Declaration, short map[string]any, at *field.Path) {
	where, written := at.Child("namespace"), in.Namespace
	if d.kind.GVK.Empty() && written == "" {
		where, written = manifestMeta(short, "namespace", at)
	}
	switch scope := check.Scope(d.gvk, c.Env.Mapper); {
	case scope == meta.RESTScopeNameRoot && written != "":
		c.Fail(field.Forbidden(where, fmt.Sprintf("a %s is cluster-scoped and goes into no namespace; remove it", d.gvk.Kind)))
	case scope == meta.RESTScopeNameNamespace && written == "" && c.Env.CRD.Name != "" && !c.Env.CRD.Namespaced:
		c.Fail(field.Required(where, fmt.Sprintf("the resources are cluster-scoped: say in which namespace the %s goes", d.gvk.Kind)))
	default:
		c.Fail(check.Namespace(written, where)...)
	}
}

// manifestMeta gives a text of a manifest's metadata, empty where it has none, and where it stands.
func manifestMeta(short map[string]any, name string, at *field.Path) (*field.Path, string) {
	manifest, _ := short["manifest"].(map[string]any)
	metadata, _ := manifest["metadata"].(map[string]any)
	text, _ := metadata[name].(string)
	return at.Child("manifest", "metadata", name), text
}

// mayMake reports declarations that security.md forbids. What templates make is checked again when it is rendered.
func (c *compiler) mayMake(d *declaration, in *v1alpha1.Declaration, short map[string]any, at *field.Path) {
	d.mayGrant = c.Env.AllowGrantingKinds
	root := check.Scope(d.gvk, c.Env.Mapper) == meta.RESTScopeNameRoot
	if why := check.GrantsRights(c.asWritten(d, in, short), root); why != "" && !d.mayGrant {
		c.Fail(field.Forbidden(at, why))
	}
	if d.gvk.GroupKind() == c.Env.CRD.Kind.GroupKind() && c.Env.CRD.Name != "" {
		c.Fail(field.Forbidden(at, fmt.Sprintf("a box can't make children of the kind that it serves (%s): it would never end", d.gvk.Kind)))
	}
	if root && c.Env.CRD.Namespaced && !readsNamespace(d) {
		written := ""
		if d.name != nil {
			written = d.name.String()
		}
		c.Fail(field.Invalid(at.Child("name"), written, sharedName(d)))
	}
}

// asWritten is a declaration's object as far as it is written out.
func (c *compiler) asWritten(d *declaration, in *v1alpha1.Declaration, short map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	body := short
	if d.kind.GVK.Empty() {
		body, _ = short["manifest"].(map[string]any)
	}
	if kind, ok := body[fieldType].(string); ok {
		obj.Object[fieldType] = kind
	}
	metadata, _ := body["metadata"].(map[string]any)
	labels, annotations := check.Texts(metadata["labels"]), check.Texts(metadata["annotations"])
	for _, more := range []map[string]v1alpha1.LimitedString{c.Spec.CommonLabels, in.Labels} {
		for key, value := range more {
			labels[key] = string(value)
		}
	}
	for _, more := range []map[string]v1alpha1.LimitedString{c.Spec.CommonAnnotations, in.Annotations} {
		for key, value := range more {
			annotations[key] = string(value)
		}
	}
	obj.SetGroupVersionKind(d.gvk)
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return obj
}

// checkGrants refuses a rendered object that grants rights, which could not be told when the box was compiled.
func (d *declaration) checkGrants(obj *unstructured.Unstructured, namespaced bool) error {
	if why := check.GrantsRights(obj, !namespaced); why != "" && !d.mayGrant {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New(why))
	}
	return nil
}
