package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// canned answers with what stands in it, and notes what it was asked.
type canned struct {
	err       error
	query     rows.Query
	search    rows.Search
	namespace string
	changed   func(api.Change)
}

func (c *canned) Fleet(context.Context) (*api.Fleet, error) {
	return &api.Fleet{Boxes: []api.Box{{Name: "<script>"}}}, c.err
}

func (c *canned) Manager(context.Context) (*api.Manager, error) {
	return &api.Manager{State: api.ManagerAway, Message: "nobody"}, c.err
}

func (c *canned) Box(_ context.Context, name string) (*api.BoxDetail, error) {
	return &api.BoxDetail{Box: api.Box{Name: name}}, c.err
}

func (c *canned) Page(_ context.Context, _ string, q rows.Query) (*api.Rows, error) {
	c.query = q
	return &api.Rows{}, c.err
}

func (c *canned) Search(_ context.Context, q rows.Search) (*api.Found, error) {
	c.search = q
	return &api.Found{}, c.err
}

func (c *canned) Resource(_ context.Context, box, namespace, name string) (*api.Resource, error) {
	c.namespace = namespace
	return &api.Resource{Box: box, Row: api.Row{Reference: api.Reference{Namespace: namespace, Name: name}}}, c.err
}

func (c *canned) Compile(_ context.Context, q api.CompileQuestion) (*api.Compiled, error) {
	return &api.Compiled{Documents: []api.CheckedDocument{{Subject: q.Boxes}}}, c.err
}

func (c *canned) Render(_ context.Context, q api.RenderQuestion) (*api.Rendered, error) {
	return &api.Rendered{Notes: []string{q.Resource}}, c.err
}

func (c *canned) Try(_ context.Context, q api.TryQuestion) (*api.Tried, error) {
	return &api.Tried{Value: q.Template}, c.err
}

// See hides the box "hidden".
func (*canned) See(_ context.Context, changes []api.Change) []api.Change {
	return slices.DeleteFunc(changes, func(c api.Change) bool { return c.Box == "hidden" })
}

func (c *canned) Subscribe(_ context.Context, changed func(api.Change)) { c.changed = changed }

func serverOf(source *canned) *Server {
	return New(Config{Source: source, Files: fstest.MapFS{"index.html": {Data: []byte("the page")}, "app.js": {Data: []byte("code")}}, Clock: clock.RealClock{}, Log: logr.Discard()})
}

func ask(handler http.Handler, method, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestWhatIsServedWhere(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/fleet":                              `{"manager":{"state":""},"person":{},"boxes":[{"name":"\u003cscript\u003e"`,
		"/api/v1/manager":                            `{"state":"away","message":"nobody"}`,
		"/api/v1/boxes/web":                          `{"name":"web"`,
		"/api/v1/boxes/web/resources":                `{"rows":null`,
		"/api/v1/boxes/web/resources/team-a/shop":    `{"namespace":"team-a","name":"shop"`,
		"/api/v1/boxes/web/resources/-/shop":         `{"name":"shop"`,
		"/":                                          "the page",
		"/boxes/web/resources/team-a/x":              "the page",
		"/app.js":                                    "code",
		"/api/v1/openapi.json":                       "{",
		"/api/v1/boxes/web/resources?sort=-age":      `{"rows":null`,
		"/api/v1/boxes/web/resources?text=a%00b":     `{"rows":null`,
		"/api/v1/boxes/web/resources/a/b%2Fc":        `{"namespace":"a","name":"b/c"`,
		"/api/v1/boxes/web/resources?limit=1&limit=": `{"rows":null`,
	} {
		t.Run(path, func(t *testing.T) {
			NewWithT(t).Expect(ask(serverOf(&canned{}), http.MethodGet, path).Body.String()).To(HavePrefix(want))
		})
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	for _, path := range []string{"/", "/app.js", "/api/v1/fleet", "/api/v1/nothing", "/api/v1/boxes/web/resources?limit=0"} {
		g, h := NewWithT(t), ask(serverOf(&canned{}), http.MethodGet, path).Header()
		g.Expect(h.Get("Content-Security-Policy")).To(And(ContainSubstring("default-src 'none'"), ContainSubstring("frame-ancestors 'none'"), Not(ContainSubstring("unsafe"))), path)
		g.Expect(h.Get("X-Content-Type-Options")).To(Equal("nosniff"), path)
		if strings.HasPrefix(path, "/api") {
			g.Expect(h.Get("Cache-Control")).To(Equal("no-store"), path)
		}
	}
}

func TestNothingIsWritten(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, path := range []string{"/api/v1/fleet", "/api/v1/boxes/web", "/api/v1/stream", "/"} {
			r := ask(serverOf(&canned{}), method, path)
			NewWithT(t).Expect(r.Code).To(Equal(http.StatusMethodNotAllowed), method+path)
		}
	}
}

