package worker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// roundTripper answers requests by a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestARequestThatPanicsLeavesItsPlace(t *testing.T) {
	g := NewWithT(t)
	shared := make(chan struct{}, 2)
	through := NewTransport(roundTripper(func(*http.Request) (*http.Response, error) { panic("bug") }), NewPlaces(shared), time.Second)
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	g.Expect(func() { _, _ = through.RoundTrip(r) }).To(PanicWith("bug")) //nolint:bodyclose // there is no response
	g.Expect(shared).To(BeEmpty())
	g.Expect(through.places.own).To(BeEmpty())
}

func TestRequestsAreCounted(t *testing.T) {
	g := NewWithT(t)
	through := NewTransport(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{Body: io.NopCloser(strings.NewReader(""))}, nil
	}), NewPlaces(make(chan struct{}, 2)), time.Second)
	send := func(ctx context.Context) {
		response, err := through.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
	}
	ctx, sent := CountRequests(t.Context())
	send(ctx)
	send(t.Context())
	send(ctx)
	g.Expect(sent.Requests()).To(BeEquivalentTo(2))
	g.Expect(sent.Unreached()).To(BeFalse())
}

func TestRequestsThatDoNotReachTheAPIServerAreTold(t *testing.T) {
	g := NewWithT(t)
	lost := errors.New("connection refused")
	ctx, sent := CountRequests(t.Context())
	send := func(timeout time.Duration, answer roundTripper) error {
		through := NewTransport(answer, NewPlaces(make(chan struct{}, 2)), timeout)
		_, err := through.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)) //nolint:bodyclose // there is no response
		return err
	}
	g.Expect(send(time.Millisecond, func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})).To(MatchError(context.DeadlineExceeded))
	g.Expect(sent.Unreached()).To(BeFalse(), "a webhook may hang")
	g.Expect(send(time.Hour, func(*http.Request) (*http.Response, error) { return nil, lost })).To(BeIdenticalTo(lost))
	g.Expect(sent.Unreached()).To(BeTrue())
}

// count is a limiter that counts.
type count struct {
	RateLimiter

	waits int
	err   error
}

func (c *count) Wait(context.Context) error {
	c.waits++
	return c.err
}

func TestLimiterAsksTheBoxFirst(t *testing.T) {
	g := NewWithT(t)
	own, all := &count{}, &count{}
	l := RateLimiter{RateLimiter: own, shared: all}
	ctx := t.Context()
	g.Expect(l.Wait(ctx)).To(Succeed())
	g.Expect([]int{own.waits, all.waits}).To(Equal([]int{1, 1}))
	own.err = errors.New("no")
	g.Expect(l.Wait(ctx)).To(MatchError("no"))
	g.Expect(all.waits).To(Equal(1), "nothing of what is shared is taken")
	own.err, all.err = nil, errors.New("full")
	g.Expect(l.Wait(ctx)).To(MatchError("full"))
}

func TestTheCapIsDerivedFromTheLimitOfABox(t *testing.T) {
	g := NewWithT(t)
	g.Expect(SharedRateLimiter(&rest.Config{QPS: 100, Burst: 200}).QPS()).To(BeEquivalentTo(500))
	all := SharedRateLimiter(&rest.Config{QPS: 1, Burst: 2})
	for range 2 * fullSpeed {
		g.Expect(all.TryAccept()).To(BeTrue())
	}
	g.Expect(all.TryAccept()).To(BeFalse())
	for _, free := range []*rest.Config{{}, {QPS: -1}} {
		l := NewRateLimiter(free, SharedRateLimiter(free))
		for range 10_000 {
			g.Expect(l.TryAccept()).To(BeTrue(), "nothing of ours holds a burst back by default")
		}
	}
}
