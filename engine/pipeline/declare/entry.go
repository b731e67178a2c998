package declare

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
)

// entry is one declaration as it is written, while it is compiled.
type entry struct {
	*v1alpha1.Declaration

	c           *compiler
	at          *field.Path
	short, spec map[string]any // as decoded
	// what stands in labels and annotations, and in those that all children have in common
	labels, annotations, commonLabels, commonAnnotations compile.Texts
	rerunOn                                              *expr.Value  // the values of rerunOn
	scope                                                *expr.Scope  // of what the object holds
	d                                                    *Declaration // what it compiles to
}

// declaration compiles one entry; it is nil when its kind can't be told.
func (c *compiler) declaration(kind kinds.Kind, in *v1alpha1.Declaration, phase Phase, at *field.Path) *Declaration {
	d := &Declaration{Kind: kind, Phase: phase, Where: at.String()}
	d.Optional, d.Adopt, d.Orphan = in.Optional, in.Adopt == v1alpha1.AdoptIfUnowned, in.DeletionPolicy == v1alpha1.ChildOrphan
	e := &entry{Declaration: in, c: c, at: at, d: d}
	c.written[d] = in
	e.short = e.decodeShort()
	e.spec = e.object(in.Spec, at.Child("spec"))
	d.takes.written, d.takes.overlay = e.short, e.spec
	if !d.IsManifest() {
		d.Kinds = kinds.Set{kind.GVK}
	} else if !e.kindsOfManifest() {
		c.Fail(kind.Check(e.short, e.spec, compile.YieldOf, at)...)
		return nil
	}
	e.templates()
	c.Fail(kind.Check(e.short, e.spec, compile.Yields(e.scope, &c.Spec), at)...)
	e.modes()
	e.identify()
	e.grants()
	e.place()
	e.literals()
	return d
}

// decodeShort decodes the short fields.
func (e *entry) decodeShort() map[string]any {
	out := make(map[string]any, len(e.Short))
	for name, raw := range e.Short {
		if v, ok := e.c.JSON(&raw, e.at.Child(name)); ok && v != nil { // null has no raw JSON
			out[name] = v
		}
	}
	return out
}

// object decodes a field that holds a JSON object.
func (e *entry) object(in *apiextensionsv1.JSON, at *field.Path) map[string]any {
	v, _ := e.c.JSON(in, at)
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		e.c.Fail(field.TypeInvalid(at, value.TypeName(v), "wanted an object"))
	}
	return m
}

// kindsOfManifest reads what must be literal of a manifest: rights and watches are derived from it.
func (e *entry) kindsOfManifest() bool {
	if text, isText := e.short["manifest"].(string); isText && compile.YieldOf(text) == shape.Anything {
		return e.kindsOfTemplate()
	}
	m, ok := e.short["manifest"].(map[string]any)
	if !ok {
		return false // Check says so.
	}
	at := e.at.Child("manifest")
	apiVersion, okV := m["apiVersion"].(string)
	kind, okK := m["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if !okV || !okK || err != nil || expr.IsTemplate(apiVersion) || expr.IsTemplate(kind) {
		if err != nil {
			e.c.Fail(field.Invalid(at.Child("apiVersion"), apiVersion, "wanted group/version"))
		}
		return false
	}
	e.d.Kinds = kinds.Set{gv.WithKind(kind)}
	e.c.Fail(unknownKind(at.Child("kind"), e.c.Box, e.d.Kinds[0], kind)...)
	return true
}

// kindsOfTemplate reads the kinds that are listed for a manifest that one template gives.
func (e *entry) kindsOfTemplate() bool {
	listed, err := kinds.ListedKinds(e.short)
	if err != nil {
		return false // Check says so
	}
	e.d.Kinds, e.d.Whole = listed, true
	at := e.at.Child("kinds")
	for i, gvk := range listed {
		e.c.Fail(unknownKind(at.Index(i), e.c.Box, gvk, kinds.Listed(gvk))...)
		if len(listed) > 1 && gvk.GroupKind() == jobKind {
			e.c.Fail(field.Forbidden(at.Index(i), "a Job runs to its end and is not corrected in place, so that it can't be one of several kinds; give Jobs a declaration of their own"))
		}
	}
	return true
}

// unknownKind reports a kind that its API group does not have.
func unknownKind(at *field.Path, b *compile.Box, gvk schema.GroupVersionKind, written string) field.ErrorList {
	if hint, unknown := kinds.Unknown(gvk); unknown && !b.Installed(gvk) {
		return field.ErrorList{field.Invalid(at, written, fmt.Sprintf("%s has no such kind%s", gvk.GroupVersion(), hint))}
	}
	return nil
}

// metadata is that of the manifest; nil where there is none.
func (e *entry) metadata() map[string]any {
	manifest, _ := e.short["manifest"].(map[string]any)
	metadata, _ := manifest["metadata"].(map[string]any)
	return metadata
}

// body is what is written of the object, and where: the manifest, or the short fields.
func (e *entry) body() (map[string]any, *field.Path) {
	if !e.d.IsManifest() {
		return e.short, e.at
	}
	manifest, _ := e.short["manifest"].(map[string]any)
	return manifest, e.at.Child("manifest")
}

// writtenName is the name as it is written, also in a manifest, and where; empty: it is the resource's.
func (e *entry) writtenName() (string, *field.Path) { return e.written("name", e.Name) }

// writtenNamespace is the namespace as it is written, also in a manifest, and where; empty: it is the resource's.
func (e *entry) writtenNamespace() (string, *field.Path) { return e.written("namespace", e.Namespace) }

func (e *entry) written(part, own string) (string, *field.Path) {
	if own != "" || !e.d.IsManifest() {
		return own, e.at.Child(part)
	}
	text, _ := e.metadata()[part].(string)
	return text, e.at.Child("manifest", "metadata", part)
}

// noKindAsID is why an id is a mistake that is the name of a kind, and what to do.
const noKindAsID = "the name of a kind can't be an id: templates would mistake one for the other; give it another, or none, and read .children.<kind>"

// noKindAsIDOfLoop is why the id of a loop is a mistake that is the name of a kind, and what to do.
const noKindAsIDOfLoop = "the name of a kind can't be the id of a loop: templates would take its children for the only one of that kind; give it another id, or none"

// identify gives the declaration its id, which does not depend on its position.
func (e *entry) identify() {
	if e.ID != "" {
		e.d.ID, e.d.Explicit = e.ID, true
		if kinds.IsName(e.ID) && (e.d.Loop != nil || !e.d.Kinds.Calls(e.ID)) {
			why := noKindAsID
			if e.d.Loop != nil && e.d.Kinds.Calls(e.ID) {
				why = noKindAsIDOfLoop
			}
			e.c.Fail(field.Invalid(e.at.Child("id"), e.ID, why))
		}
		return
	}
	e.d.ID = e.d.Kind.Key
	name := e.Name
	if m, ok := e.short["manifest"].(map[string]any); ok && name == "" {
		name, _ = e.metadata()["name"].(string)
		if kind, ok := m["kind"].(string); ok {
			// Manifests of all kinds share one key, so the kind is part of what tells them apart.
			name = kind + "/" + name
		}
	}
	if name != "" {
		e.d.ID += "/" + name
	}
}
