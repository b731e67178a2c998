package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// post sends a body, as JSON where nothing else is said.
func post(handler http.Handler, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestQuestionsWithABody(t *testing.T) {
	const compile, render = "/api/v1/compile", "/api/v1/render"
	for name, tc := range map[string]struct {
		path, body string
		contents   string // the header Content-Type; empty: application/json
		status     int
		says       string
	}{
		"boxes":               {compile, `{"boxes": "a"}`, "", http.StatusOK, `"subject":"a"`},
		"a resource":          {render, `{"boxes": "a", "resource": "b"}`, "", http.StatusOK, `"notes":["b"]`},
		"a parameter of JSON": {compile, `{"boxes": "a"}`, "application/json; charset=utf-8", http.StatusOK, `"subject":"a"`},
		"a form":              {compile, `boxes=a`, "application/x-www-form-urlencoded", http.StatusUnsupportedMediaType, "wanted application/json"},
		"no type":             {compile, `{}`, " ", http.StatusUnsupportedMediaType, "wanted application/json"},
		"nothing":             {compile, ``, "", http.StatusBadRequest, "can't be read"},
		"no object":           {compile, `["a"]`, "", http.StatusBadRequest, "can't be read"},
		"another type":        {compile, `{"boxes": 5}`, "", http.StatusBadRequest, "boxes"},
		"an unknown field":    {compile, `{"boxes": "a", "force": true}`, "", http.StatusBadRequest, `unknown field \"force\"`},
		"two questions":       {compile, `{"boxes": "a"} {"boxes": "b"}`, "", http.StatusBadRequest, "more follows"},
		"too long":            {compile, `{"boxes": "` + strings.Repeat("a", maxQuestion) + `"}`, "", http.StatusRequestEntityTooLarge, "at most 1048576 bytes"},
		"too long behind it":  {compile, `{"boxes": "a"}` + strings.Repeat(" ", maxQuestion), "", http.StatusRequestEntityTooLarge, "at most 1048576 bytes"},
		"deep":                {compile, strings.Repeat(`{"a":`, 100_000), "", http.StatusBadRequest, "can't be read"},
		"another path":        {"/api/v1/fleet", `{}`, "", http.StatusMethodNotAllowed, "use GET"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := post(serverOf(&canned{}), tc.path, tc.body, func(r *http.Request) {
				if tc.contents != "" {
					r.Header.Set("Content-Type", strings.TrimSpace(tc.contents))
				}
			})
			g.Expect(r.Code).To(Equal(tc.status), r.Body.String())
			g.Expect(r.Body.String()).To(ContainSubstring(tc.says))
			if tc.status != http.StatusOK {
				g.Expect(r.Header().Get("Content-Type")).To(Equal("application/problem+json"))
			}
		})
	}
	g := NewWithT(t)
	wrong := fmt.Errorf("asking: %w", apierrors.NewBadRequest("there is no box"))
	g.Expect(post(serverOf(&canned{err: wrong}), compile, `{}`).Code).To(Equal(http.StatusBadRequest))
}

