// Package rows keeps the lines of all resources of a box, and gives pages of them.
package rows

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/orkspace/orkestra/engine/web/api"
)

// Table has the rows of one box. It is safe for concurrent use.
type Table struct {
	mu     sync.RWMutex           // guards everything below
	rows   *btree.BTree[*api.Row] // which never change, by namespace and name
	groups map[group]int          // how many rows there are of each
}

// group is what rows have in common that people filter and count by.
type group struct {
	namespace, reason string
	state, countsAs   api.State
}

func groupOf(row *api.Row) group {
	return group{namespace: row.Namespace, reason: row.Reason, state: row.State, countsAs: row.CountsAs}
}

// New makes an empty table.
func New() *Table {
	const degree = 32 // that of controller-runtime's queue
	return &Table{rows: btree.New(degree, func(a, b *api.Row) bool { return byName(a, b) < 0 }), groups: map[group]int{}}
}

// Set puts a row into its place, and says whether that changed anything.
func (t *Table) Set(row api.Row) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, found := t.rows.Get(&row)
	if found && same(*old, row) {
		return false
	}
	if found {
		t.leaveLocked(old)
	}
	t.rows.ReplaceOrInsert(&row)
	t.groups[groupOf(&row)]++
	return true
}

// Remove takes a row out.
func (t *Table) Remove(of api.Reference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, found := t.rows.Delete(&api.Row{Reference: of}); found {
		t.leaveLocked(old)
	}
}

// leaveLocked takes a row out of what is counted.
func (t *Table) leaveLocked(row *api.Row) {
	of := groupOf(row)
	if t.groups[of]--; t.groups[of] == 0 {
		delete(t.groups, of)
	}
}

// Namespaces are those of all rows, sorted.
func (t *Table) Namespaces() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := map[string]bool{}
	for of := range t.groups {
		all[of.namespace] = true
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

// What rows are sorted by, beside their names.
const (
	sortState = "state"
	sortAge   = "age"
)

// most is how many values of a kind are counted for the filters.
const most = 50

// Page gives the rows that a query asks for. may says of a namespace whether the person sees what is in it; nil: all is seen.
func (t *Table) Page(q Query, may func(namespace string) bool) *api.Rows {
	out := &api.Rows{Rows: []api.Row{}}
	t.mu.RLock()
	matching := t.matchingLocked(q, t.countLocked(out, may))
	t.mu.RUnlock()
	out.Matching = len(matching)
	from := min(max(q.Offset, 0), len(matching))
	to := min(from+max(q.Limit, 0), len(matching))
	switch field, reversed := strings.CutPrefix(q.Sort, "-"); field {
	case sortState:
		matching = together(matching, reversed)
	case sortAge:
		sortPage(matching, from, to, order(q.Sort))
	default: // they are by their names
	}
	for _, row := range matching[from:to] {
		out.Rows = append(out.Rows, *row)
	}
	return out
}

// countLocked counts what the person sees, and says of which namespaces that is.
func (t *Table) countLocked(out *api.Rows, may func(namespace string) bool) (seen map[string]bool) {
	byState, byReason, byNamespace := tallies{}, tallies{}, tallies{}
	seen = map[string]bool{}
	for of, count := range t.groups {
		sees, asked := seen[of.namespace]
		if !asked {
			sees = may == nil || may(of.namespace)
			seen[of.namespace] = sees
		}
		if !sees {
			continue
		}
		out.Total += count
		byState[string(of.state)] += count
		byState[string(of.countsAs)] += count // the empty one is left out of the list
		byReason[of.reason] += count
		byNamespace[of.namespace] += count
	}
	out.States, out.Reasons, out.Namespaces = byState.list(), byReason.list(), byNamespace.list()
	return seen
}

// matchingLocked are the rows that a query asks for, by their names, or the other way round where that is asked for.
func (t *Table) matchingLocked(q Query, seen map[string]bool) (out []*api.Row) {
	most := 0
	for of, count := range t.groups {
		if seen[of.namespace] && q.asksFor(of) {
			most += count
		}
	}
	out = make([]*api.Row, 0, most)
	text := strings.ToLower(q.Text)
	namespace, sees := "", seen[""]
	each := func(row *api.Row) bool {
		if row.Namespace != namespace {
			namespace, sees = row.Namespace, seen[row.Namespace]
		}
		if sees && q.lets(row, text) {
			out = append(out, row)
		}
		return true
	}
	if strings.HasPrefix(q.Sort, "-") {
		t.rows.Descend(each)
	} else {
		t.rows.Ascend(each)
	}
	return out
}

// lets says whether a row is one that a query asks for.
func (q *Query) lets(row *api.Row, text string) bool {
	return q.asksFor(groupOf(row)) && (text == "" || strings.Contains(strings.ToLower(row.Namespace+"/"+row.Name), text))
}

// asksFor says whether rows of a group are such that a query asks for, but for their names.
func (q *Query) asksFor(of group) bool {
	return (q.Namespace == "" || q.Namespace == of.namespace) && (q.State == "" || q.State == of.state || q.State == of.countsAs) && (q.Reason == "" || q.Reason == of.reason)
}

// byName is the order in which a table keeps its rows.
func byName(a, b *api.Row) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// together puts rows with the same state together, and leaves their order otherwise.
func together(all []*api.Row, reversed bool) []*api.Row {
	place := func(row *api.Row) int {
		if reversed {
			return states - 1 - urgency(row.State)
		}
		return urgency(row.State)
	}
	var next [states + 1]int // where the next row with a state goes
	for _, row := range all {
		next[place(row)+1]++
	}
	for state := range states {
		next[state+1] += next[state]
	}
	out := make([]*api.Row, len(all))
	for _, row := range all {
		at := place(row)
		out[next[at]] = row
		next[at]++
	}
	return out
}

// order compares rows. Whatever comes first, the name decides at last, so that pages do not overlap.
func order(by string) func(a, b *api.Row) int {
	field, reversed := strings.CutPrefix(by, "-")
	first := func(_, _ *api.Row) int { return 0 }
	switch field {
	case sortState:
		first = func(a, b *api.Row) int { return cmp.Compare(urgency(a.State), urgency(b.State)) }
	case sortAge:
		first = func(a, b *api.Row) int { return b.Created.Compare(a.Created) }
	default:
	}
	return func(a, b *api.Row) int {
		c := first(a, b)
		if c == 0 {
			c = byName(a, b)
		}
		if reversed {
			return -c
		}
		return c
	}
}

// states is how many places urgency has.
const states = 7

// urgency is the place of a state in the order in which somebody wants to see them.
func urgency(state api.State) int {
	switch state {
	case api.Failing:
		return 0
	case api.RolledBack:
		return 1
	case api.Unknown:
		return 2
	case api.Waiting:
		return 3
	case api.Deleting:
		return 4
	case api.Paused:
		return 5
	default: // Ready
		return 6
	}
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
