package main

import (
	"bytes"
	"encoding/json"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objectFormats are the values of --output of render.
var objectFormats = map[string]func(io.Writer, []*unstructured.Unstructured) error{formatYAML: objectsYAML, formatJSON: objectsJSON}

func objectsYAML(w io.Writer, objects []*unstructured.Unstructured) error {
	var b bytes.Buffer
	for i, obj := range objects {
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func objectsJSON(w io.Writer, objects []*unstructured.Unstructured) error {
	items := make([]any, 0, len(objects))
	for _, obj := range objects {
		items = append(items, obj.Object)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}
