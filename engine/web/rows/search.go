package rows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/orkspace/orkestra/engine/web/api"
)

// Search says what is looked for among the resources of all boxes, and which of what is found a page has.
type Search struct {
	// Text that is looked for, in upper or lower case.
	Text string
	// Offset of the first row, and how many there are at most.
	Offset, Limit int
}

// How many characters a text may have that is looked for: a single one is in nearly every name.
const (
	minText = 2
	maxText = 200
)

// Check says what is wrong with the text that is looked for.
func (s Search) Check() error {
	if n := utf8.RuneCountInString(s.Text); n < minText || n > maxText {
		return fmt.Errorf("parameter text: wanted %d to %d characters to look for, got %d", minText, maxText, n)
	}
	return nil
}

// Match is a resource that a search has found.
type Match struct {
	api.Reference

	// Box of the resource, and how well it matches: less is better.
	Box  string
	Rank int
	// Row gives its row. there is false where it has gone meanwhile, or its box does not select it.
	Row func() (row api.Row, there bool)
}

// How well something matches.
const (
	isName = iota
	beginsName
	inName
	inMessage
)

// RankOf says how well a resource matches a text in lower case; ok is false where it does not. said is its reason and message, in lower case.
func RankOf(text string, of api.Reference, said string) (rank int, ok bool) {
	name := strings.ToLower(of.Name)
	switch {
	case name == text:
		return isName, true
	case strings.HasPrefix(name, text):
		return beginsName, true
	case strings.Contains(name, text), of.Namespace != "" && strings.Contains(strings.ToLower(of.Namespace)+"/"+name, text):
		return inName, true
	default:
		return inMessage, strings.Contains(said, text)
	}
}

// Said is what RankOf looks for a text in, besides the name.
func Said(row *api.Row) string { return strings.ToLower(row.Reason + " " + row.Message) }

// Find gives the rows that match a text in lower case. may says of a namespace whether the person sees what is in it; nil: all is seen.
func (t *Table) Find(box, text string, may func(namespace string) bool) []Match {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []Match
	t.rows.Ascend(func(row *api.Row) bool {
		rank, ok := RankOf(text, row.Reference, Said(row))
		if ok && (may == nil || may(row.Namespace)) {
			out = append(out, Match{Reference: row.Reference, Box: box, Rank: rank, Row: func() (api.Row, bool) { return *row, true }})
		}
		return true
	})
	return out
}

// Merge gives the page of all matches that a search asks for, the best ones first.
func Merge(all []Match, q Search) *api.Found {
	slices.SortFunc(all, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Box, b.Box), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	out := &api.Found{Rows: []api.FoundRow{}, Matching: len(all)}
	from := min(max(q.Offset, 0), len(all))
	to := min(from+max(q.Limit, 0), len(all))
	for _, match := range all[from:to] {
		if row, there := match.Row(); there {
			out.Rows = append(out.Rows, api.FoundRow{Row: row, Box: match.Box})
		}
	}
	return out
}
