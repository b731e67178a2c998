package main

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/test/tools/gotypes"
)

// object is a JSON object.
type object = map[string]any

// roots are the messages, by the names of their Go types: what they are called, and whether other fields are mistakes.
var roots = []struct {
	goName, name string
	closed       bool
}{
	{"Request", "HookRequest", false},
	{"Response", "HookResponse", true},
	{"CompositeRequest", "CompositeRequest", false},
	{"CompositeResponse", "CompositeResponse", false},
}

const refs = "#/$defs/"

// writer makes schemas of types.
type writer struct {
	types map[string]gotypes.Type
	names map[string]string // of schemas, by Go type
	made  map[string]object
}

// schemasOf gives the schemas of the messages and of what they hold, by name.
func schemasOf(types []gotypes.Type) (map[string]object, error) {
	w := &writer{types: map[string]gotypes.Type{}, names: map[string]string{}, made: map[string]object{}}
	for _, t := range types {
		w.types[t.Name] = t
	}
	for _, root := range roots {
		w.names[root.goName] = root.name
	}
	for _, root := range roots {
		if _, known := w.types[root.goName]; !known {
			return nil, fmt.Errorf("there is no type %s", root.goName)
		}
		if err := w.add(root.goName, root.closed); err != nil {
			return nil, err
		}
	}
	return w.made, nil
}

func (w *writer) name(goName string) string {
	if name, ok := w.names[goName]; ok {
		return name
	}
	return goName
}

// add makes the schema of a struct, unless it is made.
func (w *writer) add(goName string, closed bool) error {
	if w.made[w.name(goName)] != nil {
		return nil
	}
	of := w.types[goName]
	s, ok := of.Syntax.(*ast.StructType)
	if !ok {
		return fmt.Errorf("%s is no struct", goName)
	}
	schema := object{"type": "object", "description": of.Doc}
	w.made[w.name(goName)] = schema
	fields, embedded, err := gotypes.FieldsOf(s)
	if err == nil && len(embedded) > 0 {
		err = errors.New("a field has no name")
	}
	if err != nil {
		return fmt.Errorf("type %s: %w", goName, err)
	}
	properties, required := object{}, []string{}
	for _, f := range fields {
		property, err := w.schema(f.Syntax, closed)
		if err == nil && f.Doc == "" {
			err = errors.New("it has no comment")
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", goName, f.Name, err)
		}
		property["description"] = f.Doc
		properties[f.Name] = property
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	schema["properties"] = properties
	if len(required) > 0 {
		schema["required"] = required
	}
	if closed {
		schema["additionalProperties"] = false
	}
	return nil
}

// schema gives the schema of a type.
func (w *writer) schema(of ast.Expr, closed bool) (object, error) {
	switch t := of.(type) {
	case *ast.StarExpr:
		return w.schema(t.X, closed)
	case *ast.ArrayType:
		items, err := w.schema(t.Elt, closed)
		return object{"type": "array", "items": items}, err
	case *ast.MapType:
		values, err := w.schema(t.Value, closed)
		return object{"type": "object", "additionalProperties": values}, err
	case *ast.Ident:
		return w.named(t.Name, closed)
	default:
		return nil, fmt.Errorf("no schema is known for a %T", of)
	}
}

func (w *writer) named(name string, closed bool) (object, error) {
	switch name {
	case "string":
		return object{"type": "string"}, nil
	case "bool":
		return object{"type": "boolean"}, nil
	case "int64":
		return object{"type": "integer"}, nil
	case "float64":
		return object{"type": "number"}, nil
	case "any":
		return object{}, nil
	}
	of, known := w.types[name]
	if !known {
		return nil, fmt.Errorf("no schema is known for %s", name)
	}
	if _, isStruct := of.Syntax.(*ast.StructType); !isStruct {
		return w.schema(of.Syntax, closed)
	}
	return object{"$ref": refs + w.name(name)}, w.add(name, closed)
}

// jsonSchema is the document of JSON schemas.
func jsonSchema(schemas map[string]object) object {
	messages := []object{}
	for _, root := range roots {
		messages = append(messages, object{"$ref": refs + root.name})
	}
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://orkestra.orkspace.io/webhook.schema.json",
		"title": "What webhooks of Orkestra are sent, and what they answer", "anyOf": messages, "$defs": schemas,
	}
}

// openAPI is the document of the calls.
func openAPI(schemas map[string]object) object {
	paths := object{}
	for i, call := range []struct{ path, name, summary string }{
		{"/", "hook", "Say which children a resource should have, and what its status shows. The path is that of the box."},
		{"/metacontroller", "composite", "The same as the sync and finalize hooks of a CompositeController say it. The path is that of the box."},
	} {
		paths[call.path] = object{"post": object{
			"operationId": call.name, "summary": call.summary,
			"parameters":  []object{{"name": "If-None-Match", "in": "header", "description": "ETag of the last answer about the resource.", "schema": object{"type": "string"}}},
			"requestBody": object{"required": true, "content": content(roots[2*i].name)},
			"responses": object{
				"200": object{
					"description": "The answer.", "content": content(roots[2*i+1].name),
					"headers": object{"ETag": object{"description": "Names the answer, so that the next request can ask whether it still holds.", "schema": object{"type": "string"}}},
				},
				"304": object{"description": "The last answer still holds."},
			},
		}}
	}
	components := object{}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		components[name] = moved(schemas[name])
	}
	return object{
		"openapi": "3.1.0", "info": object{"title": "Webhooks of Orkestra", "version": "v1"}, "paths": paths, "components": object{"schemas": components},
	}
}

const componentRefs = "#/components/schemas/"

func content(schema string) object {
	return object{"application/json": object{"schema": object{"$ref": componentRefs + schema}}}
}

// moved gives a schema whose references are those of an OpenAPI document.
func moved(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for key, below := range v {
			if text, ok := below.(string); ok && key == "$ref" {
				below = componentRefs + strings.TrimPrefix(text, refs)
			}
			out[key] = moved(below)
		}
		return out
	default:
		return v
	}
}
