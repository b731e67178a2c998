package cel

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// value gives the value of a variable.
func (t *typeProvider) value(root string, d map[string]any) any {
	if root != rootSelf {
		if d[root] == nil {
			return map[string]any{}
		}
		return typed(schemaOf(t.roots, root), d[root])
	}
	self := make(map[string]any, len(d))
	for name, v := range d {
		if roots.OfResource(name) && v != nil && !t.roots.Hides(name) {
			self[name] = v
		}
	}
	return self
}

// fieldOf reads a field of an object. null is nothing, as in templates.
func fieldOf(target any, field string) (any, error) {
	if o, ok := target.(*origin); ok {
		v, err := fieldOf(o.native, field)
		if err != nil && errors.Is(err, errNoKey) {
			return nil, o.lacks(field)
		}
		return o.search.originOf(v, o.at.With(field)), err
	}
	m, ok := target.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("no such overload: a field of a %s", value.TemplateType(target))
	}
	v, ok := m[field]
	if !ok || v == nil {
		return nil, errNoKey
	}
	return v, nil
}

// scalar is a type that CEL has for a schema's scalar.
type scalar int

const (
	scalarOther scalar = iota
	scalarText
	scalarTime
	scalarDuration
	scalarBytes
	scalarInteger
	scalarNumber
	scalarBoolean
)

// scalarOf says how CEL sees a scalar: as in the rules of a CRD, where the format of a text counts.
func scalarOf(node *roots.Schema) scalar {
	switch node.Type {
	case value.TypeInteger:
		return scalarInteger
	case value.TypeNumber:
		return scalarNumber
	case value.TypeBoolean:
		return scalarBoolean
	case value.TypeString:
	default:
		return scalarOther
	}
	switch node.Format {
	case "date", "date-time":
		return scalarTime
	case "duration":
		return scalarDuration
	case "byte":
		return scalarBytes
	default:
		return scalarText
	}
}

// typed gives a value the type that its schema promises to CEL. One that does not fit stays as it is, and fails where it is used.
func typed(node *roots.Schema, v any) any {
	if node == nil || node.Nullable || v == nil {
		return v
	}
	switch v := v.(type) {
	case *origin:
		return v.search.originOf(typed(node, v.native), v.at)
	case []any:
		return typedList(node, v)
	case map[string]any:
		return typedMap(node, v)
	case int64:
		if scalarOf(node) == scalarNumber {
			return float64(v)
		}
	case float64:
		if n, whole := value.Whole(v); whole && scalarOf(node) == scalarInteger {
			return n
		}
	case string:
		return typedText(node, v)
	}
	return v
}

func typedList(node *roots.Schema, list []any) any {
	if node.Items == nil || !changes(node.Items.Schema) {
		return list
	}
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = typed(node.Items.Schema, v)
	}
	return out
}

func typedMap(node *roots.Schema, m map[string]any) any {
	if len(node.Properties) > 0 || node.AdditionalProperties == nil || !changes(node.AdditionalProperties.Schema) {
		return m // the fields of an object are given their types when they are read
	}
	out := make(map[string]any, len(m))
	for key, v := range m {
		out[key] = typed(node.AdditionalProperties.Schema, v)
	}
	return out
}

// changes says whether typed may change values of a schema.
func changes(node *roots.Schema) bool {
	switch {
	case node == nil || node.Nullable:
		return false
	case node.Type == value.TypeArray:
		return node.Items != nil && changes(node.Items.Schema)
	case node.Type == value.TypeObject:
		return len(node.Properties) == 0 && node.AdditionalProperties != nil && changes(node.AdditionalProperties.Schema)
	}
	kind := scalarOf(node)
	return kind != scalarText && kind != scalarBoolean && kind != scalarOther
}

func typedText(node *roots.Schema, text string) any {
	switch scalarOf(node) {
	case scalarTime:
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if moment, err := time.Parse(layout, text); err == nil {
				return moment
			}
		}
	case scalarDuration:
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	case scalarBytes:
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return b
		}
	default:
	}
	return text
}
