package apply

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/engine/value"
)

// scalarType says in which spellings one and the same scalar can be written.
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

// canonical gives the one spelling of a scalar that all its spellings have in common; what is none of the type comes back
// as it is.
func (t scalarType) canonical(value any) any {
	if t == scalarPlain || value == nil || !isScalar(value) {
		return value
	}
	switch t {
	case scalarQuantity:
		// String is not enough: 1Ki, 1e3 and 1k each are the canonical text of their own format.
		if q, err := resource.ParseQuantity(numberOrText(value)); err == nil {
			q.Format = resource.DecimalSI
			digits, suffix := q.CanonicalizeBytes(make([]byte, 0, 32))
			return string(digits) + string(suffix)
		}
	case scalarIntOrString:
		if text, ok := value.(string); ok {
			if n, err := strconv.ParseInt(text, 10, 32); err == nil {
				return n
			}
		}
	case scalarBytes:
		if text, ok := value.(string); ok {
			if data, err := base64.StdEncoding.DecodeString(text); err == nil {
				return base64.StdEncoding.EncodeToString(data)
			}
		}
	case scalarTime:
		return throughJSON[metav1.Time](value)
	case scalarMicroTime:
		return throughJSON[metav1.MicroTime](value)
	case scalarDuration:
		return throughJSON[metav1.Duration](value)
	default:
	}
	return value
}

// throughJSON decodes a text into a Go type and encodes it again.
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
func (t scalarType) isZero(value any) bool {
	switch v := t.canonical(value).(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == "" || t == scalarQuantity && v == "0" || t == scalarDuration && v == "0s"
	default:
		n, ok := asNumber(v)
		return ok && n == number{}
	}
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	default:
		return true
	}
}

// sameValue compares JSON values, numbers by value.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, found := y[k]; !found || !sameValue(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameValue(x[i], y[i]) {
				return false
			}
		}
		return true
	default:
		return sameScalar(a, b)
	}
}

// sameScalar compares scalars, numbers by value.
func sameScalar(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	}
	x, ok := asNumber(a)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	y, ok := asNumber(b)
	return ok && x == y
}

// number is a JSON number in a form in which equal numbers are equal: whole where it is whole.
type number struct {
	whole    int64
	fraction float64
}

func asNumber(v any) (n number, ok bool) {
	if _, isText := v.(string); isText {
		return number{}, false
	}
	converted, ok := value.Number(v)
	switch c := converted.(type) {
	case int64:
		return number{whole: c}, ok
	case float64:
		return numberOf(c), ok
	default:
		return number{}, false
	}
}

func numberOf(f float64) number {
	// 1<<63 itself is not an int64; floats below it convert exactly when they are whole.
	if f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 {
		return number{whole: int64(f)}
	}
	return number{fraction: f}
}

// numberOrText writes a scalar as it would stand in JSON, without quotes.
func numberOrText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	if n, ok := asNumber(value); ok && n.fraction == 0 {
		return strconv.FormatInt(n.whole, 10)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

// scalarText writes a scalar for a path: as it is where that is clear, otherwise quoted.
func scalarText(value any) string {
	text := numberOrText(value)
	unclear := func(r rune) bool { return strings.ContainsRune(`[],='"\`, r) || !unicode.IsPrint(r) }
	if strings.ContainsFunc(text, unclear) {
		return strconv.Quote(text)
	}
	return text
}
