package e2e_test

import (
	"net/http"
	"strings"
	"sync"
)

// request is one request that the manager sent.
type request struct {
	method, path, query string
}

func (r request) String() string { return r.method + " " + r.path + "?" + r.query }

// requestLog sees every request of a manager at its transport.
type requestLog struct {
	mu  sync.Mutex
	all []request
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		l.mu.Lock()
		l.all = append(l.all, request{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery})
		l.mu.Unlock()
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// mark gives the place in the log from which a spec reads on.
func (l *requestLog) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// since gives the requests since a mark whose path holds a text, watches left out.
func (l *requestLog) since(mark int, text string) []request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []request
	for _, r := range l.all[mark:] {
		if strings.Contains(r.path, text) && !strings.Contains(r.query, "watch=true") {
			out = append(out, r)
		}
	}
	return out
}
