package bench_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// expired is what the API server ends a watch with that asks for changes which are no longer kept.
const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// cutter ends the watches of a client when it is told to.
type cutter struct {
	mu   sync.Mutex
	open map[*openWatch]bool // guarded by mu
}

// openWatch is the body of the answer to a watch. Closing it closes what it reads.
type openWatch struct {
	*io.PipeReader

	source io.ReadCloser
	events bool // its events are lines of JSON
	mu     sync.Mutex
	last   string // guarded by mu; what it ends with when it is cut
	done   func()
}

// wrap passes requests on, and keeps an eye on the watches among them.
func (c *cutter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || r.URL.Query().Get("watch") != "true" || response.StatusCode != http.StatusOK {
			return response, err
		}
		reader, writer := io.Pipe()
		w := &openWatch{PipeReader: reader, source: response.Body, events: strings.HasPrefix(response.Header.Get("Content-Type"), "application/json")}
		w.done = func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.open, w)
		}
		c.mu.Lock()
		if c.open == nil {
			c.open = map[*openWatch]bool{}
		}
		c.open[w] = true
		c.mu.Unlock()
		go w.pass(writer) // ends when the source does, which Close and cut see to
		response.Body = w
		return response, nil
	})
}

// pass hands over what the API server says, event by event, until one side ends.
func (w *openWatch) pass(to *io.PipeWriter) {
	lines := bufio.NewReader(w.source)
	for {
		part, err := w.next(lines)
		if err != nil {
			break
		}
		if _, err := to.Write(part); err != nil {
			break // the client has closed it
		}
	}
	w.mu.Lock()
	last := w.last
	w.mu.Unlock()
	_, _ = io.WriteString(to, last) // where the client has closed it nobody reads this
	w.done()
	_ = to.Close() // never fails
}

// next reads an event, or what there is where events are not lines.
func (w *openWatch) next(from *bufio.Reader) ([]byte, error) {
	if w.events {
		return from.ReadBytes('\n')
	}
	chunk := make([]byte, 32<<10)
	n, err := from.Read(chunk)
	return chunk[:n], err
}

// Close ends the watch as the client does.
func (w *openWatch) Close() error { return errors.Join(w.PipeReader.Close(), w.source.Close()) }

// cut ends all watches that are open, those in JSON with a last event (empty: none), and says how many these were.
func (c *cutter) cut(last string) (ended int) {
	c.mu.Lock()
	var all []*openWatch
	for w := range c.open {
		all = append(all, w)
	}
	c.mu.Unlock()
	for _, w := range all {
		if w.events {
			w.mu.Lock()
			w.last = last
			w.mu.Unlock()
		}
		_ = w.source.Close() // the connection is cut anyway
	}
	return len(all)
}

// TestCutter: a watch that is cut ends with what it was told to end with, and without half an event; others are left alone.
func TestCutter(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{\"type\":\"ADDED\"}\n{\"type\":") // the test reads it
		if r.URL.Query().Get("watch") != "true" {
			return
		}
		_ = http.NewResponseController(w).Flush() // as above
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	defer server.Close()
	defer close(ended)
	c := &cutter{}
	asked := &http.Client{Transport: c.wrap(http.DefaultTransport)}
	get := func(query string) io.ReadCloser {
		t.Helper()
		response, err := asked.Get(server.URL + "?" + query)
		if err != nil {
			t.Fatal(err)
		}
		return response.Body
	}
	list := get("")
	if text, err := io.ReadAll(list); err != nil || !bytes.HasSuffix(text, []byte(`{"type":`)) {
		t.Errorf("a list gives %q (%v)", text, err)
	}
	for _, last := range []string{"", expired} {
		body := get("watch=true")
		first := make([]byte, len("{\"type\":\"ADDED\"}\n"))
		if _, err := io.ReadFull(body, first); err != nil {
			t.Fatal(err)
		}
		if n := c.cut(last); n != 1 {
			t.Errorf("%d watches are cut, wanted 1", n)
		}
		if rest, err := io.ReadAll(body); err != nil || string(rest) != last {
			t.Errorf("the watch ends with %q (%v), wanted %q", rest, err, last)
		}
		if err := errors.Join(body.Close(), list.Close()); err != nil && !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Error(fmt.Errorf("closing: %w", err))
		}
		if n := c.cut(""); n != 0 {
			t.Errorf("%d watches are open afterwards", n)
		}
	}
}
