package web

import (
	"context"
	"fmt"
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
	// maxTime is how long one is worked on. It ends earlier where who asks has gone.
	maxTime = 30 * time.Second
	// maxOwn is how many of one person may be there at the same time, and maxAll of all: each has a body of up to maxQuestion.
	maxOwn, maxAll = 3, 20
)

// errTooLong is why one is not worked on any longer.
var errTooLong = fmt.Errorf("this takes longer than %v, and others wait for it: give less at once, or use orkestra validate and orkestra render: %w", maxTime, context.DeadlineExceeded)

func (s *Server) compile(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Compile) }

func (s *Server) render(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Render) }

func (s *Server) try(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Try) }

// busy is why a question was not worked on.
const busy = "Other boxes are being compiled and rendered, yours or somebody else's: try again in a moment"

// posted reads a question and answers it, when it is its turn.
func posted[Q, A any](s *Server, w http.ResponseWriter, r *http.Request, ask func(ctx context.Context, q Q) (*A, error)) {
	leave := s.work.arrive(r.Context())
	if leave == nil { // before its body is read
		turnAway(w, s.Clock, &refusal{status: http.StatusTooManyRequests, why: busy})
		return
	}
	defer leave()
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
	answer(s, w, r, func(ctx context.Context) (*A, error) {
		return inTime(ctx, q, ask)
	})
}

// inTime asks for as long as a question may take.
func inTime[Q, A any](ctx context.Context, q Q, ask func(ctx context.Context, q Q) (*A, error)) (*A, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooLong)
	defer cancel()
	said, err := ask(ctx, q)
	if ctx.Err() != nil { // what was found until then is not all
		return nil, context.Cause(ctx)
	}
	return said, err
}

// work bounds what is worked on at the same time. It is safe for concurrent use.
type work struct {
	turns chan struct{}

	mu   sync.Mutex
	each map[string]*own // of people who ask; guarded by mu
	all  int             // how many questions there are; guarded by mu
}

// own is what somebody asks.
type own struct {
	turn  chan struct{}
	there int // how many questions of theirs there are; guarded by work.mu
}

func newWork() *work { return &work{turns: make(chan struct{}, maxWork), each: map[string]*own{}} }

// askerOf is the key of who asks. On loopback there is one person.
func askerOf(ctx context.Context) string {
	who, _ := person.From(ctx)
	return who.Key()
}

// arrive notes a question. The caller calls leave when it has ended; nil: there are too many.
func (l *work) arrive(ctx context.Context) (leave func()) {
	key := askerOf(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.each[key]
	if mine == nil {
		mine = &own{turn: make(chan struct{}, 1)}
	}
	if mine.there >= maxOwn || l.all >= maxAll {
		return nil
	}
	l.each[key] = mine
	mine.there++
	l.all++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all--
		if mine.there--; mine.there == 0 {
			delete(l.each, key)
		}
	}
}

// begin waits for the turn of a question that has arrived. The caller calls done when it has ended; nil: it did not come to it.
func (l *work) begin(ctx context.Context) (done func()) {
	l.mu.Lock()
	turn := l.each[askerOf(ctx)].turn
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	select {
	case l.turns <- struct{}{}:
	case <-ctx.Done():
		<-turn
		return nil
	}
	return func() {
		<-l.turns
		<-turn
	}
}
