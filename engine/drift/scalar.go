package drift

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/engine/value"
)

// scalarType says in which spellings the same scalar can be written. The API server may store another one than was declared: 1000m as 1.
type scalarType int

const (
	// scalarPlain has one spelling.
	scalarPlain scalarType = iota
	// scalarQuantity: 1, "1000m".
	scalarQuantity
	// scalarIntOrString: 80, "80".
	scalarIntOrString
	// scalarBytes is base64, which may hold line ends.
	scalarBytes
	// scalarTime is RFC 3339 to the second, in any zone.
	scalarTime
	// scalarMicroTime is RFC 3339 to the microsecond, in any zone.
	scalarMicroTime
	// scalarDuration: 60s, 1m0s.
	scalarDuration
)

// canonical gives one spelling for all spellings of a scalar that mean the same. A value that is not of the type is given back unchanged.
func (t scalarType) canonical(v any) any {
	if t == scalarPlain || v == nil || !value.IsScalar(v) {
		return v
	}
	switch t {
	case scalarQuantity:
		// String is not enough: 1Ki, 1e3 and 1k each are the canonical text of their own format.
		if q, err := resource.ParseQuantity(numberOrText(v)); err == nil {
			q.Format = resource.DecimalSI
			digits, suffix := q.CanonicalizeBytes(make([]byte, 0, 32))
			return string(digits) + string(suffix)
		}
	case scalarIntOrString:
		if text, ok := v.(string); ok {
			if n, err := strconv.ParseInt(text, 10, 32); err == nil {
				return n
			}
		}
	case scalarBytes:
		if text, ok := v.(string); ok {
			if data, err := base64.StdEncoding.DecodeString(text); err == nil {
				return base64.StdEncoding.EncodeToString(data)
			}
		}
	case scalarTime:
		return throughJSON[metav1.Time](v)
	case scalarMicroTime:
		return throughJSON[metav1.MicroTime](v)
	case scalarDuration:
		return throughJSON[metav1.Duration](v)
	default:
	}
	return v
}

// throughJSON decodes a text into a Go type and encodes it again, as the API server does: what comes out is the spelling that it stores. A
// text that can't be decoded is given back unchanged.
func throughJSON[T any](value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var typed T
	if err := json.Unmarshal(data, &typed); err != nil {
		return value
	}
	data, err = json.Marshal(typed)
	if err != nil {
		return value
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return value
	}
	return text
}

// isEmpty says whether a value is absent, or empty in one of the ways that mean the same.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

// isZero says whether a scalar is the zero value of its type.
func (t scalarType) isZero(v any) bool {
	switch v := t.canonical(v).(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == "" || t == scalarQuantity && v == "0" || t == scalarDuration && v == "0s"
	default:
		n, ok := value.Comparable(v)
		return ok && n == int64(0)
	}
}

// numberOrText writes a scalar as it would stand in JSON, without quotes.
func numberOrText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	if n, ok := value.Comparable(v); ok {
		if whole, isWhole := n.(int64); isWhole {
			return strconv.FormatInt(whole, 10)
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
