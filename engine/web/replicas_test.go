package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/web/person"
)

// TestWhatReplicasPassOn: who asks is whom another replica names, for one question, for half a minute.
func TestWhatReplicasPassOn(t *testing.T) {
	const path, body = "/api/v1/boxes/shop/actions/suspend?a=b", `{"uid": "x"}`
	ann := person.Person{Name: "ann", UID: "7", Groups: []string{"sre"}, Extra: map[string]authorizationv1.ExtraValue{"a": {"b"}}, Shared: true}
	for name, tc := range map[string]struct {
		change func(r *http.Request, c *clocktesting.FakePassiveClock)
		keyErr error
		want   int
	}{
		"as it came":             {nil, nil, http.StatusOK},
		"a little later":         {func(_ *http.Request, c *clocktesting.FakePassiveClock) { c.SetTime(c.Now().Add(sealLife)) }, nil, http.StatusOK},
		"a clock that is behind": {func(_ *http.Request, c *clocktesting.FakePassiveClock) { c.SetTime(c.Now().Add(-sealLife)) }, nil, http.StatusOK},
		"too late":               {func(_ *http.Request, c *clocktesting.FakePassiveClock) { c.SetTime(c.Now().Add(sealLife + 1)) }, nil, http.StatusUnauthorized},
		"from the future":        {func(_ *http.Request, c *clocktesting.FakePassiveClock) { c.SetTime(c.Now().Add(-sealLife - 1)) }, nil, http.StatusUnauthorized},
		"of another key": {func(r *http.Request, _ *clocktesting.FakePassiveClock) {
			r.Header.Set(PassedOnHeader, sealedBy(t, "other", r, ann, body))
		}, nil, http.StatusUnauthorized},
		"for another box": {func(r *http.Request, _ *clocktesting.FakePassiveClock) {
			r.URL.Path = "/api/v1/boxes/other/actions/suspend"
		}, nil, http.StatusUnauthorized},
		"with another query": {func(r *http.Request, _ *clocktesting.FakePassiveClock) { r.URL.RawQuery = "a=c" }, nil, http.StatusUnauthorized},
		"with another body": {func(r *http.Request, _ *clocktesting.FakePassiveClock) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"uid": "y"}`)), int64(len(body))
		}, nil, http.StatusUnauthorized},
		"without a body": {func(r *http.Request, _ *clocktesting.FakePassiveClock) { r.Body, r.ContentLength = http.NoBody, 0 }, nil, http.StatusUnauthorized},
		"changed": {func(r *http.Request, _ *clocktesting.FakePassiveClock) {
			r.Header.Set(PassedOnHeader, "A"+r.Header.Get(PassedOnHeader))
		}, nil, http.StatusUnauthorized},
		"without a seal":  {func(r *http.Request, _ *clocktesting.FakePassiveClock) { r.Header.Set(PassedOnHeader, "true") }, nil, http.StatusUnauthorized},
		"an empty header": {func(r *http.Request, _ *clocktesting.FakePassiveClock) { r.Header.Set(PassedOnHeader, "") }, nil, http.StatusUnauthorized},
		"twice": {func(r *http.Request, _ *clocktesting.FakePassiveClock) {
			r.Header.Add(PassedOnHeader, r.Header.Get(PassedOnHeader))
		}, nil, http.StatusUnauthorized},
		"without a key": {nil, errors.New("the Secret can't be read"), http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			g, clk := NewWithT(t), clocktesting.NewFakePassiveClock(time.Now())
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer t")
			r.Header.Set("Cookie", "session=s")
			g.Expect(sharing("key", clk, nil).Seal(r, ann, []byte(body))).To(Succeed())
			g.Expect(r.Header).NotTo(Or(HaveKey("Authorization"), HaveKey("Cookie")), "what shows who asks stays where it was shown")
			if tc.change != nil {
				tc.change(r, clk)
			}
			var who person.Person
			var read []byte
			guard := NewGuard(Doors{Replicas: sharing("key", clk, tc.keyErr), Clock: clk, Log: logr.Discard()}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				who, _ = person.From(r.Context())
				read, _ = io.ReadAll(r.Body)
			}))
			w := httptest.NewRecorder()
			guard.ServeHTTP(w, r)
			g.Expect(w.Code).To(Equal(tc.want), w.Body.String())
			if tc.want == http.StatusOK {
				g.Expect(who).To(Equal(ann))
				g.Expect(string(read)).To(Equal(body))
			}
		})
	}
}

func sharing(key string, clk *clocktesting.FakePassiveClock, err error) *Replicas {
	return &Replicas{Key: func(context.Context) ([]byte, error) { return []byte(key), err }, Clock: clk, Log: logr.Discard()}
}

// sealedBy is the header that a key makes for a request.
func sealedBy(t *testing.T, key string, r *http.Request, who person.Person, body string) string {
	t.Helper()
	one := r.Clone(t.Context())
	NewWithT(t).Expect(sharing(key, clocktesting.NewFakePassiveClock(time.Now()), nil).Seal(one, who, []byte(body))).To(Succeed())
	return one.Header.Get(PassedOnHeader)
}

// TestAQuestionIsNoOrder: what was sealed to be read does nothing.
func TestAQuestionIsNoOrder(t *testing.T) {
	g, clk := NewWithT(t), clocktesting.NewFakePassiveClock(time.Now())
	r := httptest.NewRequest(http.MethodGet, "/api/v1/boxes/shop", http.NoBody)
	g.Expect(sharing("key", clk, nil).Seal(r, person.Person{Name: "ann"}, nil)).To(Succeed())
	e, refused := sharing("key", clk, nil).enter(r)
	g.Expect(refused).To(BeNil())
	g.Expect(e.who.Name).To(Equal("ann"))
	r.Method = http.MethodPost
	e, refused = sharing("key", clk, nil).enter(r)
	g.Expect(e).To(BeNil())
	g.Expect(refused.status).To(Equal(http.StatusUnauthorized))
}

// TestNothingIsSealedWithoutAKey: then the replica answers by itself.
func TestNothingIsSealedWithoutAKey(t *testing.T) {
	g := NewWithT(t)
	r := httptest.NewRequest(http.MethodGet, "/api/v1/fleet", http.NoBody)
	g.Expect(sharing("", clocktesting.NewFakePassiveClock(time.Now()), errors.New("no")).Seal(r, person.Person{}, nil)).NotTo(Succeed())
	g.Expect(r.Header).NotTo(HaveKey(PassedOnHeader))
}
