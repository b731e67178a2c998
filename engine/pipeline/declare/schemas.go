package declare

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
)

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
	for gvk, d := range boxspec.Declarations(box) {
		if !gvk.Empty() {
			add(kinds.SingularOf(gvk), childName{kind: gvk})
			add(kinds.PluralOf(gvk), childName{kind: gvk, many: true})
		}
		if d.ID != "" {
			add(d.ID, childName{kind: gvk, many: d.ForEach != nil})
		}
	}
	if r := box.Spec.Reconciler; r != nil && r.Hooks != nil {
		add(HookID, childName{}) // whatever the code declares
	}
	return out
}

// ChildSchemas says what there is below .children. Kinds that are not built in are unchecked. withSecrets: with what Secrets hold.
func ChildSchemas(box *v1alpha1.OperatorBox, withSecrets bool) map[string]*apiextensionsv1.JSONSchemaProps {
	names := childNames(box)
	out := make(map[string]*apiextensionsv1.JSONSchemaProps, len(names))
	for name, stands := range names {
		object := compile.ObjectSchema(stands.kind, withSecrets)
		if object != nil && stands.many {
			object = &apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: object}}
		}
		out[name] = object
	}
	return out
}
