package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// actor notes what it is asked to do.
type actor struct {
	err  error
	done []string
}

func (*actor) BoxActions(_ context.Context, box string) (*api.BoxActions, error) {
	return &api.BoxActions{UID: box}, nil
}

func (*actor) ResourceActions(_ context.Context, box, namespace, name string) (*api.ResourceActions, error) {
	return &api.ResourceActions{UID: box + "/" + namespace + "/" + name}, nil
}

func (*actor) FormerSpecs(_ context.Context, box string) (*api.FormerSpecs, error) {
	return &api.FormerSpecs{Revisions: []api.Revision{{Name: box}}}, nil
}

func (*actor) Return(_ context.Context, box, revision string) (*api.Return, error) {
	return &api.Return{Box: box, Revision: revision}, nil
}

func (a *actor) ActOnBox(ctx context.Context, box string, action api.ActionName, order api.Order) (*api.Done, error) {
	return a.ActOnResource(ctx, box, "", "", action, order)
}

func (a *actor) ActOnResource(_ context.Context, box, namespace, name string, action api.ActionName, order api.Order) (*api.Done, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	a.done = append(a.done, strings.Join([]string{box, namespace, name, string(action), string(text)}, " "))
	return &api.Done{Action: action}, a.err
}

const (
	orderPath = "/api/v1/boxes/web/resources/team-a/shop/actions/pause"
	order     = `{"uid": "u"}`
	jsonType  = "application/json"
)

// acting is a server with an actor, behind a guard that knows a token of ann.
func acting(a Actor, anonymous *person.Person, log logr.Logger) http.Handler {
	clk := clocktesting.NewFakePassiveClock(time.Now())
	s := New(Config{Source: &canned{}, Actor: a, Files: fstest.MapFS{"index.html": {}}, Clock: clk, Log: log})
	return NewGuard(Doors{Tokens: known{"t": "ann", "u": "bob"}, SignIn: nil, Anonymous: anonymous, Hosts: []string{"page.example.com"}, Clock: clk, Log: log}, s)
}

// send sends a body as ann, unless a change says otherwise.
func send(handler http.Handler, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Host = "page.example.com"
	r.Header.Set("Content-Type", jsonType)
	r.Header.Set("Authorization", "Bearer t")
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// without takes a header out.
func without(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }

func TestWhatIsAskedOfActions(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/boxes/web/actions":                       `{"uid":"web"`,
		"/api/v1/boxes/web/resources/team-a/shop/actions": `{"uid":"web/team-a/shop"`,
		"/api/v1/boxes/web/resources/-/shop/actions":      `{"uid":"web//shop"`,
		"/api/v1/boxes/web/revisions":                     `{"revisions":[{"name":"web"`,
		"/api/v1/boxes/web/revisions/web-1":               `{"box":"web","revision":"web-1"`,
	} {
		r := ask(acting(&actor{}, nil, logr.Discard()), http.MethodGet, path, with("Authorization", "Bearer t"))
		NewWithT(t).Expect(r.Body.String()).To(HavePrefix(want), path)
	}
}

