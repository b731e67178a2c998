package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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

// write is a request that changes something, with its answer.
type write struct {
	method, path, contentType string
	query                     url.Values
	body                      []byte
	sent, answer              *unstructured.Unstructured
	code                      int
}

func (r write) name() string { return r.path[strings.LastIndex(r.path, "/")+1:] }

func (r write) String() string {
	return fmt.Sprintf("%s %s?%s %s: %d", r.method, r.path, r.query.Encode(), r.body, r.code)
}

// intrusion is what somebody else does just before a write reaches the API server.
type intrusion func(next http.RoundTripper, r *http.Request) error

// writeLog sees what a manager writes to paths that hold all of these parts, bodies and answers included. It can have
// somebody else be faster.
type writeLog struct {
	parts []string

	mu      sync.Mutex
	all     []write
	method  string
	intrude intrusion // once, before the first write with this method
	err     error
}

func (l *writeLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || !l.concerns(r.URL.Path) {
			return next.RoundTrip(r)
		}
		entry := write{method: r.Method, path: r.URL.Path, query: r.URL.Query(), contentType: r.Header.Get("Content-Type")}
		body, err := readAll(r.Body)
		if err != nil {
			return nil, err
		}
		entry.body, entry.sent = body, objectIn(body)
		if err := l.meddle(next, resend(r, body)); err != nil {
			return nil, err
		}
		response, err := next.RoundTrip(resend(r, body))
		if err != nil {
			return nil, err
		}
		answer, err := readAll(response.Body)
		if err != nil {
			return nil, err
		}
		response.Body = io.NopCloser(bytes.NewReader(answer))
		entry.code, entry.answer = response.StatusCode, objectIn(answer)
		l.mu.Lock()
		l.all = append(l.all, entry)
		l.mu.Unlock()
		return response, nil
	})
}

func (l *writeLog) concerns(path string) bool {
	for _, part := range l.parts {
		if !strings.Contains(path, part) {
			return false
		}
	}
	return true
}

// justBefore has somebody else do something before the next write with a method.
func (l *writeLog) justBefore(method string, do intrusion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.method, l.intrude = method, do
}

// meddle does what was asked for, once.
func (l *writeLog) meddle(next http.RoundTripper, r *http.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.intrude == nil || l.method != r.Method {
		return nil
	}
	do := l.intrude
	l.intrude = nil
	l.err = do(next, r)
	return l.err
}

// interfered says whether somebody else has been faster, as justBefore asked for.
func (l *writeLog) interfered() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.intrude == nil, l.err
}

// applies are the server-side applies, in the order of their answers.
func (l *writeLog) applies() []write {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []write
	for _, r := range l.all {
		if r.contentType == string(types.ApplyPatchType) {
			out = append(out, r)
		}
	}
	return out
}

// bodies are what was sent, sorted.
func (l *writeLog) bodies() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, r := range l.all {
		out = append(out, string(r.body))
	}
	slices.Sort(out)
	return out
}

// deletes are the deletions: path, and the UID and resourceVersion that were asked for.
func (l *writeLog) deletes() ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, r := range l.all {
		if r.method != http.MethodDelete {
			continue
		}
		var options metav1.DeleteOptions
		if err := json.Unmarshal(r.body, &options); err != nil {
			return nil, fmt.Errorf("reading the options of %s: %w", r, err)
		}
		if options.Preconditions == nil || options.Preconditions.UID == nil || options.Preconditions.ResourceVersion == nil {
			return nil, fmt.Errorf("%s has no UID or no resourceVersion", r)
		}
		out = append(out, fmt.Sprintf("%s %s %s", r.path, *options.Preconditions.UID, *options.Preconditions.ResourceVersion))
	}
	return out, nil
}

// sendBefore sends a request with a part of its body replaced, and reads the object that it makes.
func sendBefore(next http.RoundTripper, r *http.Request, made *unstructured.Unstructured, old, replacement string) error {
	body, err := readAll(r.Body)
	if err != nil {
		return err
	}
	response, err := next.RoundTrip(resend(r, bytes.ReplaceAll(body, []byte(old), []byte(replacement)))) //nolint:bodyclose // drain does
	if err != nil {
		return err
	}
	answer, err := readAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("expected %s %s to create an object, got %s", r.Method, r.URL.Path, answer)
	}
	return made.UnmarshalJSON(answer)
}

// patchesWithout takes a text out of every patch.
func patchesWithout(text string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPatch {
				return next.RoundTrip(r)
			}
			body, err := readAll(r.Body)
			if err != nil {
				return nil, err
			}
			return next.RoundTrip(resend(r, bytes.ReplaceAll(body, []byte(text), nil)))
		})
	}
}

// resend gives a request with another body.
func resend(r *http.Request, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return out
}

// readAll reads a body to its end and closes it.
func readAll(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(body)
	return data, errors.Join(err, body.Close())
}

// objectIn reads an object; an empty one where there is none.
func objectIn(data []byte) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &obj.Object); err != nil || obj.Object == nil {
		obj.Object = map[string]any{}
	}
	return obj
}