// TestQuestionsOfOtherPages: what a browser shows by itself counts for questions of our own page alone, also where they change nothing.
func TestQuestionsOfOtherPages(t *testing.T) {
	const question = `{"boxes": "a"}`
	everybody := guardOf(&person.Person{Name: "all"}, serverOf(&canned{}))
	page := at("page.example.com")
	for name, tc := range map[string]struct {
		handler http.Handler
		change  []func(*http.Request)
		status  int
	}{
		"of our own page":                     {everybody, []func(*http.Request){page, with("Sec-Fetch-Site", "same-origin")}, http.StatusOK},
		"of our own page, as older ones say":  {everybody, []func(*http.Request){page, with("Origin", "https://page.example.com")}, http.StatusOK},
		"of another site":                     {everybody, []func(*http.Request){page, with("Sec-Fetch-Site", "cross-site")}, http.StatusForbidden},
		"of the same site":                    {everybody, []func(*http.Request){page, with("Sec-Fetch-Site", "same-site")}, http.StatusForbidden},
		"of another origin, as older ones":    {everybody, []func(*http.Request){page, with("Origin", "https://evil.example.com")}, http.StatusForbidden},
		"that says nothing":                   {everybody, []func(*http.Request){page}, http.StatusForbidden},
		"with a token, which no browser adds": {everybody, []func(*http.Request){page, with("Authorization", "Bearer t")}, http.StatusOK},
		"without anybody":                     {guardOf(nil, serverOf(&canned{})), []func(*http.Request){page}, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(post(tc.handler, "/api/v1/compile", question, tc.change...).Code).To(Equal(tc.status))
		})
	}
	g := NewWithT(t)
	r := post(everybody, "/api/v1/fleet", question, page, with("Sec-Fetch-Site", "same-origin"))
	g.Expect(r.Code).To(Equal(http.StatusRequestEntityTooLarge), "no other question has a body")
	r = post(guardOf(nil, serverOf(&canned{})), "/api/v1/compile", question, page)
	g.Expect(r.Header().Get("Connection")).To(Equal("close"), "nobody waits for the body of who is refused")

	loopback := NewLoopback("127.0.0.1:1", serverOf(&canned{}))
	known := func(r *http.Request) {
		r.Host = "127.0.0.1:1"
		r.AddCookie(&http.Cookie{Name: loopback.cookieName(), Value: loopback.token})
	}
	for origin, status := range map[string]int{"http://127.0.0.1:1": http.StatusOK, "http://127.0.0.1:2": http.StatusForbidden, "null": http.StatusForbidden} {
		g.Expect(post(loopback, "/api/v1/compile", question, known, with("Origin", origin)).Code).To(Equal(status), origin)
	}
	g.Expect(post(loopback, "/api/v1/compile", question, known).Code).To(Equal(http.StatusForbidden))
}

// slow answers when it is let.
type slow struct {
	canned

	begun chan string
	let   chan struct{}
}

func (s *slow) Compile(ctx context.Context, q api.CompileQuestion) (*api.Compiled, error) {
	s.begun <- q.Boxes
	<-s.let
	return s.canned.Compile(ctx, q)
}

// TestWorkIsBounded: of one person one question is worked on, of all two; who waits too long is told to come back, and nobody is left behind.
func TestWorkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		source := &slow{begun: make(chan string, 10), let: make(chan struct{})}
		server := serverOf(&source.canned)
		server.Source = source
		server.Config.Clock, server.Config.Log = clock.RealClock{}, logr.Discard()
		answers := make(chan int, 10)
		asks := func(who, what string) {
			go func() {
				r := httptest.NewRequest(http.MethodPost, "/api/v1/compile", strings.NewReader(`{"boxes": "`+what+`"}`))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				server.ServeHTTP(w, r.WithContext(person.With(r.Context(), person.Person{Name: who})))
				answers <- w.Code
			}()
			synctest.Wait()
		}
		asks("ann", "first")
		asks("ann", "second")
		asks("bob", "third")
		asks("eve", "fourth")
		g.Expect(source.begun).To(HaveLen(2))
		g.Expect([]string{<-source.begun, <-source.begun}).To(ConsistOf("first", "third"))
		time.Sleep(maxWait + time.Second)
		synctest.Wait()
		g.Expect([]int{<-answers, <-answers}).To(HaveEach(http.StatusTooManyRequests))
		close(source.let)
		synctest.Wait()
		g.Expect([]int{<-answers, <-answers}).To(HaveEach(http.StatusOK))
		asks("ann", "again")
		g.Expect(<-answers).To(Equal(http.StatusOK))
		g.Expect(server.work.each).To(BeEmpty())
		g.Expect(server.work.all).To(BeZero())
	})
}

