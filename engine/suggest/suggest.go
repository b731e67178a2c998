// Package suggest finds the valid name that a mistaken one most likely stands for. It knows nothing of what the names mean.
package suggest

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest gives the candidate with the smallest edit distance to name, or "" where none is near enough to be a likely typo. The most
// edits are a third of the name's length up to its first dot (API groups are long, and near to each other), and at least 2; but if there
// are several, they must be less than half of the letters. Case does not count. Of equally near candidates the alphabetically first
// wins, so that messages are deterministic.
func Nearest(name string, candidates []string) string {
	first, _, _ := strings.Cut(name, ".")
	limit := max(2, len(first)/3)
	best, bestDistance := "", limit+1
	written := []rune(strings.ToLower(name))
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		candidate := []rune(strings.ToLower(c))
		// The distance is at least the difference of the lengths. Computing it takes their product, and a name may be as long as a template.
		if tooMany := len(written) - len(candidate); max(tooMany, -tooMany) >= bestDistance {
			continue
		}
		d := distance(written, candidate)
		if d < bestDistance && (d <= 1 || 2*d < max(len(name), len(c))) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of typos that make b of a: a letter too many, one too few, a wrong one, or two in the wrong order. It is the
// optimal string alignment distance; the Levenshtein distance would count two letters in the wrong order as two typos.
func distance(a, b []rune) int {
	// The current row of the table of distances, and the two before it.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			other := 0
			if a[i] != b[j] {
				other = 1
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+other)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// DidYouMean gives `, did you mean "x"?` for the nearest candidate, or "" where none is near. It is meant to stand at the
// end of an error message.
func DidYouMean(name string, candidates []string) string {
	near := Nearest(name, candidates)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", near)
}
