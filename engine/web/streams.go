package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

const (
	// gather is how long changes are gathered before they are told, so that a burst is told at most four times a second.
	gather = 250 * time.Millisecond
	// beat is how often a stream says that it is there: proxies end connections that are silent, and a page that hears nothing for longer takes its
	// connection for lost.
	beat = 15 * time.Second
	// maxStreams is how many pages may listen at the same time, maxEach how many of one person, and maxShared how many of all who have not said who
	// they are: nobody can keep all others out.
	maxStreams, maxEach, maxShared = 300, 30, 200
	// writeTimeout is how long a page may take to read what it is told.
	writeTimeout = 30 * time.Second
	// maxNamed is how many resources of a box are named in one gathering. Beyond that the box as a whole is.
	maxNamed = 50
)

// streams are those of all pages.
type streams struct {
	mu   sync.Mutex
	all  map[*stream]bool // guarded by mu
	each map[string]int   // how many are somebody's; guarded by mu
}

// stream gathers what one page has not been told yet.
type stream struct {
	of string // whose it is

	mu      sync.Mutex
	pending map[string]*boxChanges // by the names of boxes; guarded by mu
	wake    chan struct{}
}

// boxChanges are those of one box.
type boxChanges struct {
	itself    bool
	resources map[api.Reference]bool
}

func newStreams() *streams { return &streams{all: map[*stream]bool{}, each: map[string]int{}} }

// open makes a stream for somebody; nil: there are too many, and most is how many there may be.
func (s *streams) open(ctx context.Context) (one *stream, most int) {
	who, known := person.From(ctx)
	most = maxStreams // on loopback there is one person
	switch {
	case who.Shared:
		most = maxShared
	case known:
		most = maxEach
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := who.Key()
	if s.each[of] >= most {
		return nil, most
	}
	if len(s.all) >= maxStreams {
		return nil, maxStreams
	}
	one = &stream{of: of, pending: map[string]*boxChanges{}, wake: make(chan struct{}, 1)}
	s.all[one] = true
	s.each[of]++
	return one, most
}

func (s *streams) close(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, one)
	if s.each[one.of]--; s.each[one.of] == 0 {
		delete(s.each, one.of)
	}
}

// tell notes a change for all pages.
func (s *streams) tell(c api.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.all {
		one.note(c)
	}
}

func (s *stream) note(c api.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.pending[c.Box]
	if b == nil {
		b = &boxChanges{resources: map[api.Reference]bool{}}
		s.pending[c.Box] = b
	}
	if c.Resource == nil {
		b.itself = true
	} else if len(b.resources) <= maxNamed { // one too many says that they are too many
		b.resources[*c.Resource] = true
	}
	select {
	case s.wake <- struct{}{}:
	default: // it will wake anyway
	}
}

// take gives what was gathered, in a steady order.
func (s *stream) take() []api.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []api.Change
	for name, b := range s.pending {
		if b.itself || len(b.resources) > maxNamed {
			out = append(out, api.Change{Box: name})
		}
		if len(b.resources) > maxNamed {
			continue
		}
		for r := range b.resources {
			out = append(out, api.Change{Box: name, Resource: &r})
		}
	}
	clear(s.pending)
	slices.SortFunc(out, func(a, b api.Change) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return out
}

// stream tells of changes until the page goes, or who has opened it would not be let in any more.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	one, most := s.streams.open(r.Context())
	if one == nil {
		w.Header().Set("Retry-After", "15")
		Problem(w, http.StatusTooManyRequests, fmt.Sprintf("%d pages are open, and no more are told of changes: close some, or reload this one now and then", most))
		return
	}
	defer s.streams.close(one)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	// Who does not read is not waited for.
	bound := func() { _ = out.SetWriteDeadline(s.Clock.Now().Add(writeTimeout)) } // a recorder of a test has none
	bound()
	if _, err := fmt.Fprint(w, "retry: 1000\n"+beating); err != nil || out.Flush() != nil {
		return
	}
	beats := time.NewTicker(beat)
	defer beats.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-beats.C:
			if !isStillIn(r) {
				return // a token that has expired, or was taken back
			}
			bound()
			if _, err := fmt.Fprint(w, beating); err != nil || out.Flush() != nil {
				return
			}
		case <-one.wake:
			bound()
			if !tellAll(w, s.Source.See(r.Context(), one.take())) || out.Flush() != nil || !pause(r, gather) {
				return
			}
		}
	}
}

// beating is the event that says nothing else than that the stream is there. Without data browsers would drop it.
const beating = "event: beat\ndata: {}\n\n"

func tellAll(w http.ResponseWriter, changes []api.Change) bool {
	for _, c := range changes {
		text, err := json.Marshal(c)
		if err != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
			return false
		}
	}
	return true
}

// pause waits; false: the page has gone.
func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}

func keyOf(c api.Change) string {
	if c.Resource == nil {
		return c.Box
	}
	return c.Box + "/" + c.Resource.Namespace + "/" + c.Resource.Name
}
