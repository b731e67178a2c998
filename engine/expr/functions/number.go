package functions

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/value"
)

func numberFuncs() []row {
	return []row{
		{"add", "N…", "The sum. Whole numbers give a whole number, as in the functions below.", `add 1 2 3`, "6", fold2(addInt, addFloat), 0, ""},
		{"add1", "N", "N and one more.", `add1 2`, "3", func(v any) (any, error) { return fold2(addInt, addFloat)(v, int64(1)) }, 0, ""},
		{"sub", "N…", "The first N less the others.", `sub 5 2`, "3", fold2(subInt, subFloat), 0, ""},
		{"mul", "N…", "The product, as a whole number.", `mul 2 3`, "6", whole(fold2(mulInt, mulFloat)), 0, ""},
		{"div", "N…", "The first N divided by the others, as a whole number.", `div 7 2`, "3", whole(fold2(divInt, divFloat)), 0, ""},
		{"mod", "N M", "What is left of N divided by M.", `mod 7 2`, "1", func(a, b any) (any, error) { return fold2(modInt, modFloat)(a, b) }, 0, ""},
		{"addf", "N…", "The sum.", `addf 1.5 2`, "3.5", fold2(nil, addFloat), 0, ""},
		{"add1f", "N", "N and one more.", `add1f 1.5`, "2.5", func(v any) (any, error) { return fold2(nil, addFloat)(v, int64(1)) }, 0, ""},
		{"subf", "N…", "The first N less the others.", `subf 2 0.5`, "1.5", fold2(nil, subFloat), 0, ""},
		{"mulf", "N…", "The product.", `mulf 1.5 3`, "4.5", fold2(nil, mulFloat), 0, ""},
		{"divf", "N…", "The first N divided by the others.", `divf 7 2`, "3.5", fold2(nil, divFloat), 0, ""},
		{"max", "N…", "The greatest N.", `max 1 3 2`, "3", fold2(maxInt, maxFloat), 0, "biggest"},
		{"min", "N…", "The least N.", `min 1 3 2`, "1", fold2(minInt, minFloat), 0, ""},
		{"maxf", "N…", "The greatest N.", `maxf 1 2.5`, "2.5", fold2(nil, maxFloat), 0, ""},
		{"minf", "N…", "The least N.", `minf 1 2.5`, "1", fold2(nil, minFloat), 0, ""},
		{"floor", "N", "The nearest whole number that is not greater.", `floor 1.7`, "1", rounded(math.Floor), 0, ""},
		{"ceil", "N", "The nearest whole number that is not less.", `ceil 1.2`, "2", rounded(math.Ceil), 0, ""},
		{"round", "N DIGITS", "N rounded to so many digits after the point.", `round 1.2345 2`, "1.23", round, 0, ""},
	}
}

func convertFuncs() []row {
	return []row{
		{"toString", argValue, "VALUE as text; lists and maps as JSON.", `toString 8080`, "8080", value.Print, 0, ""},
		{"toInt", argValue, "VALUE as a whole number.", `toInt "8080"`, "8080", toInt, 0, "int atoi toInt64 int64"},
		{"toUint", argValue, "VALUE as a whole number that is not negative.", `toUint "8080"`, "8080", toUint, 0, "toUint64"},
		{"toFloat64", argValue, "VALUE as a number.", `toFloat64 "1.5"`, "1.5", toFloat, 0, "float64"},
		{"toBool", argValue, "VALUE as true or false.", `toBool "true"`, "true", toBool, 0, ""},
		{"toOctal", argText, "A number that is written with octal digits.", `toOctal "644"`, "420", toOctal, 0, "toDecimal"},
		{"toDuration", argText, "A duration in its normal spelling.", `toDuration "90s"`, "1m30s", toDuration, 0, ""},
		{"toDate", "LAYOUT TEXT", "A time in Go's layout, read as UTC, in RFC 3339.", `toDate "2006-01-02" "2026-03-25"`, "2026-03-25T00:00:00Z",
			toDate, 0, "mustToDate"},
	}
}

type (
	intOp   func(a, b int64) (int64, error)
	floatOp func(a, b float64) (float64, error)
)

// fold2 makes a function that works from left to right: exactly where all numbers are whole and there is an intOp, otherwise
// with floats.
func fold2(ints intOp, floats floatOp) func(first any, more ...any) (any, error) {
	return func(first any, more ...any) (any, error) {
		result, err := toNumber(first)
		if err != nil {
			return nil, err
		}
		for _, v := range more {
			next, err := toNumber(v)
			if err != nil {
				return nil, err
			}
			if result, err = operate(ints, floats, result, next); err != nil {
				return nil, err
			}
		}
		if ints == nil {
			return asFloat(result), nil
		}
		return result, nil
	}
}

func operate(ints intOp, floats floatOp, a, b any) (any, error) {
	x, isInt := a.(int64)
	y, alsoInt := b.(int64)
	if ints == nil || !isInt || !alsoInt {
		return floats(asFloat(a), asFloat(b))
	}
	return ints(x, y)
}

