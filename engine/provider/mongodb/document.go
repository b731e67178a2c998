package mongodb

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// document is an object of JSON as BSON: keys in order, and whole numbers as such.
func document(object map[string]any) bson.D {
	if object == nil {
		return nil
	}
	out := bson.D{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		out = append(out, bson.E{Key: key, Value: encode(object[key])})
	}
	return out
}

// exact is the bound below which a float64 holds each whole number.
const exact = 1 << 53

func encode(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return document(v)
	case []any:
		out := bson.A{}
		for _, item := range v {
			out = append(out, encode(item))
		}
		return out
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < exact {
			return int64(v)
		}
	}
	return value
}

// same says whether two values mean the same: numbers of all types, and documents in any order.
func same(a, b any) bool { return reflect.DeepEqual(plain(a), plain(b)) }

func plain(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case bson.D:
		out := map[string]any{}
		for _, e := range v {
			out[e.Key] = plain(e.Value)
		}
		return out
	case bson.A:
		out := []any{}
		for _, item := range v {
			out = append(out, plain(item))
		}
		return out
	case int:
		return float64(v)
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float64, string, bool:
		return v
	default:
		// Other types of BSON can't be declared, so it is enough that they differ from what can.
		return fmt.Sprintf("%T %v", v, v)
	}
}
