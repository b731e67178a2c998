package provision

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/onsi/gomega"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/provider"
)

// driver answers by a function.
type driver func(ctx context.Context, r *provider.Request) error

func (d driver) Ensure(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	return &provider.Observed{}, d(ctx, r)
}

func (d driver) Observe(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	return nil, d(ctx, r)
}
func (d driver) Delete(ctx context.Context, r *provider.Request) (bool, error) {
	return true, d(ctx, r)
}

func call(d driver) *Call {
	return &Call{Box: "b", Provider: "p", Kind: "k", Driver: d, Operation: Ensure, Request: provider.Request{Credentials: map[string]string{"key": "hush-hush"}}}
}

func TestAServiceThatFailsIsLeftAlone(t *testing.T) {
	g := gomega.NewWithT(t)
	clock := testingclock.NewFakeClock(time.Unix(1000, 0))
	c, asked := NewClient(nil, clock), 0
	var failure error = &provider.Error{Class: provider.Transient, Operation: "Make", Message: "away"}
	down := call(func(context.Context, *provider.Request) error { asked++; return failure })
	for want := range 3 {
		_, err := c.Call(t.Context(), down)
		g.Expect(err).To(gomega.MatchError("Make: away"))
		g.Expect(asked).To(gomega.Equal(want + 1))
		_, err = c.Call(t.Context(), down)
		g.Expect(err).To(gomega.MatchError("Make: away"), "a resource shows the same")
		held, ok := errors.AsType[*HeldError](err)
		g.Expect(ok).To(gomega.BeTrue())
		g.Expect(held.Until).To(gomega.Equal(clock.Now().Add(time.Second << want)))
		g.Expect(asked).To(gomega.Equal(want+1), "nobody is asked")
		other := call(func(context.Context, *provider.Request) error { return nil })
		other.Box = "another"
		_, err = c.Call(t.Context(), other)
		g.Expect(err).NotTo(gomega.HaveOccurred(), "no box holds up another")
		clock.SetTime(held.Until)
	}
	failure = &provider.Error{Class: provider.Invalid, Operation: "Make"}
	_, err := c.Call(t.Context(), down)
	g.Expect(err).To(gomega.HaveOccurred())
	_, err = c.Call(t.Context(), down)
	g.Expect(errors.As(err, new(*HeldError))).To(gomega.BeFalse(), "a service that refuses something is well")
	c.Forget("b")
	g.Expect(c.services).To(gomega.BeEmpty())
}

func TestMessagesHoldNoCredentials(t *testing.T) {
	for name, failure := range map[string]error{
		"of the service": &provider.Error{Class: provider.Denied, Operation: "Make", Message: "the key hush-hush\nis wrong"},
		"of a driver":    errors.New("the key hush-hush is wrong"),
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, err := NewClient(nil, testingclock.NewFakeClock(time.Unix(0, 0))).Call(t.Context(), call(func(context.Context, *provider.Request) error { return failure }))
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("the key [hidden] is wrong")))
		})
	}
}

func TestADriverReachesWhatBoxesMay(t *testing.T) {
	g := gomega.NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer server.Close()
	asks := func(ctx context.Context, r *provider.Request) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := r.HTTP.Do(req)
		if err != nil {
			return &provider.Error{Class: provider.Transient, Operation: "Get", Message: "no answer"}
		}
		return resp.Body.Close()
	}
	dials := func(ctx context.Context, r *provider.Request) error {
		conn, err := r.Dial(ctx, "tcp", server.Listener.Addr().String())
		if err != nil {
			return err
		}
		return conn.Close()
	}
	clock := testingclock.NewFakeClock(time.Unix(0, 0))
	egress, err := external.NewEgress([]string{"127.0.0.1"}, nil, external.EgressRules{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	only, err := external.NewEgress([]string{"127.0.0.1"}, []string{"elsewhere.example.com"}, external.EgressRules{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for name, d := range map[string]driver{"asks": asks, "dials": dials} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, err := NewClient(egress, clock).Call(t.Context(), call(d))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			for _, rules := range []*external.Egress{nil, only} {
				_, err = NewClient(rules, clock).Call(t.Context(), call(d))
				failure, ok := errors.AsType[*provider.Error](err)
				g.Expect(ok).To(gomega.BeTrue(), "%v", err)
				g.Expect(failure.Class).To(gomega.Equal(provider.Invalid), "%v", err)
				g.Expect(failure.Message).To(gomega.ContainSubstring(`host "127.0.0.1"`), "whatever the driver makes of it")
			}
		})
	}
}

func TestADriverThatPanicsHoldsNoPlace(t *testing.T) {
	g := gomega.NewWithT(t)
	c := NewClient(nil, testingclock.NewFakeClock(time.Unix(0, 0)))
	for range maxConcurrent + 1 {
		g.Expect(func() {
			_, _ = c.Call(t.Context(), call(func(context.Context, *provider.Request) error { panic("a mistake") }))
		}).To(gomega.PanicWith("a mistake"))
	}
	g.Expect(c.services).To(gomega.BeEmpty())
}

func TestADriverWithoutAnAnswer(t *testing.T) {
	g := gomega.NewWithT(t)
	nothing := call(func(context.Context, *provider.Request) error { return nil })
	nothing.Operation = Observe
	_, err := NewClient(nil, testingclock.NewFakeClock(time.Unix(0, 0))).Call(t.Context(), nothing)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("neither an answer nor an error")))
}
