package external

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAnswersAreKept(t *testing.T) {
	g := NewWithT(t)
	url, calls := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }) //nolint:errcheck // the client tells
	c, clk := newClient(t)
	r := get(url)
	r.CacheFor = 30 * time.Second
	call := func(r *Request) *Answer {
		answer, err := c.Call(context.Background(), r)
		g.Expect(err).NotTo(HaveOccurred())
		return answer
	}
	first := call(r)
	g.Expect(first.Cached).To(BeFalse())
	g.Expect(first.Until).To(Equal(start.Add(30 * time.Second)))
	clk.SetTime(start.Add(29 * time.Second))
	again := call(r)
	g.Expect(again.Cached).To(BeTrue())
	g.Expect(again.Until).To(Equal(first.Until), "the answer is as old as it is")
	g.Expect(calls.Load()).To(BeEquivalentTo(1))
	clk.SetTime(first.Until)
	g.Expect(call(r).Until).To(Equal(start.Add(60 * time.Second)))
	g.Expect(calls.Load()).To(BeEquivalentTo(2))
	c.Forget("shop")
	call(r)
	g.Expect(calls.Load()).To(BeEquivalentTo(3))
	g.Expect(c.cache.bytes).To(BeNumerically(">", 0))
	c.Forget("shop")
	g.Expect(c.cache.bytes).To(BeZero())
}

// TestATraceDoesNotChangeWhatIsAsked: an answer that is kept is used in another reconcile, too.
func TestATraceDoesNotChangeWhatIsAsked(t *testing.T) {
	g := NewWithT(t)
	var told []string
	url, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { told = append(told, r.Header.Get("Traceparent")) })
	c, _ := newClient(t)
	for _, trace := range []string{"00-a-b-01", "00-c-d-01"} {
		r := get(url)
		r.CacheFor, r.Trace = time.Hour, trace
		_, err := c.Call(context.Background(), r)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(told).To(Equal([]string{"00-a-b-01"}))
}

func TestAnswersAreKeptForTheSameRequestOnly(t *testing.T) {
	base := func(url string) *Request {
		r := get(url)
		r.CacheFor = time.Hour
		r.Query = map[string]string{"a": "1"}
		r.Headers = map[string]string{"X-A": "1"}
		r.Credential = &Credential{Header: "Authorization", Value: "Bearer one"}
		return r
	}
	for name, change := range map[string]func(r *Request){
		"box":               func(r *Request) { r.Box = "other" },
		"name":              func(r *Request) { r.Name = "other" },
		"method":            func(r *Request) { r.Method = http.MethodHead },
		"URL":               func(r *Request) { r.URL += "/x" },
		"query":             func(r *Request) { r.Query["a"] = "2" },
		"header":            func(r *Request) { r.Headers["X-A"] = "2" },
		"credential":        func(r *Request) { r.Credential = &Credential{Header: "Authorization", Value: "Bearer two"} },
		"none":              func(r *Request) { r.Credential = nil },
		"expected":          func(r *Request) { r.Expected = []int{200, 201} },
		"where a name ends": func(r *Request) { r.Box, r.Name = "shopq", "uota" },
		"a split": func(r *Request) {
			r.Query, r.Headers = map[string]string{}, map[string]string{"a": "1", "X-A": "1"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			url, calls := serve(t, func(http.ResponseWriter, *http.Request) {})
			c, _ := newClient(t)
			other := base(url)
			change(other)
			for _, r := range []*Request{base(url), other, base(url), other} {
				_, err := c.Call(context.Background(), r)
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(calls.Load()).To(BeEquivalentTo(2))
		})
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	url, calls := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	c, _ := newClient(t)
	r := get(url)
	r.CacheFor = time.Hour
	for range 2 {
		NewWithT(t).Expect(fails(t, c, r).Held).To(BeFalse())
	}
	NewWithT(t).Expect(calls.Load()).To(BeEquivalentTo(2))
	NewWithT(t).Expect(c.cache.flights).To(BeEmpty())
}

func TestSameRequestsAreSentOnce(t *testing.T) {
	g := NewWithT(t)
	arrived, let := make(chan struct{}), make(chan struct{})
	url, calls := serve(t, func(http.ResponseWriter, *http.Request) {
		close(arrived) // a second call would panic here
		<-let
	})
	c, _ := newClient(t)
	r := get(url)
	r.CacheFor = time.Hour
	var wg sync.WaitGroup
	call := func() {
		_, err := c.Call(context.Background(), r)
		g.Expect(err).NotTo(HaveOccurred())
	}
	wg.Go(call)
	<-arrived
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := c.Call(ctx, r)
	g.Expect(err).To(MatchError(context.Canceled), "a caller stops waiting when its context ends")
	for range 50 {
		wg.Go(call)
	}
	close(let)
	wg.Wait()
	g.Expect(calls.Load()).To(BeEquivalentTo(1))
}

func TestCacheIsBounded(t *testing.T) {
	g := NewWithT(t)
	url, calls := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("x", 1<<20)) //nolint:errcheck // the client tells
	})
	c, _ := newClient(t)
	call := func(i int) {
		r := get(fmt.Sprintf("%s/%d", url, i))
		r.CacheFor = time.Hour
		_, err := c.Call(context.Background(), r)
		g.Expect(err).NotTo(HaveOccurred())
	}
	for i := range 12 {
		call(i)
		call(0) // what is used stays
	}
	g.Expect(c.cache.bytes).To(And(BeNumerically("<=", maxCacheBytes), BeNumerically(">", maxCacheBytes/2)))
	g.Expect(c.cache.used.Len()).To(Equal(len(c.cache.entries)))
	g.Expect(calls.Load()).To(BeEquivalentTo(12), "the first one was never dropped")
	call(1)
	g.Expect(calls.Load()).To(BeEquivalentTo(13), "the second one was")
}
