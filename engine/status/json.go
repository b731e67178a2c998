package status

import (
	"math"

	"github.com/orkspace/orkestra/engine/value"
)

// copyValue copies a JSON value into the form in which the API server gives it back: whole numbers are int64, text is
// UTF-8. What is no JSON comes back as it is; value.IsJSON tells.
func copyValue(in any) any {
	switch v := in.(type) {
	case map[string]any:
		return copyFields(v)
	case []any:
		out := make([]any, 0, len(v))
		for _, entry := range v {
			out = append(out, copyValue(entry))
		}
		return out
	case string:
		return validText(v)
	}
	return value.Canonical(in)
}

func copyFields(fields map[string]any) map[string]any {
	out := make(map[string]any, len(fields))
	for name, field := range fields {
		out[validText(name)] = copyValue(field)
	}
	return out
}

// sameValue compares what is stored with what would be written, numbers by value: what is written as 3.0 comes back as 3. Unlike value.Same
// it takes a float to be equal to the whole number that a JSON encoder makes of it: 2^62 as a float is written as 4611686018427388000, which
// is another whole number, so that the status would be written again for ever.
func sameValue(a, b any) bool { return value.SameBy(a, b, sameScalar) }

func sameScalar(a, b any) bool {
	a, b = copyValue(a), copyValue(b)
	if x, ok := a.(float64); ok {
		return x == asFloat(b)
	}
	if y, ok := b.(float64); ok {
		return y == asFloat(a)
	}
	return value.IsJSON(a) && value.IsJSON(b) && a == b
}

// asFloat gives a number as the float that a JSON encoder would have made the same text of; NaN for what is no number.
func asFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	default:
		return math.NaN()
	}
}
