package when

import (
	"math"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestNumbersCompareExactly(t *testing.T) {
	tests := map[string]struct {
		a, b any
		want int
	}{
		"beyond 2^53":                 {int64(9007199254740993), int64(9007199254740992), 1},
		"beyond 2^53 as text":         {"9007199254740993", int64(9007199254740992), 1},
		"beyond 2^53 against a float": {int64(9007199254740993), float64(9007199254740992), 1},
		"a float against it":          {float64(9007199254740992), int64(9007199254740993), -1},
		"above all whole numbers":     {int64(math.MaxInt64), float64(1 << 63), -1},
		"below all whole numbers":     {int64(math.MinInt64), -1.5 * (1 << 63), 1},
		"the least whole number":      {int64(math.MinInt64), float64(-1 << 63), 0},
		"a fraction above":            {int64(3), 3.5, -1},
		"a fraction below zero":       {int64(-3), -3.5, 1},
		"whole as float":              {int64(3), 3.0, 0},
		"text as float":               {"3.50", 3.5, 0},
		"quantities":                  {"500Mi", "0.5Gi", -1},
		"a quantity and a number":     {"1k", int64(1000), 0},
		"a fraction and a quantity":   {1.5, "1500m", 0},
		"durations":                   {"90s", "1m30s", 0},
		"5m is a duration beside 1h":  {"5m", "1h", -1},
		"5m is a quantity beside 5":   {"5m", int64(5), -1},
		"5m and 10m":                  {"5m", "10m", -1},
		"-5m and -10m":                {"-5m", "-10m", 1},
		"days":                        {"1d12h", "36h", 0},
		"zero and a duration":         {"1h", int64(0), 1},
		"times in two zones":          {"2026-03-01T12:00:00+01:00", "2026-03-01T11:00:00Z", 0},
		"times with fractions":        {"2026-03-01T12:00:00.5Z", "2026-03-01T12:00:00Z", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			sign, err := order(tt.a, tt.b, "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(sign).To(Equal(tt.want))
			sign, err = order(tt.b, tt.a, "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(sign).To(Equal(-tt.want))
		})
	}
}

func TestWhatHasNoOrderIsAnError(t *testing.T) {
	tests := map[string]struct {
		a, b any
		want string
	}{
		"a word and a number":   {"many", int64(3), "the field is a string, the value a number"},
		"a quantity and a time": {"500Mi", "2026-03-01T12:00:00Z", "the field is a quantity, the value a time"},
		"a bool":                {true, int64(1), "the field is a boolean, the value a number"},
		"a list":                {[]any{}, int64(1), "the field is an array, the value a number"},
		"a number and 1h":       {int64(5), "1h", "the field is a number, the value a duration"},
		"not a number":          {math.NaN(), int64(1), "the field is a number, the value a number"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := order(tt.a, tt.b, "")
			g.Expect(err).To(MatchError(tt.want))
		})
	}
}

func TestDurations(t *testing.T) {
	valid := map[string]time.Duration{
		"7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "-1d12h": -36 * time.Hour, "+1d": 24 * time.Hour,
		"1h30m": 90 * time.Minute, "0": 0, "106751d": 106751 * 24 * time.Hour,
	}
	for text, want := range valid {
		d, ok := toDuration(text)
		NewWithT(t).Expect(ok).To(BeTrue(), text)
		NewWithT(t).Expect(time.Duration(d.i)).To(Equal(want), text)
	}
	for _, text := range []string{"", "d", "1", "1h2d", "1d-5h", "1d1d", "d1h", "106752d", "106751d23h48m", "-106751d24h", "1 d", "9999999999999d", "nan", strings.Repeat("0h", 40)} {
		_, ok := toDuration(text)
		NewWithT(t).Expect(ok).To(BeFalse(), text)
	}
}

func TestHugeScalarsAreCheap(t *testing.T) {
	g := NewWithT(t)
	digits := strings.Repeat("9", 1<<20)
	for _, text := range []string{"1e999999999", "1e-999999999", "1E+0999", digits, "0." + digits, digits + "Mi", digits + "h", strings.Repeat("1h", 1<<19)} {
		_, err := order(text, "1k", "")
		g.Expect(err).To(HaveOccurred())
	}
	sign, err := order("1e99", "1Ei", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sign).To(Equal(1))
}

func TestNormalize(t *testing.T) {
	g := NewWithT(t)
	g.Expect(normalize(int(3))).To(Equal(int64(3)))
	g.Expect(normalize(int32(3))).To(Equal(int64(3)))
	g.Expect(normalize(uint8(3))).To(Equal(int64(3)))
	g.Expect(normalize([]string{"a"})).To(Equal([]any{"a"}))
	g.Expect(normalize(map[string]int{"a": 1})).To(Equal(map[string]any{"a": int64(1)}))
	g.Expect(normalize(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))).To(Equal("2026-03-01T12:00:00Z"))
	g.Expect(normalize(90 * time.Second)).To(Equal("1m30s"))
	g.Expect(normalize((*int)(nil))).To(BeNil())
	g.Expect(normalize(func() {})).To(BeNil())
	g.Expect(deepEqual([]any{[]string{"a"}}, []any{[]any{"a"}})).To(BeTrue())
}
