package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/provider"
)

// book is what a shelf has.
type book struct {
	Owner string `json:"owner"`
	Pages int64  `json:"pages"`
}

// shelf is a service on loopback that keeps books.
type shelf struct {
	*httptest.Server

	mu       sync.Mutex
	books    map[string]book
	requests []string
	down     bool
	key      string // that requests must have; empty: none
}

func newShelf() *shelf {
	s := &shelf{books: map[string]book{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	DeferCleanup(s.Close)
	return s
}

func (s *shelf) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/")
	s.requests = append(s.requests, r.Method+" "+name)
	found, there := s.books[name]
	switch {
	case s.down:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Header.Get("Key") != s.key:
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPut:
		var b book
		if json.NewDecoder(r.Body).Decode(&b) != nil || there && found.Owner != b.Owner {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.books[name] = b
	case !there:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(s.books, name)
	default:
		if err := json.NewEncoder(w).Encode(found); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// has gives the names of all books.
func (s *shelf) has() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.books))
}

// change changes the shelf.
func (s *shelf) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// asked gives what was asked since it was last called.
func (s *shelf) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

// library is the provider of shelves.
type library struct{}

// Kinds implements provider.Provider.
func (library) Kinds() map[string]provider.Kind {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	return map[string]provider.Kind{"book": {
		Summary: "A book on a shelf.",
		Schema: apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"name"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"name": text, "pages": {Type: "integer"},
		}},
		Identity:    []string{"name"},
		Outputs:     apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"place": text, "pages": {Type: "integer"}}},
		Credentials: []provider.Key{{Name: "key"}},
		Driver:      library{},
	}}
}

func (library) send(ctx context.Context, r *provider.Request, method string, body any) (*book, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("%s/%v", r.Endpoint, r.Declared["name"])
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Key", r.Credentials["key"])
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return nil, &provider.Error{Class: provider.Transient, Operation: method, Message: err.Error()}
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is lost
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	class := map[int]provider.Class{
		http.StatusServiceUnavailable: provider.Transient, http.StatusUnauthorized: provider.Denied, http.StatusConflict: provider.NotOwned, http.StatusNotFound: provider.NotFound,
	}[resp.StatusCode]
	if class != "" {
		return nil, &provider.Error{Class: class, Operation: method + "Book", Code: resp.Status}
	}
	found := &book{}
	if method == http.MethodGet {
		err = json.Unmarshal(answer, found)
	}
	return found, err
}

// Ensure implements provider.Driver.
func (l library) Ensure(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	seen, err := l.Observe(ctx, r)
	created := provider.IsClass(err, provider.NotFound)
	if err != nil && !created || err == nil && len(seen.Differs) == 0 {
		return seen, err
	}
	pages, _ := r.Declared["pages"].(int64)
	if _, err := l.send(ctx, r, http.MethodPut, book{Owner: r.Owner.UID, Pages: pages}); err != nil {
		return nil, err
	}
	out, err := l.Observe(ctx, r)
	if err == nil {
		out.Created = created
		if !created {
			out.Differs = []string{"pages"}
		}
	}
	return out, err
}

// Observe implements provider.Driver.
func (l library) Observe(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	found, err := l.send(ctx, r, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	if found.Owner != r.Owner.UID {
		return nil, &provider.Error{Class: provider.NotOwned, Operation: "GetBook", Message: "it is somebody else's"}
	}
	out := &provider.Observed{Outputs: map[string]any{"place": fmt.Sprint("shelf/", r.Declared["name"]), "pages": found.Pages}}
	if pages, _ := r.Declared["pages"].(int64); pages != found.Pages {
		out.Differs = []string{"pages"}
	}
	return out, nil
}

// Delete implements provider.Driver.
func (l library) Delete(ctx context.Context, r *provider.Request) (bool, error) {
	_, err := l.send(ctx, r, http.MethodDelete, nil)
	if provider.IsClass(err, provider.NotFound) {
		return true, nil
	}
	return err == nil, err
}

// providersOfTests are those of every manager of the suite.
func providersOfTests() *provider.Registry {
	r := provider.NewRegistry()
	Expect(r.Add("library", library{})).To(Succeed())
	return r
}
