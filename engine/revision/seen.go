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
	// listed is the resource version of a list of now; empty: there is none that counts.
	listed string
	// boxes has those of which this process has written or removed a revision: the resource version of what it wrote last, or nothing where
	// it has removed one since, of which the API server tells no version.
	boxes map[string]string
	// age is how often something was removed or forgotten: a list of now that began before does not count.
	age int
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
		s.forget() // etcd was restored from a backup of before
		return s.now(ctx, live, list, of...)
	}
	return err //nolint:wrapcheck // callers say what they list
}

// now lists ControllerRevisions as etcd holds them.
func (s *seen) now(ctx context.Context, live client.Reader, list client.ObjectList, of ...client.ListOption) error {
	s.mu.Lock()
	age := s.age
	s.mu.Unlock()
	if err := live.List(ctx, list, of...); err != nil {
		return err //nolint:wrapcheck // callers say what they list
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.age == age {
		s.listed = list.GetResourceVersion()
		maps.DeleteFunc(s.boxes, func(_, version string) bool { return version == "" })
	}
	return nil
}

// version is what a list of a box's revisions must not be older than; empty: it must be of now.
func (s *seen) version(box string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version, ok := s.boxes[box]; ok {
		return version
	}
	return s.listed
}

// write keeps the resource version of a revision that was written.
func (s *seen) write(box, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(box, version)
}

// remove says that a revision was removed.
func (s *seen) remove(box string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(box, "")
	s.age++
}

func (s *seen) put(box, version string) {
	if s.boxes == nil {
		s.boxes = map[string]string{}
	}
	s.boxes[box] = version
}

// forget says that nothing that was seen counts any more.
func (s *seen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed, s.age = "", s.age+1
	clear(s.boxes)
}
