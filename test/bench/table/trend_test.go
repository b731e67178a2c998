package table

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// hourly are values that were measured each hour.
func hourly(values ...float64) []Point {
	var points []Point
	for i, v := range values {
		points = append(points, Point{time.Duration(i) * time.Hour, v})
	}
	return points
}

func TestTrend(t *testing.T) {
	for name, tc := range map[string]struct {
		points      []Point
		slope, half float64
	}{
		"worked out by hand":               {hourly(1, 3, 2, 5, 4), 0.8, 3.182 * math.Sqrt(3.6/3/10)},
		"by the hour, not by the sample":   {[]Point{{0, 0}, {time.Minute, 1}, {2 * time.Minute, 2}, {3 * time.Minute, 3}}, 60, 0},
		"it falls":                         {hourly(8, 6, 4, 2), -2, 0},
		"always the same":                  {hourly(7, 7, 7, 7), 0, 0},
		"it does not matter when it began": {[]Point{{9 * time.Hour, 5}, {10 * time.Hour, 6}, {11 * time.Hour, 7}, {12 * time.Hour, 8}}, 1, 0},
		"three have no error":              {hourly(1, 2, 4), 1.5, math.Inf(1)},
		"all at one time":                  {[]Point{{0, 1}, {0, 2}, {0, 3}, {0, 4}}, 0, math.Inf(1)},
		"none":                             {nil, 0, math.Inf(1)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			trend := NewTrend(tc.points)
			g.Expect(trend.Slope).To(BeNumerically("~", tc.slope, 1e-9))
			if math.IsInf(tc.half, 1) {
				g.Expect(math.IsInf(trend.Half, 1)).To(BeTrue())
				return
			}
			g.Expect(trend.Half).To(BeNumerically("~", tc.half, 1e-6))
		})
	}
}

// The interval is to hold the true slope in 95 of 100 cases.
func TestTheIntervalOfATrendHoldsTheSlope(t *testing.T) {
	const runs, slope = 2000, 3.0
	random, held := rand.New(rand.NewPCG(1, 2)), 0
	for range runs {
		var points []Point
		for i := range 20 {
			points = append(points, Point{time.Duration(i) * time.Hour, slope*float64(i) + 5*random.NormFloat64()})
		}
		if trend := NewTrend(points); math.Abs(trend.Slope-slope) <= trend.Half {
			held++
		}
	}
	NewWithT(t).Expect(float64(held) / runs).To(BeNumerically("~", 0.96, 0.015))
}

func TestMeans(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Means(hourly(1, 3, 5, 7, 9), 2)).To(Equal([]Point{{30 * time.Minute, 2}, {3 * time.Hour, 7}}))
	g.Expect(Means(hourly(1, 2), 4)).To(Equal(hourly(1, 2)), "no group is empty")
	g.Expect(Means(nil, 4)).To(BeEmpty())
}

func TestVerdictOfATrend(t *testing.T) {
	row := Row{Unit: "KiB/h", Bound: NotAbove(0)}
	for name, tc := range map[string]struct {
		trend   Trend
		figure  string
		verdict Verdict
	}{
		"it rises":            {Trend{5, 4}, "5 ± 4 KiB/h", Short},
		"nobody can tell":     {Trend{5, 6}, "5 ± 6 KiB/h", Pass},
		"it falls":            {Trend{-5, 1}, "-5 ± 1 KiB/h", Pass},
		"it never moves":      {Trend{0, 0}, "0 ± 0 KiB/h", Pass},
		"there is no error":   {Trend{0, math.Inf(1)}, "0 KiB/h (too few samples)", Undecided},
		"just above, for all": {Trend{5, 4.999}, "5 ± 5 KiB/h", Short},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			table := New([]Row{{ID: "soak.heap", Name: "heap", Unit: row.Unit, Bound: row.Bound, By: "soak"}}, "orkestra")
			table.Began("soak")
			table.AddTrend("soak.heap", "orkestra", tc.trend)
			g.Expect(table.Markdown("")).To(ContainSubstring("| ≤ 0 KiB/h, within the error | " + tc.figure + " | " + string(tc.verdict) + " |"))
			table.MissStep("soak", "soak", "orkestra", "it ended")
			g.Expect(table.Markdown("")).NotTo(ContainSubstring("it ended"), "what has a trend was measured")
		})
	}
}
