package shape

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// tree reads YAML as the JSON tree that a decoder for unstructured objects gives.
func tree(tb testing.TB, text string) (out map[string]any) {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = k8sjson.Unmarshal(data, &out)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestConvertScalars(t *testing.T) {
	var (
		text     = reflect.TypeFor[string]()
		integer  = reflect.TypeFor[int32]()
		long     = reflect.TypeFor[int64]()
		unsigned = reflect.TypeFor[uint8]()
		number   = reflect.TypeFor[float64]()
		boolean  = reflect.TypeFor[bool]()
		either   = reflect.TypeFor[intstr.IntOrString]()
		quantity = reflect.TypeFor[resource.Quantity]()
		instant  = reflect.TypeFor[*metav1.Time]()
		micro    = reflect.TypeFor[metav1.MicroTime]()
		duration = reflect.TypeFor[metav1.Duration]()
		bytes    = reflect.TypeFor[[]byte]()
		raw      = reflect.TypeFor[runtime.RawExtension]()
	)
	type bad struct{ want, got string }
	for name, tc := range map[string]struct {
		in   any
		into reflect.Type
		want any // or bad
	}{
		"text":                             {"a", text, "a"},
		"text from an integer":             {int64(3), text, "3"},
		"text from an int":                 {3, text, "3"},
		"text from a float":                {3.5, text, "3.5"},
		"text from an integral float":      {3.0, text, "3"},
		"text from a big float":            {1e20, text, "100000000000000000000"},
		"text from true":                   {true, text, "true"},
		"number from a large unsigned":     {uint64(math.MaxUint64), number, float64(math.MaxUint64)},
		"number from a small float":        {float32(0.5), number, 0.5},
		"number from true":                 {true, number, bad{"number", "boolean"}},
		"anything from infinity":           {math.Inf(-1), raw, bad{"any JSON value", "number"}},
		"text from an object":              {map[string]any{}, text, bad{"string", "object"}},
		"text from a list":                 {[]any{"a"}, text, bad{"string", "array"}},
		"text from NaN":                    {math.NaN(), text, bad{"string", "number"}},
		"integer":                          {int64(3), integer, int64(3)},
		"integer from text":                {"3", integer, int64(3)},
		"integer from an integral float":   {3.0, integer, int64(3)},
		"integer from an unsigned":         {uint8(3), integer, int64(3)},
		"integer from a fraction":          {3.5, integer, bad{"32-bit integer", "number"}},
		"integer from words":               {"three", integer, bad{"32-bit integer", "string"}},
		"integer from nothing":             {"", integer, bad{"32-bit integer", "string"}},
		"integer from true":                {true, integer, bad{"32-bit integer", "boolean"}},
		"integer too large":                {int64(1) << 31, integer, bad{"32-bit integer", "number"}},
		"integer just not too large":       {int64(1)<<31 - 1, integer, int64(1)<<31 - 1},
		"integer just not too small":       {-int64(1) << 31, integer, -int64(1) << 31},
		"integer from infinity":            {math.Inf(1), long, bad{"integer", "number"}},
		"integer from 2^63":                {math.Pow(2, 63), long, bad{"integer", "number"}},
		"integer from -2^63":               {-math.Pow(2, 63), long, int64(math.MinInt64)},
		"unsigned":                         {"255", unsigned, int64(255)},
		"unsigned too large":               {256, unsigned, bad{"8-bit integer that is not negative", "number"}},
		"unsigned below 0":                 {-1, unsigned, bad{"8-bit integer that is not negative", "number"}},
		"number":                           {1.5, number, 1.5},
		"number from an integer":           {1, number, int64(1)},
		"number from text":                 {"1.5", number, 1.5},
		"number from NaN as text":          {"NaN", number, bad{"number", "string"}},
		"boolean":                          {true, boolean, true},
		"boolean from text":                {"false", boolean, false},
		"boolean from yes":                 {"yes", boolean, bad{"boolean", "string"}},
		"boolean from 1":                   {1, boolean, bad{"boolean", "number"}},
		"integer or string from an int":    {8080, either, int64(8080)},
		"integer or string from digits":    {"8080", either, int64(8080)},
		"integer or string from a name":    {"http", either, "http"},
		"integer or string from a percent": {"25%", either, "25%"},
		"integer or string from a boolean": {true, either, bad{"integer or string", "boolean"}},
		"quantity":                         {"500Mi", quantity, "500Mi"},
		"quantity from an integer":         {2, quantity, "2"},
		"quantity from a float":            {0.5, quantity, "0.5"},
		"quantity from a word":             {"lots", quantity, bad{words[FormQuantity] + quantityExamples, "string"}},
		"quantity from true":               {true, quantity, bad{words[FormQuantity] + quantityExamples, "boolean"}},
		"time":                             {"2026-01-02T03:04:05Z", instant, "2026-01-02T03:04:05Z"},
		"time with microseconds":           {"2026-01-02T03:04:05.000001Z", micro, "2026-01-02T03:04:05.000001Z"},
		"time from a word":                 {"today", instant, bad{"RFC 3339 time", "string"}},
		"time from a number":               {5, instant, bad{"RFC 3339 time", "number"}},
		"duration":                         {"1m", duration, "1m"},
		"duration from a number":           {5, duration, bad{"duration", "number"}},
		"base64":                           {"AAE=", bytes, "AAE="},
		"base64 from other text":           {"?", bytes, bad{"base64 string", "string"}},
		"anything":                         {[]string{"a"}, raw, []any{"a"}},
		"anything from a map of ints":      {map[string]int{"a": 1}, raw, map[string]any{"a": int64(1)}},
		"anything from a channel":          {make(chan int), raw, bad{"any JSON value", "chan int"}},
		"text from a channel":              {make(chan int), text, bad{"string", "chan int"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Convert(tc.in, tc.into, "spec.x")
			want, isBad := tc.want.(bad)
			if !isBad {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got).To(Equal(tc.want))
				return
			}
			var problem *FieldError
			g.Expect(errors.As(err, &problem)).To(BeTrue(), "got %v", got)
			g.Expect(problem.Path).To(Equal("spec.x"))
			g.Expect(problem.Want).To(Equal(want.want))
			g.Expect(problem.Got).To(Equal(want.got))
		})
	}
}

