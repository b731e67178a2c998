package revision

import (
	"context"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
)

// Places are where the declarations of all kept revisions of a box lead. It costs one request for each box and process.
func (s *Store) Places(ctx context.Context, box string) (boxspec.Places, error) {
	known, ok, leads := s.knownPlaces(box)
	if ok {
		return known, nil
	}
	all, err := s.List(ctx, box)
	if err != nil {
		return boxspec.Places{}, err
	}
	var found boxspec.Places
	for i := range all {
		if spec, err := s.decode(box, &all[i]); err == nil {
			found = found.With(boxspec.PlacesOf(spec))
		}
	}
	return s.notePlaces(box, found, leads), nil
}

// knownPlaces gives what is known, and how often the process had begun to lead then.
func (s *Store) knownPlaces(box string) (known boxspec.Places, ok bool, leads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok = s.places[box]
	return known, ok, s.leads
}

// notePlaces adds what was found to what is known by now: a spec may have been kept since it was looked for. What a follower has found is not
// kept for the leader that it became meanwhile.
func (s *Store) notePlaces(box string, found boxspec.Places, leads int) boxspec.Places {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := found.With(s.places[box])
	if s.leads == leads {
		s.places[box] = all
	}
	return all
}

// addPlaces adds the places of a spec that is about to be kept.
func (s *Store) addPlaces(box *v1alpha1.OperatorBox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.places[box.Name]; ok {
		s.places[box.Name] = known.With(boxspec.PlacesOf(&box.Spec))
	}
}

func (s *Store) forgetPlaces(box string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.places, box)
}
