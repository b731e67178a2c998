package declare

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rings reports declarations whose gates wait for each other's children, or for their own: none of them would ever be made.
func (c *compiler) rings(all []*Declaration) {
	needs, children := map[*Declaration][]*Declaration{}, childrenByName(all)
	for _, d := range all {
		for name := range childNamesIn(d.Gate.Needs()) {
			// Of several, it is not known which one is meant.
			if meant := children[name]; len(meant) == 1 {
				needs[d] = append(needs[d], meant[0])
			}
		}
	}
	reported := map[*Declaration]bool{}
	for _, d := range all {
		ring := ringFrom(needs, d)
		if len(ring) == 0 || reported[d] {
			continue
		}
		names := make([]string, 0, len(ring))
		for _, member := range ring {
			reported[member] = true
			names = append(names, member.Label())
		}
		names = append(names, names[0])
		c.Fail(field.Invalid(field.NewPath(d.Where), strings.Join(names, " → "),
			"these wait for each other's children by `when`: none of them would ever be made"))
	}
}

// ringFrom gives the declarations from d back to d, each of which needs the next; nil where there is no way back.
func ringFrom(needs map[*Declaration][]*Declaration, d *Declaration) []*Declaration {
	seen := map[*Declaration]bool{}
	var walk func(at *Declaration) []*Declaration
	walk = func(at *Declaration) []*Declaration {
		for _, next := range needs[at] {
			if next == d {
				return []*Declaration{at}
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if rest := walk(next); rest != nil {
				return append([]*Declaration{at}, rest...)
			}
		}
		return nil
	}
	return walk(d)
}
