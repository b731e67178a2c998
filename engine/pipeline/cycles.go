package pipeline

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// cycles reports declarations whose gates wait for each other's children, or for their own: none of them would ever be made.
func (c *compiler) cycles(all []*declaration) {
	needs, children := map[*declaration][]*declaration{}, childrenByName(all)
	for _, d := range all {
		for name := range childNamesIn(d.gate.Needs()) {
			// Of several, nobody can tell which one is meant.
			if meant := children[name]; len(meant) == 1 {
				needs[d] = append(needs[d], meant[0])
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
		c.Fail(field.Invalid(field.NewPath(d.where), strings.Join(names, " → "),
			"these wait for each other's children by `when`: none of them would ever be made"))
	}
}

// needed notes what each declaration waits for where it is not there.
func (c *compiler) needed(all []*declaration) {
	children := childrenByName(all)
	for _, d := range all {
		for _, path := range d.paths() {
			if len(path) > 1 && path[0] == compile.RootCross {
				d.needs = append(d.needs, compile.Outside{Root: path[0], Name: path[1]}.ID())
			}
		}
		for name := range childNamesIn(d.paths()) {
			if meant := children[name]; len(meant) == 1 {
				d.needs = append(d.needs, meant[0].id)
			}
		}
	}
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
