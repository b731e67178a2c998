package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// object is a JSON object.
type object = map[string]any

const refs = "#/components/schemas/"

// openAPI is the document of the API.
func openAPI(types []typeOf) (object, error) {
	schemas := object{}
	for _, t := range types {
		s, err := schemaOf(t)
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", t.name, err)
		}
		schemas[t.name] = s
	}
	paths := object{}
	for _, r := range routesOf(types) {
		item, known := paths[r.path].(object)
		if !known {
			item = object{}
		}
		item[strings.ToLower(r.method)] = operation(r)
		paths[r.path] = item
	}
	return object{
		"openapi": "3.1.0",
		"info":    object{"title": "Control Center of Orkestra", "version": "v1"},
		"paths":   paths, "components": object{"schemas": schemas},
	}, nil
}

func operation(r route) object {
	parameters := []object{}
	for _, p := range r.parameters {
		kind := "string"
		if p.isNumber {
			kind = "integer"
		}
		one := object{"name": p.name, "in": p.in, "schema": object{"type": kind}}
		if p.in == inPath {
			one["required"] = true
		}
		if p.doc != "" {
			one["description"] = p.doc
		}
		parameters = append(parameters, one)
	}
	media := "application/json"
	if r.isStream {
		media = "text/event-stream"
	}
	out := object{
		"operationId": r.operationID(), "summary": r.doc, "parameters": parameters,
		"responses": object{
			"200":     object{"description": "The answer.", "content": content(media, r.answer)},
			"default": object{"description": "What is wrong.", "content": content("application/problem+json", "Problem")},
		},
	}
	if r.body != "" {
		out["requestBody"] = object{"required": true, "content": content("application/json", r.body)}
	}
	return out
}

func content(media, schema string) object {
	return object{media: object{"schema": object{"$ref": refs + schema}}}
}

func schemaOf(t typeOf) (object, error) {
	if t.isText {
		s := object{"type": "string", "description": t.doc}
		if len(t.values) > 0 {
			s["enum"] = t.values
		}
		return s, nil
	}
	properties, required := object{}, []string{}
	for _, f := range t.fields {
		p, err := property(f.Syntax)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		p["description"] = f.Doc
		properties[f.Name] = p
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	s := object{"type": "object", "description": t.doc, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	if len(t.parents) > 0 {
		all := []object{}
		for _, p := range t.parents {
			all = append(all, object{"$ref": refs + p})
		}
		s["allOf"] = all
	}
	return s, nil
}

// property is the schema of what a field holds.
func property(of ast.Expr) (object, error) {
	switch t := of.(type) {
	case *ast.StarExpr:
		return property(t.X)
	case *ast.ArrayType:
		items, err := property(t.Elt)
		return object{"type": "array", "items": items}, err
	case *ast.SelectorExpr:
		if isTime(t) {
			return object{"type": "string", "format": "date-time"}, nil
		}
	case *ast.Ident:
		return named(t.Name), nil
	}
	return nil, fmt.Errorf("no schema is known for a %T", of)
}

func named(name string) object {
	switch name {
	case "string":
		return object{"type": "string"}
	case "bool":
		return object{"type": "boolean"}
	case "int", "int32", "int64":
		return object{"type": "integer"}
	case "float64":
		return object{"type": "number"}
	default:
		return object{"$ref": refs + name}
	}
}

func isTime(s *ast.SelectorExpr) bool {
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "time" && s.Sel.Name == "Time"
}
