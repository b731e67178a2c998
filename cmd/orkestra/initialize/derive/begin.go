package derive

import (
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/value"
)

// Begin adds to a draft an operator to go on from: a Deployment with a Service.
func Begin(d *draft.Draft, kind Kind, first Instance) []Resource {
	source := input.Document{}
	properties := map[string]any{
		"image":    map[string]any{fieldType: value.TypeString, "description": "What its containers run.", "minLength": int64(1)},
		"replicas": map[string]any{fieldType: "integer", "description": "How many Pods there are.", "default": int64(1), "minimum": int64(0)},
		"port":     map[string]any{fieldType: "integer", "description": "On which its containers listen.", "default": int64(8080), "minimum": int64(1), "maximum": int64(65535)},
	}
	d.Add(source, "", kind.definition(properties, []any{"image"}))
	d.Add(source, "", map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "metadata": map[string]any{"name": strings.ToLower(kind.Name)},
		"spec": map[string]any{
			"crd": map[string]any{"name": kind.crd()},
			"onReconcile": map[string]any{
				"deployments": []any{map[string]any{"image": "{{ .spec.image }}", "replicas": "{{ .spec.replicas }}", "port": "{{ .spec.port }}"}},
				"services":    []any{map[string]any{"port": int64(80)}},
			},
			"status": map[string]any{"ready": "Current"},
		},
	})
	metadata := map[string]any{"name": first.Name}
	if first.Namespace != "" {
		metadata["namespace"] = first.Namespace
	}
	return []Resource{{Namespace: first.Namespace, Object: d.Add(source, "", map[string]any{
		"apiVersion": kind.Group + "/" + kind.Version, "kind": kind.Name, "metadata": metadata, "spec": map[string]any{"image": "nginx:1.29"},
	})}}
}
