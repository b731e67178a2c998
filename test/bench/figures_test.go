package bench_test

import (
	"slices"
	"time"
)

// times are how long one thing took, again and again.
type times []time.Duration

// quantile gives the time that a share of all stayed below.
func (t times) quantile(q float64) float64 {
	sorted := slices.Sorted(slices.Values(t))
	return float64(sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]) / float64(time.Millisecond)
}
