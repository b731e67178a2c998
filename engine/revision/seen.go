package revision

import (
	"context"
	"maps"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// seen is how much of the revisions this process has seen: a list need not be older than that, and may be answered at once. A list that says
// nothing of the kind must show what etcd holds now. Where anything was written since etcd last told the API server how far it is, which it
// does ten times a second when asked, that list waits for it: for up to 100 ms, which each start of a box would take longer.
//
// It is safe for concurrent use. The zero value has seen nothing.
type seen struct {
	mu sync.Mutex
	// listed is the resource version of the last list of now; empty: there is none that counts.
	listed string
	// since is the turn in which that list began, or in which all was forgotten.
	since int
	// boxes has those of which this process has written or removed a revision since that list began.
	boxes map[string]change
	// turn counts changes.
	turn int
}

// change is what this process did last to the revisions of a box.
type change struct {
	// version is the resource version of what it wrote; empty: it has removed one, of which the API server tells no version, or does not know
	// whether it has written one.
	version string
	turn    int
}

// list lists revisions of a box that are no older than what was seen of them.
func (s *seen) list(ctx context.Context, live client.Reader, box string, list client.ObjectList, of ...client.ListOption) error {
	version := s.version(box)
	if version == "" {
		return s.now(ctx, live, list, of...)
	}
	raw := &metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	err := live.List(ctx, list, append(of, &client.ListOptions{Raw: raw})...)
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		// The API server has not come that far, and client-go has tried again for up to 40 s: as a rule, because etcd was restored from a backup.
		return s.now(ctx, live, list, of...)
	}
	return err //nolint:wrapcheck // callers say what they list
}

// now lists ControllerRevisions as etcd holds them.
func (s *seen) now(ctx context.Context, live client.Reader, list client.ObjectList, of ...client.ListOption) error {
	s.mu.Lock()
	began := s.turn
	s.mu.Unlock()
	if err := live.List(ctx, list, of...); err != nil {
		return err //nolint:wrapcheck // callers say what they list
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if began < s.since {
		return nil // it began before another one that has ended, or before all was forgotten
	}
	s.listed, s.since = list.GetResourceVersion(), began
	maps.DeleteFunc(s.boxes, func(_ string, c change) bool { return c.turn <= began })
	return nil
}

// version is what a list of a box's revisions must not be older than; empty: it must be of now.
func (s *seen) version(box string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.boxes[box]; ok {
		return last.version
	}
	return s.listed
}

// change keeps that a revision of a box was written, with its resource version; an empty one: it was removed, or may have been written.
func (s *seen) change(box, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boxes == nil {
		s.boxes = map[string]change{}
	}
	s.turn++
	s.boxes[box] = change{version: version, turn: s.turn}
}

// forget says that nothing that was seen counts any more.
func (s *seen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	s.listed, s.since = "", s.turn
	clear(s.boxes)
}
