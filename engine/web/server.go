// Package web serves the Control Center: the API below /api/v1, the stream of changes, and the files of the page. It knows HTTP, and asks a Source
// for everything else. docs/design/control-center.md says why it is as it is.
package web

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/manual"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// Source answers what the API asks. An error that is one of the API server (k8s.io/apimachinery/pkg/api/errors) becomes its status; what is not there
// is such a "not found". All answers are the caller's own.
type Source interface {
	Lists
	Plans
	Details
	// Resource gives one resource of a box. The namespace is empty for a kind that has none.
	Resource(ctx context.Context, box, namespace, name string) (*api.Resource, error)
	Changes
}

// Lists are what somebody finds boxes and resources in.
type Lists interface {
	// Fleet gives all boxes.
	Fleet(ctx context.Context) (*api.Fleet, error)
	// Manager says whether one is at work.
	Manager(ctx context.Context) (*api.Manager, error)
	// Page gives a page of the resources of a box.
	Page(ctx context.Context, box string, q rows.Query) (*api.Rows, error)
	// Search gives the resources of all boxes in which a text is found.
	Search(ctx context.Context, q rows.Search) (*api.Found, error)
}

// Plans say what boxes would do that somebody has written. A mistake in what is asked is an error that is a bad request; one in a box stands in the answer.
type Plans interface {
	// Compile says what is wrong with boxes.
	Compile(ctx context.Context, q api.CompileQuestion) (*api.Compiled, error)
	// Render gives what the cluster would get for resources.
	Render(ctx context.Context, q api.RenderQuestion) (*api.Rendered, error)
	// Try evaluates a template or a condition for a resource.
	Try(ctx context.Context, q api.TryQuestion) (*api.Tried, error)
}

// Details are what there is to know of one box.
type Details interface {
	// Box gives one box.
	Box(ctx context.Context, name string) (*api.BoxDetail, error)
	// Graph says what depends on what of all that a box declares.
	Graph(ctx context.Context, box string) (*api.Graph, error)
	// Dependencies are the boxes that one waits for, and those that wait for it.
	Dependencies(ctx context.Context, box string) (*api.Dependencies, error)
	// NeededRights says what a box needs to be allowed, and what of it is missing.
	NeededRights(ctx context.Context, box string) (*api.Rights, error)
	// Difference says what differs between two revisions of a box; without to, from the spec of today.
	Difference(ctx context.Context, box, from, to string) (*api.Difference, error)
}

// Changes are told to open pages.
type Changes interface {
	// See gives those of some changes that who asks may know of.
	See(ctx context.Context, changes []api.Change) []api.Change
	// Subscribe calls back for each change, until the context ends. It does not wait for the callback's own work: that has to be short.
	Subscribe(ctx context.Context, changed func(api.Change))
}

// Config is what a Server needs.
type Config struct {
	// Source answers.
	Source Source
	// Actor does what people ask for; nil: they only read.
	Actor Actor
	// Tools are what language models may use; nil: nothing.
	Tools *Tools
	// Files are those of the page; index.html is served for every path that is not a file.
	Files fs.FS
	// Clock tells the time; Log gets what is no answer to anybody.
	Clock clock.PassiveClock
	Log   logr.Logger
}

// Server serves the page and its API. Who may ask is for a handler in front of it to say.
type Server struct {
	Config

	mux     *http.ServeMux
	streams *streams
	work    *work
	files   files
	orders  *rates
}

// New makes a Server. Files that can't be read are a mistake in the program, since they are compiled in: it panics.
func New(c Config) *Server {
	all, err := filesOf(c.Files)
	if err != nil {
		panic(err)
	}
	s := &Server{
		Config: c, mux: http.NewServeMux(), streams: newStreams(), work: newWork(), files: all,
		orders: newRates(c.Clock, rate{each: rateOrders, burst: burstOrders}, rate{}),
	}
	s.mux.HandleFunc("GET /api/v1/fleet", asks(s, func(ctx context.Context) (*api.Fleet, error) { return s.Source.Fleet(ctx) }))
	s.mux.HandleFunc("GET /api/v1/manager", asks(s, func(ctx context.Context) (*api.Manager, error) { return s.Source.Manager(ctx) }))
	s.mux.HandleFunc("GET /api/v1/boxes/{box}", s.box)
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/graph", s.graph)
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/dependencies", s.dependencies)
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/rights", s.rights)
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/difference", s.difference)
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/resources", s.rows)
	s.mux.HandleFunc("GET /api/v1/boxes/{box}/resources/{namespace}/{name}", s.resource)
	s.mux.HandleFunc("GET /api/v1/session", s.session)
	s.mux.HandleFunc("GET /api/v1/resources", s.search)
	s.mux.HandleFunc("POST /api/v1/compile", s.compile)
	s.mux.HandleFunc("POST /api/v1/render", s.render)
	s.mux.HandleFunc("POST /api/v1/try", s.try)
	s.mux.HandleFunc("GET /api/v1/reference", s.reference)
	s.mux.HandleFunc("GET /api/v1/reference/{path}", s.fields)
	s.mux.HandleFunc("GET /api/v1/stream", s.stream)
	s.mux.HandleFunc("GET /api/v1/openapi.json", openAPI)
	if c.Actor != nil {
		s.act()
	}
	offer(s)
	s.mux.HandleFunc("/api/", noSuchPath)
	s.mux.HandleFunc("/", s.page)
	return s
}

