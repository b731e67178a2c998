package value

import (
	"encoding/json"
	"fmt"
	"math"
)

// The types of JSON values, as JSON and OpenAPI call them. TypeInteger occurs in schemas only: in JSON, a whole number is a number.
const (
	TypeNull    = "null"
	TypeString  = "string"
	TypeBoolean = "boolean"
	TypeInteger = "integer"
	TypeNumber  = "number"
	TypeArray   = "array"
	TypeObject  = "object"
)

// What templates call arrays and objects: their functions are called list and dict, and speak of lists and maps.
const (
	TemplateList = "list"
	TemplateMap  = "map"
)

// TypeName names the type of a value as JSON does. Of what is no JSON value it gives the Go type.
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return TypeNull
	case string:
		return TypeString
	case bool:
		return TypeBoolean
	case int, int32, int64, float64, json.Number:
		return TypeNumber
	case []any:
		return TypeArray
	case map[string]any:
		return TypeObject
	default:
		return fmt.Sprintf("%T", v)
	}
}

// TemplateType names the type of a value as the authors of templates do: arrays are lists, and objects are maps. It shows no Go types.
func TemplateType(v any) string {
	switch name := TypeName(v); name {
	case TypeArray:
		return TemplateList
	case TypeObject:
		return TemplateMap
	case TypeNull, TypeString, TypeBoolean, TypeNumber:
		return name
	default:
		return "value of another type"
	}
}

// IsScalar says whether a value is neither an array nor an object.
func IsScalar(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

// IsJSON says whether a scalar can be written as JSON.
func IsJSON(v any) bool {
	switch v := v.(type) {
	case nil, string, bool, int64:
		return true
	case float64:
		return isFinite(v)
	default:
		return false
	}
}

// Whole gives a number that is whole as an int64. Unlike Integer it reads no text, and takes floats beyond 2^53 as well: they were computed,
// so that no digit of theirs can have been lost.
func Whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<63 {
			return int64(n), true
		}
	}
	return 0, false
}
