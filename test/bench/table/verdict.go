package table

import (
	"fmt"
	"math"
	"slices"
)

// Verdict is what figures say of a budget.
type Verdict string

// The verdicts.
const (
	// Pass says that the budget is kept.
	Pass Verdict = "pass"
	// Short says that it is not.
	Short Verdict = "short"
	// Undecided says that the figures of the turns differ too much, or are too few, to tell.
	Undecided Verdict = "undecided"
	// None is for rows without a budget, and for figures that are not there.
	None Verdict = ""
)

// fewest is how many turns an interval needs.
const fewest = 3

// student has the factor of the 95 % interval of a mean, by the degrees of freedom, from 2 on. Beyond the end the last one holds, which is
// a little more than it needs to be.
var student = []float64{4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}

// interval gives the mean of figures, and how far the ends of its 95 % interval are from it; infinitely far where there are too few.
func interval(figures []float64) (mean, half float64) {
	for _, f := range figures {
		mean += f / float64(len(figures))
	}
	n := len(figures)
	if n < fewest {
		return mean, math.Inf(1)
	}
	var squares float64
	for _, f := range figures {
		squares += (f - mean) * (f - mean)
	}
	return mean, studentOf(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
}

// studentOf is the factor of the 95 % interval with at least two degrees of freedom.
func studentOf(free int) float64 { return student[min(free-2, len(student)-1)] }

// verdict judges the figures of a row, one for each turn. Times pass if their whole 95 % interval keeps the budget, and are short if none of
// it does.
func (r *Row) verdict(figures []float64) Verdict {
	if r.Bound.Kind == Unbound || len(figures) == 0 {
		return None
	}
	if r.Exact {
		if !slices.ContainsFunc(figures, func(f float64) bool { return !r.Bound.holds(f) }) {
			return Pass
		}
		return Short
	}
	return r.judge(interval(figures))
}

// judge says what a figure whose 95 % interval is known says of the budget.
func (r *Row) judge(mean, half float64) Verdict {
	if r.Bound.Kind == Unbound {
		return None
	}
	if r.Bound.Kind == Flat {
		switch {
		case math.IsInf(half, 1):
			return Undecided
		case mean-half <= r.Bound.Limit:
			return Pass
		default:
			return Short
		}
	}
	switch low, high := r.Bound.holds(mean-half), r.Bound.holds(mean+half); {
	case low && high:
		return Pass
	case !low && !high:
		return Short
	default:
		return Undecided
	}
}

// figure prints the figures of a row: the mean with its 95 % interval, or the range of a count.
func (r *Row) figure(figures []float64) string {
	if r.Exact {
		low, high := number(slices.Min(figures)), number(slices.Max(figures))
		if low == high {
			return low + suffix(r.Unit)
		}
		return low + " to " + high + suffix(r.Unit)
	}
	mean, half := interval(figures)
	if math.IsInf(half, 1) {
		return fmt.Sprintf("%s%s (%d of at least %d turns)", number(mean), suffix(r.Unit), len(figures), fewest)
	}
	return number(mean) + " ± " + number(half) + suffix(r.Unit)
}

// trend prints a figure that has an interval of its own.
func (r *Row) trend(t Trend) string {
	if math.IsInf(t.Half, 1) {
		return number(t.Slope) + suffix(r.Unit) + " (too few samples)"
	}
	return number(t.Slope) + " ± " + number(t.Half) + suffix(r.Unit)
}
