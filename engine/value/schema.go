package value

import (
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// MisfitError says that a value does not fit its schema, and where in the value.
type MisfitError struct {
	// At is the place below the value; empty: the value itself.
	At string
	// Problem says what was wanted and what is there.
	Problem error
}

// Error gives the place and the problem.
func (e *MisfitError) Error() string {
	if e.At == "" {
		return e.Problem.Error()
	}
	return e.At + ": " + e.Problem.Error()
}

// ToSchema converts a value to the type that a schema wants, where the spelling allows it: "3" is 3 for an integer. What is
// inside of lists and maps is converted as well. Errors are *MisfitError.
func ToSchema(value any, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	return convert("", value, schema)
}

func convert(at string, value any, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	if schema == nil || value == nil || schema.XIntOrString {
		return value, nil
	}
	out, err := convertOne(value, schema)
	if err != nil {
		return nil, &MisfitError{At: at, Problem: err}
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
	case TypeInteger:
		return toInteger(value)
	case TypeNumber:
		return toNumber(value)
	case TypeBoolean:
		return toBool(value)
	case TypeString:
		return textOf(value)
	case TypeArray, TypeObject:
		if got := TypeName(value); got != schema.Type {
			return nil, fmt.Errorf("wanted %s, got %s", schema.Type, got)
		}
		return value, nil
	default:
		return value, nil
	}
}

func toInteger(v any) (any, error) {
	if n, ok := Integer(v); ok {
		return n, nil
	}
	return nil, fmt.Errorf("wanted integer, got %s %s", TypeName(v), shown(v))
}

func toNumber(v any) (any, error) {
	if n, ok := Number(v); ok {
		return n, nil
	}
	return nil, fmt.Errorf("wanted number, got %s %s", TypeName(v), shown(v))
}

func toBool(v any) (any, error) {
	if truth, ok := Boolean(v); ok {
		return truth, nil
	}
	return nil, fmt.Errorf("wanted boolean, got %s %s", TypeName(v), shown(v))
}

func textOf(v any) (any, error) {
	text, err := ToText(v)
	if err != nil {
		return nil, err
	}
	return text, nil
}

// ToText gives a scalar as a text; an error says what else it is.
func ToText(v any) (string, error) {
	if text, ok := Text(v); ok {
		return text, nil
	}
	return "", fmt.Errorf("wanted string, got %s", TypeName(v))
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

// whereCELStands is said of an expression that is written where a value is wanted.
const whereCELStands = "; cel stands in spec.values and in conditions: give the expression a name in spec.values, and write {{ .values.<name> }} here"

// MisplacedCEL says where an expression stands, for a value that is written as {cel: …} where something else is wanted; "" for any other
// value. It is the end of a message.
func MisplacedCEL(v any) string {
	object, ok := v.(map[string]any)
	if _, isText := object["cel"].(string); !ok || !isText || len(object) != 1 {
		return ""
	}
	return whereCELStands
}
