package when

import (
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// reference is a second, slow evaluator, written from the table in the documentation and sharing no code with the first.
type reference struct {
	op     v1alpha1.Operator
	as     v1alpha1.ValueType
	negate bool
	now    time.Time
}

type answer struct {
	truth, absent, failed bool
	flip                  time.Time
}

var (
	decimal    = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	whole      = regexp.MustCompile(`^[+-]?[0-9]+$`)
	withDays   = regexp.MustCompile(`^([+-]?)([0-9]*\.?[0-9]*)d([0-9a-zµμ.]*)$`)
	bigExpo    = regexp.MustCompile(`[eE][+-]*0*[1-9][0-9]{2,}$`)
	hasDigits  = regexp.MustCompile(`^[+-]?[.]?[0-9]`)
	takesTypes = map[v1alpha1.Operator]string{
		v1alpha1.OperatorEquals: "string int float bool quantity duration time", v1alpha1.OperatorNotEquals: "string int float bool quantity duration time",
		v1alpha1.OperatorIn: "string int float bool quantity duration time", v1alpha1.OperatorNotIn: "string int float bool quantity duration time",
		v1alpha1.OperatorContains: "string int float bool quantity duration time", v1alpha1.OperatorNotContains: "string int float bool quantity duration time",
		v1alpha1.OperatorGt: "int float quantity duration time", v1alpha1.OperatorGte: "int float quantity duration time",
		v1alpha1.OperatorLt: "int float quantity duration time", v1alpha1.OperatorLte: "int float quantity duration time",
		v1alpha1.OperatorBetween: "int float quantity duration time", v1alpha1.OperatorNotBetween: "int float quantity duration time",
		v1alpha1.OperatorPrefix: "string", v1alpha1.OperatorSuffix: "string", v1alpha1.OperatorRegex: "string",
	}
)

// refTypeOf names a JSON value's type.
func refTypeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// refRead gives a value as a rational number, a string or a bool, or nil where it can't be read so.
func refRead(v any, as string) any {
	s, isString := v.(string)
	scalar := isString && len(s) <= 64
	switch as {
	case "string":
		switch x := v.(type) {
		case string:
			return x
		case []any, map[string]any, nil:
			return nil
		case float64:
			return strconv.FormatFloat(x, 'f', -1, 64)
		default:
			return fmt.Sprint(x)
		}
	case "bool":
		if b, ok := v.(bool); ok {
			return b
		}
		if s == "true" || s == "false" {
			return s == "true"
		}
	case "int", "float":
		r := refNumber(v, s, scalar)
		if r == nil || (as == "int" && !r.IsInt()) {
			return nil
		}
		return r
	case "quantity":
		if f, ok := v.(float64); ok {
			s, scalar = strconv.FormatFloat(f, 'f', -1, 64), true
		}
		if i, ok := v.(int64); ok {
			return new(big.Rat).SetInt64(i)
		}
		if !scalar || len(s) > 64 || bigExpo.MatchString(s) || !hasDigits.MatchString(s) {
			return nil
		}
		q, err := resource.ParseQuantity(s)
		if err != nil {
			return nil
		}
		r, _ := new(big.Rat).SetString(q.AsDec().String())
		return r
	case "duration":
		if v == int64(0) {
			return new(big.Rat)
		}
		if d, ok := refDuration(s); ok && scalar {
			return new(big.Rat).SetInt64(int64(d))
		}
	case "time":
		if at, err := time.Parse(time.RFC3339, s); err == nil && scalar {
			r := new(big.Rat).SetInt64(at.Unix())
			return r.Add(r, big.NewRat(int64(at.Nanosecond()), 1e9))
		}
	}
	return nil
}

func refNumber(v any, s string, scalar bool) *big.Rat {
	switch x := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(x)
	case float64:
		return new(big.Rat).SetFloat64(x)
	}
	if !scalar || !decimal.MatchString(s) {
		return nil
	}
	if whole.MatchString(s) {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return new(big.Rat).SetInt64(i)
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return new(big.Rat).SetFloat64(f)
}

func refDuration(s string) (time.Duration, bool) {
	m := withDays.FindStringSubmatch(s)
	if m == nil {
		d, err := time.ParseDuration(s)
		return d, err == nil
	}
	days, err := time.ParseDuration(m[2] + "h")
	if err != nil {
		return 0, false
	}
	total := new(big.Int).Mul(big.NewInt(int64(days)), big.NewInt(24))
	if m[3] != "" {
		rest, err := time.ParseDuration(m[3])
		if err != nil {
			return 0, false
		}
		total.Add(total, big.NewInt(int64(rest)))
	}
	if m[1] == "-" {
		total.Neg(total)
	}
	return time.Duration(total.Int64()), total.IsInt64()
}

func refCompare(a, b any) int {
	switch x := a.(type) {
	case *big.Rat:
		return x.Cmp(b.(*big.Rat))
	case string:
		return strings.Compare(x, b.(string))
	}
	if a == b {
		return 0
	}
	return 1
}

func (r *reference) equal(field, value any) (same, failed bool) {
	as := string(r.as)
	if as == "" {
		switch refTypeOf(field) {
		case "number":
			as = "float"
		case "boolean":
			as = "bool"
		case "string":
			as = "string"
		default:
			return reflect.DeepEqual(refExact(field), refExact(value)), false
		}
		a, b := refRead(field, as), refRead(value, as)
		return b != nil && refCompare(a, b) == 0, false
	}
	a, b := refRead(field, as), refRead(value, as)
	if a == nil || b == nil {
		return false, true
	}
	return refCompare(a, b) == 0, false
}

// refExact makes every number in a value one exact text.
func refExact(v any) any {
	switch x := v.(type) {
	case []any:
		out := []any{}
		for _, item := range x {
			out = append(out, refExact(item))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, item := range x {
			out[k] = refExact(item)
		}
		return out
	case int64, float64:
		return struct{ n string }{refNumber(x, "", false).String()}
	}
	return v
}

func (r *reference) order(a, b any) (sign int, failed bool) {
	kinds := []string{"float", "quantity", "duration", "time"}
	if r.as != "" {
		kinds = []string{string(r.as)}
	}
	for _, k := range kinds {
		x, y := refRead(a, k), refRead(b, k)
		if x != nil && y != nil {
			return refCompare(x, y), false
		}
	}
	return 0, true
}

// usable says whether a value can be ordered with anything.
func (r *reference) usable(v any) bool {
	_, failed := r.order(v, v)
	return !failed
}

func refList(value any) []any {
	switch v := value.(type) {
	case string:
		out := []any{}
		for part := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(part))
		}
		return out
	case []any:
		return v
	case map[string]any, nil:
		return nil
	}
	return []any{value}
}

