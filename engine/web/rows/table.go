// Package rows keeps the lines of all resources of a box, and gives pages of them.
package rows

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/orkspace/orkestra/engine/web/api"
)

// Table has the rows of one box. It is safe for concurrent use.
type Table struct {
	mu   sync.RWMutex
	rows map[api.Reference]*api.Row // which never change; guarded by mu
}

// New makes an empty table.
func New() *Table { return &Table{rows: map[api.Reference]*api.Row{}} }

// Set puts a row into its place, and says whether that changed anything.
func (t *Table) Set(row api.Row) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.rows[row.Reference]; old != nil && same(*old, row) {
		return false
	}
	t.rows[row.Reference] = &row
	return true
}

// Remove takes a row out.
func (t *Table) Remove(of api.Reference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, of)
}

// Namespaces are those of all rows, sorted.
func (t *Table) Namespaces() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := map[string]bool{}
	for of := range t.rows {
		all[of.Namespace] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func same(a, b api.Row) bool {
	sinceA, sinceB := a.Since, b.Since
	a.Since, b.Since = nil, nil
	return a == b && (sinceA == nil) == (sinceB == nil) && (sinceA == nil || sinceA.Equal(*sinceB))
}

// Query says which rows of a table a page has.
type Query struct {
	// Namespace, State and Reason that a row must have; empty: any.
	Namespace, Reason string
	State             api.State
	// Text that is part of namespace/name, in upper or lower case; empty: any.
	Text string
	// Sort is name, state or age; with - before it in the other order. Default: name.
	Sort string
	// Offset of the first row, and how many there are at most.
	Offset, Limit int
}

// most is how many values of a kind are counted for the filters.
const most = 50

// Page gives the rows that a query asks for. may says of a namespace whether the person sees what is in it; nil: all is seen.
func (t *Table) Page(q Query, may func(namespace string) bool) *api.Rows {
	states, reasons, namespaces := tallies{}, tallies{}, tallies{}
	var matching []*api.Row
	out := &api.Rows{}
	text := strings.ToLower(q.Text)
	t.mu.RLock()
	for _, row := range t.rows {
		if may != nil && !may(row.Namespace) {
			continue
		}
		out.Total++
		states[string(row.State)]++
		states[string(row.CountsAs)]++ // the empty one is left out of the list
		reasons[row.Reason]++
		namespaces[row.Namespace]++
		if q.lets(row, text) {
			matching = append(matching, row)
		}
	}
	t.mu.RUnlock()
	out.Matching = len(matching)
	out.States, out.Reasons, out.Namespaces = states.list(), reasons.list(), namespaces.list()
	from := min(max(q.Offset, 0), len(matching))
	to := min(from+max(q.Limit, 0), len(matching))
	sortPage(matching, from, to, order(q.Sort))
	out.Rows = []api.Row{}
	for _, row := range matching[from:to] {
		out.Rows = append(out.Rows, *row)
	}
	return out
}

// lets says whether a row is one that a query asks for.
func (q *Query) lets(row *api.Row, text string) bool {
	return (q.Namespace == "" || q.Namespace == row.Namespace) && (q.State == "" || q.State == row.State || q.State == row.CountsAs) && (q.Reason == "" || q.Reason == row.Reason) &&
		(text == "" || strings.Contains(strings.ToLower(row.Namespace+"/"+row.Name), text))
}

// order compares rows. Whatever comes first, the name decides at last, so that pages do not overlap.
func order(by string) func(a, b *api.Row) int {
	field, reversed := strings.CutPrefix(by, "-")
	first := func(_, _ *api.Row) int { return 0 }
	switch field {
	case "state":
		first = func(a, b *api.Row) int { return cmp.Compare(urgency[a.State], urgency[b.State]) }
	case "age":
		first = func(a, b *api.Row) int { return b.Created.Compare(a.Created) }
	default:
	}
	return func(a, b *api.Row) int {
		c := first(a, b)
		if c == 0 {
			if c = strings.Compare(a.Namespace, b.Namespace); c == 0 {
				c = strings.Compare(a.Name, b.Name)
			}
		}
		if reversed {
			return -c
		}
		return c
	}
}

// urgency has the states in the order in which somebody wants to see them.
var urgency = map[api.State]int{ //nolint:gochecknoglobals // a constant
	api.Failing: 0, api.RolledBack: 1, api.Unknown: 2, api.Waiting: 3, api.Deleting: 4, api.Paused: 5, api.Ready: 6,
}

// tallies count values.
type tallies map[string]int

// list gives the most frequent ones first, without the empty one.
func (t tallies) list() []api.Tally {
	delete(t, "")
	out := make([]api.Tally, 0, len(t))
	for _, value := range slices.Sorted(maps.Keys(t)) {
		out = append(out, api.Tally{Value: value, Count: t[value]})
	}
	slices.SortStableFunc(out, func(a, b api.Tally) int { return cmp.Compare(b.Count, a.Count) })
	return out[:min(len(out), most)]
}
