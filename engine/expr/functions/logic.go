package functions

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/orkspace/orkestra/engine/value"
)

func choiceFuncs() []row {
	first := func(v any, _ ...any) any { return v } // text/template evaluates and/or itself; here they are only counted
	return []row{
		{"default", "DEFAULT VALUE", "VALUE, or DEFAULT where VALUE is absent or empty (0, false, \"\", an empty list or map).",
			`default "nginx" .spec.image`, "nginx",
			func(fallback any, v ...any) any {
				if len(v) == 0 || isEmpty(v[0]) {
					return fallback
				}
				return v[0]
			}, lenient | nils | light | counted, ""},
		{"coalesce", argValues, "The first VALUE that is neither absent nor empty.",
			`coalesce .spec.image "" "nginx"`, "nginx", coalesce, lenient | nils | light | counted, ""},
		{"ternary", "A B CONDITION", "A where CONDITION is true, otherwise B.",
			`ternary "https" "http" .spec.tls`, "https",
			func(a, b any, condition bool) any {
				if condition {
					return a
				}
				return b
			}, lenient | nils | light | counted, ""},
		{"empty", argValue, "Whether VALUE is absent or empty.", `empty .spec.image`, "true", isEmpty, lenient | nils | light | counted, ""},
		{"all", argValues, "Whether no VALUE is empty.", `all 1 "a" true`, "true", func(v ...any) bool { return !slices.ContainsFunc(v, isEmpty) }, nils | light | counted, ""},
		{"any", argValues, "Whether some VALUE is not empty.", `any 0 "" true`, "true", func(v ...any) bool { return coalesce(v...) != nil }, nils | light | counted, ""},
		{And, argValues, "The first VALUE that is absent or empty, otherwise the last.", `and true .spec.tls`, "true",
			first, lenient | nils | light | counted, ""},
		{Or, argValues, "The first VALUE that is neither absent nor empty, otherwise the last.", `or .spec.image "nginx"`, "nginx",
			first, lenient | nils | light | counted, ""},
		{"not", argValue, "Whether VALUE is absent or empty.", `not .spec.tls`, "false", isEmpty, lenient | nils | light | counted, ""},
		{"fail", "MESSAGE", "Ends the evaluation with an error.", `if false }}{{ fail "no" }}{{ end`, "",
			func(message string) (any, error) { return nil, &FailError{Text: value.Shorten(message)} }, 0, ""},
	}
}

func compareFuncs() []row {
	order := func(holds func(int) bool) func(a, b any) (bool, error) {
		return func(a, b any) (bool, error) {
			if a == nil || b == nil {
				return false, nil
			}
			c, err := compare(a, b)
			return err == nil && holds(c), err
		}
	}
	return []row{
		{"eq", "A B…", "Whether A equals one of the others. Numbers of any type can be compared.", `eq 1 2 1.0`, "true",
			func(a, b any, more ...any) (bool, error) { return equalsOne(a, append([]any{b}, more...)) }, nils, ""},
		{"ne", argPair, "Whether A and B are not equal.", `ne "a" "b"`, "true",
			func(a, b any) (bool, error) { same, err := equalsOne(a, []any{b}); return !same, err }, nils, ""},
		{"lt", argPair, "Whether A is less than B: numbers, or text. False where one is absent.", `lt 1 1.5`, "true",
			order(func(c int) bool { return c < 0 }), nils, ""},
		{"le", argPair, "Whether A is less than B or equal.", `le 1 1`, "true", order(func(c int) bool { return c <= 0 }), nils, ""},
		{"gt", argPair, "Whether A is greater than B.", `gt "b" "a"`, "true", order(func(c int) bool { return c > 0 }), nils, ""},
		{"ge", argPair, "Whether A is greater than B or equal.", `ge 1 2`, "false", order(func(c int) bool { return c >= 0 }), nils, ""},
	}
}

func typeFuncs() []row {
	typeOf := func(v any) string { return fmt.Sprintf("%T", v) }
	typeIs := func(name string, v any) bool { return name == typeOf(v) }
	kindOf := func(v any) string {
		if v == nil {
			return "invalid"
		}
		return reflect.TypeOf(v).Kind().String()
	}
	return []row{
		{"kindOf", argValue, "The Go kind of VALUE: string, bool, int64, float64, slice, map or invalid.", `kindOf 1`, "int64",
			kindOf, nils | light | counted, ""},
		{"kindIs", "KIND VALUE", "Whether VALUE is of this kind.", `kindIs "map" (dict)`, "true",
			func(kind string, v any) bool { return kind == kindOf(v) }, nils | light | counted, ""},
		{"typeOf", argValue, "The Go type of VALUE.", `typeOf 1`, "int64", typeOf, nils | light | counted, ""},
		{"typeIs", "TYPE VALUE", "Whether VALUE is of this Go type.", `typeIs "string" "a"`, "true", typeIs, nils | light | counted, ""},
		{"typeIsLike", "TYPE VALUE", "The same as typeIs.", `typeIsLike "string" "a"`, "true", typeIs, nils | light | counted, ""},
		{"deepEqual", argPair, "Whether A and B are equal, with all that is in them.", `deepEqual (list 1) (list 1)`, "true", value.Same, nils, ""},
		{"deepCopy", argValue, "A copy of VALUE, which set may change.", `set (deepCopy .spec.labels) "a" "b" | toJson`,
			`{"a":"b","app":"web"}`, deepCopy, nils | light | counted, "mustDeepCopy"},
	}
}

// isEmpty says whether a value is absent, 0, false, or without any content.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	n, err := length(v)
	return err == nil && n == 0
}

// coalesce gives the first value that is not empty.
func coalesce(values ...any) any {
	for _, v := range values {
		if !isEmpty(v) {
			return v
		}
	}
	return nil
}

func deepCopy(run *Run, v any) (any, error) {
	c, err := run.Copy(v)
	if m, ok := c.(map[string]any); ok {
		run.own(m)
	}
	return c, err
}

// equalsOne says whether a equals one of the others. Comparing text with numbers and the like is a mistake.
func equalsOne(a any, others []any) (bool, error) {
	for _, b := range others {
		if a != nil && b != nil && value.TemplateType(a) != value.TemplateType(b) {
			return false, badArgument("cannot compare a %s with a %s", value.TemplateType(a), value.TemplateType(b))
		}
		if value.Same(a, b) {
			return true, nil
		}
	}
	return false, nil
}

// compare orders two numbers or two texts.
func compare(a, b any) (int, error) {
	if order, ok := value.Compare(a, b); ok {
		return order, nil
	}
	return 0, badArgument("cannot compare a %s with a %s", value.TemplateType(a), value.TemplateType(b))
}
