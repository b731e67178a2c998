package declare

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
)

// nameStays is why no name and no namespace is drawn, not even for what is made once: it is evaluated in each cycle to find the child.
const nameStays = "a child is found by its name and namespace, also with `once: true`: use `hash` of what the name stands for, or read what another child with `once: true` holds"

// templates compiles everything that may hold templates.
func (e *entry) templates() {
	d, at := e.d, e.at
	base := e.c.groupScope(d.Phase)
	scope := e.loop(base)
	compileRollout(base, e)
	names := scope.WithoutRandom(nameStays)
	d.Name = e.c.Template(names, e.Name, at.Child("name"))
	d.Namespace = e.c.Template(names, e.Namespace, at.Child("namespace"))
	if d.IsManifest() {
		e.manifestIdentity(names)
	}
	e.content(base, scope)
	e.c.Fail(check.OwnLabels(e.labels.Written, at.Child("labels"))...)
	e.c.Fail(check.OwnAnnotations(e.annotations.Written, at.Child("annotations"))...)

	around := e.c.gate
	if d.Phase == OnDelete {
		around = nil // a clean-up is not held back by the gate of the box
	}
	e.c.gateOf(e, scope, around)
	e.readyWhen(scope)
	d.UsesChildren = e.c.Reads(d.paths())
	d.UsesSecrets = slices.ContainsFunc(d.paths(), e.c.LeadsToSecret)
	e.c.LeadsTo(d.Namespace)
}

// content compiles what the object holds. base is the scope outside of the loop.
func (e *entry) content(base, scope *expr.Scope) {
	d, at, box := e.d, e.at, e.c.Spec
	content := e.c.contentScope(scope, d.Phase)
	switch {
	case d.Whole:
		content = content.WithoutRandom(nameStays)
	case e.Once:
		// Not for names: a random name would be another object in each cycle.
		content = content.WithRandom(e.c.Env.Random, e.c.Env.Now)
	}
	e.scope = content
	common := field.NewPath("spec")
	e.commonLabels = e.c.Texts(base, box.CommonLabels, common.Child("commonLabels"))
	e.commonAnnotations = e.c.Texts(base, box.CommonAnnotations, common.Child("commonAnnotations"))
	e.labels = e.c.Texts(content, e.Labels, at.Child("labels"))
	e.annotations = e.c.Texts(content, e.Annotations, at.Child("annotations"))
	d.Labels = given(e.commonLabels, e.labels)
	d.Annotations = given(e.commonAnnotations, e.annotations)
	d.Short = e.c.Tree(content, e.short, at)
	if d.Whole && d.Short != nil {
		d.WholeOfSecret = slices.ContainsFunc(d.Short.PathsAt(value.Path{"manifest"}), e.c.LeadsToSecret)
	}
	d.Ports = e.c.Tree(content, only(e.short, "type", "port", "ports", "targetPort"), at)
	e.rerunOn = e.c.Tree(content, only(e.short, kinds.RerunOn), at)
	d.Content.Spec = e.c.Tree(content, e.spec, at.Child("spec"))
}

// given are those that there are.
func given(all ...compile.Texts) []*expr.Value {
	var out []*expr.Value
	for _, t := range all {
		if t.Value != nil {
			out = append(out, t.Value)
		}
	}
	return out
}

// manifestIdentity takes name and namespace from a manifest that has its own.
func (e *entry) manifestIdentity(scope *expr.Scope) {
	d, metadata, at := e.d, e.metadata(), e.at.Child("manifest", "metadata")
	for _, part := range []string{"name", "namespace"} {
		if v := metadata[part]; v != nil && value.TypeName(v) != value.TypeString {
			e.c.Fail(field.TypeInvalid(at.Child(part), value.TypeName(v), "wanted a string; YAML takes words such as y, no and on for booleans, so quote it"))
		}
	}
	if name, ok := metadata["name"].(string); ok && d.Name == nil {
		d.Name = e.c.Template(scope, name, at.Child("name"))
	}
	if ns, ok := metadata["namespace"].(string); ok && d.Namespace == nil {
		d.Namespace = e.c.Template(scope, ns, at.Child("namespace"))
	}
	labels, _ := metadata["labels"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	e.c.Fail(check.OwnLabels(labels, at.Child("labels"))...)
	e.c.Fail(check.OwnAnnotations(annotations, at.Child("annotations"))...)
}

// groupScope is what the declarations of a phase may read. When a resource goes, nothing but children is read; when it goes back,
// what was read for the spec that failed is of no use, and there is the snapshot instead.
func (c *compiler) groupScope(phase Phase) *expr.Scope {
	switch phase {
	case OnDelete:
		return c.Scope.WithoutRoots(compile.RootCross, compile.RootExternal, compile.RootProviders)
	case OnRollback:
		return c.Scope.WithoutRoots(compile.RootCross, compile.RootExternal, compile.RootProviders).WithRoot(compile.RootPrevious, previousSchema(c.Env.CRD.Schema))
	default:
		return c.Scope
	}
}

// contentScope is the scope of what a declaration's child holds: there, and nowhere else, Secrets can be read.
func (c *compiler) contentScope(scope *expr.Scope, phase Phase) *expr.Scope {
	if phase == OnDelete || phase == OnRollback {
		return c.ContentScope(scope, compile.RootChildren) // it reads no other objects
	}
	return c.ContentScope(scope, compile.RootChildren, compile.RootCross, compile.RootProviders)
}

// previousSchema says what there is of a snapshot.
func previousSchema(crd *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	text := apiextensionsv1.JSONSchemaProps{Type: value.TypeString}
	texts := apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}}
	s := &apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {XPreserveUnknownFields: new(true)},
		"metadata": {Type: value.TypeObject, Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"name": text, "namespace": text, "uid": text, "generation": {Type: "integer"}, "labels": texts, "annotations": texts,
		}},
	}}
	if crd != nil {
		if spec, ok := crd.Properties["spec"]; ok {
			s.Properties["spec"] = spec
		}
	}
	return s
}

func only(m map[string]any, names ...string) map[string]any {
	out := map[string]any{}
	for _, n := range names {
		if v, ok := m[n]; ok {
			out[n] = v
		}
	}
	return out
}
