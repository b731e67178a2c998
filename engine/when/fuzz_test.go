package when

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
)

var (
	fuzzNow   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fuzzScope = expr.NewScope(nil)
	fuzzAt    = field.NewPath("when")
)

var fuzzTypes = []v1alpha1.ValueType{"", "string", "int", "float", "bool", "quantity", "duration", "time", "nonsense"}

// interesting are values of every kind, and those on the borders between kinds.
var interesting = []string{
	`null`, `true`, `false`, `"true"`, `""`, `"a"`, `"abc"`, `"a,b"`, `"1,5"`, `"5m,1h"`, `"1,1h"`, `"9,1"`, `0`, `1`, `-1`, `3`, `3.0`, `3.5`, `-0.5`,
	`"3"`, `"3.0"`, `"03"`, `"1e3"`, `1000`, `9007199254740993`, `9007199254740992.0`, `"9007199254740993"`, `9223372036854775807`,
	`9223372036854775808`, `"9223372036854775808"`, `-9223372036854775808`, `1e300`, `"1e400"`, `"1e999999999"`, `"5m"`, `"10m"`,
	`"1h"`, `"1d"`, `"1d12h"`, `"-1d"`, `"1h2d"`, `"0"`, `"500Mi"`, `"0.5Gi"`, `"1k"`, `"1000m"`, `"2026-03-01T11:00:00Z"`,
	`"2026-03-01T13:00:00+01:00"`, `"2026-03-01T12:00:00.5Z"`, `[]`, `{}`, `[1,2]`, `[1,2.0]`, `["1","2"]`, `["a","b"]`, `[null]`, `[[1]]`,
	`{"a":1}`, `{"a":1.0}`, `{"a":"1"}`, `"^a.*$"`, `"["`, `"string"`, `"null"`, `"array"`, `" a"`, `"NaN"`, `"Infinity"`, `"+5"`, `"1_0"`, `"0x10"`, `"e000"`, `"m"`,
}

// FuzzCondition compares every answer with the reference's.
func FuzzCondition(f *testing.F) {
	for i, a := range interesting {
		f.Add(uint8(i), uint8(i/3), i%2 == 0, true, a, interesting[(i*7)%len(interesting)])
	}
	f.Add(uint8(0), uint8(0), false, false, `1`, `1`)
	f.Fuzz(func(t *testing.T, op, as uint8, negate, found bool, have, want string) {
		compareWithReference(t, op, as, negate, found, have, want)
	})
}

// TestAgainstReference does it for all operators and all pairs of interesting values, and for a third of the pairs with each type.
func TestAgainstReference(t *testing.T) {
	for op := range operators {
		for as := range fuzzTypes {
			haves := interesting
			if fuzzTypes[as] != "" && !slices.Contains(operators[op].types, fuzzTypes[as]) {
				haves = haves[:1] // does not compile
			}
			for h, have := range haves {
				for i, want := range interesting {
					if as > 0 && (h+i+as)%3 != 0 {
						continue
					}
					compareWithReference(t, uint8(op), uint8(as), i%2 == 0, true, have, want)
				}
			}
		}
	}
	for op := range operators {
		compareWithReference(t, uint8(op), 0, false, false, `null`, `"5m"`)
		compareWithReference(t, uint8(op), 0, true, false, `null`, `"null"`)
	}
}

func compareWithReference(t *testing.T, op, as uint8, negate, found bool, have, want string) {
	t.Helper()
	var actual, value any
	if json.Unmarshal([]byte(have), &actual) != nil || json.Unmarshal([]byte(want), &value) != nil || strings.Contains(want, "{{") {
		return
	}
	if s, ok := value.(string); ok && strings.Contains(s, "{{") { // written with escapes
		return
	}
	test := v1alpha1.Test{Field: "spec.x", Operator: operators[int(op)%len(operators)].name, ValueType: fuzzTypes[int(as)%len(fuzzTypes)], Negate: negate}
	if value != nil {
		test.Value = &apiextensionsv1.JSON{Raw: []byte(want)}
	}
	spec := map[string]any{"x": actual}
	if !found {
		spec, actual = map[string]any{}, nil
	}
	ref := reference{op: test.Operator, as: test.ValueType, negate: negate, now: fuzzNow}
	expected := ref.eval(found, actual, value)

	c, errs := Compile(test, fuzzScope, fuzzAt)
	if len(errs) > 0 {
		if !expected.failed {
			t.Fatalf("%s as %q negate=%t: %s with %s does not compile: %v", test.Operator, test.ValueType, negate, have, want, errs)
		}
		return
	}
	got, err := c.Eval(t.Context(), expr.Data{"spec": spec}, fuzzNow)
	var typeErr *TypeError
	if err != nil && (!errors.As(err, &typeErr) || strings.Contains(err.Error(), "\n")) {
		t.Fatalf("%s as %q: %s with %s fails with %v", test.Operator, test.ValueType, have, want, err)
	}
	if (err != nil) != expected.failed || got.True != expected.truth || (err == nil && got.Absent != expected.absent) || !got.NextFlip.Equal(expected.flip) {
		t.Fatalf("%s as %q negate=%t: %s with %s: got %+v, %v, want %+v", test.Operator, test.ValueType, negate, have, want, got, err, expected)
	}
	if len([]rune(got.Wanted)) > maxWanted || len([]rune(got.Actual)) > maxActual || strings.ContainsAny(got.Wanted+got.Actual, "\n\r") {
		t.Fatalf("%s: %s with %s shows %q and %q", test.Operator, have, want, got.Wanted, got.Actual)
	}
}
