package when

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// read decodes YAML strictly.
func read[T any](tb testing.TB, text string) T {
	tb.Helper()
	var v T
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		tb.Fatal(err)
	}
	return v
}

// data makes a context of YAML, with int64 for whole numbers.
func data(tb testing.TB, text string) expr.Data {
	tb.Helper()
	v, ok := normalize(read[apiextensionsv1.JSON](tb, text)).(map[string]any)
	if !ok {
		tb.Fatal("not a map")
	}
	return v
}

// schema is what the tests check literals against.
func schema() *apiextensionsv1.JSONSchemaProps {
	of := func(name string) apiextensionsv1.JSONSchemaProps { return apiextensionsv1.JSONSchemaProps{Type: name} }
	number := of("integer")
	free := of("object")
	free.XPreserveUnknownFields = new(true)
	list := of("array")
	list.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &number}
	spec := of("object")
	spec.Properties = map[string]apiextensionsv1.JSONSchemaProps{
		"replicas": number, "ratio": of("number"), "tls": of("boolean"), "name": of("string"), "ports": list, "free": free,
		"port": {XIntOrString: true},
	}
	root := of("object")
	root.Properties = map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "metadata": of("object"), "status": free}
	return &root
}

func compile(tb testing.TB, text string) *Condition {
	tb.Helper()
	s := expr.NewScope(nil).WithRoots("cross", "external", "item")
	c, errs := Compile(read[v1alpha1.Test](tb, text), s, field.NewPath("when").Index(0))
	if len(errs) > 0 {
		tb.Fatal(errs.ToAggregate())
	}
	return c
}

