package value_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/value"
)

// JSON and templates name arrays and objects differently; templates show no Go types.
func TestTypeNames(t *testing.T) {
	for _, tc := range []struct {
		v              any
		json, template string
	}{
		{nil, "null", "null"}, {"", "string", "string"}, {true, "boolean", "boolean"}, {int64(1), "number", "number"}, {1.5, "number", "number"},
		{1, "number", "number"}, {int32(1), "number", "number"}, {json.Number("1"), "number", "number"}, {[]any{}, "array", "list"},
		{map[string]any{}, "object", "map"}, {[]string{}, "[]string", "value of another type"}, {uint8(1), "uint8", "value of another type"},
	} {
		g := NewWithT(t)
		g.Expect(value.TypeName(tc.v)).To(Equal(tc.json))
		g.Expect(value.TemplateType(tc.v)).To(Equal(tc.template))
	}
}

func TestIsScalarAndIsJSON(t *testing.T) {
	g := NewWithT(t)
	for _, v := range []any{nil, "", true, int64(1), 1.5} {
		g.Expect(value.IsScalar(v)).To(BeTrue(), "%v", v)
		g.Expect(value.IsJSON(v)).To(BeTrue(), "%v", v)
	}
	for _, v := range []any{[]any{}, map[string]any{}} {
		g.Expect(value.IsScalar(v)).To(BeFalse(), "%v", v)
	}
	for _, v := range []any{math.NaN(), math.Inf(1), 1, []string{}, make(chan int)} {
		g.Expect(value.IsJSON(v)).To(BeFalse(), "%v", v)
	}
}

// Whole takes what was computed as a float; Integer refuses what may have lost digits, and reads text.
func TestWhole(t *testing.T) {
	for _, tc := range []struct {
		v    any
		want int64
		ok   bool
	}{
		{int64(5), 5, true}, {5.0, 5, true}, {-5.0, -5, true}, {1e18, 1e18, true}, {5.5, 0, false}, {1e19, 0, false}, {-1e19, 0, false},
		{math.NaN(), 0, false}, {math.Inf(1), 0, false}, {"5", 0, false}, {nil, 0, false}, {true, 0, false},
	} {
		n, ok := value.Whole(tc.v)
		g := NewWithT(t)
		g.Expect(ok).To(Equal(tc.ok), "%v", tc.v)
		g.Expect(n).To(Equal(tc.want), "%v", tc.v)
	}
	_, ok := value.Integer(1e18)
	NewWithT(t).Expect(ok).To(BeFalse())
}

func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		a, b  any
		order int
		ok    bool
	}{
		{"a", "b", -1, true}, {"b", "a", 1, true}, {"a", "a", 0, true}, {"B", "a", -1, true}, {int64(1), int64(2), -1, true}, {int64(2), 1.5, 1, true},
		{1.0, int64(1), 0, true}, {int64(9007199254740993), 9007199254740992.0, 1, true}, {1e300, int64(math.MaxInt64), 1, true}, {1, int32(2), -1, true},
		{"1", int64(1), 0, false}, {int64(1), "1", 0, false}, {true, false, 0, false}, {nil, nil, 0, false}, {[]any{}, []any{}, 0, false}, {math.NaN(), 1.0, 0, false},
	} {
		order, ok := value.Compare(tc.a, tc.b)
		g := NewWithT(t)
		g.Expect(ok).To(Equal(tc.ok), "%v and %v", tc.a, tc.b)
		if ok {
			g.Expect(order).To(Equal(tc.order), "%v and %v", tc.a, tc.b)
			back, _ := value.Compare(tc.b, tc.a)
			g.Expect(back).To(Equal(-tc.order), "%v and %v", tc.b, tc.a)
		}
	}
}

