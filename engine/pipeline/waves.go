package pipeline

import (
	"iter"
	"slices"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// inWaves splits declarations into waves: what is written at the same time. Waves go by rank, but a declaration that reads a child comes
// after the one that declares that child, so that it sees what is declared now and not what an earlier spec made. Inside a wave they
// stay as declared.
func inWaves(declarations []*declaration) [][]*declaration {
	left := slices.Clone(declarations)
	slices.SortStableFunc(left, func(a, b *declaration) int { return a.rank() - b.rank() })
	u := make(unmade, len(left))
	for _, d := range left {
		u[d] = d.reads
	}
	var waves [][]*declaration
	for len(left) > 0 {
		wave := u.nextWave(left)
		waves = append(waves, wave)
		for _, d := range wave {
			delete(u, d)
		}
		left = slices.DeleteFunc(left, func(d *declaration) bool { return !u.has(d) })
	}
	return waves
}

// unmade are the declarations that are in no wave yet, each with those that it reads. Those that are in a wave are taken off the front:
// so all waves together look at each read once, also where everything reads everything.
type unmade map[*declaration][]*declaration

func (u unmade) has(d *declaration) bool {
	_, found := u[d]
	return found
}

// firstRead gives one that is in no wave yet, and that a declaration reads; nil: there is none.
func (u unmade) firstRead(d *declaration) *declaration {
	for len(u[d]) > 0 {
		if first := u[d][0]; u.has(first) {
			return first
		}
		u[d] = u[d][1:]
	}
	return nil
}

// nextWave gives the lowest rank of those that read none of the others. Where they read each other in a ring, the first of the ring goes
// by itself.
func (u unmade) nextWave(left []*declaration) []*declaration {
	free := slices.DeleteFunc(slices.Clone(left), func(d *declaration) bool { return u.firstRead(d) != nil })
	if len(free) == 0 {
		return []*declaration{u.firstOfRing(left)}
	}
	return slices.DeleteFunc(free, func(d *declaration) bool { return d.rank() != free[0].rank() })
}

// firstOfRing goes from read to read until it comes to one again: each of those that are left reads another.
func (u unmade) firstOfRing(left []*declaration) *declaration {
	steps := map[*declaration]int{}
	at := left[0]
	for {
		if _, met := steps[at]; met {
			break
		}
		steps[at] = len(steps)
		at = u.firstRead(at)
	}
	return left[slices.IndexFunc(left, func(d *declaration) bool {
		step, met := steps[d]
		return met && step >= steps[at]
	})]
}

// reading notes which children of others each declaration reads. Paths that name no child count for nothing.
func (c *compiler) reading(all []*declaration) {
	children := childrenByName(all)
	for _, d := range all {
		met := map[*declaration]bool{d: true}
		for name := range childNamesIn(d.paths()) {
			for _, other := range children[name] {
				if !met[other] {
					met[other] = true
					d.reads = append(d.reads, other)
				}
			}
		}
	}
}

// childNamesIn goes over the names of children that paths lead to, each once.
func childNamesIn(paths []expr.Path) iter.Seq[string] {
	const segments = 2 // children and a name
	return func(yield func(string) bool) {
		met := map[string]bool{}
		for _, path := range paths {
			if len(path) < segments || path[0] != compile.RootChildren || met[path[1]] {
				continue
			}
			met[path[1]] = true
			if !yield(path[1]) {
				return
			}
		}
	}
}

// childrenByName gives the declarations whose child may be what a name below children means: one by its id, or all of a kind.
func childrenByName(all []*declaration) map[string][]*declaration {
	out := map[string][]*declaration{}
	for _, d := range all {
		one, many := kinds.SingularOf(d.gvk), kinds.PluralOf(d.gvk)
		out[one] = append(out[one], d)
		if many != one {
			out[many] = append(out[many], d)
		}
	}
	for _, d := range all {
		if d.explicit {
			out[d.id] = []*declaration{d}
		}
	}
	return out
}