func TestProblems(t *testing.T) {
	boxes := schema.GroupResource{Group: "g", Resource: "boxes"}
	for name, tc := range map[string]struct {
		err    error
		status int
	}{
		"not found":                 {fmt.Errorf("reading: %w", apierrors.NewNotFound(boxes, "x")), http.StatusNotFound},
		"forbidden":                 {apierrors.NewForbidden(boxes, "x", errors.New("no")), http.StatusForbidden},
		"unauthorized":              {apierrors.NewUnauthorized("no"), http.StatusUnauthorized},
		"too many":                  {apierrors.NewTooManyRequestsError("later"), http.StatusTooManyRequests},
		"out of reach":              {fmt.Errorf("asking: %w", context.DeadlineExceeded), http.StatusServiceUnavailable},
		"of a box that serves none": {apierrors.NewConflict(schema.GroupResource{Resource: "operatorboxes"}, "shop", errors.New("it does not compile")), http.StatusConflict},
		"anything else":             {errors.New("odd"), http.StatusInternalServerError},
		"a server that ails":        {apierrors.NewServiceUnavailable("down"), http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := NewWithT(t), ask(serverOf(&canned{err: tc.err}), http.MethodGet, "/api/v1/fleet")
			g.Expect(r.Code).To(Equal(tc.status))
			g.Expect(r.Header().Get("Content-Type")).To(Equal("application/problem+json"))
			var p api.Problem
			g.Expect(json.NewDecoder(r.Body).Decode(&p)).To(Succeed())
			g.Expect(p).To(Equal(api.Problem{Status: tc.status, Title: http.StatusText(tc.status), Detail: tc.err.Error()}))
		})
	}
}

func TestParametersOfRows(t *testing.T) {
	g, source := NewWithT(t), &canned{}
	ask(serverOf(source), http.MethodGet, "/api/v1/boxes/web/resources?namespace=a&state=Failing&reason=R&text=x&sort=-age&offset=7&limit=3")
	g.Expect(source.query).To(Equal(rows.Query{Namespace: "a", State: api.Failing, Reason: "R", Text: "x", Sort: "-age", Offset: 7, Limit: 3}))
	ask(serverOf(source), http.MethodGet, "/api/v1/boxes/web/resources")
	g.Expect(source.query).To(Equal(rows.Query{Sort: "name", Limit: 100}))
	for query, why := range map[string]string{
		"limit=0": "parameter limit: wanted a whole number from 1 to 500, got \"0\"", "limit=501": "from 1 to 500", "offset=-1": "from 0 to 2147483647",
		"offset=x": `got "x"`, "sort=size": "wanted name, state or age", "sort=--age": "wanted name", "filter=x": "parameter filter is not known",
	} {
		r := ask(serverOf(source), http.MethodGet, "/api/v1/boxes/web/resources?"+query)
		g.Expect(r.Code).To(Equal(http.StatusBadRequest), query)
		g.Expect(r.Body.String()).To(ContainSubstring(strings.ReplaceAll(why, `"`, `\"`)), query)
	}
}

func TestParametersOfASearch(t *testing.T) {
	g, source := NewWithT(t), &canned{}
	ask(serverOf(source), http.MethodGet, "/api/v1/resources?text=%20shop%20&offset=7&limit=3")
	g.Expect(source.search).To(Equal(rows.Search{Text: "shop", Offset: 7, Limit: 3}))
	ask(serverOf(source), http.MethodGet, "/api/v1/resources?text=%C3%A4%C3%B6")
	g.Expect(source.search).To(Equal(rows.Search{Text: "äö", Limit: 50}))
	for query, why := range map[string]string{
		"": "parameter text: wanted 2 to 200 characters to look for, got 0", "text=a": "got 1", "text=%20a%20": "got 1", "text=" + strings.Repeat("a", 201): "got 201",
		"text=shop&limit=101": "from 1 to 100", "text=shop&offset=-1": "from 0 to 2147483647", "text=shop&box=web": "parameter box is not known: wanted text, offset or limit",
	} {
		r := ask(serverOf(source), http.MethodGet, "/api/v1/resources?"+query)
		g.Expect(r.Code).To(Equal(http.StatusBadRequest), query)
		g.Expect(r.Body.String()).To(ContainSubstring(why), query)
	}
}

