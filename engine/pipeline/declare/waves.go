package declare

import (
	"slices"

	"github.com/orkspace/orkestra/engine/rings"
)

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

// noteReaders notes whose children go before those of a declaration: those that read it. Of declarations that read each other in a ring, only
// those that are made in a later wave, so that a ring goes in the reverse of the order in which it is made.
func (s *Set) noteReaders() {
	waveOf := make(map[*Declaration]int, len(s.Live))
	for i, wave := range Waves(s.Live) {
		for _, d := range wave {
			waveOf[d] = i
		}
	}
	ringOf := rings.Of(s.Live, func(d *Declaration) []*Declaration { return d.Reads.Children })
	s.readers = map[*Declaration][]*Declaration{}
	for _, reader := range s.Live {
		for _, d := range reader.Reads.Children {
			if ringOf[reader] != ringOf[d] || waveOf[reader] > waveOf[d] {
				s.readers[d] = append(s.readers[d], reader)
			}
		}
	}
}

// NextToGo gives those of the children that are to go that may be deleted now. In reverse, these are the ones that none of the others reads.
// What a child reads is not known any more when its declaration is gone from the box, so such children go first. One that is being deleted
// belongs to those that are given: while a finalizer holds it, it may use what it reads.
func NextToGo[T any](s *Set, going []T, idOf func(child T) string) []T {
	if s == nil || !s.Reverse { // nil: nothing is declared
		return going
	}
	of := func(child T) *Declaration { return s.Of(idOf(child)) }
	there := map[*Declaration]bool{}
	for _, child := range going {
		there[of(child)] = true
	}
	return slices.DeleteFunc(slices.Clone(going), func(child T) bool {
		d := of(child)
		return d != nil && (there[nil] || slices.ContainsFunc(s.readers[d], func(reader *Declaration) bool { return there[reader] }))
	})
}