// Run hands changes to the streams until the context ends.
func (s *Server) Run(ctx context.Context) { s.Source.Subscribe(ctx, s.streams.tell) }

// policy lets the page use what comes from its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	s.mux.ServeHTTP(w, r)
}

// secure sets what every answer has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// session says who asks. On loopback that is who has started the server, and there is nothing to sign in to.
func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	answer(s, w, r, func(ctx context.Context) (*api.Session, error) {
		e := entryOf(ctx)
		return &api.Session{Person: api.Person{Name: e.who.Name, Groups: e.who.Groups}, SignIn: e.signIn, SignOut: e.signOut}, nil
	})
}

func (s *Server) box(w http.ResponseWriter, r *http.Request) {
	answer(s, w, r, func(ctx context.Context) (*api.BoxDetail, error) { return s.Source.Box(ctx, r.PathValue("box")) })
}

func (s *Server) rows(w http.ResponseWriter, r *http.Request) {
	q, err := query(r.URL.Query())
	if err != nil {
		Problem(w, http.StatusBadRequest, err.Error())
		return
	}
	answer(s, w, r, func(ctx context.Context) (*api.Rows, error) { return s.Source.Page(ctx, r.PathValue("box"), q) })
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	q, err := searched(r.URL.Query())
	if err != nil {
		Problem(w, http.StatusBadRequest, err.Error())
		return
	}
	answer(s, w, r, func(ctx context.Context) (*api.Found, error) { return s.Source.Search(ctx, q) })
}

// noNamespace stands in a path for the namespace of what is in none.
const noNamespace = "-"

func (s *Server) resource(w http.ResponseWriter, r *http.Request) {
	answer(s, w, r, func(ctx context.Context) (*api.Resource, error) {
		return s.Source.Resource(ctx, r.PathValue("box"), namespaceOf(r), r.PathValue("name"))
	})
}

// namespaceOf is the namespace in a path; empty: of what is in none.
func namespaceOf(r *http.Request) string {
	if namespace := r.PathValue("namespace"); namespace != noNamespace {
		return namespace
	}
	return ""
}

// reference says what may stand in boxes. Nobody has to be asked for that.
func (s *Server) reference(w http.ResponseWriter, r *http.Request) {
	answer(s, w, r, func(context.Context) (*api.Vocabulary, error) { return manual.Reference(), nil })
}

func (s *Server) fields(w http.ResponseWriter, r *http.Request) {
	answer(s, w, r, func(context.Context) (*api.Fields, error) { return manual.Fields(r.PathValue("path")) })
}

// asks answers a question that has no parameters.
func asks[T any](s *Server, ask func(ctx context.Context) (*T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { answer(s, w, r, ask) }
}

// answer writes what the source says as JSON, or why it can't.
func answer[T any](s *Server, w http.ResponseWriter, r *http.Request, ask func(ctx context.Context) (*T, error)) {
	said, err := ask(r.Context())
	if err != nil {
		if r.Context().Err() == nil {
			s.Log.V(1).Info("A question was not answered", "path", r.URL.Path, "error", err.Error())
		}
		Problem(w, statusOf(err), err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err := json.NewEncoder(w).Encode(said); err != nil {
		s.Log.V(1).Info("An answer was not written", "path", r.URL.Path, "error", err.Error()) // the browser has gone
	}
}

func noSuchPath(w http.ResponseWriter, r *http.Request) {
	if reads(w, r) {
		Problem(w, http.StatusNotFound, "There is no "+r.URL.Path+"; /api/v1/openapi.json has all paths")
	}
}

// reads says whether a request reads; another one is answered.
func reads(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	Problem(w, http.StatusMethodNotAllowed, "Nothing is written at this path: use GET")
	return false
}

// openAPI serves the description of the API.
func openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(api.OpenAPI) // the browser may have gone
}