func TestConditions(t *testing.T) {
	const resource = `{spec: {num: 3, f: 2.5, s: abc, digits: "3", size: 500Mi, wait: 5m, b: true, off_: false, empty: "", list: [80, 443],
		words: [a, b], map: {a: 1}, none: null, hollow: {}, nil: [], since: "2026-03-01T11:00:00Z", big: 9007199254740993, other: 3, hi: 5}}`
	tests := map[string]bool{
		`{field: spec.num, equals: 3}`:                              true,
		`{field: spec.num, operator: equals, value: "3"}`:           true,
		`{field: spec.num, equals: 3.0}`:                            true,
		`{field: spec.num, equals: three}`:                          false,
		`{field: spec.num, equals: 3, negate: true}`:                false,
		`{field: spec.big, equals: 9007199254740992}`:               false,
		`{field: spec.digits, equals: 3}`:                           true,
		`{field: spec.digits, equals: "3.0"}`:                       false,
		`{field: spec.digits, equals: "3.0", valueType: int}`:       true,
		`{field: spec.b, equals: "true"}`:                           true,
		`{field: spec.b, equals: 1}`:                                false,
		`{field: spec.off_, equals: false}`:                         true,
		`{field: spec.size, equals: 0.5Gi}`:                         false,
		`{field: spec.size, equals: 512000Ki, valueType: quantity}`: true,
		`{field: spec.list, equals: [80, 443.0]}`:                   true,
		`{field: spec.list, equals: ["80", "443"]}`:                 false,
		`{field: spec.map, equals: {a: 1}}`:                         true,
		`{field: spec.map, notEquals: {a: 2}}`:                      true,
		`{field: spec.num, equals: "{{ .spec.other }}"}`:            true,
		`{field: spec.num, lessThan: "{{ .spec.other }}"}`:          false,
		`{field: spec.num, in: [1, "{{ .spec.other }}"]}`:           true,
		`{field: "{{ .spec.num }}", greaterThan: 2}`:                true,
		`{field: spec.num, greaterThan: 3}`:                         false,
		`{field: spec.num, greaterThanOrEqual: "3"}`:                true,
		`{field: spec.f, lessThan: 2.6}`:                            true,
		`{field: spec.size, lessThanOrEqual: 1Gi}`:                  true,
		`{field: spec.wait, lessThan: 1h}`:                          true,
		`{field: spec.since, lessThan: "2026-03-01T11:00:01Z"}`:     true,
		`{field: spec.num, between: "1,3"}`:                         true,
		`{field: spec.num, between: [4, "{{ .spec.hi }}"]}`:         false,
		`{field: spec.num, notBetween: [1, 2]}`:                     true,
		`{field: spec.size, between: "100Mi, 1Gi"}`:                 true,
		`{field: spec.s, in: "x, abc ,y"}`:                          true,
		`{field: spec.num, in: "1,2,3"}`:                            true,
		`{field: spec.num, notIn: [1, 2]}`:                          true,
		`{field: spec.map, in: [{a: 1}]}`:                           true,
		`{field: spec.s, contains: b}`:                              true,
		`{field: spec.s, notContains: b}`:                           false,
		`{field: spec.list, contains: 443}`:                         true,
		`{field: spec.list, contains: "443"}`:                       true,
		`{field: spec.words, notContains: c}`:                       true,
		`{field: spec.digits, contains: 3}`:                         true,
		`{field: spec.s, prefix: ab}`:                               true,
		`{field: spec.s, suffix: ab}`:                               false,
		`{field: spec.num, prefix: "3", valueType: string}`:         true,
		`{field: spec.s, regex: "^a.c$"}`:                           true,
		`{field: spec.s, exists: true}`:                             true,
		`{field: spec.s, operator: exists}`:                         true,
		`{field: spec.s, exists: false}`:                            false,
		`{field: spec.off_, exists: true}`:                          true,
		`{field: spec.empty, exists: true}`:                         false,
		`{field: spec.hollow, exists: true}`:                        false,
		`{field: spec.nil, exists: true}`:                           false,
		`{field: spec.none, exists: true}`:                          false,
		`{field: spec.empty, notExists: true}`:                      true,
		`{field: spec.empty, notExists: false}`:                     false,
		`{field: spec.num, typeOf: number}`:                         true,
		`{field: spec.b, typeOf: boolean}`:                          true,
		`{field: spec.list, typeOf: array}`:                         true,
		`{field: spec.map, typeOf: object}`:                         true,
		`{field: spec.s, typeOf: number}`:                           false,
		`{field: spec.none, typeOf: "null"}`:                        true,
		`{field: spec.missing, typeOf: "null"}`:                     false,
		`{field: spec.since, olderThan: 1h}`:                        true,
		`{field: spec.since, olderThan: 61m}`:                       false,
		`{field: spec.since, youngerThan: 1d}`:                      true,
		`{field: "{{ .Spec.Num }}", equals: 3}`:                     true,
		`{field: "{{ .spec.num | int64 }}", equals: 3}`:             true,
		`{field: "{{ .spec.missing | upper }}", equals: 3}`:         false,
		`{field: "{{ .spec.missing }}", equals: 3}`:                 false,
		`{field: "{{ .spec.missing }}", notExists: true}`:           true,
	}
	d := data(t, resource)
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			v, err := compile(t, text).Eval(t.Context(), d, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(v.True).To(Equal(want))
		})
	}
}

