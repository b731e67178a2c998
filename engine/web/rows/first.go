package rows

import (
	"container/heap"
	"slices"

	"github.com/orkspace/orkestra/engine/web/api"
)

// sortFirst brings the first n rows into their order. Those behind them are in none: to sort all of 50,000 rows for a page of them took five times as long.
func sortFirst(all []*api.Row, n int, compare func(a, b *api.Row) int) {
	if n == 0 || n > len(all)/8 {
		slices.SortFunc(all, compare)
		return
	}
	first := &greatestOnTop{rows: all[:n], compare: compare}
	heap.Init(first)
	for i := n; i < len(all); i++ {
		if compare(all[i], all[0]) < 0 {
			all[0], all[i] = all[i], all[0]
			heap.Fix(first, 0)
		}
	}
	slices.SortFunc(all[:n], compare)
}

// greatestOnTop is a heap whose greatest row is the first one. It never grows.
type greatestOnTop struct {
	rows    []*api.Row
	compare func(a, b *api.Row) int
}

func (h *greatestOnTop) Len() int           { return len(h.rows) }
func (h *greatestOnTop) Less(i, j int) bool { return h.compare(h.rows[i], h.rows[j]) > 0 }
func (h *greatestOnTop) Swap(i, j int)      { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }
func (*greatestOnTop) Push(any)             {}
func (*greatestOnTop) Pop() any             { return nil }
