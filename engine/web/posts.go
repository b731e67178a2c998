package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

const (
	// maxBody is how long a question may be, in bytes.
	maxBody = 1 << 20
	// bodyTime is how long it may take to come.
	bodyTime = 15 * time.Second
	// maxWork is how many questions are worked on at the same time that take more than a look into a cache; of one person it is one. Who asks
	// meanwhile waits for maxWait.
	maxWork = 2
	maxWait = 10 * time.Second
)

// asks are the questions that have a body. They change nothing: what they ask about is too long for an address.
var asks = map[string]bool{"/api/v1/compile": true, "/api/v1/render": true, "/api/v1/try": true}

// mayHaveBody says whether a request may have one.
func mayHaveBody(r *http.Request) bool { return r.Method == http.MethodPost && asks[r.URL.Path] }

func (s *Server) compile(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Compile) }

func (s *Server) render(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Render) }

func (s *Server) try(w http.ResponseWriter, r *http.Request) { posted(s, w, r, s.Source.Try) }

// posted reads a question and answers it, when it is its turn.
func posted[Q, A any](s *Server, w http.ResponseWriter, r *http.Request, ask func(ctx context.Context, q Q) (*A, error)) {
	var q Q
	_ = http.NewResponseController(w).SetReadDeadline(s.Clock.Now().Add(bodyTime)) // a recorder of a test has none
	if p := readQuestion(w, r, &q); p != nil {
		w.Header().Set("Connection", "close") // the rest of what is sent is of no use
		writeProblem(w, *p)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the connection goes on
	done := s.work.begin(r.Context())
	if done == nil {
		w.Header().Set("Retry-After", "5")
		Problem(w, http.StatusTooManyRequests, "Other boxes are being compiled and rendered, yours or somebody else's: try again in a moment")
		return
	}
	defer done()
	answer(s, w, r, func(ctx context.Context) (*A, error) { return ask(ctx, q) })
}

// readQuestion reads the body of a request; nil: it could be read.
func readQuestion(w http.ResponseWriter, r *http.Request, into any) *api.Problem {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &api.Problem{Status: http.StatusUnsupportedMediaType, Detail: fmt.Sprintf("header Content-Type: wanted application/json, got %q", r.Header.Get("Content-Type"))}
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("there is more behind it")
			if _, long := errors.AsType[*http.MaxBytesError](end); long {
				err = end
			}
		}
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return &api.Problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The question is longer than %d bytes: take out what it does not need", maxBody)}
	}
	if err != nil {
		return &api.Problem{Status: http.StatusBadRequest, Detail: "The body is no question of this kind, as /api/v1/openapi.json describes it: " + err.Error()}
	}
	return nil
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