func TestAbsentFields(t *testing.T) {
	values := map[v1alpha1.Operator]string{v1alpha1.OperatorBetween: `"1,2"`, v1alpha1.OperatorNotBetween: `"1,2"`, v1alpha1.OperatorTypeOf: "string", v1alpha1.OperatorOlderThan: "5m", v1alpha1.OperatorYoungerThan: "5m",
		v1alpha1.OperatorExists: "true", v1alpha1.OperatorNotExists: "true"}
	trueFor := map[v1alpha1.Operator]bool{v1alpha1.OperatorNotEquals: true, v1alpha1.OperatorNotIn: true, v1alpha1.OperatorNotContains: true, v1alpha1.OperatorNotExists: true}
	for _, o := range operators {
		value := values[o.name]
		if value == "" {
			value = "1"
		}
		for _, f := range []string{"spec.missing", "spec.missing.deeper", "spec.none", "'{{ .spec.missing }}'"} {
			g := NewWithT(t)
			text := "{field: " + f + ", operator: " + string(o.name) + ", value: " + value
			v, err := compile(t, text+"}").Eval(t.Context(), data(t, `{spec: {none: null}}`), now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(v.True).To(Equal(trueFor[o.name]), text)
			g.Expect(v.Absent).To(BeTrue())
			g.Expect(v.Actual).To(Equal("absent"))
			g.Expect(v.NextFlip).To(BeZero())
			v, err = compile(t, text+", negate: true}").Eval(t.Context(), data(t, `{spec: {none: null}}`), now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(v.True).To(Equal(!trueFor[o.name]), text)
		}
	}
}

func TestAnAbsentFieldNeedsNoValue(t *testing.T) {
	g := NewWithT(t)
	c := compile(t, `{field: children.deployment.status.replicas, equals: "{{ .children.other.status.replicas }}"}`)
	v, err := c.Eval(t.Context(), data(t, `{children: {}}`), now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(v.True).To(BeFalse())
	g.Expect(v.Wanted).To(Equal("equals {{ .children.other.status.replicas }}"))

	_, err = c.Eval(t.Context(), data(t, `{children: {deployment: {status: {replicas: 1}}}}`), now)
	var absent *roots.AbsentError
	g.Expect(errors.As(err, &absent)).To(BeTrue(), "the value's own error comes through: %v", err)
}

func TestTypeErrors(t *testing.T) {
	const secret = "hunter2"
	d := data(t, `{spec: {s: hunter2, num: 3, m: {a: hunter2}, l: [hunter2], b: true, re: "[hunter2"}}`)
	tests := map[string]string{
		`{field: spec.s, greaterThan: 3}`:                        `comparing "spec.s" by gt: the field is a string, the value a number`,
		`{field: spec.s, between: "1,2"}`:                        `comparing "spec.s" by between: the field is a string, the value a number`,
		`{field: spec.b, lessThan: 1Gi}`:                         `comparing "spec.b" by lt: the field is a boolean, the value a quantity`,
		`{field: spec.s, equals: 3, valueType: int}`:             `comparing "spec.s" by equals: the field is a string, the value a number, to be compared as int`,
		`{field: spec.l, contains: 3, valueType: int}`:           `comparing "spec.l" by contains: the field is a string, the value a number, to be compared as int`,
		`{field: spec.num, prefix: a}`:                           `comparing "spec.num" by prefix: the field is a number, the value a string`,
		`{field: spec.m, prefix: a, valueType: string}`:          `comparing "spec.m" by prefix: the field is an object, the value a string, to be compared as string`,
		`{field: spec.m, contains: a}`:                           `comparing "spec.m" by contains: the field is an object, the value a string`,
		`{field: spec.num, regex: a}`:                            `comparing "spec.num" by regex: the field is a number, the value a string`,
		`{field: spec.s, olderThan: 5m}`:                         `comparing "spec.s" by olderThan: the field is a string, not an RFC 3339 time`,
		`{field: spec.num, greaterThan: "{{ .spec.s }}"}`:        `comparing "spec.num" by gt: wrong value: wants a number, quantity, duration or RFC 3339 time, got a string`,
		`{field: spec.s, regex: "{{ .spec.re }}"}`:               `comparing "spec.s" by regex: wrong value: not a regular expression (RE2): missing closing ]`,
		`{field: spec.s, between: ["{{ .spec.num }}", 1]}`:       `comparing "spec.s" by between: wrong value: min is greater than max`,
		`{field: spec.num, typeOf: "{{ .spec.s }}"}`:             `comparing "spec.num" by typeOf: wrong value: wants one of string, number, boolean, object, array, null`,
		`{field: spec.num, in: "{{ .spec.m }}"}`:                 `comparing "spec.num" by in: wrong value: wants a list or a comma-separated string, got an object`,
		`{field: spec.num, in: "{{ .spec.s }}", valueType: int}`: `comparing "spec.num" by in: wrong value: a string can't be converted to int`,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := compile(t, text).Eval(t.Context(), d, now)
			var typeErr *TypeError
			g.Expect(errors.As(err, &typeErr)).To(BeTrue())
			g.Expect(err).To(MatchError(want))
			g.Expect(err.Error()).NotTo(ContainSubstring(secret))
		})
	}
}

func TestCompileErrors(t *testing.T) {
	tests := map[string]struct {
		test string
		want []string // what the error says, each in one of them
	}{
		"nothing":                 {`{}`, []string{"when[0].field: Required", "when[0].operator: Required"}},
		"no operator":             {`{field: spec.tls, value: true}`, []string{"when[0].operator: Required"}},
		"unknown operator":        {`{field: spec.tls, operator: equal, value: true}`, []string{`when[0].operator: Invalid value: "equal": unknown operator, did you mean "equals"? (valid: equals, `}},
		"short form as operator":  {`{field: spec.tls, operator: greaterThan, value: 1}`, []string{`did you mean "gt"?`}},
		"two short forms":         {`{field: spec.tls, equals: 1, lessThan: 2}`, []string{`when[0]: Invalid value: "equals, lessThan": give one short form`}},
		"operator and short form": {`{field: spec.tls, operator: equals, equals: 1}`, []string{"when[0].equals: Forbidden"}},
		"value and short form":    {`{field: spec.tls, value: 1, equals: true}`, []string{`when[0].value: Forbidden: "equals" already holds the value`}},
		"no value":                {`{field: spec.tls, operator: equals}`, []string{"when[0].value: Required value: equals needs a value; notExists tests for absence"}},
		"null":                    {`{field: spec.tls, operator: equals, value: null}`, []string{"when[0].value: Required"}},
		"exists with a text":      {`{field: spec.tls, exists: "yes"}`, []string{`when[0].exists: Invalid value: "yes": wants true, false or nothing`}},
		"valueType of exists":     {`{field: spec.tls, exists: true, valueType: int}`, []string{"when[0].valueType: Forbidden: exists takes no valueType"}},
		"valueType of gt":         {`{field: spec.replicas, greaterThan: 1, valueType: bool}`, []string{`when[0].valueType: Unsupported value: "bool"`}},
		"unknown valueType":       {`{field: spec.replicas, equals: 1, valueType: integer}`, []string{`when[0].valueType: Unsupported value: "integer"`}},
		"unknown field":           {`{field: spec.replcas, equals: 1}`, []string{"when[0].field: Invalid value: \"spec.replcas\""}},
		"int field, word":         {`{field: spec.replicas, equals: abc}`, []string{`when[0].equals: Invalid value: "abc": a string can't be converted to integer, the field's type`}},
		"int field, fraction":     {`{field: spec.replicas, equals: 1.5}`, []string{"can't be converted to integer"}},
		"int field, in":           {`{field: spec.replicas, in: "1,two"}`, []string{"can't be converted to integer"}},
		"int field, duration":     {`{field: spec.replicas, greaterThan: 1h}`, []string{"a duration can't be compared with the field's type, integer"}},
		"int field, range":        {`{field: spec.replicas, between: "1h,2h"}`, []string{"a duration can't be compared"}},
		"int field as time":       {`{field: spec.replicas, greaterThan: "2026-03-01T11:00:00Z", valueType: time}`, []string{"the field's type, integer, can't be converted to time"}},
		"number field, word":      {`{field: spec.ratio, equals: abc}`, []string{"can't be converted to number"}},
		"bool field, number":      {`{field: spec.tls, equals: 1}`, []string{"a number can't be converted to boolean"}},
		"bool field, gt":          {`{field: spec.tls, greaterThan: 1}`, []string{"the field's type, boolean, has no order"}},
		"bool field, gt template": {`{field: spec.tls, greaterThan: "{{ .spec.replicas }}"}`, []string{"the field's type, boolean, has no order"}},
		"string field, list":      {`{field: spec.name, equals: [a]}`, []string{"an array can't be converted to string"}},
		"string field, gt word":   {`{field: spec.name, greaterThan: abc}`, []string{"wants a number, quantity, duration or RFC 3339 time, got a string"}},
		"int field, prefix":       {`{field: spec.replicas, prefix: a}`, []string{"the field's type is integer, not string"}},
		"list field, contains":    {`{field: spec.ports, contains: http}`, []string{"can't be converted to integer"}},
		"list field, equals":      {`{field: spec.ports, equals: 80}`, []string{"a number can't be converted to array"}},
		"object field, equals":    {`{field: spec.free, equals: 80}`, []string{"a number can't be converted to object"}},
		"int field, olderThan":    {`{field: spec.replicas, olderThan: 5m}`, []string{"the field's type is integer, not an RFC 3339 time"}},
		"valueType int, word":     {`{field: spec.name, equals: abc, valueType: int}`, []string{"a string can't be converted to int"}},
		"regex":                   {`{field: spec.name, regex: "["}`, []string{"when[0].regex: Invalid value: \"[\": not a regular expression (RE2): missing closing ]"}},
		"regex of a list":         {`{field: spec.name, regex: [a]}`, []string{"wants a regular expression, got an array"}},
		"prefix of a list":        {`{field: spec.name, prefix: [a]}`, []string{"wants a string, got an array"}},
		"typeOf":                  {`{field: spec.name, typeOf: strng}`, []string{`wants one of string, number, boolean, object, array, null, did you mean "string"?`}},
		"one limit":               {`{field: spec.replicas, between: 1}`, []string{`wants "min,max" or a list of two values`}},
		"three limits":            {`{field: spec.replicas, between: [1, 2, 3]}`, []string{`wants "min,max"`}},
		"limits of two kinds":     {`{field: spec.name, between: "1,1h"}`, []string{"min is a number, max a duration"}},
		"limits turned round":     {`{field: spec.replicas, between: "3,1"}`, []string{"min is greater than max"}},
		"in a map":                {`{field: spec.name, in: {a: 1}}`, []string{"wants a list or a comma-separated string, got an object"}},
		"olderThan a word":        {`{field: metadata.creationTimestamp, olderThan: soon}`, []string{"wants a duration such as 90s, 5m, 12h or 7d, got a string"}},
		"all that is wrong":       {`{field: spec.replcas, equals: 1, valueType: x}`, []string{"when[0].field", "when[0].valueType"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, errs := Compile(read[v1alpha1.Test](t, tt.test), expr.NewScope(schema()), field.NewPath("when").Index(0))
			g.Expect(c).To(BeNil())
			g.Expect(errs).To(HaveLen(len(tt.want)), "%v", errs)
			for i, want := range tt.want {
				g.Expect(errs[i].Error()).To(ContainSubstring(want))
			}
		})
	}
}

func TestWhatTheSchemaAllowsCompiles(t *testing.T) {
	for _, text := range []string{
		`{field: spec.replicas, equals: "3"}`, `{field: spec.replicas, equals: 3.0}`, `{field: spec.replicas, greaterThan: 500Mi}`,
		`{field: spec.ratio, between: "0.5,1"}`, `{field: spec.tls, equals: "true"}`, `{field: spec.name, equals: 3}`, `{field: spec.port, equals: http}`,
		`{field: spec.replicas, prefix: 1, valueType: string}`, `{field: spec.tls, notIn: [true]}`, `{field: spec.ports, contains: "80"}`,
		`{field: spec.ports, equals: [80]}`, `{field: spec.free, equals: {a: 1}}`, `{field: spec.free.anything.below, equals: 1}`,
		`{field: spec.replicas, equals: "{{ .spec.name }}"}`, `{field: spec.name, olderThan: 1d}`, `{field: spec.replicas, operator: notExists}`,
	} {
		_, errs := Compile(read[v1alpha1.Test](t, text), expr.NewScope(schema()), field.NewPath("when"))
		NewWithT(t).Expect(errs).To(BeEmpty(), text)
	}
}

func TestNextFlip(t *testing.T) {
	since := now.Add(-time.Hour)
	tests := map[string]struct {
		at   time.Time
		want bool // of olderThan: 2h
		flip time.Time
	}{
		"before":                 {now, false, since.Add(2 * time.Hour)},
		"just before":            {since.Add(2*time.Hour - 1), false, since.Add(2 * time.Hour)},
		"at the moment it flips": {since.Add(2 * time.Hour), true, time.Time{}},
		"after":                  {since.Add(3 * time.Hour), true, time.Time{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := expr.Data{"spec": map[string]any{"since": since.Format(time.RFC3339)}}
			older, err := compile(t, `{field: spec.since, olderThan: 2h}`).Eval(t.Context(), d, tt.at)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(older.True).To(Equal(tt.want))
			younger, err := compile(t, `{field: spec.since, youngerThan: 2h}`).Eval(t.Context(), d, tt.at)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(younger.True).To(Equal(!tt.want))
			g.Expect([]time.Time{older.NextFlip.UTC(), younger.NextFlip.UTC()}).To(Equal([]time.Time{tt.flip, tt.flip}))
		})
	}
}

func TestWhatAMessageShows(t *testing.T) {
	const d = `{spec: {num: 1, s: "a b", nl: "a\nb", long: "` + "äääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää" + `", m: {a: 1}, e: "", t: "2026-03-01T11:00:00Z"},
		children: {deployment: {status: {readyReplicas: 1}}, secret: {data: {password: hunter2}, stringData: {password: hunter2}}, configmap: {data: {k: hunter2}}},
		external: {quota: {body: hunter2, status: 200}}, cross: {db: {spec: {password: hunter2}}}, item: hunter2}`
	tests := map[string][2]string{ // wanted, actual
		`{field: spec.num, equals: 3}`:                                                 {"equals 3", "1"},
		`{field: spec.num, greaterThanOrEqual: 2}`:                                     {"at least 2", "1"},
		`{field: spec.num, greaterThanOrEqual: 2, negate: true}`:                       {"not (at least 2)", "1"},
		`{field: spec.num, in: [2, "x"]}`:                                              {"one of 2, x", "1"},
		`{field: spec.num, between: "2,5"}`:                                            {"between 2,5", "1"},
		`{field: spec.num, exists: false}`:                                             {"no value", "1"},
		`{field: spec.s, equals: ""}`:                                                  {`equals ""`, "a b"},
		`{field: spec.nl, equals: "x\ny"}`:                                             {`equals "x\ny"`, `"a\nb"`},
		`{field: spec.e, equals: {b: 1, a: [x]}}`:                                      {`equals {"a":["x"],"b":1}`, `""`},
		`{field: spec.m, equals: {a: 2}}`:                                              {`equals {"a":2}`, "object"},
		`{field: spec.t, olderThan: 7d}`:                                               {"older than 7d", "2026-03-01T11:00:00Z"},
		`{field: spec.missing, equals: 1}`:                                             {"equals 1", "absent"},
		`{field: children.deployment.status.readyReplicas, equals: "{{ .spec.num }}"}`: {"equals 1", "1"},
		`{field: "{{ .children.deployment.status.readyReplicas }}", equals: 3}`:        {"equals 3", "1"},
		`{field: children.secret.data.password, equals: x}`:                            {"equals x", "a string"},
		`{field: children.secret.stringData.password, equals: x}`:                      {"equals x", "a string"},
		`{field: "{{ .children.secret.data.password }}", equals: x}`:                   {"equals x", "a string"},
		`{field: children.secret.data, typeOf: string}`:                                {"type string", "an object"},
		`{field: children.secret, typeOf: string}`:                                     {"type string", "object"},
		`{field: "a {{ toJson .children.secret }}", equals: x}`:                        {"equals x", "a string"},
		`{field: children.configmap.data.k, equals: x}`:                                {"equals x", "a string"},
		`{field: external.quota.body, equals: x}`:                                      {"equals x", "a string"},
		`{field: external.quota.status, equals: 201}`:                                  {"equals 201", "200"},
		`{field: cross.db.spec.password, equals: x}`:                                   {"equals x", "a string"},
		`{field: item, equals: x}`:                                                     {"equals x", "a string"},
		`{field: spec.s, equals: "{{ .children.secret.data.password }}"}`:              {"equals {{ .children.secret.data.password }}", "a b"},
		`{field: spec.s, in: ["{{ .external.quota.body }}"]}`:                          {`one of ["{{ .external.quota.body }}"]`, "a b"},
		`{field: spec.s, equals: "{{ .cross.db.spec.password }}"}`:                     {"equals {{ .cross.db.spec.password }}", "a b"},
		`{field: spec.long, equals: ` + strings.Repeat("ä", 200) + `}`:                 {"equals " + strings.Repeat("ä", 120) + "…", strings.Repeat("ä", 63) + "…"},
		`{field: spec.s, equals: "{{ .spec.s }}", negate: true}`:                       {"not (equals a b)", "a b"},
		`{field: children.deployment.status.missing, greaterThan: "{{ .spec.none }}"}`: {"more than {{ .spec.none }}", "absent"},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			v, err := compile(t, text).Eval(t.Context(), data(t, d), now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([2]string{v.Wanted, v.Actual}).To(Equal(want))
			g.Expect(v.Wanted + v.Actual).NotTo(ContainSubstring("hunter2"))
		})
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	const d = `{spec: {s: x}, external: {quota: {body: hunter2}}, children: {
		secret: {metadata: {name: a}, data: {password: hunter2}}, secrets: {status: {data: {status: hunter2}}, spec: {data: {spec: {x: hunter2}}}}}}`
	for _, template := range []string{
		`{{ .children.secret.data.password }}`, `a {{ .children.secret.data.password }}`, `{{ .children.secret.data.password | upper | lower }}`,
		`{{ with .children.secret }}{{ .data.password }}{{ end }}`, `{{ with .children.secret.data }}{{ .password }}{{ end }}`,
		`{{ $s := .children.secret }}{{ $s.data.password }}`, `{{ range $k, $v := .children.secret.data }}{{ $v }}{{ end }}`,
		`{{ range .children.secrets }}{{ toJson . }}{{ end }}`, `{{ index .children.secret "data" "password" }}`,
		`{{ index .children.secrets "status" "data" "status" }}`, `{{ (index .children.secrets "spec").data.spec.x }}`, `{{ toJson .children.secrets.status }}`,
		`{{ toJson .children.secrets.spec }}`, `{{ toJson .children.secret }}`, `{{ toJson .children }}`, `{{ toJson . }}`, `{{ index .children "secret" | toJson }}`,
		`{{ get .children.secret "data" | toJson }}`, `{{ get .children.secrets "status" | toJson }}`, `{{ .external.quota.body }}`,
		`{{ printf "%s" .children.secret.data.password }}`, `{{ define "x" }}{{ .data.password }}{{ end }}{{ template "x" .children.secret }}`,
	} {
		for _, test := range []v1alpha1.Test{
			{Field: template, ShortForms: v1alpha1.ShortForms{Equals: &apiextensionsv1.JSON{Raw: []byte(`"x"`)}}},
			{Field: "spec.s", ShortForms: v1alpha1.ShortForms{Equals: &apiextensionsv1.JSON{Raw: []byte(strconv.Quote(template))}}},
			{Field: template, ShortForms: v1alpha1.ShortForms{GreaterThan: &apiextensionsv1.JSON{Raw: []byte("1")}}},
			{Field: "spec.s", ShortForms: v1alpha1.ShortForms{GreaterThan: &apiextensionsv1.JSON{Raw: []byte(strconv.Quote(template))}}},
		} {
			g := NewWithT(t)
			c, errs := Compile(test, expr.NewScope(nil).WithRoots("external"), field.NewPath("when"))
			g.Expect(errs).To(BeEmpty(), template)
			v, err := c.Eval(t.Context(), data(t, d), now)
			g.Expect(fmt.Sprint(v, err)).NotTo(ContainSubstring("hunter"), template)
			g.Expect(c.Waits()).To(BeTrue(), template)
		}
	}
}

func TestWaitsAndPaths(t *testing.T) {
	tests := map[string]struct {
		waits bool
		paths []expr.Path
	}{
		`{field: spec.tls, equals: true}`:                                       {false, []expr.Path{{"spec", "tls"}}},
		`{field: status.phase, equals: "{{ .metadata.name }}"}`:                 {false, []expr.Path{{"status", "phase"}, {"metadata", "name"}}},
		`{field: spec.a, in: ["{{ .spec.a }}", "{{ .spec.b }}"]}`:               {false, []expr.Path{{"spec", "a"}, {"spec", "b"}}},
		`{field: children.deployment.status.replicas, equals: 1}`:               {true, []expr.Path{{"children", "deployment", "status", "replicas"}}},
		`{field: cross.db.status.phase, equals: a}`:                             {true, []expr.Path{{"cross", "db", "status", "phase"}}},
		`{field: external.quota.status, equals: 200}`:                           {true, []expr.Path{{"external", "quota", "status"}}},
		`{field: spec.a, equals: "{{ .children.deployment.status.replicas }}"}`: {true, []expr.Path{{"spec", "a"}, {"children", "deployment", "status", "replicas"}}},
		`{field: metadata.creationTimestamp, olderThan: 5m}`:                    {true, []expr.Path{{"metadata", "creationTimestamp"}}},
		`{field: "metadata.annotations['a.b/c']", exists: true}`:                {false, []expr.Path{{"metadata", "annotations", "a.b/c"}}},
	}
	for text, tt := range tests {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			c := compile(t, text)
			g.Expect(c.Waits()).To(Equal(tt.waits))
			g.Expect(c.Paths()).To(Equal(tt.paths))
		})
	}
}

