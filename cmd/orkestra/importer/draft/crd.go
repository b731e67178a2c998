package draft

import "github.com/orkspace/orkestra/engine/value"

const fieldType = "type"

// StatusSchema is the schema of a status that shows the given fields, with what every resource of a box shows.
func StatusSchema(fields map[string]any) map[string]any {
	properties := map[string]any{
		"observedGeneration": map[string]any{fieldType: "integer", "format": "int64"},
		"conditions": map[string]any{
			fieldType:                    "array",
			"x-kubernetes-list-type":     "map",
			"x-kubernetes-list-map-keys": []any{fieldType},
			"items": map[string]any{
				fieldType:                              value.TypeObject,
				"required":                             []any{fieldType},
				"properties":                           map[string]any{fieldType: map[string]any{fieldType: value.TypeString}},
				"x-kubernetes-preserve-unknown-fields": true,
			},
		},
	}
	for name, schema := range fields {
		if properties[name] == nil {
			properties[name] = schema
		}
	}
	return map[string]any{fieldType: value.TypeObject, "default": map[string]any{"observedGeneration": int64(-1)}, "properties": properties}
}

// Columns are what `kubectl get` shows of every resource of a box.
func Columns() []any {
	return []any{
		map[string]any{"name": "Ready", fieldType: value.TypeString, "jsonPath": `.status.conditions[?(@.type=="Ready")].status`},
		map[string]any{"name": "Age", fieldType: "date", "jsonPath": ".metadata.creationTimestamp"},
	}
}
