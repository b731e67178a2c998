package value

import (
	"cmp"
	"math"
	"math/big"
	"reflect"
	"strings"
)

// Comparable gives a number in a form in which equal numbers are ==, whatever Go type they came in: int64 where it is whole and fits,
// otherwise float64. Unlike Canonical it does so for any whole float that an int64 holds, and unlike Number a text is no number.
func Comparable(v any) (n any, ok bool) {
	if _, isText := v.(string); isText {
		return nil, false
	}
	n, ok = Number(v)
	// 1<<63 itself is not an int64; floats below it convert exactly when they are whole.
	if f, isFloat := n.(float64); ok && isFloat && f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 {
		return int64(f), true
	}
	return n, ok
}

// Same compares JSON values, numbers by value: 1 and 1.0 are equal, 1 and "1" are not, and whole numbers beyond 2^53 are not rounded.
//
// The API server gives 3.0 back as 3, which is why the comparison of what is declared with what lives, that of a status, that of templates
// and that of conditions all mean this. What else one of them takes for equal (a quantity in two spellings, a port as number and as text) is
// said there. CEL has a comparison of its own, which is that of the rules in a CRD.
func Same(a, b any) bool { return SameBy(a, b, SameScalar) }

// SameBy compares JSON values, and those that hold no others by scalars, which is given at most one that is a map or a list.
func SameBy(a, b any, scalars func(a, b any) bool) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, found := y[k]; !found || !SameBy(v, w, scalars) {
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
			if !SameBy(x[i], y[i], scalars) {
				return false
			}
		}
		return true
	default:
		return scalars(a, b)
	}
}

// SameScalar compares values that hold no others, numbers by value.
func SameScalar(a, b any) bool {
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
	x, ok := Comparable(a)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	y, ok := Comparable(b)
	return ok && x == y
}

// Compare orders two numbers by value, or two texts by their bytes; ok says whether they are such a pair.
func Compare(a, b any) (order int, ok bool) {
	if x, isText := a.(string); isText {
		y, alsoText := b.(string)
		return strings.Compare(x, y), alsoText
	}
	m, isNumber := Comparable(a)
	n, alsoNumber := Comparable(b)
	if !isNumber || !alsoNumber {
		return 0, false
	}
	if i, isWhole := m.(int64); isWhole {
		if j, alsoWhole := n.(int64); alsoWhole {
			return cmp.Compare(i, j), true
		}
	}
	return exact(m).Cmp(exact(n)), true
}

// exact gives a number that Comparable has made as a big.Float: an int64 beyond 2^53 can't be a float64 without rounding.
func exact(n any) *big.Float {
	if i, ok := n.(int64); ok {
		return new(big.Float).SetInt64(i)
	}
	f, _ := n.(float64) // Comparable gives nothing else
	return big.NewFloat(f)
}
