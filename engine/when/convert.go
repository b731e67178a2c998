package when

// How values are read as the kinds that can be compared.

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/orkspace/orkestra/engine/value"
)

// toNumber reads a number, or a string that is a decimal one. NaN and infinities are no numbers.
func toNumber(v any) (scalar, bool) {
	if text, ok := v.(string); ok && (len(text) > maxScalar || strings.Trim(text, "0123456789+-.eE") != "" || longExponent(text)) {
		return scalar{}, false
	}
	converted, ok := value.Number(v)
	switch n := converted.(type) {
	case int64:
		return scalar{i: n}, ok
	case float64:
		return scalar{f: n, isFloat: true}, ok
	default:
		return scalar{}, false
	}
}

// toQuantity reads a quantity or a number. Two texts are refused before ParseQuantity: units without a number (`m`), which it reads as
// zero, and large exponents such as 1e999999999, whose comparison would take all memory.
func toQuantity(v any) (scalar, bool) {
	switch x := v.(type) {
	case int64:
		return scalar{q: *resource.NewQuantity(x, resource.DecimalSI)}, true
	case float64:
		return toQuantity(strconv.FormatFloat(x, 'f', -1, 64))
	case string:
		digits := strings.TrimLeft(x, "+-.")
		if len(x) > maxScalar || digits == "" || digits[0] < '0' || digits[0] > '9' || longExponent(x) {
			return scalar{}, false
		}
		q, err := resource.ParseQuantity(x)
		return scalar{q: q}, err == nil
	}
	return scalar{}, false
}

// longExponent says whether a text has an exponent of more than two digits. Nobody means such a number, and admission policies could not
// read all of them.
func longExponent(text string) bool {
	e := strings.LastIndexAny(text, "eE")
	return e >= 0 && len(strings.TrimLeft(text[e+1:], "+-0")) > 2
}

// toDuration reads a Go duration that may begin with days (7d, 1d12h), or zero.
func toDuration(v any) (scalar, bool) {
	s, ok := v.(string)
	if !ok {
		return scalar{}, v == int64(0)
	}
	if len(s) > maxScalar {
		return scalar{}, false
	}
	days, rest, hasDays := strings.Cut(s, "d")
	if !hasDays {
		d, err := time.ParseDuration(s)
		return scalar{i: int64(d)}, err == nil
	}
	d, err := addDays(days, rest)
	return scalar{i: int64(d)}, err == nil
}

var errDuration = errors.New("not a duration")

// addDays gives the duration of so many days, and a rest that ParseDuration reads.
func addDays(days, rest string) (time.Duration, error) {
	// Parsed as hours, which ParseDuration knows, with fractions and a sign.
	day, err := time.ParseDuration(days + "h")
	if err != nil || strings.Trim(days, "0123456789.+-") != "" || day > math.MaxInt64/24 || day < -math.MaxInt64/24 {
		return 0, errDuration
	}
	day *= 24
	if rest == "" {
		return day, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || strings.ContainsAny(rest[:1], "+-") {
		return 0, errDuration
	}
	if strings.HasPrefix(days, "-") {
		more = -more
	}
	sum := day + more
	if (more > 0) != (sum > day) { // overflow
		return 0, errDuration
	}
	return sum, nil
}

// jsonTypes are the names that typeOf knows.
var jsonTypes = []string{value.TypeString, value.TypeNumber, value.TypeBoolean, value.TypeObject, value.TypeArray, value.TypeNull}

// describe names what a value is for an error, with its article: a string is called by what it can be read as.
func describe(v any) string {
	if _, ok := v.(string); ok {
		for _, k := range orderedKinds {
			if _, ok := parse(k, v); ok {
				return "a " + kindNames[k]
			}
		}
	}
	switch name := value.TypeName(v); name {
	case value.TypeNull:
		return name
	case value.TypeObject, value.TypeArray:
		return "an " + name
	default:
		return "a " + name
	}
}

// normalize turns what a template or a typed object yields into what JSON knows: nil, bool, int64, float64, string, []any and
// map[string]any. Elements of lists and maps are left for later.
func normalize(v any) any {
	switch x := v.(type) {
	case nil, bool, int64, float64, string, []any, map[string]any:
		return v
	case int:
		return int64(x)
	case int32:
		return int64(x)
	case time.Duration:
		return x.String()
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil // no JSON value (a func, a channel): nothing that a condition could see
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}
