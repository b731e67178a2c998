// Package suggest finds the valid name that a mistaken one most likely stands for. It knows nothing of what the names mean.
package suggest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest gives the candidate with the smallest edit distance to name, or "" where none is near enough to be a likely
// slip of the pen: a third of the name's length up to its first dot, and at least 2: groups are long, and near to each other. Case does not count. Of equally near candidates the
// alphabetically first wins, so that messages are deterministic.
func Nearest(name string, candidates []string) string {
	first, _, _ := strings.Cut(name, ".")
	limit := max(2, len(first)/3)
	best, bestDistance := "", limit+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c))
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
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