// Go values become what JSON knows; what has no JSON form is an error.
func TestFromGo(t *testing.T) {
	type words []string
	for _, tc := range []struct{ in, want any }{
		{nil, nil}, {"a", "a"}, {5, int64(5)}, {int8(-5), int64(-5)}, {uint16(5), int64(5)}, {uint64(math.MaxUint64), float64(math.MaxUint64)}, {float32(0.5), 0.5},
		{[]string{"a"}, []any{"a"}}, {words{"a"}, []any{"a"}}, {[]int{1, 2}, []any{int64(1), int64(2)}}, {[][]string{{"a"}}, []any{[]any{"a"}}},
		{map[string]string{"a": "b"}, map[string]any{"a": "b"}}, {90 * time.Second, "1m30s"}, {time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02T03:04:05Z"},
	} {
		g := NewWithT(t)
		v, err := value.FromGo(tc.in)
		g.Expect(err).NotTo(HaveOccurred(), "%v", tc.in)
		if tc.want == nil {
			g.Expect(v).To(BeNil())
			continue
		}
		g.Expect(v).To(Equal(tc.want))
	}
	for want, bad := range map[string]any{
		"the result is not a finite number": math.NaN(), "a chan is no JSON value": make(chan int), "a func is no JSON value": []any{func() {}}[0],
		"a struct is no JSON value": struct{}{},
	} {
		_, err := value.FromGo(bad)
		NewWithT(t).Expect(err).To(MatchError(want))
	}
	_, err := value.FromGo([]float64{1, math.Inf(1)})
	NewWithT(t).Expect(err).To(HaveOccurred())
	_, err = value.FromGo(map[string]any{"a": 1}["b"])
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// Text and Print write numbers as JSON does, Decimal in digits alone.
func TestTexts(t *testing.T) {
	for _, tc := range []struct {
		v                    any
		text, decimal, print string
	}{
		{"a", "a", "a", "a"}, {"", "", "", ""}, {true, "true", "true", "true"}, {int64(-5), "-5", "-5", "-5"}, {1.5, "1.5", "1.5", "1.5"}, {2.0, "2", "2", "2"},
		{1e21, "1e+21", "1000000000000000000000", "1e+21"}, {1e-7, "1e-7", "0.0000001", "1e-7"},
	} {
		g := NewWithT(t)
		text, ok := value.Text(tc.v)
		g.Expect(ok).To(BeTrue())
		g.Expect(text).To(Equal(tc.text))
		text, ok = value.Decimal(tc.v)
		g.Expect(ok).To(BeTrue())
		g.Expect(text).To(Equal(tc.decimal))
		g.Expect(value.Print(tc.v)).To(Equal(tc.print))
	}
	for _, v := range []any{nil, []any{}, map[string]any{}, 5} {
		_, ok := value.Text(v)
		NewWithT(t).Expect(ok).To(BeFalse(), "%v", v)
		_, ok = value.Decimal(v)
		NewWithT(t).Expect(ok).To(BeFalse(), "%v", v)
	}
	for want, v := range map[string]any{"null": nil, `[1,"<"]`: []any{int64(1), "<"}, `{"a":{},"b":null}`: map[string]any{"b": nil, "a": map[string]any{}}, "5": 5} {
		NewWithT(t).Expect(value.Print(v)).To(Equal(want))
	}
	_, err := value.Print(math.NaN())
	NewWithT(t).Expect(err).To(MatchError("a number cannot be written as JSON"))
	NewWithT(t).Expect(value.JSON([]any{int64(1)}, "  ")).To(Equal("[\n  1\n]"))
}

func TestShorten(t *testing.T) {
	g := NewWithT(t)
	g.Expect(value.Shorten(" a \n\t b ")).To(Equal("a b"))
	g.Expect(value.Shorten(strings.Repeat("ä", 64))).To(Equal(strings.Repeat("ä", 64)))
	g.Expect(value.Shorten(strings.Repeat("ä", 65))).To(Equal(strings.Repeat("ä", 63) + "…"))
	g.Expect(value.Shorten("")).To(BeEmpty())
}

// A long name loses its middle before anything else goes, and only where the text is too long.
func TestExcerpt(t *testing.T) {
	name, short := strings.Repeat("a", 100)+"."+strings.Repeat("b", 148), strings.Repeat("a", 40)+"…"+strings.Repeat("b", 22)
	words, tight := strings.Repeat("word ", 40), strings.Repeat("a", 16)+"…"+strings.Repeat("b", 12)
	for text, want := range map[string]string{
		"":                      "",
		name:                    name,
		`"` + name + `": why`:   `"` + name + `": why`,
		name + ": waits for it": short + ": waits for it",
		`services/` + name + `: Deployment "` + name + `": 0 of 1`: `services/` + strings.Repeat("a", 31) + "…" + strings.Repeat("b", 22) + `: Deployment "` + short + `": 0 of 1`,
		name + ": " + words + words:                                short + ": " + (words + words)[:190] + "…",
		// as the API server refuses a name
		`configmaps: ConfigMap "t/` + name + `": ConfigMap "` + name + `" is invalid: [metadata.name: Invalid value: "` + name + `": must be no more than 253 bytes]`: `configmaps: ConfigMap "t/` + strings.Repeat("a", 14) + "…" + strings.Repeat("b", 12) + `": ConfigMap "` + tight + `" is invalid: [metadata.name: Invalid value: "` + tight + `": must be no more than 253 bytes]`,
		`cel "` + words + words + `": why`: (`cel "` + words + words)[:255] + "…", // an expression says more than its ends
		words + words:                      (words + words)[:255] + "…",
		strings.Repeat("ä", 256):           strings.Repeat("ä", 256),
		strings.Repeat("ä", 257):           strings.Repeat("ä", 255) + "…",
		words + words[:56] + "\x1b[2J":     words + words[:55] + "…",
		"a\xffb":                           "a\uFFFDb",
	} {
		g := NewWithT(t)
		got := value.Excerpt(text, 256)
		g.Expect(got).To(Equal(want))
		g.Expect(value.Excerpt(got, 256)).To(Equal(got))
	}
}

// What a terminal would obey is seen instead, and stays as it is when it is made readable again.
func TestReadable(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"plain, ä and 世\n\tb":       "plain, ä and 世\n\tb",
		"\x1b[31mred\x1b[0m":        `\x1b[31mred\x1b[0m`,
		"a\rb\x00\a\x7f":            `a\rb\x00\a\x7f`,
		"\u009b2J":                  `\u009b2J`,
		"no \xff UTF-8, and \x1b c": `no ` + "\uFFFD" + ` UTF-8, and \x1b c`,
	} {
		g := NewWithT(t)
		g.Expect(value.Readable(text)).To(Equal(want))
		g.Expect(value.Readable(want)).To(Equal(want))
	}
}

// What is logged of an error is bounded, and says so.
func TestLoggable(t *testing.T) {
	g := NewWithT(t)
	g.Expect(value.Loggable(nil)).To(Succeed())
	short := errors.New(strings.Repeat("x", 4096))
	g.Expect(value.Loggable(short)).To(BeIdenticalTo(short))
	g.Expect(value.Loggable(errors.New(strings.Repeat("x", 4097)))).To(MatchError(strings.Repeat("x", 4096) + "… (cut: the error has 4097 bytes)"))
	g.Expect(value.Loggable(errors.New("x"+strings.Repeat("ä", 4096)))).To(MatchError("x"+strings.Repeat("ä", 2047)+"… (cut: the error has 8193 bytes)"), "no character is cut")
}

// From a segment on, a capital first letter may stand for a small one; the exact key comes first.
func TestWalk(t *testing.T) {
	data := map[string]any{"spec": map[string]any{"image": "a", "Size": "big", "size": "small", "hosts": []any{"x"}, "nothing": nil}}
	for _, tc := range []struct {
		path value.Path
		fold int
		want any
		read int
	}{
		{value.Path{"spec", "image"}, 2, "a", 2}, {value.Path{"spec", "Image"}, 2, nil, 1}, {value.Path{"spec", "Image"}, 1, "a", 2},
		{value.Path{"spec", "Size"}, 1, "big", 2}, {value.Path{"Spec", "image"}, 1, nil, 0}, {value.Path{"Spec", "image"}, 0, "a", 2},
		{value.Path{"spec", "hosts", "0"}, 3, "x", 3}, {value.Path{"spec", "hosts", "1"}, 3, nil, 2}, {value.Path{"spec", "nothing", "x"}, 3, nil, 1},
		{value.Path{"spec", "image", "x"}, 3, nil, 2},
	} {
		v, read := value.Walk(data, tc.path, tc.fold)
		g := NewWithT(t)
		g.Expect(read).To(Equal(tc.read), "%v", tc.path)
		if tc.want == nil {
			g.Expect(v).To(BeNil(), "%v", tc.path)
			continue
		}
		g.Expect(v).To(Equal(tc.want), "%v", tc.path)
	}
	g := NewWithT(t)
	p := value.Path{"a", "b"}
	g.Expect(p.With("c")).To(Equal(value.Path{"a", "b", "c"}))
	first, second := p.With("c"), p.With("d")
	g.Expect([]string{first[2], second[2]}).To(Equal([]string{"c", "d"}), "one does not overwrite the other")
	g.Expect(value.Path{"a", value.AnyElement, "b"}.Known()).To(Equal(value.Path{"a"}))
	g.Expect(p.Known()).To(Equal(p))
}
