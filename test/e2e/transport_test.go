package e2e_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
)

// replaceManager runs another manager instead of the suite's until the spec ends. A spec makes its world first, so that the
// suite's manager is back when the world is removed.
func replaceManager(changes ...func(*settings)) {
	GinkgoHelper()
	manager.stop()
	manager = startManager(cluster.Config(), changes...)
	DeferCleanup(func() {
		manager.stop()
		manager = startManager(cluster.Config())
	})
}

// via has a manager send its requests through something.
func via(wrap func(http.RoundTripper) http.RoundTripper) func(*settings) {
	return func(s *settings) { s.config.Wrap(wrap) }
}

// startBlocked replaces the manager by one with a blocker, which is open at first. It is opened when the spec ends.
func startBlocked(match func(*http.Request) bool, changes ...func(*settings)) *blocker {
	GinkgoHelper()
	d := &blocker{match: match}
	d.open()
	replaceManager(append(changes, via(d.wrap))...)
	DeferCleanup(d.open)
	return d
}

// blocker holds back requests while it is shut, also when their sender has given up.
type blocker struct {
	match func(*http.Request) bool
	// yields lets go of requests whose sender has given up. Senders do after some seconds.
	yields bool

	mu       sync.Mutex
	gate     chan struct{} // closed: the blocker is open
	held     int           // now
	most     int           // at the same time, since the blocker was shut
	canceled int           // by their sender, while they were held
}

func (d *blocker) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !d.match(r) {
			return next.RoundTrip(r)
		}
		d.mu.Lock()
		gate := d.gate
		d.held++
		d.most = max(d.most, d.held)
		d.mu.Unlock()
		var (
			givenUp <-chan struct{}
			err     error
		)
		if d.yields {
			givenUp = r.Context().Done()
		}
		select {
		case <-gate:
		case <-givenUp:
			err = r.Context().Err()
		}
		d.mu.Lock()
		d.held--
		if err != nil {
			d.canceled++
		}
		d.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return next.RoundTrip(r)
	})
}

// open lets everything pass, now and later.
func (d *blocker) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.gate:
	default:
		if d.gate == nil {
			d.gate = make(chan struct{})
		}
		close(d.gate)
	}
}

// shut holds back what comes.
func (d *blocker) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate, d.most, d.canceled = make(chan struct{}), 0, 0
}

func (d *blocker) counts() (held, most, canceled int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held, d.most, d.canceled
}

func (d *blocker) holding() int {
	held, _, _ := d.counts()
	return held
}

// writesOf matches requests that change objects of a resource in a namespace.
func writesOf(namespace, resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+namespace+"/"+resource)
	}
}

// streams sees the watches of a client: it counts those that are open, and can hold back what they tell.
type streams struct {
	mu     sync.Mutex
	wake   *sync.Cond
	open   map[string]int    // by path
	paused map[string]string // what is still told, by a part of the path
}

func newStreams() *streams {
	s := &streams{open: map[string]int{}, paused: map[string]string{}}
	s.wake = sync.NewCond(&s.mu)
	return s
}

func (s *streams) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || !strings.Contains(r.URL.RawQuery, "watch=true") {
			return response, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[r.URL.Path]++
		response.Body = &stream{ReadCloser: response.Body, all: s, path: r.URL.Path}
		return response, nil
	})
}

// count is the number of open watches whose path holds a text.
func (s *streams) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for path, open := range s.open {
		if strings.Contains(path, text) {
			n += open
		}
	}
	return n
}

// pause holds back what watches tell whose path holds a text, after they have told of something that holds last; at once if
// that is empty.
func (s *streams) pause(path, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[path] = last
}

// resume lets all go on.
func (s *streams) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = map[string]string{}
	s.wake.Broadcast()
}

// holdsLocked says whether a watch may tell what it has read.
func (s *streams) holdsLocked(path string, read []byte) bool {
	for part, last := range s.paused {
		switch {
		case !strings.Contains(path, part):
		case last == "":
			return true
		case strings.Contains(string(read), last):
			s.paused[part] = ""
		}
	}
	return false
}

// stream is the body of one watch.
type stream struct {
	io.ReadCloser

	all    *streams
	path   string
	closed bool // guarded by the lock of all
}

// Read hands on what was read when the watch is not held back.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	for !s.closed && s.all.holdsLocked(s.path, p[:n]) {
		s.all.wake.Wait()
	}
	if s.closed {
		return 0, errors.New("the watch is closed")
	}
	return n, err
}

// Close counts the watch as ended.
func (s *stream) Close() error {
	s.all.mu.Lock()
	if !s.closed {
		s.closed = true
		s.all.open[s.path]--
		s.all.wake.Broadcast()
	}
	s.all.mu.Unlock()
	return s.ReadCloser.Close()
}

// lateWatches holds back what watches tell whose path ends with some text, while it is shut. Nothing is lost.
type lateWatches struct {
	of string

	mu   sync.Mutex
	gate chan struct{} // closed: everything passes
}

func (l *lateWatches) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && strings.HasSuffix(r.URL.Path, l.of) && strings.Contains(r.URL.RawQuery, "watch=true") {
			response.Body = &lateBody{ReadCloser: response.Body, by: l}
		}
		return response, err
	})
}

func (l *lateWatches) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gate == nil {
		l.gate = make(chan struct{})
	}
	select {
	case <-l.gate:
	default:
		close(l.gate)
	}
}

func (l *lateWatches) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = make(chan struct{})
}

func (l *lateWatches) passed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gate
}

// lateBody is the body of one watch.
type lateBody struct {
	io.ReadCloser

	by *lateWatches
}

func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	<-b.by.passed()
	return n, err
}