func TestOperator(t *testing.T) {
	g := NewWithT(t)
	g.Expect(compile(t, `{field: spec.a, exists: false}`).Operator()).To(Equal(v1alpha1.OperatorNotExists))
	g.Expect(compile(t, `{field: spec.a, notExists: false}`).Operator()).To(Equal(v1alpha1.OperatorExists))
	g.Expect(compile(t, `{field: spec.a, greaterThan: 1}`).Operator()).To(Equal(v1alpha1.OperatorGt))
}

func TestEvalIsCheap(t *testing.T) {
	d := data(t, `{spec: {num: 3, s: abc, size: 500Mi}}`)
	for _, text := range []string{
		`{field: spec.num, greaterThan: 1}`, `{field: spec.s, equals: abc}`, `{field: spec.num, in: [1, 2, 3]}`, `{field: spec.size, lessThan: 1Gi}`,
	} {
		c := compile(t, text)
		NewWithT(t).Expect(testing.AllocsPerRun(100, func() {
			if _, err := c.Eval(t.Context(), d, now); err != nil {
				t.Fatal(err)
			}
		})).To(BeNumerically("<=", 1), text)
	}
}

func BenchmarkEval(b *testing.B) {
	d := data(b, `{spec: {num: 3, s: abc, size: 500Mi, since: "2026-03-01T11:00:00Z"}}`)
	for _, text := range []string{`{field: spec.num, greaterThan: 1}`, `{field: spec.s, equals: abc}`, `{field: spec.size, lessThan: 1Gi}`, `{field: spec.since, olderThan: 1d}`} {
		c := compile(b, text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Eval(b.Context(), d, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestActualOfALongValue(t *testing.T) {
	g := NewWithT(t)
	g.Expect(showActual([]any{"a", int64(1), true}, viewValue)).To(Equal("[a, 1, true]"))
	g.Expect(showActual([]any{}, viewValue)).To(Equal("empty array"))
	g.Expect(showActual([]any{map[string]any{}}, viewValue)).To(Equal("array"))
	g.Expect(showActual(make([]any, maxItems+1), viewValue)).To(Equal("array"))
	g.Expect(showActual([]any{"secret"}, viewType)).To(Equal("an array"))
}

// TestActualOfWhatAFunctionMakes: of children true and false are shown, and of what others own nothing is.
func TestActualOfWhatAFunctionMakes(t *testing.T) {
	for condition, want := range map[string]string{
		`{field: "{{ jobSucceeded .children.job }}", equals: true}`:            "{{ jobSucceeded .children.job }}: wanted equals true, actual false",
		`{field: "{{ readyReplicas .children.deployment }}", gte: 1}`:          "actual a number",
		`{field: "{{ toJson .children.job }}", equals: a}`:                     "actual a string",
		`{field: "{{ hasKey .children.configmap.data \"a\" }}", equals: true}`: "actual false",
	} {
		t.Run(condition, func(t *testing.T) {
			g := NewWithT(t)
			condition = strings.Replace(condition, "gte:", "greaterThanOrEqual:", 1)
			r, err := gate(t, `{when: [`+condition+`]}`).Eval(t.Context(), data(t,
				`{children: {job: {status: {}}, deployment: {status: {}}, configmap: {data: {}}}}`), now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Message()).To(ContainSubstring(want))
		})
	}
	g := NewWithT(t)
	job, cross := expr.Path{"children", "job"}, expr.Path{"cross", "settings"}
	g.Expect(showActual(true, viewOf([]expr.Path{job}, false))).To(Equal("true"))
	g.Expect(showActual(true, viewOf([]expr.Path{job, cross}, false))).To(Equal("a boolean"))
}