// valueFails says whether the value alone makes the condition wrong.
func (r *reference) valueFails(value any) bool {
	if r.as != "" && !slices.Contains(strings.Fields(takesTypes[r.op]), string(r.as)) {
		return true
	}
	if r.op == v1alpha1.OperatorExists || r.op == v1alpha1.OperatorNotExists {
		_, isBool := value.(bool)
		return value != nil && !isBool
	}
	if value == nil {
		return true
	}
	switch r.op {
	case v1alpha1.OperatorEquals, v1alpha1.OperatorNotEquals, v1alpha1.OperatorContains, v1alpha1.OperatorNotContains:
		return r.as != "" && refRead(value, string(r.as)) == nil
	case v1alpha1.OperatorGt, v1alpha1.OperatorGte, v1alpha1.OperatorLt, v1alpha1.OperatorLte:
		return !r.usable(value)
	case v1alpha1.OperatorBetween, v1alpha1.OperatorNotBetween:
		l := refList(value)
		if len(l) != 2 || !r.usable(l[0]) || !r.usable(l[1]) {
			return true
		}
		sign, failed := r.order(l[0], l[1])
		return failed || sign > 0
	case v1alpha1.OperatorIn, v1alpha1.OperatorNotIn:
		l := refList(value)
		return l == nil || (r.as != "" && slices.ContainsFunc(l, func(v any) bool { return refRead(v, string(r.as)) == nil }))
	case v1alpha1.OperatorPrefix, v1alpha1.OperatorSuffix:
		return refRead(value, "string") == nil
	case v1alpha1.OperatorRegex:
		s, ok := refRead(value, "string").(string)
		_, err := regexp.Compile(s)
		return !ok || err != nil
	case v1alpha1.OperatorTypeOf:
		s, _ := value.(string)
		return !slices.Contains([]string{"string", "number", "boolean", "object", "array", "null"}, s)
	case v1alpha1.OperatorOlderThan, v1alpha1.OperatorYoungerThan:
		return refRead(value, "duration") == nil
	default:
		panic("no such operator: " + r.op)
	}
}

