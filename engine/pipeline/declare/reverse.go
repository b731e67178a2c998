package declare

import "slices"

// noteReaders notes whose children go before those of a declaration: those that read it. Of declarations that read each other in a ring, only
// those that are made in a later wave, so that a ring goes in the reverse of the order in which it is made.
func (s *Set) noteReaders() {
	waveOf := make(map[*Declaration]int, len(s.Live))
	for i, wave := range Waves(s.Live) {
		for _, d := range wave {
			waveOf[d] = i
		}
	}
	ringOf := ringsOf(s.Live)
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

// ringsOf numbers declarations so that two have one number exactly where each reads the other, if only by way of others (Tarjan's strongly
// connected components).
func ringsOf(all []*Declaration) map[*Declaration]int {
	w := &ringWalk{metAt: map[*Declaration]int{}, ringOf: map[*Declaration]int{}}
	for _, d := range all {
		if w.metAt[d] == 0 {
			w.visit(d)
		}
	}
	return w.ringOf
}

type ringWalk struct {
	metAt  map[*Declaration]int // when each was met, from 1
	open   []*Declaration       // those whose ring is not complete yet
	ringOf map[*Declaration]int
}

// visit walks all that a declaration reads, and gives the earliest that is met in a ring with it.
func (w *ringWalk) visit(d *Declaration) (earliest int) {
	at := len(w.metAt) + 1
	w.metAt[d], earliest = at, at
	w.open = append(w.open, d)
	for _, read := range d.Reads.Children {
		switch {
		case w.metAt[read] == 0:
			earliest = min(earliest, w.visit(read))
		case w.ringOf[read] == 0: // it is open
			earliest = min(earliest, w.metAt[read])
		}
	}
	if earliest == at {
		first := slices.Index(w.open, d)
		for _, member := range w.open[first:] {
			w.ringOf[member] = at
		}
		w.open = w.open[:first]
	}
	return earliest
}
