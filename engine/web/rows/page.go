package rows

import (
	"math/bits"
	"slices"

	"github.com/orkspace/orkestra/engine/web/api"
)

// few rows are sorted at once: to divide them further takes longer.
const few = 16

// sortPage brings the rows from one place up to another into their order. Those before them belong before them, those behind them behind, and both
// are in none: to sort all of 50,000 rows for a page of them takes five times as long, wherever the page is.
func sortPage(all []*api.Row, from, to int, compare func(a, b *api.Row) int) {
	if from >= to {
		return
	}
	divide(all, from, compare)
	all = all[from:]
	divide(all, to-from, compare)
	slices.SortFunc(all[:to-from], compare)
}

// divide brings the first n rows before all others (quickselect). Rows in an order that makes that slow are sorted.
func divide(all []*api.Row, n int, compare func(a, b *api.Row) int) {
	for rounds := 2 * bits.Len(uint(len(all))); n > 0 && n < len(all); rounds-- {
		if len(all) <= few || rounds == 0 {
			slices.SortFunc(all, compare)
			return
		}
		at := partition(all, compare)
		switch {
		case n <= at:
			all = all[:at]
		default: // the row at this place is in it
			all, n = all[at+1:], n-at-1
		}
	}
}

// partition brings one of the rows into its place, with those that belong before it on its left, and gives the place.
func partition(all []*api.Row, compare func(a, b *api.Row) int) int {
	last := len(all) - 1
	middle := medianOf(all, 0, last/2, last, compare)
	all[middle], all[last] = all[last], all[middle]
	at := 0
	for i := range last {
		if compare(all[i], all[last]) < 0 {
			all[at], all[i] = all[i], all[at]
			at++
		}
	}
	all[at], all[last] = all[last], all[at]
	return at
}

// medianOf is which of three places has the row that belongs between the other two.
func medianOf(all []*api.Row, a, b, c int, compare func(a, b *api.Row) int) int {
	if compare(all[a], all[b]) > 0 {
		a, b = b, a
	}
	switch {
	case compare(all[b], all[c]) <= 0:
		return b
	case compare(all[a], all[c]) > 0:
		return a
	default:
		return c
	}
}
