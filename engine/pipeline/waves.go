package pipeline

import (
	"slices"

	"github.com/orkspace/orkestra/engine/kinds"
)

// inWaves splits declarations into waves: what is written at the same time. Waves go by rank, but a declaration that reads a child comes
// after the one that declares that child, so that it sees what is declared now and not what an earlier spec made. Inside a wave they
// stay as declared.
func inWaves(declarations []*declaration) [][]*declaration {
	left := slices.Clone(declarations)
	slices.SortStableFunc(left, func(a, b *declaration) int { return a.rank() - b.rank() })
	var waves [][]*declaration
	for len(left) > 0 {
		wave := nextWave(left)
		waves = append(waves, wave)
		left = slices.DeleteFunc(left, func(d *declaration) bool { return slices.Contains(wave, d) })
	}
	return waves
}

// nextWave gives the lowest rank of those that read none of the others. Where they read each other in a ring, the first of the ring goes
// by itself.
func nextWave(left []*declaration) []*declaration {
	free := slices.DeleteFunc(slices.Clone(left), func(d *declaration) bool {
		return slices.ContainsFunc(d.reads, func(other *declaration) bool { return slices.Contains(left, other) })
	})
	if len(free) == 0 {
		reads := make(map[*declaration][]*declaration, len(left))
		for _, d := range left {
			reads[d] = d.reads
		}
		ring := slices.IndexFunc(left, func(d *declaration) bool { return ringFrom(reads, d) != nil })
		return []*declaration{left[ring]}
	}
	return slices.DeleteFunc(free, func(d *declaration) bool { return d.rank() != free[0].rank() })
}

// reading notes which children of others each declaration reads. Paths that name no child count for nothing.
func (c *compiler) reading(all []*declaration) {
	for _, d := range all {
		for _, path := range d.paths() {
			for _, other := range childrenAt(all, path) {
				if other != d && !slices.Contains(d.reads, other) {
					d.reads = append(d.reads, other)
				}
			}
		}
	}
}

// childrenAt gives the declarations whose child may be the one at a path.
func childrenAt(all []*declaration, path []string) []*declaration {
	const segments = 2 // children and a name
	if len(path) < segments || path[0] != rootChildren {
		return nil
	}
	var out []*declaration
	for _, d := range all {
		switch {
		case d.explicit && d.id == path[1]:
			return []*declaration{d}
		case kinds.SingularOf(d.gvk) == path[1] || kinds.PluralOf(d.gvk) == path[1]:
			out = append(out, d)
		}
	}
	return out
}
