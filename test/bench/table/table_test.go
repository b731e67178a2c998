package table

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestVerdict(t *testing.T) {
	for name, tc := range map[string]struct {
		row     Row
		figures []float64
		want    Verdict
	}{
		"no budget":                      {Row{}, []float64{1, 2, 3}, None},
		"no figure":                      {Row{Bound: AtMost(1)}, nil, None},
		"a count that keeps it":          {Row{Bound: AtMost(8), Exact: true}, []float64{8}, Pass},
		"a count whose worst turn fails": {Row{Bound: AtMost(8), Exact: true}, []float64{6, 6, 8.1}, Short},
		"a count that is too small":      {Row{Bound: AtLeast(1), Exact: true}, []float64{1, 0}, Short},
		"far below":                      {Row{Bound: AtMost(10)}, []float64{5, 5.1, 4.9}, Pass},
		"far above":                      {Row{Bound: AtMost(10)}, []float64{15, 15.1, 14.9}, Short},
		"on both sides":                  {Row{Bound: AtMost(10)}, []float64{9, 12, 8}, Undecided},
		"below, but far apart":           {Row{Bound: AtMost(10)}, []float64{2, 9, 5}, Undecided},
		"too few turns":                  {Row{Bound: AtMost(10)}, []float64{1, 1}, Undecided},
		"enough for a lower bound":       {Row{Bound: AtLeast(150)}, []float64{200, 201, 199}, Pass},
		"not enough for a lower bound":   {Row{Bound: AtLeast(150)}, []float64{100, 101, 99}, Short},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(tc.row.verdict(tc.figures)).To(Equal(tc.want))
		})
	}
}

func TestIntervalOfFiveTurns(t *testing.T) {
	g := NewWithT(t)
	mean, half := interval([]float64{1, 2, 3, 4, 5})
	g.Expect(mean).To(BeNumerically("~", 3, 1e-9))
	g.Expect(half).To(BeNumerically("~", 1.963, 1e-3), "2.776 standard errors, which are the square root of a half")
}

func TestEveryRowIsPrintedInItsOrder(t *testing.T) {
	g := NewWithT(t)
	table := New([]Row{
		{ID: "b.requests", Name: "requests", Bound: AtMost(8), Exact: true, By: "sides"},
		{ID: "b.time", Name: "time", Unit: "ms", Bound: AtMost(10), By: "sides"},
		{ID: "b.ratio", Name: "time, of that by hand", Unit: "×", Bound: AtMost(1.25), By: "sides", Ratio: &Ratio{"b.time", "by hand"}},
		{ID: "c.time", Name: "chain", By: "sides"},
		{ID: "d.time", Name: "fight", By: "fight"},
		{ID: "e.time", Name: "churn", Missing: "nothing churns"},
		{ID: "f.time", Name: "end", By: "sides"},
	}, "orkestra", "by hand")
	table.Began("sides")
	table.Add("b.requests", "orkestra", 6.0166)
	for _, took := range []float64{10, 11, 12} {
		table.Add("b.time", "orkestra", took)
		table.Add("b.time", "by hand", 10)
	}
	table.MissStep("sides", "c", "orkestra", "never | within\n20 s")
	table.MissStep("sides", "b", "orkestra", "has figures")
	table.Note("counted %d", 3)
	g.Expect(table.Markdown("head")).To(Equal(strings.TrimLeft(strings.ReplaceAll(`
head

| row | what is measured | budget | orkestra | | by hand | |
|---|---|---|---|---|---|---|
| 'b.requests' | requests | ≤ 8 | 6.02 | pass | – | |
| 'b.time' | time | ≤ 10 ms | 11 ± 2.48 ms | undecided | 10 ± 0 ms | pass |
| 'b.ratio' | time, of that by hand | ≤ 1.25 × | 1.1 ± 0.248 × | undecided | – | |
| 'c.time' | chain | – | not measured: never \| within 20 s | | – | |
| 'e.time' | churn | – | not measured: nothing churns | | – | |
| 'f.time' | end | – | not measured: the benchmark sides ended before | | – | |

This run left out: fight.

- counted 3
`, "'", "`"), "\n")))
}

func TestNamesThatTheTableDoesNotHave(t *testing.T) {
	g := NewWithT(t)
	table := New([]Row{{ID: "a.b"}}, "orkestra")
	g.Expect(func() { table.Add("a.c", "orkestra", 1) }).To(Panic())
	g.Expect(func() { table.Add("a.b", "kro", 1) }).To(Panic())
}

func TestParseMicro(t *testing.T) {
	g := NewWithT(t)
	all, err := ParseMicro(`goos: linux
BenchmarkNoOp-2   	  123456	      9876 ns/op	    2920 B/op	      31 allocs/op
BenchmarkEval/{field:_spec.num,_greaterThan:_1}-2         	 1000	 1.5 ns/op
BenchmarkWithout/pipe5 	 10	 7 ns/op	 0 requests/op
PASS
`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(Equal([]Micro{
		{"BenchmarkNoOp", map[string]float64{"ns/op": 9876, "B/op": 2920, "allocs/op": 31}},
		{"BenchmarkEval/{field:_spec.num,_greaterThan:_1}", map[string]float64{"ns/op": 1.5}},
		{"BenchmarkWithout/pipe5", map[string]float64{"ns/op": 7, "requests/op": 0}},
	}))
	_, err = ParseMicro("BenchmarkX 1 fast ns/op")
	g.Expect(err).To(MatchError(ContainSubstring(`not "fast"`)))
}
