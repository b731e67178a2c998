package derive

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
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
	var required, rules []any
	for _, f := range t.fields {
		if f.same != nil {
			continue
		}
		schema, must := f.schema()
		properties[f.name] = schema
		if must {
			required = append(required, f.name)
		}
		rules = append(rules, f.needed()...)
	}
	t.Add(t.instances[0].first, "", t.kind.definition(properties, required, rules))
}

// definition is the CRD of the kind whose spec has some fields, and obeys rules.
func (k Kind) definition(properties map[string]any, required, rules []any) map[string]any {
	spec := map[string]any{fieldType: value.TypeObject}
	if len(properties) > 0 {
		spec["properties"] = properties
	}
	if len(rules) > 0 {
		spec["x-kubernetes-validations"] = rules
	}
	root := map[string]any{fieldType: value.TypeObject, "properties": map[string]any{"spec": spec, "status": draft.StatusSchema(nil)}}
	if len(required) > 0 {
		spec["required"], root["required"] = required, []any{"spec"}
	} else {
		spec[fieldDefault] = map[string]any{}
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

// Begin adds to a draft an operator to go on from: a Deployment with a Service.
func Begin(d *draft.Draft, kind Kind, first Instance) []Resource {
	source := input.Document{}
	properties := map[string]any{
		keyImage:   map[string]any{fieldType: value.TypeString, "description": "Image that the container runs.", "minLength": int64(1)},
		"replicas": map[string]any{fieldType: "integer", "description": "Number of Pods.", fieldDefault: int64(1), "minimum": int64(0)},
		keyPort:    map[string]any{fieldType: "integer", "description": "Port on which the container listens.", fieldDefault: int64(8080), "minimum": int64(1), "maximum": int64(65535)},
	}
	d.Add(source, "", kind.definition(properties, []any{keyImage}, nil))
	d.Add(source, "", map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "metadata": map[string]any{"name": strings.ToLower(kind.Name)},
		"spec": map[string]any{
			"crd": map[string]any{"name": kind.crd()},
			"onReconcile": map[string]any{
				"deployments": []any{map[string]any{keyImage: "{{ .spec.image }}", "replicas": "{{ .spec.replicas }}", keyPort: "{{ .spec.port }}"}},
				"services":    []any{map[string]any{keyPort: int64(80)}},
			},
			"status": map[string]any{"ready": "Current"},
		},
	})
	metadata := map[string]any{"name": first.Name}
	if first.Namespace != "" {
		metadata["namespace"] = first.Namespace
	}
	return []Resource{{Namespace: first.Namespace, Object: d.Add(source, "", map[string]any{
		"apiVersion": kind.Group + "/" + kind.Version, "kind": kind.Name, "metadata": metadata, "spec": map[string]any{keyImage: "nginx:1.29", keyPort: int64(80)},
	})}}
}
