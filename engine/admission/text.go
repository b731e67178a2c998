package admission

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxExact is up to where CEL compares whole numbers and floats without rounding, and writes whole numbers as such: a patch would hold text
// in place of a larger one.
const maxExact = 1<<53 - 1

// quote writes a text as a CEL literal.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range text {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// number writes a number as a CEL literal; ok is false beyond what CEL compares without rounding.
func number(n any) (text string, ok bool) {
	switch n := n.(type) {
	case int64:
		if n > maxExact || n < -maxExact {
			return "", false
		}
		return strconv.FormatInt(n, 10), true
	case float64:
		if math.Abs(n) > maxExact {
			return "", false
		}
		if n == math.Trunc(n) {
			return strconv.FormatInt(int64(n), 10), true
		}
		return strconv.FormatFloat(n, 'g', -1, 64), true
	default:
		return "", false
	}
}

// literal writes a JSON value as a CEL literal. Lists and maps may be mixed, so their elements are of no type.
func literal(v any) (text string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(v), true
	case string:
		return quote(v), true
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			part, ok := literal(item)
			if !ok {
				return "", false
			}
			parts[i] = "dyn(" + part + ")"
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	case map[string]any:
		var parts []string
		for key, item := range v {
			part, ok := literal(item)
			if !ok {
				return "", false
			}
			parts = append(parts, quote(key)+": dyn("+part+")")
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}", true
	default:
		return number(v)
	}
}
