package main

import "slices"

// feedback counts the edges between the files of a package that go against the best order found (the minimum feedback arc set, which is
// NP-hard, so it is approximated). There is an edge from file A to file B where A uses a name that B declares; A should stand before B. Names
// of methods count where one file alone declares them.
func (r *room) feedback() int {
	n := len(r.files)
	edge := make([][]bool, n)
	declaredBy := map[string][]int{}
	for i, f := range r.files {
		edge[i] = make([]bool, n)
		for name := range f.declares {
			declaredBy[name] = append(declaredBy[name], i)
		}
	}
	for i, f := range r.files {
		for name := range f.uses {
			if by := declaredBy[name]; len(by) == 1 && by[0] != i {
				edge[i][by[0]] = true
			}
		}
	}
	order := greedyOrder(edge)
	best := against(edge, order)
	for improved := true; improved; { // moving one file at a time
		improved = false
		for from := range order {
			for to := range order {
				next := slices.Delete(slices.Clone(order), from, from+1)
				next = slices.Insert(next, to, order[from])
				if count := against(edge, next); count < best {
					order, best, improved = next, count, true
				}
			}
		}
	}
	return best
}

// greedyOrder puts users before what they use, by the heuristic of Eades, Lin and Smyth: sinks last, sources first, and in a cycle first the
// one with the most outgoing edges less incoming ones.
func greedyOrder(edge [][]bool) []int {
	left := map[int]bool{}
	for i := range edge {
		left[i] = true
	}
	var first, last []int
	for len(left) > 0 {
		pick, place, most := -1, 0, -1<<30
		for i := range edge {
			if !left[i] {
				continue
			}
			out, in := 0, 0
			for j := range edge {
				if left[j] && edge[i][j] {
					out++
				}
				if left[j] && edge[j][i] {
					in++
				}
			}
			switch {
			case out == 0:
				pick, place, most = i, 1, 1<<30
			case in == 0 && most < 1<<29:
				pick, place, most = i, -1, 1<<29
			case out-in > most:
				pick, place, most = i, -1, out-in
			}
		}
		delete(left, pick)
		if place > 0 {
			last = append([]int{pick}, last...)
		} else {
			first = append(first, pick)
		}
	}
	return append(first, last...)
}

// against counts the edges that go against an order.
func against(edge [][]bool, order []int) int {
	n := 0
	for at, i := range order {
		for _, j := range order[:at] {
			if edge[i][j] {
				n++
			}
		}
	}
	return n
}
