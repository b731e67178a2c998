package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// teller is a host that answers one request for each turn that it is given, and all of them when it is open.
type teller struct {
	turns  chan struct{}
	opened chan struct{}
	open   func()

	mu    sync.Mutex
	asked int // guarded by mu
}

// ServeHTTP implements http.Handler.
func (t *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	t.asked++
	t.mu.Unlock()
	select {
	case <-t.turns:
	case <-t.opened:
	case <-r.Context().Done():
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"limit": "1"}`) //nolint:errcheck // who asked may be gone
}

func (t *teller) requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

var _ = Describe("The queue of a box", func() {
	const many = 20

	It("has a limit above which resources wait outside, none is lost, and deletions pass", func(ctx context.Context) {
		w := newWorld(ctx)
		t := &teller{turns: make(chan struct{}), opened: make(chan struct{})}
		t.open = sync.OnceFunc(func() { close(t.opened) })
		server := httptest.NewServer(t)
		DeferCleanup(server.Close)
		DeferCleanup(t.open)
		w.running(ctx, w.box(ctx, fmt.Sprintf(`
workers: 1
resync: 1h
queue: {maxDepth: 1}
external:
- {name: quota, url: %q, timeout: 60s, retries: 0}
onReconcile:
  configmaps:
  - data: {value: "{{ .external.quota.limit }}"}
`, server.URL)))

		By("having one worker, which waits for an answer, and many resources behind it")
		w.website(ctx, "deleted", `{}`)
		Eventually(t.requests).WithContext(ctx).Should(Equal(1))
		t.turns <- struct{}{}
		w.settled(ctx, "deleted")
		asked := t.requests()
		for _, name := range names(many) {
			w.website(ctx, name, `{}`)
		}
		waiting := func(n int) {
			GinkgoHelper()
			Eventually(func(g Gomega) { g.Expect(manager.gauge(g, "orkestra_queue_depth", w.id)).To(BeEquivalentTo(n)) }).WithContext(ctx).Should(Succeed())
		}
		Eventually(t.requests).WithContext(ctx).Should(Equal(asked + 1))
		waiting(many - 1) // all of them count, the one inside and those outside

		By("deleting one that everybody else is in front of")
		Expect(kube.Delete(ctx, w.ref("deleted"))).To(Succeed())
		waiting(many)
		t.turns <- struct{}{} // the one that is reconciled
		t.turns <- struct{}{} // the one that was inside
		w.gone(ctx, w.ref("deleted"), "deleted")
		Expect(t.requests()).To(Equal(asked+3), "all others wait")

		By("letting the others go on")
		t.open()
		for _, name := range names(many) {
			w.settled(ctx, name)
		}
		waiting(0)
	})
})