func TestConvertTrees(t *testing.T) {
	container := reflect.TypeFor[corev1.Container]()
	for name, tc := range map[string]struct {
		in   string
		into reflect.Type
		want string // or
		err  string
	}{
		"inlined fields":             {`{name: a, emptyDir: {sizeLimit: 1}}`, reflect.TypeFor[corev1.Volume](), `{name: a, emptyDir: {sizeLimit: "1"}}`, ""},
		"nothing is left out of use": {`{name: a, tty: "false", env: [{name: A, value: ""}]}`, container, `{name: a, tty: false, env: [{name: A, value: ""}]}`, ""},
		"the same as absent":         {`{name: a, command: [], args: null, resources: {limits: {}}}`, container, `{name: a, resources: {}}`, ""},
		"objects keep their meaning": {`{name: a, emptyDir: {}}`, reflect.TypeFor[corev1.Volume](), `{name: a, emptyDir: {}}`, ""},
		"an unknown field":           {`{name: a, comand: []}`, container, ``, `at.comand: unknown field, did you mean "command"?`},
		"an unknown field, deep":     {`{env: [{name: A}, {nme: B}]}`, container, ``, `at.env[1].nme: unknown field, did you mean "name"?`},
		"case counts":                {`{Name: a}`, container, ``, `at.Name: unknown field, did you mean "name"?`},
		"nothing near":               {`{zzzzzzzz: a}`, container, ``, `at.zzzzzzzz: unknown field`},
		"null in a list":             {`{env: [null]}`, container, ``, `at.env[0]: want object, got null`},
		"a list for an object":       {`{resources: []}`, container, ``, `at.resources: want object, got array`},
		"an object for a list":       {`{env: {A: b}}`, container, ``, `at.env: want array, got object`},
		"an object for a map":        {`{resources: {limits: {cpu: {}}}}`, container, ``, `at.resources.limits[cpu]: want quantity, such as 500m, 12G or 12Gi, got object`},
		"the first of many":          {`{env: 1, args: 1, command: 1, image: {}}`, container, ``, `at.args: want array, got number`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Convert(tree(t, tc.in), tc.into, "at")
			if tc.err != "" {
				g.Expect(err).To(MatchError(tc.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tree(t, tc.want)))
		})
	}
}

