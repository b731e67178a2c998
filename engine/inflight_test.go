package engine

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// asking gives an engine whose API server is a handler, and a function that writes the status of a box's resource.
func asking(t *testing.T, handler http.HandlerFunc) (*Engine, func(ctx context.Context, b *box) error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}, meta.RESTScopeNamespace)
	e, err := New(Config{REST: &rest.Config{Host: server.URL}, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return e, func(ctx context.Context, b *box) error {
		resource := &unstructured.Unstructured{}
		resource.SetGroupVersionKind(b.plan.Load().CRD.Kind)
		resource.SetNamespace("team-a")
		resource.SetName("shop")
		_, err := b.cycles.Client.WriteStatus(ctx, resource, []byte(`{"status":{}}`))
		return err
	}
}

const storedWebsite = `{"apiVersion":"demo.example.com/v1","kind":"Website","metadata":{"name":"shop","namespace":"team-a","resourceVersion":"2"}}`

func TestRequestsInFlightAreBounded(t *testing.T) {
	g := NewWithT(t)
	var mu sync.Mutex
	now, most := 0, 0
	gate := make(chan struct{})
	e, write := asking(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-gate
		mu.Lock()
		now--
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(storedWebsite))
	})
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open) // before the server is closed, which waits for its requests
	e.inFlight = make(chan struct{}, 4)
	busy, other := serving(t, e, v1alpha1.OperatorBoxSpec{}), serving(t, e, v1alpha1.OperatorBoxSpec{})
	var all sync.WaitGroup
	ctx := patience(t)
	send := func(b *box, times int) {
		for range times {
			all.Go(func() {
				if err := write(ctx, b); err != nil {
					t.Error(err)
				}
			})
		}
	}
	underWay := func() int {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	send(busy, 10)
	g.Eventually(underWay).Should(Equal(2))
	send(other, 1)
	g.Eventually(underWay).Should(Equal(3), "a busy box leaves half of the places to others")
	send(other, 9)
	g.Eventually(underWay).Should(Equal(4))
	g.Expect(e.inFlight).To(HaveLen(4), "there is no place for a third one")
	open()
	all.Wait()
	g.Expect(most).To(Equal(4))
	g.Expect(e.inFlight).To(BeEmpty())
}

func TestARequestThatGetsNoPlaceIsNotSent(t *testing.T) {
	g := NewWithT(t)
	e, write := asking(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	b := serving(t, e, v1alpha1.OperatorBoxSpec{})
	for range cap(e.inFlight) {
		e.inFlight <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(write(ctx, b)).To(MatchError(context.Canceled))
}

// What holds back is the API server, and it is obeyed: it answers 429 until the time is over that it has asked for.
func TestTooManyRequestsIsObeyed(t *testing.T) {
	g := NewWithT(t)
	var mu sync.Mutex
	var first time.Time
	attempts := 0
	e, write := asking(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		attempts++
		if first.IsZero() {
			first = time.Now()
		}
		if time.Since(first) < time.Second {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if r.URL.Query().Get("timeout") != RequestTimeout.String() {
			t.Errorf("%s does not say how long it waits", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(storedWebsite))
	})
	b := serving(t, e, v1alpha1.OperatorBoxSpec{})
	g.Expect(write(patience(t), b)).To(Succeed())
	g.Expect(attempts).To(Equal(2), "it came back when it was told to")
	g.Expect(e.inFlight).To(BeEmpty())
}
