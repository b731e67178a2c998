package declare

import "slices"

// Waves splits declarations into waves: what is written at the same time. Waves go by rank, but a declaration that reads a child comes
// after the one that declares that child, so that it sees what is declared now and not what an earlier spec made. Inside a wave they
// stay as declared.
func Waves(declarations []*Declaration) [][]*Declaration {
	left := slices.Clone(declarations)
	slices.SortStableFunc(left, func(a, b *Declaration) int { return a.Rank() - b.Rank() })
	u := make(unmade, len(left))
	for _, d := range left {
		u[d] = d.Reads.Children
	}
	var waves [][]*Declaration
	for len(left) > 0 {
		wave := u.nextWave(left)
		waves = append(waves, wave)
		for _, d := range wave {
			delete(u, d)
		}
		left = slices.DeleteFunc(left, func(d *Declaration) bool { return !u.has(d) })
	}
	return waves
}

// unmade are the declarations that are in no wave yet, each with the list of those that it reads. firstRead drops from the front of a list
// those that are in a wave already, so each entry is visited once over all waves, and not once per wave.
type unmade map[*Declaration][]*Declaration

func (u unmade) has(d *Declaration) bool {
	_, found := u[d]
	return found
}

// firstRead gives one that is in no wave yet, and that a declaration reads; nil: there is none.
func (u unmade) firstRead(d *Declaration) *Declaration {
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
func (u unmade) nextWave(left []*Declaration) []*Declaration {
	free := slices.DeleteFunc(slices.Clone(left), func(d *Declaration) bool { return u.firstRead(d) != nil })
	if len(free) == 0 {
		return []*Declaration{u.firstOfRing(left)}
	}
	return slices.DeleteFunc(free, func(d *Declaration) bool { return d.Rank() != free[0].Rank() })
}

// firstOfRing finds a ring by going from one declaration to one that it reads, until it comes to one for the second time. It must, since
// each of those that are left reads another. Of the ring, the one that is declared first is given.
func (u unmade) firstOfRing(left []*Declaration) *Declaration {
	steps := map[*Declaration]int{}
	at := left[0]
	for {
		if _, met := steps[at]; met {
			break
		}
		steps[at] = len(steps)
		at = u.firstRead(at)
	}
	return left[slices.IndexFunc(left, func(d *Declaration) bool {
		step, met := steps[d]
		return met && step >= steps[at]
	})]
}
