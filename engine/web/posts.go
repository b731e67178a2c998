package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/orkspace/orkestra/engine/web/person"
)

const (
	// maxWork is how many questions are worked on at the same time that take more than a look into a cache; of one person it is one. Who asks
	// meanwhile waits for maxWait.
	maxWork = 2
	maxWait = 10 * time.Second
)

func (s *Server) compile(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Compile) }

func (s *Server) render(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Render) }

func (s *Server) try(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Try) }

// busy is why a question was not worked on.
const busy = "Other boxes are being compiled and rendered, yours or somebody else's: try again in a moment"

// posted reads a question and answers it, when it is its turn.
func posted[Q, A any](s *Server, w http.ResponseWriter, r *http.Request, ask func(ctx context.Context, q Q) (*A, error)) {
	var q Q
	if refused := readBody(w, r, s.Clock, &q); refused != nil {
		turnAway(w, s.Clock, refused)
		return
	}
	done := s.work.begin(r.Context())
	if done == nil {
		w.Header().Set("Retry-After", "5")
		Problem(w, http.StatusTooManyRequests, busy)
		return
	}
	defer done()
	answer(s, w, r, func(ctx context.Context) (*A, error) { return ask(ctx, q) })
}

// work bounds what is worked on at the same time. It is safe for concurrent use.
type work struct {
	turns chan struct{}

	mu   sync.Mutex
	each map[string]chan struct{} // of people who ask; guarded by mu
	used map[string]int           // how many of theirs ask; guarded by mu
}

func newWork() *work {
	return &work{turns: make(chan struct{}, maxWork), each: map[string]chan struct{}{}, used: map[string]int{}}
}

// begin waits for the turn of somebody. The caller calls done when it has ended; nil: it did not come to it.
func (l *work) begin(ctx context.Context) (done func()) {
	who, _ := person.From(ctx) // on loopback there is one
	key := who.Key()
	own := l.own(key)
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case own <- struct{}{}:
	case <-ctx.Done():
		l.leave(key)
		return nil
	}
	select {
	case l.turns <- struct{}{}:
	case <-ctx.Done():
		<-own
		l.leave(key)
		return nil
	}
	return func() {
		<-l.turns
		<-own
		l.leave(key)
	}
}

// own gives the turn of one person.
func (l *work) own(key string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.each[key] == nil {
		l.each[key] = make(chan struct{}, 1)
	}
	l.used[key]++
	return l.each[key]
}

// leave forgets somebody of whom nothing is under way.
func (l *work) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used[key]--; l.used[key] == 0 {
		delete(l.used, key)
		delete(l.each, key)
	}
}
