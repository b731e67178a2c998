package taken

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// maxAsked is how often it is asked what an object would be. What could not be asked of by then stays.
const maxAsked = 100

// maxReasons is how many reasons are given: people read them in one line.
const maxReasons = 3

// Least finds out which of some fields have to stay; they are in the order of managed fields. refused asks what the object would be if only these
// stayed, and says why it can't be; empty: it can. All are tried first, and where that is refused the parts, each as a whole before its own parts: a
// container goes as one, though its image alone would be refused. That goes on until no part that is left can go. why are the first reasons that were
// given for those that stay, each once.
func Least(fields []fieldpath.Path, refused func(kept []fieldpath.Path) (why string, err error)) (kept []fieldpath.Path, why []string, err error) {
	s := search{refused: refused, kept: fields}
	for before := -1; before != len(s.kept); {
		before = len(s.kept)
		if s.asked < maxAsked {
			s.why = nil
		}
		if err := s.drop(slices.Clone(s.kept)); err != nil {
			return nil, nil, err
		}
	}
	return s.kept, s.why, nil
}

// search is one search for what has to stay.
type search struct {
	refused func(kept []fieldpath.Path) (string, error)
	kept    []fieldpath.Path // what stays, as far as it is known
	why     []string
	asked   int
}

// drop takes what can go of some fields out of what is kept.
func (s *search) drop(fields []fieldpath.Path) error {
	if len(fields) == 0 || s.asked == maxAsked {
		return nil
	}
	s.asked++
	set := fieldpath.NewSet(fields...)
	without := slices.DeleteFunc(slices.Clone(s.kept), set.Has)
	why, err := s.refused(without)
	switch {
	case err != nil:
		return err
	case why == "":
		s.kept = without
		return nil
	case !slices.Contains(s.why, why) && len(s.why) < maxReasons:
		s.why = append(s.why, why)
	}
	if len(fields) == 1 {
		return nil
	}
	first, second := halves(fields)
	if err := s.drop(first); err != nil {
		return err
	}
	return s.drop(second)
}

// halves parts fields where their paths part first, at the fork that is next to the middle: what belongs together stays so.
func halves(fields []fieldpath.Path) (first, second []fieldpath.Path) {
	for depth := 0; ; depth++ {
		var forks []int
		for i := 1; i < len(fields); i++ {
			if !fields[i][depth].Equals(fields[i-1][depth]) {
				forks = append(forks, i)
			}
		}
		if len(forks) > 0 {
			at := forks[len(forks)/2]
			return fields[:at], fields[at:]
		}
	}
}
