package value_test

import (
	"encoding/json"
	"math"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/value"
)

func TestNumber(t *testing.T) {
	g := NewWithT(t)
	for _, tc := range []struct{ in, want any }{
		{"9007199254740993", int64(9007199254740993)}, {json.Number("9007199254740993"), int64(9007199254740993)},
		{int64(9007199254740993), int64(9007199254740993)}, {"-9223372036854775808", int64(math.MinInt64)},
		{"1.5", 1.5}, {1.5, 1.5}, {3, int64(3)}, {int32(3), int64(3)}, {"1e3", 1000.0}, {"9223372036854775808", 9223372036854775808.0},
	} {
		n, ok := value.Number(tc.in)
		g.Expect(ok).To(BeTrue(), "%v", tc.in)
		g.Expect(n).To(Equal(tc.want), "%v", tc.in)
	}
	for _, bad := range []any{"", "x", "NaN", "inf", math.NaN(), math.Inf(1), nil, true, []any{}, "1 "} {
		_, ok := value.Number(bad)
		g.Expect(ok).To(BeFalse(), "%v", bad)
	}
}

func TestInteger(t *testing.T) {
	g := NewWithT(t)
	for _, tc := range []struct {
		in   any
		want int64
	}{
		{"9007199254740993", 9007199254740993}, {3.0, 3}, {9007199254740992.0, 1 << 53}, {int64(7), 7}, {json.Number("9007199254740993"), 9007199254740993},
	} {
		n, ok := value.Integer(tc.in)
		g.Expect(ok).To(BeTrue(), "%v", tc.in)
		g.Expect(n).To(Equal(tc.want))
	}
	for _, bad := range []any{"1.0", "1e3", 1.5, 9007199254740994.0, nil, true} {
		_, ok := value.Integer(bad)
		g.Expect(ok).To(BeFalse(), "%v", bad)
	}
}

func TestCanonical(t *testing.T) {
	g := NewWithT(t)
	for _, tc := range []struct{ in, want any }{
		{3.0, int64(3)}, {3.5, 3.5}, {json.Number("9007199254740993"), int64(9007199254740993)}, {json.Number("3.0"), int64(3)}, {7, int64(7)},
		{"3", "3"}, {nil, nil}, {1e300, 1e300},
	} {
		if tc.want == nil {
			g.Expect(value.Canonical(tc.in)).To(BeNil())
			continue
		}
		g.Expect(value.Canonical(tc.in)).To(Equal(tc.want))
	}
}

func TestBooleanAndText(t *testing.T) {
	g := NewWithT(t)
	for in, want := range map[any]string{"a": "a", true: "true", int64(9007199254740993): "9007199254740993", 1.5: "1.5"} {
		text, ok := value.Text(in)
		g.Expect(ok).To(BeTrue())
		g.Expect(text).To(Equal(want))
	}
	truth, ok := value.Boolean("true")
	g.Expect(truth && ok).To(BeTrue())
	_, ok = value.Boolean("yes")
	g.Expect(ok).To(BeFalse())
	_, ok = value.Text([]any{})
	g.Expect(ok).To(BeFalse())
}