// heard records a stream that goes on while it is read.
type heard struct {
	*httptest.ResponseRecorder

	mu sync.Mutex
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ResponseRecorder.Write(b)
}

func (h *heard) Flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ResponseRecorder.Flush()
}

func (h *heard) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Body.String()
}

// TestABurstIsToldFewTimes: a thousand changes are told at once to begin with, and then together.
func TestABurstIsToldFewTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, source := NewWithT(t), &canned{}
		server := serverOf(source)
		server.Run(t.Context())
		ctx, leave := context.WithCancel(t.Context())
		w, ended := &heard{ResponseRecorder: httptest.NewRecorder()}, make(chan struct{})
		go func() {
			defer close(ended)
			server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/stream", nil).WithContext(ctx))
		}()
		synctest.Wait()
		source.changed(api.Change{Box: "web", Resource: &api.Reference{Namespace: "a", Name: "first"}})
		synctest.Wait()
		for n := range 1000 {
			source.changed(api.Change{Box: "web", Resource: &api.Reference{Name: fmt.Sprint(n)}})
		}
		for range 3 {
			source.changed(api.Change{Box: "other", Resource: &api.Reference{Name: "same"}})
			source.changed(api.Change{Box: "other"})
		}
		source.changed(api.Change{Box: "hidden"})
		synctest.Wait()
		g.Expect(w.text()).To(Equal("retry: 1000\n" + beating + `data: {"box":"web","resource":{"namespace":"a","name":"first"}}` + "\n\n"))
		time.Sleep(gather)
		synctest.Wait()
		g.Expect(w.text()).To(HaveSuffix(`"first"}}` + "\n\n" + `data: {"box":"other"}` + "\n\n" + `data: {"box":"other","resource":{"name":"same"}}` + "\n\n" + `data: {"box":"web"}` + "\n\n"))
		time.Sleep(beat)
		synctest.Wait()
		g.Expect(w.text()).To(HaveSuffix(`{"box":"web"}` + "\n\nevent: beat\ndata: {}\n\n"))
		leave()
		<-ended
		g.Expect(server.streams.all).To(BeEmpty())
	})
}

// TestTooManyPages: nobody can listen with so many pages that others can't, and all who have not said who they are neither.
func TestTooManyPages(t *testing.T) {
	g, server := NewWithT(t), serverOf(&canned{})
	as := func(who person.Person) context.Context { return person.With(t.Context(), who) }
	opens := func(ctx context.Context) int {
		for n := range maxStreams + 1 {
			if one, most := server.streams.open(ctx); one == nil {
				g.Expect(ask(server, http.MethodGet, "/api/v1/stream", func(r *http.Request) { *r = *r.WithContext(ctx) }).Code).To(Equal(http.StatusTooManyRequests))
				g.Expect(most).To(BeNumerically(">=", n))
				return n
			}
		}
		return maxStreams + 1
	}
	g.Expect(opens(as(person.Person{Name: "ann"}))).To(Equal(maxEach))
	g.Expect(opens(as(person.Person{Name: "visitor", Shared: true}))).To(Equal(maxShared))
	g.Expect(opens(as(person.Person{Name: "bob"}))).To(Equal(maxEach))
	g.Expect(opens(as(person.Person{Name: "eve"}))).To(Equal(maxEach))
	g.Expect(opens(as(person.Person{Name: "joe"}))).To(Equal(maxStreams - 3*maxEach - maxShared))
	for one := range server.streams.all {
		server.streams.close(one)
	}
	g.Expect(server.streams.each).To(BeEmpty())
	g.Expect(opens(t.Context())).To(Equal(maxStreams), "on loopback there is one person")
}

// changing are tokens of which one is taken back.
type changing struct{ known *sync.Map }

func (c changing) Of(_ context.Context, token string) (*person.Person, error) {
	if err, found := c.known.Load(token); found {
		failed, _ := err.(error)
		return &person.Person{Name: "ann"}, failed
	}
	return nil, nil //nolint:nilnil // nobody has it
}

// sessions are those of one person, until they are over.
type sessions struct {
	http.Handler

	over *sync.Map
}

func (sessions) Paths() (in, out string) { return "/auth/login", "/auth/logout" }

func (sessions) Forget(http.ResponseWriter) {}

func (s sessions) Of(*http.Request) (*person.Person, error) {
	if _, over := s.over.Load("over"); over {
		return nil, errors.New("over")
	}
	return &person.Person{Name: "ann"}, nil
}

