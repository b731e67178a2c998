// Package value converts JSON values. Everybody who reads a text as a number, or a number as a whole one, does it here, so that one
// spelling means the same wherever it stands.
package value

import (
	"encoding/json"
	"math"
	"strconv"
)

// maxExact is up to where every whole number is a float. Beyond it, a float is no longer the number that was meant.
const maxExact = 1 << 53

// Number reads a number, or a text that is one: int64 where it is whole and fits, so that no digit is lost, otherwise float64. NaN
// and infinities are no numbers.
func Number(v any) (any, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case float64:
		return v, isFinite(v)
	case json.Number:
		return Number(v.String())
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, true
		}
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && isFinite(f)
	default:
		return nil, false
	}
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Integer reads a whole number, or a text that is one in decimal digits.
func Integer(v any) (int64, bool) {
	switch v := v.(type) {
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	default:
		n, _ := Number(v) // nil where it is no number
		return whole(n)
	}
}

func whole(n any) (int64, bool) {
	switch n := n.(type) {
	case int64:
		return n, true
	case float64:
		if n == math.Trunc(n) && math.Abs(n) <= maxExact {
			return int64(n), true
		}
	}
	return 0, false
}

// Canonical gives a number as the API server gives it back: int64 where it is whole. Anything else stays as it is.
func Canonical(v any) any {
	switch v.(type) {
	case int, int32, float64, json.Number:
	default:
		return v
	}
	n, ok := Number(v)
	if !ok {
		return v
	}
	if i, isWhole := whole(n); isWhole {
		return i
	}
	return n
}

// Boolean reads true or false, or the text for it.
func Boolean(v any) (result, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		return v == "true", v == "true" || v == "false"
	default:
		return false, false
	}
}

// Text gives a scalar as it stands in JSON, a text without its quotes.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, int64, float64:
		text, err := json.Marshal(v)
		return string(text), err == nil
	default:
		return "", false
	}
}