func (r *reference) eval(found bool, field, value any) answer {
	if r.valueFails(value) {
		return answer{failed: true}
	}
	a := answer{absent: field == nil}
	op := r.op
	if op == v1alpha1.OperatorExists && value == false {
		op = v1alpha1.OperatorNotExists
	} else if op == v1alpha1.OperatorNotExists && value == false {
		op = v1alpha1.OperatorExists
	}
	if field == nil && (op != v1alpha1.OperatorTypeOf || !found) {
		a.truth = slices.Contains([]v1alpha1.Operator{v1alpha1.OperatorNotEquals, v1alpha1.OperatorNotIn, v1alpha1.OperatorNotContains, v1alpha1.OperatorNotExists}, op) != r.negate
		return a
	}
	a.truth, a.flip, a.failed = r.test(op, field, value)
	if a.failed {
		return answer{failed: true}
	}
	a.truth = a.truth != r.negate
	return a
}

func (r *reference) test(op v1alpha1.Operator, field, value any) (truth bool, flip time.Time, failed bool) {
	switch op {
	case v1alpha1.OperatorNotEquals:
		truth, _, failed = r.test(v1alpha1.OperatorEquals, field, value)
		return !truth, flip, failed
	case v1alpha1.OperatorNotBetween:
		truth, _, failed = r.test(v1alpha1.OperatorBetween, field, value)
		return !truth, flip, failed
	case v1alpha1.OperatorNotIn:
		truth, _, failed = r.test(v1alpha1.OperatorIn, field, value)
		return !truth, flip, failed
	case v1alpha1.OperatorNotContains:
		truth, _, failed = r.test(v1alpha1.OperatorContains, field, value)
		return !truth, flip, failed
	case v1alpha1.OperatorNotExists:
		truth, _, failed = r.test(v1alpha1.OperatorExists, field, value)
		return !truth, flip, failed
	case v1alpha1.OperatorEquals:
		truth, failed = r.equal(field, value)
	case v1alpha1.OperatorGt, v1alpha1.OperatorGte, v1alpha1.OperatorLt, v1alpha1.OperatorLte:
		var sign int
		sign, failed = r.order(field, value)
		truth = map[v1alpha1.Operator]bool{v1alpha1.OperatorGt: sign > 0, v1alpha1.OperatorGte: sign >= 0, v1alpha1.OperatorLt: sign < 0, v1alpha1.OperatorLte: sign <= 0}[op]
	case v1alpha1.OperatorBetween:
		l := refList(value)
		low, failLow := r.order(field, l[0])
		high, failHigh := r.order(field, l[1])
		truth, failed = low >= 0 && high <= 0, failLow || failHigh
	case v1alpha1.OperatorIn:
		for _, item := range refList(value) {
			if truth, failed = r.equal(field, item); truth || failed {
				break
			}
		}
	case v1alpha1.OperatorContains:
		if l, ok := field.([]any); ok {
			for _, item := range l {
				if truth, failed = r.equal(item, value); truth || failed {
					break
				}
			}
			break
		}
		s, ok := r.text(field)
		part, okPart := refRead(value, "string").(string)
		truth, failed = strings.Contains(s, part), !ok || !okPart
	case v1alpha1.OperatorPrefix, v1alpha1.OperatorSuffix, v1alpha1.OperatorRegex:
		s, ok := r.text(field)
		part := refRead(value, "string").(string)
		failed = !ok
		switch op {
		case v1alpha1.OperatorPrefix:
			truth = len(s) >= len(part) && s[:len(part)] == part
		case v1alpha1.OperatorSuffix:
			truth = len(s) >= len(part) && s[len(s)-len(part):] == part
		default:
			truth = regexp.MustCompile(part).MatchString(s)
		}
	case v1alpha1.OperatorExists:
		truth = !slices.Contains([]string{"", "map[]", "[]"}, fmt.Sprint(field)) || field == "[]" || field == "map[]"
	case v1alpha1.OperatorTypeOf:
		truth = refTypeOf(field) == value
	case v1alpha1.OperatorOlderThan, v1alpha1.OperatorYoungerThan:
		if refRead(field, "time") == nil {
			return false, flip, true
		}
		since, _ := time.Parse(time.RFC3339, field.(string))
		length := refRead(value, "duration").(*big.Rat)
		turn := since.Add(time.Duration(length.Num().Int64()))
		truth = turn.After(r.now) == (op == v1alpha1.OperatorYoungerThan)
		if turn.After(r.now) {
			flip = turn
		}
	}
	return truth, flip, failed
}

func (r *reference) text(field any) (string, bool) {
	if s, ok := field.(string); ok || r.as != "string" {
		return s, ok
	}
	s, ok := refRead(field, "string").(string)
	return s, ok
}
