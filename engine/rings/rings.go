// Package rings finds what leads back to itself: declarations that read each other's children, and boxes that wait for each other. Whether that is a
// mistake is for those to say who know what leading means.
//
// It visits each node and each of its ways once. It calls itself for each step of a way, so that a way may be as long as there are nodes: of a box
// these are hundreds, of a cluster thousands.
package rings

import "slices"

// Of numbers nodes so that two have one number exactly where each leads to the other, if only by way of others (Tarjan's strongly connected
// components). Numbers begin with 1. A node that next gives, and that is not among all, has a number as well.
func Of[T comparable](all []T, next func(T) []T) map[T]int {
	w := &walk[T]{next: next, metAt: map[T]int{}, ringOf: map[T]int{}}
	for _, node := range all {
		if w.metAt[node] == 0 {
			w.visit(node)
		}
	}
	return w.ringOf
}

type walk[T comparable] struct {
	next   func(T) []T
	metAt  map[T]int // when each was met, from 1
	open   []T       // those whose ring is not complete yet
	ringOf map[T]int
}

// visit walks all that a node leads to, and gives the earliest that is met in a ring with it.
func (w *walk[T]) visit(node T) (earliest int) {
	at := len(w.metAt) + 1
	w.metAt[node], earliest = at, at
	w.open = append(w.open, node)
	for _, other := range w.next(node) {
		switch {
		case w.metAt[other] == 0:
			earliest = min(earliest, w.visit(other))
		case w.ringOf[other] == 0: // it is open
			earliest = min(earliest, w.metAt[other])
		}
	}
	if earliest == at {
		first := slices.Index(w.open, node)
		for _, member := range w.open[first:] {
			w.ringOf[member] = at
		}
		w.open = w.open[:first]
	}
	return earliest
}