func TestOrders(t *testing.T) {
	for name, tc := range map[string]struct {
		path, body string
		change     func(*http.Request)
		status     int
		done, why  string
	}{
		"to a resource":             {orderPath, order, with(), http.StatusOK, `web team-a shop pause {"uid":"u"}`, ""},
		"to one in no namespace":    {"/api/v1/boxes/web/resources/-/shop/actions/pause", order, with(), http.StatusOK, `web  shop pause {"uid":"u"}`, ""},
		"to a box":                  {"/api/v1/boxes/web/actions/rollback", `{"uid": "u", "revision": "web-1", "generation": 3}`, with(), http.StatusOK, `web   rollback {"uid":"u","revision":"web-1","generation":3}`, ""},
		"with a charset":            {orderPath, order, func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") }, http.StatusOK, `web team-a shop pause {"uid":"u"}`, ""},
		"as a form":                 {orderPath, order, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, http.StatusUnsupportedMediaType, "", "Content-Type"},
		"without a type":            {orderPath, order, without("Content-Type"), http.StatusUnsupportedMediaType, "", "Content-Type"},
		"a field that is not known": {orderPath, `{"uid": "u", "dryRun": true}`, with(), http.StatusBadRequest, "", `unknown field \"dryRun\"`},
		"two orders":                {orderPath, order + order, with(), http.StatusBadRequest, "", "more follows"},
		"no JSON":                   {orderPath, "uid: u", with(), http.StatusBadRequest, "", "can't be read"},
		"a list":                    {orderPath, "[]", with(), http.StatusBadRequest, "", "can't be read"},
		"null":                      {orderPath, "null", with(), http.StatusBadRequest, "", "no uid"},
		"nothing":                   {orderPath, "", with(), http.StatusBadRequest, "", "can't be read"},
		"without a uid":             {orderPath, "{}", with(), http.StatusBadRequest, "", "no uid"},
		"too long":                  {orderPath, `{"uid": "` + strings.Repeat("u", 4<<10) + `"}`, with(), http.StatusRequestEntityTooLarge, "", "The body has at most 4096 bytes"},
		"of an unknown length":      {orderPath, order, func(r *http.Request) { r.ContentLength = -1 }, http.StatusRequestEntityTooLarge, "", "The body has at most 4096 bytes"},
		"by nobody":                 {orderPath, order, without("Authorization"), http.StatusUnauthorized, "", "Nobody has said"},
		"by a guess":                {orderPath, order, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, http.StatusUnauthorized, "", "does not know"},
		"elsewhere":                 {"/api/v1/boxes/web", order, with(), http.StatusRequestEntityTooLarge, "", "send none"},
		"by another method":         {orderPath, order, func(r *http.Request) { r.Method = http.MethodPut }, http.StatusRequestEntityTooLarge, "", "send none"},
	} {
		t.Run(name, func(t *testing.T) {
			g, a := NewWithT(t), &actor{}
			r := send(acting(a, nil, logr.Discard()), tc.path, tc.body, tc.change)
			g.Expect(r.Code).To(Equal(tc.status), r.Body.String())
			if tc.done == "" {
				g.Expect(a.done).To(BeEmpty())
				g.Expect(r.Body.String()).To(ContainSubstring(tc.why))
				return
			}
			g.Expect(a.done).To(HaveExactElements(tc.done))
		})
	}
}

// TestWhoCountsAsEverybodyDoesNothing: an action names who has asked for it.
func TestWhoCountsAsEverybodyDoesNothing(t *testing.T) {
	g, a := NewWithT(t), &actor{}
	r := send(acting(a, &person.Person{Name: "visitor"}, logr.Discard()), orderPath, order, without("Authorization"), with("Sec-Fetch-Site", "same-origin"))
	g.Expect(r.Code).To(Equal(http.StatusForbidden))
	g.Expect(r.Body.String()).To(ContainSubstring("reads only"))
	g.Expect(a.done).To(BeEmpty())
}

// TestOrdersOfOtherPages: where a browser shows by itself who asks, and on loopback.
func TestOrdersOfOtherPages(t *testing.T) {
	for name, headers := range map[string][]string{
		"a browser that does not say": nil,
		"another site":                {"Sec-Fetch-Site", "cross-site"},
		"the same site":               {"Sec-Fetch-Site", "same-site"},
		"another origin":              {"Origin", "https://elsewhere.example.com"},
		"an origin that hides":        {"Origin", "null"},
		"our own page":                {"Sec-Fetch-Site", "same-origin"},
		"our own page, older":         {"Origin", "http://page.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			g, a := NewWithT(t), &actor{}
			clk := clocktesting.NewFakePassiveClock(time.Now())
			s := New(Config{Source: &canned{}, Actor: a, Files: fstest.MapFS{"index.html": {}}, Clock: clk, Log: logr.Discard()})
			loopback := NewLoopback("page.example.com", s)
			signed := NewGuard(Doors{Tokens: known{}, SignIn: signedIn{}, Hosts: []string{"page.example.com"}, Clock: clk, Log: logr.Discard()}, s)
			for _, handler := range []http.Handler{loopback, signed} {
				r := send(handler, orderPath, order, without("Authorization"), with(headers...), func(r *http.Request) {
					r.AddCookie(&http.Cookie{Name: loopback.cookieName(), Value: loopback.token})
				})
				if strings.HasPrefix(name, "our own") {
					g.Expect(r.Code).To(Equal(http.StatusOK), r.Body.String())
					continue
				}
				g.Expect(r.Code).To(Equal(http.StatusForbidden), r.Body.String())
				g.Expect(a.done).To(BeEmpty())
			}
		})
	}
}

