package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/value"
)

// decodeRaw decodes JSON with whole numbers as int64, as Kubernetes does.
func decodeRaw(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k := range t {
			t[k] = numbers(t[k])
		}
	case []any:
		for i := range t {
			t[i] = numbers(t[i])
		}
	case json.Number:
		if n, ok := value.Number(t); ok {
			return n
		}
		return t.String()
	}
	return v
}

// assign sets the value at a path of a JSON tree. Missing parents are made; nil removes the field.
func assign(tree map[string]any, p expr.Path, value any) error {
	node := tree
	for i, name := range p[:len(p)-1] {
		next, found := node[name]
		if !found || next == nil {
			if value == nil {
				return nil
			}
			next = map[string]any{}
			node[name] = next
		}
		m, ok := next.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: can't set a field below %s, which is %s", p, p[:i+1], typeName(next))
		}
		node = m
	}
	last := p[len(p)-1]
	if value == nil {
		delete(node, last)
		return nil
	}
	node[last] = value
	return nil
}

// misfitError says that a value does not fit its schema, and where in the value.
type misfitError struct {
	at      string // empty: the value itself
	problem error
}

func (e *misfitError) Error() string {
	if e.at == "" {
		return e.problem.Error()
	}
	return e.at + ": " + e.problem.Error()
}

// toSchema converts a value to the type that a schema wants, where the spelling allows it: "3" is 3 for an integer. What is
// inside of lists and maps is converted as well. Errors are *misfitError.
func toSchema(value any, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	return convert("", value, schema)
}

func convert(at string, value any, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	if schema == nil || value == nil || schema.XIntOrString {
		return value, nil
	}
	out, err := convertOne(value, schema)
	if err != nil {
		return nil, &misfitError{at: at, problem: err}
	}
	switch t := out.(type) {
	case []any:
		if schema.Items == nil {
			return out, nil
		}
		for i := range t {
			if t[i], err = convert(fmt.Sprintf("%s[%d]", at, i), t[i], schema.Items.Schema); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		// In the order of the keys, so that of several errors it is always the same.
		for _, key := range slices.Sorted(maps.Keys(t)) {
			if t[key], err = convert(at+"."+key, t[key], below(schema, key)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// below is the schema of a field of an object; nil where nothing is known of it.
func below(schema *apiextensionsv1.JSONSchemaProps, key string) *apiextensionsv1.JSONSchemaProps {
	if p, ok := schema.Properties[key]; ok {
		return &p
	}
	if schema.AdditionalProperties != nil {
		return schema.AdditionalProperties.Schema
	}
	return nil
}

func convertOne(value any, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	switch schema.Type {
	case "integer":
		return toInteger(value)
	case "number":
		return toNumber(value)
	case "boolean":
		return toBool(value)
	case schemaText:
		return toText(value)
	case "array", schemaObject:
		if got := typeName(value); got != schema.Type {
			return nil, fmt.Errorf("wanted %s, got %s", schema.Type, got)
		}
		return value, nil
	default:
		return value, nil
	}
}

func toInteger(v any) (any, error) {
	if n, ok := value.Integer(v); ok {
		return n, nil
	}
	return nil, fmt.Errorf("wanted integer, got %s %s", typeName(v), shown(v))
}

func toNumber(v any) (any, error) {
	if n, ok := value.Number(v); ok {
		return n, nil
	}
	return nil, fmt.Errorf("wanted number, got %s %s", typeName(v), shown(v))
}

func toBool(v any) (any, error) {
	if truth, ok := value.Boolean(v); ok {
		return truth, nil
	}
	return nil, fmt.Errorf("wanted boolean, got %s %s", typeName(v), shown(v))
}

func toText(v any) (any, error) {
	if text, ok := value.Text(v); ok {
		return text, nil
	}
	return nil, fmt.Errorf("wanted string, got %s", typeName(v))
}

// maxShown is how many characters of a value an error shows.
const maxShown = 64

// shown gives a scalar as an error may show it: these values come from the resource's own spec.
func shown(value any) string {
	s := fmt.Sprintf("%q", fmt.Sprint(value))
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64, float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return schemaObject
	default:
		return fmt.Sprintf("%T", v)
	}
}
