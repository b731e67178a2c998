package declare

import (
	"slices"

	"github.com/orkspace/orkestra/engine/rings"
)

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