// TestAStreamEndsWithItsSession: who is signed out by time, or by another key, is told nothing any more.
func TestAStreamEndsWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, signs, server := NewWithT(t), sessions{over: &sync.Map{}}, serverOf(&canned{})
		guard := NewGuard(Doors{SignIn: signs, Clock: clock.RealClock{}, Log: logr.Discard()}, server)
		ended := make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		go func() {
			defer close(ended)
			ask(guard, http.MethodGet, "/api/v1/stream", at("localhost"), func(r *http.Request) { *r = *r.WithContext(ctx) })
		}()
		time.Sleep(2 * beat)
		synctest.Wait()
		g.Expect(server.streams.all).To(HaveLen(1))
		signs.over.Store("over", true)
		time.Sleep(2 * beat)
		synctest.Wait()
		g.Expect(server.streams.all).To(BeEmpty())
		leave()
		<-ended
	})
}

// TestAStreamEndsWithItsToken: who is not let in any more is told nothing any more. An API server that is away ends no stream.
func TestAStreamEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, tokens := NewWithT(t), changing{&sync.Map{}}
		tokens.known.Store("t", nil)
		server := serverOf(&canned{})
		guard := NewGuard(Doors{Tokens: tokens, Clock: clock.RealClock{}, Log: logr.Discard()}, server)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			ask(guard, http.MethodGet, "/api/v1/stream", with("Authorization", "Bearer t"))
		}()
		listens := func() bool {
			time.Sleep(2 * beat)
			synctest.Wait()
			select {
			case <-ended:
				return false
			default:
				return true
			}
		}
		g.Expect(listens()).To(BeTrue())
		tokens.known.Store("t", errors.New("away"))
		g.Expect(listens()).To(BeTrue())
		tokens.known.Delete("t")
		g.Expect(listens()).To(BeFalse())
		g.Expect(server.streams.all).To(BeEmpty())
	})
}

func TestLoopbackLetsInWhoHasTheSecret(t *testing.T) {
	g := NewWithT(t)
	guard := NewLoopback("127.0.0.1:8080", serverOf(&canned{}))
	here := at("127.0.0.1:8080")
	holding := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "orkestra-ui-8080", Value: value}) }
	}
	g.Expect(guard.Address()).To(MatchRegexp(`^http://127\.0\.0\.1:8080/\?token=[A-Z2-7]{52}$`))
	g.Expect(NewLoopback("h", nil).token).NotTo(Equal(guard.token))
	for _, path := range []string{"/api/v1/fleet", "/api/v1/fleet?token=guess", "/api/v1/stream", "/mcp"} {
		r := ask(guard, http.MethodGet, path, here)
		g.Expect(r.Code).To(Equal(http.StatusUnauthorized), path)
		g.Expect(r.Header().Get("Content-Security-Policy")).To(Equal(policy), path)
	}
	for _, path := range []string{"/", "/?token=", "/?token=guess", "/boxes/web"} {
		r := ask(guard, http.MethodGet, path, here)
		g.Expect(r.Code).To(Equal(http.StatusOK), path)
		g.Expect(r.Body.String()).To(Equal("the page"), "it says how to get in: "+path)
		g.Expect(r.Result().Cookies()).To(BeEmpty(), path)
	}
	g.Expect(ask(guard, http.MethodGet, "/api/v1/fleet", here, holding("guess")).Code).To(Equal(http.StatusUnauthorized))
	form := ask(guard, http.MethodPost, "/?token="+guard.token, here)
	g.Expect(form.Code).To(Equal(http.StatusMethodNotAllowed), "a form of another origin")
	g.Expect(form.Result().Cookies()).To(BeEmpty())
	for _, host := range []string{"evil.example.com:8080", "localhost:8080", "127.0.0.1", ""} {
		g.Expect(ask(guard, http.MethodGet, "/api/v1/fleet", at(host), holding(guard.token)).Code).To(Equal(http.StatusMisdirectedRequest), host)
	}
	let := ask(guard, http.MethodGet, "/boxes/web?token="+guard.token, here)
	g.Expect(let.Code).To(Equal(http.StatusSeeOther))
	g.Expect(let.Header().Get("Location")).To(Equal("/"), "the address that stays has no secret, and nobody else chooses where it leads")
	cookie := let.Result().Cookies()[0]
	g.Expect(cookie.HttpOnly).To(BeTrue())
	g.Expect(cookie.SameSite).To(Equal(http.SameSiteStrictMode))
	g.Expect(ask(guard, http.MethodGet, "/api/v1/fleet", here, holding(cookie.Value)).Code).To(Equal(http.StatusOK))
}