func TestConvertTopLevelPath(t *testing.T) {
	g := NewWithT(t)
	_, err := Convert(map[string]any{"a": "b"}, reflect.TypeFor[[]string](), "")
	g.Expect(err).To(MatchError("want array, got object"))
	_, err = Convert([]any{"a", nil}, reflect.TypeFor[[]string](), "")
	g.Expect(err).To(MatchError("[1]: want string, got null"))
}

func TestFieldErrorHidesValues(t *testing.T) {
	g := NewWithT(t)
	secret := strings.Repeat("ß", 100)
	_, err := Convert(secret, reflect.TypeFor[int](), "a")
	g.Expect(err.Error()).To(Equal("a: want integer, got string"))
	var e *FieldError
	g.Expect(errors.As(err, &e)).To(BeTrue())
	g.Expect(e.Unknown()).To(BeFalse())
	g.Expect(e.WithValue()).To(Equal(`a: want integer, got string "` + strings.Repeat("ß", 64) + `"`))

	_, err = Convert(map[string]any{}, reflect.TypeFor[int](), "a")
	g.Expect(errors.As(err, &e)).To(BeTrue())
	g.Expect(e.WithValue()).To(Equal("a: want integer, got object"))
}

func TestFieldErrorBelow(t *testing.T) {
	at := field.NewPath("spec")
	for name, tc := range map[string]struct {
		in   FieldError
		want string
	}{
		"unknown": {FieldError{Path: "a.b", Got: gotUnknown, Near: "c"}, `spec.a.b: Forbidden: unknown field, did you mean "c"?`},
		"missing": {FieldError{Path: "a", Want: "an image", Got: GotNothing}, `spec.a: Required value: an image`},
		"a value": {FieldError{Path: "a", Want: "integer", Got: "string", Value: "x"}, `spec.a: Invalid value: "x": want integer, got string`},
		"a tree":  {FieldError{Path: "[0]", Want: "integer", Got: "object"}, `spec[0]: Invalid value: "object": want integer`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(tc.in.below(at)).To(MatchError(tc.want))
		})
	}
}

func TestShapesAreSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if s := Of(reflect.TypeFor[corev1.PodTemplate]()); s.Members["template"] == nil {
				t.Error("a shape was given out before it was whole")
			}
		})
	}
	wg.Wait()
}

func TestShapeOfARecursiveType(t *testing.T) {
	type node struct {
		Name string           `json:"name"`
		Next *node            `json:"next"`
		Bare int              // no tag: its own name
		Sub  map[string]*node `json:"sub"`
		Skip string           `json:"-"`
		own  string
	}
	_ = node{own: ""}
	g := NewWithT(t)
	got, err := Convert(tree(t, `{name: 1, next: {next: {name: b}}, Bare: "2", sub: {x: {name: c}}}`), reflect.TypeFor[node](), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(tree(t, `{name: "1", next: {next: {name: b}}, Bare: 2, sub: {x: {name: c}}}`)))
	for _, name := range []string{"Skip", "own"} {
		_, err = Convert(map[string]any{name: "x"}, reflect.TypeFor[node](), "")
		g.Expect(err).To(MatchError(ContainSubstring("unknown field")))
	}
}

func TestMergeJSON(t *testing.T) {
	for name, tc := range map[string]struct{ base, over, want string }{
		"objects are merged":          {`{a: {b: 1, c: 2}}`, `{a: {c: 3}}`, `{a: {b: 1, c: 3}}`},
		"lists are replaced":          {`{a: [1, 2]}`, `{a: [3]}`, `{a: [3]}`},
		"null removes":                {`{a: 1, b: 2}`, `{a: null, c: {d: null}}`, `{b: 2, c: {}}`},
		"an object replaces a scalar": {`{a: 1}`, `{a: {b: 2}}`, `{a: {b: 2}}`},
		"a scalar replaces an object": {`{a: {b: 2}}`, `{a: 1}`, `{a: 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(MergeJSON(tree(t, tc.base), tree(t, tc.over))).To(Equal(tree(t, tc.want)))
		})
	}
}
