package pipeline

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/kinds"
)

// cycles reports declarations whose gates wait for each other's children, or for their own: none of them would ever be made.
func (c *compiler) cycles(all []*declaration) {
	needs := map[*declaration][]*declaration{}
	for _, d := range all {
		for _, path := range d.gate.Needs() {
			if other := childOf(all, path); other != nil {
				needs[d] = append(needs[d], other)
			}
		}
	}
	reported := map[*declaration]bool{}
	for _, d := range all {
		ring := ringFrom(needs, d)
		if len(ring) == 0 || reported[d] {
			continue
		}
		names := make([]string, 0, len(ring))
		for _, member := range ring {
			reported[member] = true
			names = append(names, member.label())
		}
		names = append(names, names[0])
		c.fail(field.Invalid(field.NewPath(d.where), strings.Join(names, " → "),
			"these wait for each other's children by `when`: none of them would ever be made"))
	}
}

// needed notes what each declaration waits for where it is not there.
func (c *compiler) needed(all []*declaration) {
	for _, d := range all {
		for _, path := range d.paths() {
			switch {
			case len(path) < 2:
			case path[0] == rootCross:
				d.needs = append(d.needs, sourceName(path[0], path[1]))
			case path[0] == rootChildren:
				if other := childOf(all, path); other != nil {
					d.needs = append(d.needs, other.id)
				}
			}
		}
	}
}

// sourceName names what a box reads besides children. It is the id of no declaration.
func sourceName(root, name string) string { return "." + root + "." + name }

// childOf gives the declaration that makes the child at a path below children; nil where it is not one alone that does.
func childOf(all []*declaration, path []string) *declaration {
	const segments = 2 // children and a name
	if len(path) < segments {
		return nil
	}
	var found *declaration
	for _, d := range all {
		switch {
		case d.explicit && d.id == path[1]:
			return d
		case kinds.SingularOf(d.gvk) != path[1] && kinds.PluralOf(d.gvk) != path[1]:
		case found != nil:
			return nil
		default:
			found = d
		}
	}
	return found
}

// ringFrom gives the declarations from d back to d, each of which needs the next; nil where there is no way back.
func ringFrom(needs map[*declaration][]*declaration, d *declaration) []*declaration {
	seen := map[*declaration]bool{}
	var walk func(at *declaration) []*declaration
	walk = func(at *declaration) []*declaration {
		for _, next := range needs[at] {
			if next == d {
				return []*declaration{at}
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if rest := walk(next); rest != nil {
				return append([]*declaration{at}, rest...)
			}
		}
		return nil
	}
	return walk(d)
}

// label names the declaration in messages: by its id, or by its place where the id holds a template.
func (d *declaration) label() string {
	if !strings.Contains(d.id, "{{") {
		return d.id
	}
	_, place, _ := strings.Cut(strings.TrimPrefix(d.where, "spec."), ".")
	return place
}
