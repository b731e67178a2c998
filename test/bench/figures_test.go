package bench_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// figures are what a benchmark found, beside what was asked for.
type figures struct{ lines []string }

// add notes a figure. limit is the budget; the figure is short of it where it is greater.
func (f *figures) add(what string, figure, limit float64, unit string) {
	verdict := "pass"
	if figure > limit {
		verdict = "short"
	}
	f.lines = append(f.lines, fmt.Sprintf("| %s | %.4g %s | ≤ %.4g %s | %s |", what, figure, unit, limit, unit, verdict))
}

// atLeast notes a figure that is short of its budget where it is smaller.
func (f *figures) atLeast(what string, figure, limit float64, unit string) {
	verdict := "pass"
	if figure < limit {
		verdict = "short"
	}
	f.lines = append(f.lines, fmt.Sprintf("| %s | %.4g %s | ≥ %.4g %s | %s |", what, figure, unit, limit, unit, verdict))
}

// note adds a figure without a budget.
func (f *figures) note(what string, figure float64, unit string) {
	f.lines = append(f.lines, fmt.Sprintf("| %s | %.4g %s | – | – |", what, figure, unit))
}

// print shows the table.
func (f *figures) print(b *testing.B) {
	b.Helper()
	fmt.Println("\n| figure | measured | budget | |\n|---|---|---|---|\n" + strings.Join(f.lines, "\n"))
}

// times are how long one thing took, again and again.
type times []time.Duration

// quantile gives the time that a share of all stayed below.
func (t times) quantile(q float64) float64 {
	sorted := slices.Sorted(slices.Values(t))
	return float64(sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]) / float64(time.Millisecond)
}
