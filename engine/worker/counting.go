package worker

import (
	"net/http"
	"strings"
)

// Counting sends requests to the API server through another transport, and tells of each what was asked for and what came of it. It is safe
// for concurrent use.
type Counting struct {
	next http.RoundTripper
	told func(verb string, code int)
}

// NewCounting gives a transport in front of next. told hears the verb of each request, in the API server's words, and the status code of its
// answer; 0: there was none.
func NewCounting(next http.RoundTripper, told func(verb string, code int)) *Counting {
	return &Counting{next: next, told: told}
}

// RoundTrip implements http.RoundTripper.
func (c *Counting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	code := 0
	if err == nil {
		code = response.StatusCode
	}
	c.told(VerbOf(r), code)
	return response, err
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (c *Counting) WrappedRoundTripper() http.RoundTripper { return c.next }

// Verbs of requests that read.
const (
	verbGet  = "get"
	verbList = "list"
)

// applyType begins the content types of server-side apply.
const applyType = "application/apply-patch"

// VerbOf is the verb by which rights name a request, but that a server-side apply is told from other patches.
func VerbOf(r *http.Request) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		if strings.HasPrefix(r.Header.Get("Content-Type"), applyType) {
			return "apply"
		}
		return "patch"
	case http.MethodDelete:
		if namesObject(r.URL.Path) {
			return "delete"
		}
		return "deletecollection"
	case http.MethodGet:
		query := r.URL.Query()
		switch {
		case query.Get("watch") == "true" || query.Get("watch") == "1":
			return "watch"
		case namesObject(r.URL.Path):
			return verbGet
		default:
			return verbList
		}
	default:
		return "other"
	}
}

// Target is what a path of the API server leads to.
type Target struct {
	// Group, Resource in the plural, and Subresource; the first is empty for the core kinds, the last for the object itself.
	Group, Resource, Subresource string
	// Namespace of the object, and its Name; empty: it has none, or all are meant.
	Namespace, Name string
}

// TargetOf reads a path; ok is false where it leads to no objects, such as one of discovery.
func TargetOf(path string) (t Target, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch { // after the group and the version
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		t.Group, parts = parts[1], parts[3:]
	default:
		return t, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		t.Namespace, parts = parts[1], parts[2:]
	}
	t.Resource = parts[0]
	if len(parts) > 1 {
		t.Name = parts[1]
	}
	if len(parts) > 2 {
		t.Subresource = parts[2]
	}
	return t, true
}

// Kind is the resource as rights name it: resource.group/subresource.
func (t Target) Kind() string {
	kind := t.Resource
	if t.Group != "" {
		kind += "." + t.Group
	}
	if t.Subresource != "" {
		kind += "/" + t.Subresource
	}
	return kind
}

// namesObject says whether a path leads to one object, and not to all of a kind. Paths that lead to neither, such as those of discovery, are
// taken for objects.
func namesObject(path string) bool {
	t, ok := TargetOf(path)
	return !ok || t.Name != ""
}
