// Package table is what a run of the benchmarks comes to: rows that are data, figures of one or more contestants, and one table in Markdown
// that has every row, also those that were not measured, with the reason.
package table

import (
	"fmt"
	"strconv"
)

// Row is one line of the table.
type Row struct {
	// ID names the row: a step of a benchmark, a dot, and what is measured in it.
	ID string
	// Name says what is measured, for people.
	Name string
	// Unit of the figures; empty: a count.
	Unit string
	// Bound is the budget. The zero value is none.
	Bound Bound
	// Exact says that the figure is a count, which other work on the machine does not change: one turn decides, and the worst one counts.
	Exact bool
	// By names the benchmark that measures the row; empty: none does yet, and Missing says why.
	By string
	// Missing says why nothing measures the row.
	Missing string
	// Ratio makes the row from figures of two contestants in the same turns, instead of figures of its own.
	Ratio *Ratio
}

// Ratio divides the figures of a row by those that another contestant has in the same turns.
type Ratio struct {
	// Row whose figures are divided.
	Row string
	// By names the contestant whose figures they are divided by.
	By string
}

// Bound is a budget.
type Bound struct {
	// Limit of the figure.
	Limit float64
	// Kind of the limit.
	Kind BoundKind
}

// BoundKind says on which side of a limit figures are to be.
type BoundKind int

// The kinds of bounds.
const (
	// Unbound is no budget.
	Unbound BoundKind = iota
	// Upper is for figures that are to be at most the limit.
	Upper
	// Lower is for figures that are to be at least the limit.
	Lower
	// Flat is for slopes that are to be at most the limit, as far as can be told: the whole 95 % interval above it is too much.
	Flat
)

// AtMost is a budget that figures must not exceed.
func AtMost(limit float64) Bound { return Bound{limit, Upper} }

// AtLeast is a budget that figures must reach.
func AtLeast(limit float64) Bound { return Bound{limit, Lower} }

// NotAbove is a budget that slopes exceed only where all of their 95 % interval does.
func NotAbove(limit float64) Bound { return Bound{limit, Flat} }

// holds says whether a figure keeps the budget.
func (b Bound) holds(figure float64) bool {
	switch b.Kind {
	case Upper:
		return figure <= b.Limit
	case Lower:
		return figure >= b.Limit
	default:
		return true
	}
}

func (b Bound) text(unit string) string {
	switch b.Kind {
	case Upper:
		return "≤ " + number(b.Limit) + suffix(unit)
	case Lower:
		return "≥ " + number(b.Limit) + suffix(unit)
	case Flat:
		return "≤ " + number(b.Limit) + suffix(unit) + ", within the error"
	default:
		return "–"
	}
}

// number prints three digits, and all of those before the point.
func number(f float64) string {
	if f >= 1000 || f <= -1000 {
		return fmt.Sprintf("%.0f", f)
	}
	return strconv.FormatFloat(round(f), 'f', -1, 64)
}

// round keeps three digits of a figure.
func round(f float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 3, 64), 64)
	if err != nil { // a number that was just printed
		return f
	}
	return rounded
}

func suffix(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}
