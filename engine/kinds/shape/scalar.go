package shape

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/orkspace/orkestra/engine/value"
)

// scalar converts a value that is neither object nor list to the form of its shape; ok is false where it does not fit.
func scalar(s *Shape, v any) (any, bool) {
	text, isText := v.(string)
	switch s.Form {
	case FormText:
		out, ok := value.Decimal(v)
		return out, ok
	case FormBoolean:
		out, ok := value.Boolean(v)
		return out, ok
	case FormInteger, FormUnsigned:
		out, ok := integer(v, s)
		return out, ok
	case FormNumber:
		return number(v, s.Bits)
	case FormIntOrString:
		return intOrString(v)
	case FormQuantity:
		return quantity(v)
	case FormTime:
		_, err := time.Parse(time.RFC3339, text)
		return text, isText && err == nil
	case FormDuration:
		_, err := time.ParseDuration(text)
		return text, isText && err == nil
	case FormBytes:
		_, err := base64.StdEncoding.DecodeString(text)
		return text, isText && err == nil
	default:
		return nil, false
	}
}

// integer reads a whole number that a shape of integers can hold.
func integer(v any, s *Shape) (int64, bool) {
	n, ok := wholeNumber(v)
	if !ok {
		return 0, false
	}
	if s.Form == FormUnsigned {
		return n, n >= 0 && (s.Bits > 62 || n < 1<<s.Bits)
	}
	limit := int64(1) << (s.Bits - 1)
	return n, s.Bits == 64 || (n >= -limit && n < limit)
}

// wholeNumber reads a number that is whole, or a text that is one in decimal digits.
func wholeNumber(v any) (int64, bool) {
	if text, isText := v.(string); isText {
		return value.Integer(text)
	}
	n, _ := value.Comparable(v) // nil where it is no number
	whole, ok := n.(int64)
	return whole, ok
}

// Int32 reads an integer of 32 bits from a value that may not have been converted yet, such as the text "80".
func Int32(v any) (int32, bool) {
	n, ok := integer(Plain(v), &Shape{Form: FormInteger, Bits: 64})
	if !ok || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, false
	}
	return int32(n), true
}

func number(v any, bits int) (any, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		f, err := strconv.ParseFloat(v, bits)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	default:
		return nil, false
	}
}

// intOrString reads digits as a number: Kubernetes has no names or percentages that consist of digits alone.
func intOrString(v any) (any, bool) {
	if n, ok := integer(v, &Shape{Form: FormInteger, Bits: 32}); ok {
		return n, true
	}
	text, ok := v.(string)
	return text, ok
}

func quantity(v any) (any, bool) {
	if _, isBool := v.(bool); isBool {
		return nil, false
	}
	text, ok := value.Decimal(v)
	if !ok {
		return nil, false
	}
	_, err := resource.ParseQuantity(text)
	return text, err == nil
}

// Plain gives the form that a JSON decoder would have given to a Go value, such as int64 for an int. A value that has no such form is given
// back unchanged.
func Plain(v any) any {
	if plain, err := value.FromGo(v); err == nil {
		return plain
	}
	return v
}
