package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/Masterminds/semver/v3"
)

var errNotFinite = errors.New("the result is not a finite number")

// toText gives a value as it stands in text: strings as they are, everything else as compact JSON.
func toText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return toJSON(v, "")
}

// toJSON writes a value with sorted keys and without HTML escapes. The weight of the value must have been checked.
func toJSON(v any, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("a %s cannot be written as JSON", typeName(v))
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// copying is where the copy of a value is counted. Both may be nil.
type copying struct {
	memory *budget // of what it takes
	output *budget // of its weight, where the evaluation gives it
}

// copyJSON copies a value so that the copy shares nothing with the data.
func copyJSON(v any, to copying, depth int) (any, error) {
	if depth > maxNesting {
		return nil, overBudget(limitNesting)
	}
	switch v := v.(type) {
	case string:
		return v, to.output.spend(len(v))
	case []any:
		return copyList(v, to, depth)
	case Data:
		return copyMap(v, to, depth)
	case map[string]any:
		return copyMap(v, to, depth)
	default:
		return fromGo(v)
	}
}

func copyList(list []any, to copying, depth int) (any, error) {
	if err := to.output.spend(len(list)); err != nil {
		return nil, err
	}
	if err := to.memory.allocateList(len(list)); err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i := range list {
		var err error
		if out[i], err = copyJSON(list[i], to, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func copyMap(m map[string]any, to copying, depth int) (any, error) {
	if err := to.memory.allocateMap(len(m)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(m))
	for key, value := range m {
		if err := to.output.spend(len(key) + 1); err != nil {
			return nil, err
		}
		var err error
		if out[key], err = copyJSON(value, to, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// weight says how much a value costs to walk through or to write. It stops counting above limit, so that lists which hold
// one another many times over are cheap to refuse. Deep elements count more, because indentation makes them longer, and so do
// numbers, which may have many digits. A negative weight says that the value is nested too deeply.
func weight(v any, limit, depth int) int {
	const digits = 8
	if depth > maxNesting {
		return -1
	}
	w := 1 + depth
	add := func(key string, element any) bool {
		e := weight(element, limit-w, depth+1)
		if e < 0 {
			w = -1
			return false
		}
		w += len(key) + e
		return w <= limit
	}
	switch v := v.(type) {
	case string:
		return w + len(v)
	case int64, float64:
		return w + digits
	case []any:
		for _, element := range v {
			if !add("", element) {
				return w
			}
		}
	case Data:
		return weight(map[string]any(v), limit, depth)
	case map[string]any:
		for key, element := range v {
			if !add(key, element) {
				return w
			}
		}
	}
	return w
}

// fromGo turns what a Go function gives into JSON types: int64 for every whole number, []any, map[string]any.
func fromGo(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool, int64, []any, map[string]any:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errNotFinite
		}
		return v, nil
	case Data:
		return map[string]any(v), nil
	case time.Time:
		return v.Format(time.RFC3339), nil
	case time.Duration:
		return v.String(), nil
	case *semver.Version:
		// The fields keep the names of the methods that Sprig's templates call.
		return map[string]any{
			"Major": int64(v.Major()), "Minor": int64(v.Minor()), "Patch": int64(v.Patch()), //nolint:gosec // Never near 2^63.
			"Prerelease": v.Prerelease(), "Metadata": v.Metadata(), "Original": v.Original(),
		}, nil
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
		return fromGo(v.Float())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = fromGo(v.Index(i).Interface()); err != nil {
				return nil, err
			}
		}
		return list, nil
	case reflect.Map:
		m := make(map[string]any, v.Len())
		for iter := v.MapRange(); iter.Next(); {
			var err error
			if m[iter.Key().String()], err = fromGo(iter.Value().Interface()); err != nil {
				return nil, err
			}
		}
		return m, nil
	default:
		return nil, fmt.Errorf("a %s is no JSON value", v.Kind())
	}
}

// The types of JSON values, and of schemas, that are named more than once.
const (
	typeNull    = "null"
	typeString  = "string"
	typeList    = "list"
	typeMap     = "map"
	typeObject  = "object"
	typeArray   = "array"
	typeInteger = "integer"
	typeNumber  = "number"
	typeBoolean = "boolean"
)

// typeName names a value's type as the API does.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return typeNull
	case string:
		return typeString
	case bool:
		return typeBoolean
	case int, int64, float64:
		return typeNumber
	case []any:
		return typeList
	case map[string]any, Data:
		return typeMap
	default:
		return "value of another type"
	}
}

func sortedKeys(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}

func address(m map[string]any) uintptr {
	return reflect.ValueOf(m).Pointer()
}
