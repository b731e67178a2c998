package declare

import (
	"iter"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// noteReads notes whose children each declaration reads. Paths that name no child count for nothing.
func noteReads(all []*Declaration) {
	children := childrenByName(all)
	for _, d := range all {
		seen := map[*Declaration]bool{d: true}
		for _, other := range d.After {
			seen[other] = true
			d.Reads.Children = append(d.Reads.Children, other)
		}
		for name := range childNamesIn(d.paths()) {
			for _, other := range children[name] {
				if !seen[other] {
					seen[other] = true
					d.Reads.Children = append(d.Reads.Children, other)
				}
			}
		}
	}
}

// noteNeeds notes what each declaration waits for while it is not there. outcome goes by it to name the cause, and not what waits for it.
func noteNeeds(all []*Declaration) {
	children := childrenByName(all)
	for _, d := range all {
		for _, path := range d.paths() {
			if len(path) > 1 && (path[0] == compile.RootCross || path[0] == compile.RootProviders) {
				d.Needs = append(d.Needs, compile.Outside{Root: path[0], Name: path[1]}.ID())
			}
		}
		for _, other := range d.After {
			d.Needs = append(d.Needs, other.ID)
		}
		for name := range childNamesIn(d.paths()) {
			if meant := children[name]; len(meant) == 1 {
				d.Needs = append(d.Needs, meant[0].ID)
			}
		}
	}
}

// childNamesIn goes over the names of children that paths lead to, each once.
func childNamesIn(paths []expr.Path) iter.Seq[string] {
	const segments = 2 // children and a name
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for _, path := range paths {
			if len(path) < segments || path[0] != compile.RootChildren || seen[path[1]] {
				continue
			}
			seen[path[1]] = true
			if !yield(path[1]) {
				return
			}
		}
	}
}

// childrenByName gives the declarations whose child may be what a name below children means: one by its id, or all of a kind.
func childrenByName(all []*Declaration) map[string][]*Declaration {
	out := map[string][]*Declaration{}
	for _, d := range all {
		for _, name := range d.Kinds.ChildNames() {
			out[name] = append(out[name], d)
		}
	}
	for _, d := range all {
		if d.Explicit {
			out[d.ID] = []*Declaration{d}
		}
	}
	return out
}
