package table

import (
	"math"
	"time"
)

// Point is what was measured at one time.
type Point struct {
	// At is how long after the beginning it was measured.
	At time.Duration
	// Value that was measured.
	Value float64
}

// Trend is the straight line that lies closest to points (least squares).
type Trend struct {
	// Slope is how much the line rises in an hour.
	Slope float64
	// Half is how far the ends of the 95 % interval of the slope are from it; infinitely far with fewer than four points.
	Half float64
}

// NewTrend gives the line through points. Points that all have the same time have none: the slope is 0, and the interval has no ends.
func NewTrend(points []Point) Trend {
	var at, value float64
	for _, p := range points {
		at += p.At.Hours() / float64(len(points))
		value += p.Value / float64(len(points))
	}
	var along, both float64
	for _, p := range points {
		along += (p.At.Hours() - at) * (p.At.Hours() - at)
		both += (p.At.Hours() - at) * (p.Value - value)
	}
	if along == 0 {
		return Trend{Half: math.Inf(1)}
	}
	slope := both / along
	free := len(points) - 2 // degrees of freedom: the line has taken two
	if free < fewest-1 {
		return Trend{slope, math.Inf(1)}
	}
	var rest float64
	for _, p := range points {
		off := p.Value - value - slope*(p.At.Hours()-at)
		rest += off * off
	}
	return Trend{slope, studentOf(free) * math.Sqrt(rest/float64(free)/along)}
}

// Means puts points into groups that follow each other, and gives the mean of each. One sample of a process resembles the one before it, so
// that a line through all of them would seem more certain than it is.
func Means(points []Point, groups int) []Point {
	var means []Point
	for i := range groups {
		group := points[i*len(points)/groups : (i+1)*len(points)/groups]
		if len(group) == 0 {
			continue
		}
		var mean Point
		for _, p := range group {
			mean.At += p.At / time.Duration(len(group))
			mean.Value += p.Value / float64(len(group))
		}
		means = append(means, mean)
	}
	return means
}
