package pipeline

import (
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// hiddenContent is why a path to what a Secret holds is a mistake, everywhere but in the content of a child.
const hiddenContent = "what a Secret holds can be read only by the templates of a child's content; conditions, status fields, names and namespaces are shown to people"

// childName is what a name below .children stands for: a child, or several of one kind by a key.
type childName struct {
	kind schema.GroupVersionKind
	many bool
}

// childNames are the names that a box's declarations have under .children: singulars, plurals and explicit ids. One that stands for
// different things stands for an unknown kind.
func childNames(box *v1alpha1.OperatorBox) map[string]childName {
	out := map[string]childName{}
	add := func(name string, as childName) {
		if known, taken := out[name]; taken && known != as {
			as = childName{}
		}
		out[name] = as
	}
	for gvk, d := range declarationsOf(box) {
		if !gvk.Empty() {
			add(kinds.SingularOf(gvk), childName{kind: gvk})
			add(kinds.PluralOf(gvk), childName{kind: gvk, many: true})
		}
		if d.ID != "" {
			add(d.ID, childName{kind: gvk, many: d.ForEach != nil})
		}
	}
	return out
}

// childSchemas says what there is below .children. Kinds that are not built in are unchecked. whole: with what Secrets hold.
func childSchemas(box *v1alpha1.OperatorBox, whole bool) map[string]*apiextensionsv1.JSONSchemaProps {
	names := childNames(box)
	out := make(map[string]*apiextensionsv1.JSONSchemaProps, len(names))
	for name, stands := range names {
		object := objectSchema(stands.kind, whole)
		if object != nil && stands.many {
			object = &apiextensionsv1.JSONSchemaProps{Type: schemaObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: object}}
		}
		out[name] = object
	}
	return out
}

// objectSchema says what an object of a kind may hold; nil where that is not known. whole: with what a Secret holds.
func objectSchema(kind schema.GroupVersionKind, whole bool) *apiextensionsv1.JSONSchemaProps {
	object := kinds.Schema(kind)
	if object == nil || whole || kind != secretKind {
		return object
	}
	without := *object
	without.Properties = maps.Clone(object.Properties)
	for _, name := range []string{fieldData, "stringData"} {
		without.Properties[name] = *expr.Hidden(hiddenContent)
	}
	return &without
}

// contentScope is the scope of what a declaration's child holds: there, and nowhere else, Secrets can be read. The schemas are made once for
// all declarations of a box.
func (c *compiler) contentScope(scope *expr.Scope, d *declaration) *expr.Scope {
	if c.whole == nil {
		c.whole = expr.NewScope(nil).WithNames(rootChildren, childSchemas(c.box, true)).WithNames(rootCross, crossSchemas(c.box, c.env, true))
	}
	roots := []string{rootChildren, rootCross}
	if d.phase == stepDeletion || d.phase == stepRollback {
		roots = roots[:1] // it reads no other objects
	}
	for _, root := range roots {
		if schema, err := c.whole.SchemaAt(expr.Path{root}); err == nil {
			scope = scope.WithRoot(root, schema)
		}
	}
	return scope
}
