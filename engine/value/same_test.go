package value

import (
	"encoding/json"
	"math"
	"testing"

	. "github.com/onsi/gomega"
)

func TestComparable(t *testing.T) {
	g := NewWithT(t)
	for _, tc := range []struct{ in, want any }{
		{3.0, int64(3)}, {3, int64(3)}, {int32(3), int64(3)}, {json.Number("3.0"), int64(3)}, {3.5, 3.5}, {1e17, int64(1e17)},
		{math.Copysign(0, -1), int64(0)}, {float64(1 << 63), float64(1 << 63)}, {-float64(1 << 63), int64(math.MinInt64)}, {1e300, 1e300},
	} {
		n, ok := Comparable(tc.in)
		g.Expect(ok).To(BeTrue(), "%v", tc.in)
		g.Expect(n).To(Equal(tc.want), "%v", tc.in)
	}
	for _, bad := range []any{"1", nil, true, math.NaN(), math.Inf(-1), []any{}} {
		_, ok := Comparable(bad)
		g.Expect(ok).To(BeFalse(), "%v", bad)
	}
}

func TestSame(t *testing.T) {
	g := NewWithT(t)
	tree := func(n any) any { return map[string]any{"a": []any{n, "x", nil, true}} }
	g.Expect(Same(tree(int64(1)), tree(1.0))).To(BeTrue())
	g.Expect(Same(tree(int64(1)), tree("1"))).To(BeFalse())
	for _, other := range []any{
		nil, "a", map[string]any{}, map[string]any{"b": nil}, map[string]any{"a": []any{int64(1)}}, map[string]any{"a": map[string]any{}},
		map[string]any{"a": []any{int64(1), "x", nil, false}}, map[string]any{"a": []any{int64(1), "x", "", true}},
	} {
		g.Expect(Same(tree(int64(1)), other)).To(BeFalse(), "%v", other)
	}
	g.Expect(Same([]byte("x"), []byte("x"))).To(BeTrue(), "what JSON has no form for")
}

func TestSameScalar(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b any
		want bool
	}{
		"Floats":           {0.5, 0.5, true},
		"WholeFloat":       {int64(5_000_000_000_000_000_000), 5e18, true},
		"BeyondInt":        {int64(math.MinInt64), float64(1 << 63), false},
		"BeyondInt2":       {float64(1 << 63), float64(1 << 63), true},
		"NotRounded":       {int64(9007199254740993), float64(9007199254740992), false},
		"MinusZero":        {math.Copysign(0, -1), int64(0), true},
		"OtherIntegers":    {3, int32(3), true},
		"JSONNumber":       {json.Number("3.0"), int64(3), true},
		"JSONNumberOther":  {json.Number("3"), int64(4), false},
		"NoNumber":         {json.Number("x"), int64(0), false},
		"BoolAndText":      {true, "true", false},
		"NilAndZero":       {nil, int64(0), false},
		"NilAndNil":        {nil, nil, true},
		"NumberAndText":    {int64(1), "1", false},
		"NotJSONSame":      {[]string{"a"}, []string{"a"}, true},
		"NotJSONDifferent": {[]string{"a"}, []string{"b"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(SameScalar(tc.a, tc.b)).To(Equal(tc.want))
			g.Expect(SameScalar(tc.b, tc.a)).To(Equal(tc.want))
		})
	}
}
