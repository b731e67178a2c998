// Package value is the one place for JSON values: the names of their types, conversion, comparison, text and paths. Whatever reads a text
// as a number, compares two numbers or names a type uses it, so that the same spelling means the same in templates, conditions, fields
// and status.
//
// JSON values are nil, bool, int64 (every whole number), float64, string, []any and map[string]any. The package knows nothing of
// templates or the API server: where one of these promises something else, it says so itself.
package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// maxExact is the number up to which a float64 can hold every whole number. A float beyond it may have been rounded from another number.
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
		return exactWhole(n)
	}
}

// exactWhole gives a whole number that can't have been rounded when it was read as a float.
func exactWhole(n any) (int64, bool) {
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
	if i, isWhole := exactWhole(n); isWhole {
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

var errNotFinite = errors.New("the result is not a finite number")

// FromGo turns what a Go function gives into a JSON value: int64 for every whole number, []any for slices, map[string]any for maps, text for
// times and durations. Lists and maps of JSON values are not copied. NaN, infinities and other Go types are errors.
func FromGo(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool, int64, []any, map[string]any:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		if !isFinite(v) {
			return nil, errNotFinite
		}
		return v, nil
	case time.Time:
		return v.Format(time.RFC3339), nil
	case time.Duration:
		return v.String(), nil
	}
	return fromKind(reflect.ValueOf(v))
}

func fromKind(v reflect.Value) (any, error) {
	switch v.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() <= math.MaxInt64 {
			return int64(v.Uint()), nil //nolint:gosec // Checked on the line above.
		}
		return float64(v.Uint()), nil
	case reflect.Float32:
		return FromGo(v.Float())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = FromGo(v.Index(i).Interface()); err != nil {
				return nil, err
			}
		}
		return list, nil
	case reflect.Map:
		m := make(map[string]any, v.Len())
		for iter := v.MapRange(); iter.Next(); {
			var err error
			if m[iter.Key().String()], err = FromGo(iter.Value().Interface()); err != nil {
				return nil, err
			}
		}
		return m, nil
	default:
		return nil, fmt.Errorf("a %s is no JSON value", v.Kind())
	}
}

// Decode decodes JSON with whole numbers as int64, as Kubernetes does.
func Decode(raw []byte) (any, error) {
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
		if n, ok := Number(t); ok {
			return n
		}
		return t.String()
	}
	return v
}

// Size is how many bytes a JSON value takes when it is encoded, without spaces. What has to be escaped in texts is not counted.
func Size(v any) int64 {
	switch v := v.(type) {
	case nil:
		return int64(len("null"))
	case bool:
		return int64(len(strconv.FormatBool(v)))
	case string:
		return int64(len(v)) + int64(len(`""`))
	case int64:
		var digits [20]byte
		return int64(len(strconv.AppendInt(digits[:0], v, 10)))
	case float64:
		var digits [32]byte
		return int64(len(strconv.AppendFloat(digits[:0], v, 'g', -1, 64)))
	case []any:
		size := int64(len("[]")) + int64(max(0, len(v)-1)) // with the commas
		for _, element := range v {
			size += Size(element)
		}
		return size
	case map[string]any:
		size := int64(len("{}")) + int64(max(0, len(v)-1))
		for key, element := range v {
			size += int64(len(key)+len(`"":`)) + Size(element)
		}
		return size
	default:
		return 0 // no JSON value
	}
}
