package derive

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/value"
)

// plural is that of the kind, as box.spec.crd.kind and kubebuilder guess it.
func (k Kind) plural() string {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Name})
	return plural.Resource
}

// crd is the name of the CRD.
func (k Kind) crd() string { return k.plural() + "." + k.Group }

// definition adds the CRD of the fields.
func (t *translation) definition() {
	properties := map[string]any{}
	var required []any
	for _, f := range t.fields {
		if f.same != nil {
			continue
		}
		schema, must := f.schema()
		properties[f.name] = schema
		if must {
			required = append(required, f.name)
		}
	}
	t.Add(t.instances[0].first, "", t.kind.definition(properties, required))
}

// definition is the CRD of the kind whose spec has some fields.
func (k Kind) definition(properties map[string]any, required []any) map[string]any {
	spec := map[string]any{fieldType: value.TypeObject}
	if len(properties) > 0 {
		spec["properties"] = properties
	}
	root := map[string]any{fieldType: value.TypeObject, "properties": map[string]any{"spec": spec, "status": draft.StatusSchema(nil)}}
	if len(required) > 0 {
		spec["required"], root["required"] = required, []any{"spec"}
	} else {
		spec["default"] = map[string]any{}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": input.KindCRD, "metadata": map[string]any{"name": k.crd()},
		"spec": map[string]any{
			"group": k.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": k.Name, "listKind": k.Name + "List", "plural": k.plural(), "singular": strings.ToLower(k.Name)},
			"versions": []any{map[string]any{
				"name": k.Version, "served": true, "storage": true,
				"subresources":             map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": draft.Columns(),
				"schema":                   map[string]any{"openAPIV3Schema": root},
			}},
		},
	}
}