// whole makes the result a whole number, as Sprig does.
func whole(f func(any, ...any) (any, error)) func(any, ...any) (int64, error) {
	return func(first any, more ...any) (int64, error) {
		v, err := f(first, more...)
		if err != nil {
			return 0, err
		}
		if n, ok := v.(float64); ok {
			v = math.Trunc(n)
		}
		n, ok := value.Whole(v)
		if !ok {
			return 0, errOverflow
		}
		return n, nil
	}
}

// toNumber gives an int64 or a float64. Text is read, as in Sprig.
func toNumber(v any) (any, error) {
	switch v := v.(type) {
	case int64, float64:
		return v, nil
	case string:
		if n, ok := value.Number(strings.TrimSpace(v)); ok {
			return n, nil
		}
		return nil, badArgument("a string is no number")
	default:
		return nil, badArgument("a %s is no number", value.TemplateType(v))
	}
}

func asFloat(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	n, _ := v.(float64) // toNumber gives nothing else.
	return n
}

const (
	errOverflow = argumentError("the result is no whole number of 64 bits")
	errZero     = argumentError("division by zero")
)

func addInt(a, b int64) (int64, error) {
	if c := a + b; (c > a) == (b > 0) {
		return c, nil
	}
	return 0, errOverflow
}

func subInt(a, b int64) (int64, error) {
	if c := a - b; (c < a) == (b > 0) {
		return c, nil
	}
	return 0, errOverflow
}

func mulInt(a, b int64) (int64, error) {
	c := a * b
	if a != 0 && (c/a != b || a == -1 && b == math.MinInt64) {
		return 0, errOverflow
	}
	return c, nil
}

func divInt(a, b int64) (int64, error) {
	switch b {
	case 0:
		return 0, errZero
	case -1: // the least number has no positive twin
		return subInt(0, a)
	}
	return a / b, nil
}

func modInt(a, b int64) (int64, error) {
	if b == 0 {
		return 0, errZero
	}
	return a % b, nil
}

func maxInt(a, b int64) (int64, error) { return max(a, b), nil }
func minInt(a, b int64) (int64, error) { return min(a, b), nil }

func maxFloat(a, b float64) (float64, error) { return max(a, b), nil }
func minFloat(a, b float64) (float64, error) { return min(a, b), nil }

func addFloat(a, b float64) (float64, error) { return a + b, nil }
func subFloat(a, b float64) (float64, error) { return a - b, nil }
func mulFloat(a, b float64) (float64, error) { return a * b, nil }

func divFloat(a, b float64) (float64, error) {
	if b == 0 {
		return 0, errZero
	}
	return a / b, nil
}

func modFloat(a, b float64) (float64, error) {
	if b == 0 {
		return 0, errZero
	}
	return math.Mod(a, b), nil
}

func rounded(to func(float64) float64) func(v any) (float64, error) {
	return func(v any) (float64, error) {
		n, err := toNumber(v)
		return to(asFloat(n)), err
	}
}

// round rounds up from one half on, or from another limit.
func round(v any, digits int, limit ...float64) (float64, error) {
	n, err := toNumber(v)
	if err != nil || digits < -300 || digits > 300 {
		return 0, badArgument("these are no number and number of digits")
	}
	from := 0.5
	if len(limit) > 0 {
		from = limit[0]
	}
	scale := math.Pow(10, float64(digits))
	below, rest := math.Modf(asFloat(n) * scale)
	switch {
	case math.IsInf(below, 0) || scale == 0:
		return asFloat(n), nil
	case rest >= from:
		below++
	case rest < 0:
		below = math.Floor(below + rest)
	}
	return below / scale, nil
}

func toUint(v any) (int64, error) {
	n, err := toInt(v)
	if err == nil && n < 0 {
		return 0, badArgument("the number is negative")
	}
	return n, err
}

// toInt cuts off the digits after the point, as Sprig does. True is 1.
func toInt(v any) (int64, error) {
	if truth, ok := v.(bool); ok {
		v = map[bool]int64{true: 1}[truth]
	}
	return whole(func(v any, _ ...any) (any, error) { return toNumber(v) })(v)
}

func toFloat(v any) (float64, error) {
	n, err := toNumber(v)
	return asFloat(n), err
}

func toBool(v any) (bool, error) {
	if text, ok := v.(string); ok {
		truth, err := strconv.ParseBool(text)
		if err != nil {
			return false, badArgument("a string is neither true nor false")
		}
		return truth, nil
	}
	if !value.IsScalar(v) {
		return false, badArgument("a %s is neither true nor false", value.TemplateType(v))
	}
	return !isEmpty(v), nil
}

func toOctal(v any) (int64, error) {
	text, err := value.Print(v)
	if err != nil {
		return 0, badArgument("%v", err)
	}
	n, err := strconv.ParseInt(text, 8, 64)
	if err != nil {
		return 0, badArgument("the argument is no octal number")
	}
	return n, nil
}

func toDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, badArgument("the argument is no duration such as 1h30m")
	}
	return d, nil
}

func toDate(layout, text string) (time.Time, error) {
	t, err := time.Parse(layout, text)
	if err != nil {
		return t, badArgument("the time is not in this layout")
	}
	return t, nil
}
