package pipeline

import (
	"cmp"
	"slices"
)

// blocker is one thing that stands between a cycle without error and a resource that is Ready with nothing left to do.
type blocker struct {
	Wait

	weight weight
	// gives is the name by which others need what this is about; needs are the names of what it waits for.
	gives string
	needs []string
}

// weight says which blocker is named before which: the smaller first.
type weight int

const (
	childFailed   weight = iota // a child that goes no further by itself
	childTroubled               // a child that says what is wrong, and goes on when that is mended
	waiting                     // a gate, or whatever else is waited for
	childOnItsWay               // a child that has not settled yet
	notReadyYet                 // status.readyWhen
)

// rootOf picks the blocker that a condition names, and says how many others there are; there must be one. The smallest weight is named:
// of several that wait, the first that waits for none of the others. All others are counted, also those that are merely on their way.
func rootOf(all []blocker) (root blocker, others int) {
	first := slices.MinFunc(all, func(a, b blocker) int { return cmp.Compare(a.weight, b.weight) })
	candidates := slices.DeleteFunc(slices.Clone(all), func(b blocker) bool { return b.weight > first.weight })
	root = candidates[0] // of a ring, in which each waits for another, the first
	if at := slices.IndexFunc(candidates, func(b blocker) bool { return !b.waitsForOneOf(candidates) }); at >= 0 {
		root = candidates[at]
	}
	about := map[string]bool{}
	for _, b := range all {
		about[b.about()] = true
	}
	return root, len(about) - 1
}

// waitsForOneOf says whether a blocker needs what another one gives.
func (b blocker) waitsForOneOf(all []blocker) bool {
	return slices.ContainsFunc(all, func(o blocker) bool { return o.gives != b.gives && slices.Contains(b.needs, o.gives) })
}

// about tells things apart where several blockers speak of one.
func (b blocker) about() string { return cmp.Or(b.Of, b.Message) }
