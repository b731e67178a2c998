package when

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// kind is what a value is read as for a comparison.
type kind int

const (
	asNumber kind = iota
	asQuantity
	asDuration
	asTime
	asInt
	asBool
	asString
)

// maxScalar is the length up to which a string is tried as a number, quantity, duration or time. Parsing is not linear in it.
const maxScalar = 64

// orderedKinds are the kinds that have an order, as they are tried on both sides: the first one that both sides can be read as decides.
// So `5m`, which is a quantity and a duration, is a duration beside `1h`.
var orderedKinds = []kind{asNumber, asQuantity, asDuration, asTime}

var kindNames = map[kind]string{asNumber: value.TypeNumber, asQuantity: "quantity", asDuration: "duration", asTime: "time"}

var typeKinds = map[v1alpha1.ValueType]kind{
	v1alpha1.ValueTypeString: asString, v1alpha1.ValueTypeInt: asInt, v1alpha1.ValueTypeFloat: asNumber,
	v1alpha1.ValueTypeBool: asBool, v1alpha1.ValueTypeQuantity: asQuantity, v1alpha1.ValueTypeDuration: asDuration,
	v1alpha1.ValueTypeTime: asTime,
}

var (
	allTypes     = slices.Sorted(maps.Keys(typeKinds))
	textTypes    = []v1alpha1.ValueType{v1alpha1.ValueTypeString}
	orderedTypes = []v1alpha1.ValueType{v1alpha1.ValueTypeDuration, v1alpha1.ValueTypeFloat, v1alpha1.ValueTypeInt,
		v1alpha1.ValueTypeQuantity, v1alpha1.ValueTypeTime}
)

// scalar is a value that was read as some kind. Two scalars of one kind can be compared.
type scalar struct {
	i       int64 // a whole number, a duration, a bool
	f       float64
	isFloat bool
	s       string
	q       resource.Quantity
	t       time.Time
}

// parse reads a normalized value as kind k, and says whether it is one.
func parse(k kind, v any) (scalar, bool) {
	switch k {
	case asNumber:
		return toNumber(v)
	case asInt:
		n, ok := toNumber(v)
		return n, ok && (!n.isFloat || n.f == math.Trunc(n.f))
	case asQuantity:
		return toQuantity(v)
	case asDuration:
		return toDuration(v)
	case asTime:
		s, ok := v.(string)
		if !ok || len(s) > maxScalar {
			return scalar{}, false
		}
		t, err := time.Parse(time.RFC3339Nano, s)
		return scalar{t: t}, err == nil
	case asBool:
		switch v {
		case true, "true":
			return scalar{i: 1}, true
		case false, "false":
			return scalar{}, true
		}
		return scalar{}, false
	default:
		s, ok := value.Decimal(v)
		return scalar{s: s}, ok
	}
}

func parseType(as v1alpha1.ValueType, v any) (scalar, bool) { return parse(typeKinds[as], v) }

// compare gives the sign of a-b. Both were read as k.
func compare(k kind, a, b scalar) int {
	switch k {
	case asNumber, asInt:
		return compareNumbers(a, b)
	case asQuantity:
		return a.q.Cmp(b.q)
	case asTime:
		return a.t.Compare(b.t)
	case asString:
		return cmp.Compare(a.s, b.s)
	default:
		return cmp.Compare(a.i, b.i)
	}
}

// compareNumbers is exact: a whole number beyond 2^53 is never made a float.
func compareNumbers(a, b scalar) int {
	switch {
	case a.isFloat && b.isFloat:
		return cmp.Compare(a.f, b.f)
	case a.isFloat:
		return -compareNumbers(b, a)
	case !b.isFloat:
		return cmp.Compare(a.i, b.i)
	case b.f >= 1<<63:
		return -1
	case b.f < -1<<63:
		return 1
	}
	whole, fraction := math.Modf(b.f)
	if sign := cmp.Compare(a.i, int64(whole)); sign != 0 {
		return sign
	}
	return cmp.Compare(0, fraction)
}

// order gives the sign of actual-wanted: as the given type, or as the first kind that both sides are.
func order(actual, wanted any, as v1alpha1.ValueType) (int, error) {
	kinds := orderedKinds
	if as != "" {
		kinds = []kind{typeKinds[as]}
	}
	for _, k := range kinds {
		a, ok := parse(k, actual)
		if !ok {
			continue
		}
		if b, ok := parse(k, wanted); ok {
			return compare(k, a, b), nil
		}
	}
	return 0, mismatch(actual, wanted, as)
}

// equal says whether both sides are the same after conversion to the given type, or else to the type of the actual one. With a
// type, a side that can't be converted is an error. Without one it is merely another value: a port may be 80 or "http".
func equal(actual, wanted any, as v1alpha1.ValueType) (bool, error) {
	if as != "" {
		a, okA := parseType(as, actual)
		b, okB := parseType(as, wanted)
		if !okA || !okB {
			return false, mismatch(actual, wanted, as)
		}
		return compare(typeKinds[as], a, b) == 0, nil
	}
	k := asString
	switch actual.(type) {
	case int64, float64:
		k = asNumber
	case bool:
		k = asBool
	case string:
	default:
		return deepEqual(actual, wanted), nil
	}
	a, okA := parse(k, actual)
	b, okB := parse(k, wanted)
	return okA && okB && compare(k, a, b) == 0, nil
}

// deepEqual compares lists and maps. Inside them nothing is converted, but 3 and 3.0 are one number.
func deepEqual(a, b any) bool {
	a, b = normalize(a), normalize(b)
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, deepEqual)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, deepEqual)
	}
	return value.SameScalar(a, b)
}

// mismatch says that two values can't be compared. It names their types, never themselves.
func mismatch(actual, wanted any, as v1alpha1.ValueType) error {
	return errors.New(mismatched(describe(actual), describe(wanted), as))
}

func mismatched(actual, wanted string, as v1alpha1.ValueType) string {
	if as != "" {
		return fmt.Sprintf("the field is %s, the value %s, to be compared as %s", actual, wanted, as)
	}
	return fmt.Sprintf("the field is %s, the value %s", actual, wanted)
}
