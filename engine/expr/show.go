package expr

import (
	"slices"
	"strconv"
)

// MayShow says whether a message may show a value that a template has made, where paths are what that template reads. It is the one
// rule for values in conditions, events and logs: everything comes from the resource's own spec, or is its name, which those who
// read its status can read as well. What another object, an answer of a call, or a Secret holds is named by path and type alone. A
// template that reads nothing shows what the box's author has written. An empty path stands for all that there is.
func MayShow(paths []Path) bool {
	return !slices.ContainsFunc(paths, func(p Path) bool {
		switch {
		case len(p) == 0:
			return true
		case p[0] == "metadata":
			return len(p) != 2 || p[1] != "name" && p[1] != "namespace"
		default:
			return p[0] != "spec"
		}
	})
}

// PathsAt gives what the templates read that make what stands at a place of the tree, or below it. The place may lie inside of what
// one template makes.
func (v *Value) PathsAt(place Path) []Path {
	for _, segment := range place {
		next := v.fields[segment]
		if i, err := strconv.Atoi(segment); err == nil && i < len(v.list) {
			next = v.list[i]
		}
		if next == nil {
			break
		}
		v = next
	}
	return v.Paths()
}
