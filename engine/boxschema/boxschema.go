// Package boxschema writes the JSON schema of boxes, by which editors complete, explain and check them as they are written. It is made of the
// schema of the CRD, which knows no short fields, and of the types of the short fields. It reads no cluster and compiles nothing: what only
// shows when a box is compiled, such as a path that the resource does not have, is not in a schema.
package boxschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/engine/kinds"
)

// Draft is the version of JSON Schema that is written: the newest that all editors read.
const Draft = "http://json-schema.org/draft-07/schema#"

// node is a schema, of the CRD or of the result.
type node = map[string]any

// The keywords that are written in more than one place.
const (
	keyAdditional  = "additionalProperties"
	keyDescription = "description"
	keyItems       = "items"
	keyPattern     = "pattern"
	keyProperties  = "properties"
	keyRef         = "$ref"
	keyRequired    = "required"
	keyType        = "type"
)

// Types of JSON that schemas name often.
const (
	typeObject = "object"
	typeString = "string"
)

// definition is what is read of the CRD.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Schema struct {
				OpenAPIV3Schema node `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// Box gives the schema of OperatorBox as JSON, from its CRD in YAML. It is the same at each call.
func Box(crd []byte) ([]byte, error) {
	var of definition
	if err := yaml.Unmarshal(crd, &of); err != nil {
		return nil, fmt.Errorf("reading the CRD: %w", err)
	}
	if len(of.Spec.Versions) != 1 {
		return nil, fmt.Errorf("the CRD has %d versions, and one is known here", len(of.Spec.Versions))
	}
	all := kinds.APIKinds()
	at := slices.IndexFunc(all, func(f kinds.FieldDoc) bool { return f.Type == of.Spec.Names.Kind })
	if at < 0 {
		return nil, fmt.Errorf("the CRD is of the kind %q, which is none of Orkestra's", of.Spec.Names.Kind)
	}
	version := of.Spec.Versions[0]
	b := &builder{definitions: node{}}
	out := b.properties(version.Schema.OpenAPIV3Schema, all[at])
	if b.err != nil {
		return nil, b.err
	}
	properties, isObject := out[keyProperties].(node)
	if !isObject {
		return nil, errors.New("the schema of the CRD has no properties")
	}
	properties["apiVersion"] = node{keyType: typeString, "enum": []any{of.Spec.Group + "/" + version.Name}, keyDescription: "The API of boxes."}
	properties["kind"] = node{keyType: typeString, "enum": []any{of.Spec.Names.Kind}, keyDescription: "The kind of boxes."}
	properties["metadata"] = node{keyType: typeObject, keyDescription: "The name of the box, its labels and annotations."}
	out["$schema"], out["title"], out[keyDescription] = Draft, of.Spec.Names.Kind, all[at].Text
	out[keyRequired] = []any{"apiVersion", "kind", "metadata", "spec"}
	out["definitions"] = b.definitions
	return written(out)
}

// written gives a schema as text, with sorted keys.
func written(schema node) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(schema); err != nil {
		return nil, fmt.Errorf("encoding the schema: %w", err)
	}
	return text.Bytes(), nil
}