// patient answers when its context ends, and never else.
type patient struct {
	canned

	begun, ended chan error
}

func (p *patient) Render(ctx context.Context, _ api.RenderQuestion) (*api.Rendered, error) {
	p.begun <- nil
	<-ctx.Done()
	p.ended <- ctx.Err()
	return &api.Rendered{}, nil // as if it had been made in time
}

func patientServer() (*patient, *Server) {
	source := &patient{begun: make(chan error, maxAll+1), ended: make(chan error, maxAll+1)}
	server := serverOf(&source.canned)
	server.Source = source
	return source, server
}

// TestWorkEndsWithItsQuestion: nobody works for who has gone, nor for ever, and what was made until then is no answer.
func TestWorkEndsWithItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		source, server := patientServer()
		ctx, leave := context.WithCancel(t.Context())
		answers := make(chan *httptest.ResponseRecorder, 1)
		asks := func(ctx context.Context) {
			go func() {
				answers <- post(server, "/api/v1/render", `{"boxes": "a"}`, func(r *http.Request) { *r = *r.WithContext(ctx) })
			}()
			<-source.begun
		}
		asks(ctx)
		leave()
		g.Expect(<-source.ended).To(MatchError(context.Canceled))
		g.Expect((<-answers).Code).NotTo(Equal(http.StatusOK))
		asks(t.Context())
		g.Expect(<-source.ended).To(MatchError(context.DeadlineExceeded))
		late := <-answers
		g.Expect(late.Code).To(Equal(http.StatusServiceUnavailable))
		g.Expect(late.Body.String()).To(ContainSubstring("give less at once"))
		g.Expect(server.work.each).To(BeEmpty())
	})
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// TestQuestionsThatWaitAreBounded: each has a body, so that there are three of one person at most, and twenty of all; no more is read.
func TestQuestionsThatWaitAreBounded(t *testing.T) {
	for name, of := range map[string]struct {
		most int
		who  func(i int) string
	}{
		"of one person": {maxOwn, func(int) string { return "ann" }},
		"of all":        {maxAll, func(i int) string { return fmt.Sprint("person ", i) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				_, server := patientServer()
				ctx, leave := context.WithCancel(t.Context())
				as := func(i int) func(*http.Request) {
					return func(r *http.Request) { *r = *r.WithContext(person.With(ctx, person.Person{Name: of.who(i)})) }
				}
				var asked sync.WaitGroup
				for i := range of.most {
					asked.Go(func() { post(server, "/api/v1/render", `{"boxes": "a"}`, as(i)) })
				}
				synctest.Wait()
				refused := post(server, "/api/v1/render", `{"boxes": "a"}`, as(of.most), func(r *http.Request) { r.Body = io.NopCloser(unread{t}) })
				g.Expect(refused.Code).To(Equal(http.StatusTooManyRequests))
				leave()
				asked.Wait()
				g.Expect(server.work.each).To(BeEmpty())
				g.Expect(server.work.all).To(BeZero())
			})
		})
	}
}

// FuzzQuestions sends any body: it is answered by JSON, with a status that says what is wrong.
func FuzzQuestions(f *testing.F) {
	for _, seed := range []string{`{"boxes": "a"}`, `{"boxes": "a", "of": {"box": "b", "name": "c"}}`, `{}`, `null`, `[`, `{"boxes": "\u0000\ud800"}`, `{"BOXES": "a", "boxes": "b"}`, "\xff\xfe", `{"of": []}`} {
		f.Add([]byte(seed))
	}
	server := serverOf(&canned{})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/api/v1/compile", "/api/v1/render"} {
			r := post(server, path, string(body))
			switch r.Code {
			case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			default:
				t.Errorf("%s: %d", path, r.Code)
			}
			if !json.Valid(r.Body.Bytes()) {
				t.Errorf("%s: no JSON: %s", path, r.Body)
			}
		}
	})
}