// signedIn says that cat has signed in.
type signedIn struct{ http.Handler }

func (signedIn) Paths() (in, out string)                  { return "/auth/in", "/auth/out" }
func (signedIn) Of(*http.Request) (*person.Person, error) { return &person.Person{Name: "cat"}, nil }
func (signedIn) Forget(http.ResponseWriter)               {}

// TestWhoActsTooOften: each by themselves.
func TestWhoActsTooOften(t *testing.T) {
	g, a := NewWithT(t), &actor{}
	handler := acting(a, nil, logr.Discard())
	for range burstOrders {
		g.Expect(send(handler, orderPath, order).Code).To(Equal(http.StatusOK))
	}
	r := send(handler, orderPath, order)
	g.Expect(r.Code).To(Equal(http.StatusTooManyRequests))
	g.Expect(r.Header().Get("Retry-After")).To(Equal("1"))
	g.Expect(a.done).To(HaveLen(burstOrders))
	g.Expect(send(handler, orderPath, order, func(r *http.Request) { r.Header.Set("Authorization", "Bearer u") }).Code).To(Equal(http.StatusOK), "bob has not")
}

// TestTheLogNamesWhoActs and what came of it, and nothing by which somebody else could.
func TestTheLogNamesWhoActs(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		status int
		want   []string
	}{
		"done":    {nil, http.StatusOK, []string{"An action was done", `"person"="ann"`, `"action"="pause"`, `"box"="web"`, `"namespace"="team-a"`, `"name"="shop"`, `"uid"="u"`}},
		"refused": {apierrors.NewForbidden(schema.GroupResource{Resource: "shops"}, "shop", errors.New("you may not patch")), http.StatusForbidden, []string{"An action was refused", `"person"="ann"`, `"status"=403`, "you may not patch"}},
		"gone":    {apierrors.NewNotFound(schema.GroupResource{Resource: "shops"}, "shop"), http.StatusNotFound, []string{`"status"=404`}},
		"invalid": {apierrors.NewInvalid(schema.GroupKind{Kind: "Shop"}, "shop", nil), http.StatusUnprocessableEntity, []string{`"status"=422`}},
		"strange": {apierrors.NewBadRequest("no"), http.StatusBadRequest, []string{`"status"=400`}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var lines []string
			log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
			r := send(acting(&actor{err: tc.err}, nil, log), orderPath, order)
			g.Expect(r.Code).To(Equal(tc.status))
			said := strings.Join(lines, "\n")
			for _, want := range tc.want {
				g.Expect(said).To(ContainSubstring(want))
			}
			g.Expect(said).NotTo(ContainSubstring("Bearer"))
		})
	}
}

// TestAServerWithoutAnActorOnlyReads.
func TestAServerWithoutAnActorOnlyReads(t *testing.T) {
	g := NewWithT(t)
	g.Expect(send(acting(nil, nil, logr.Discard()), orderPath, order).Code).To(Equal(http.StatusMethodNotAllowed))
	g.Expect(ask(acting(nil, nil, logr.Discard()), http.MethodGet, "/api/v1/boxes/web/actions", with("Authorization", "Bearer t")).Code).To(Equal(http.StatusNotFound))
}
