package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// teller is a host that answers at once while it is open, and otherwise one request for each turn that it is given.
type teller struct {
	url   string
	turns chan struct{}

	mu    sync.Mutex
	gate  chan struct{} // closed: it is open. Guarded by mu
	asked int           // since it was shut; guarded by mu
}

// startTeller starts one that is open, and ends it with the spec.
func startTeller() *teller {
	t := &teller{turns: make(chan struct{}), gate: make(chan struct{})}
	t.open()
	server := httptest.NewServer(t)
	DeferCleanup(server.Close)
	t.url = server.URL
	return t
}

// ServeHTTP implements http.Handler.
func (t *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	t.asked++
	gate := t.gate
	t.mu.Unlock()
	select {
	case <-t.turns:
	case <-gate:
	case <-r.Context().Done():
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"limit": "1"}`) //nolint:errcheck // who asked may be gone
}

func (t *teller) shut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gate, t.asked = make(chan struct{}), 0
}

func (t *teller) open() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.gate)
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
		t := startTeller()
		w.running(ctx, w.box(ctx, fmt.Sprintf(`
workers: 1
resync: 1h
queue: {maxDepth: 1}
external:
- {name: quota, url: %q, timeout: 60s, retries: 0}
onReconcile:
  configmaps:
  - data: {value: "{{ .external.quota.limit }}"}
`, t.url)))

		load := func(queued, busy int) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(manager.gauge(g, "orkestra_queue_depth", w.id)).To(BeEquivalentTo(queued))
				g.Expect(manager.gauge(g, "orkestra_workers_busy", w.id)).To(BeEquivalentTo(busy))
			}).WithContext(ctx).Should(Succeed())
		}

		By("having one worker, which waits for an answer, and many resources behind it")
		w.website(ctx, "deleted", `{}`)
		w.settled(ctx, "deleted")
		load(0, 0)
		t.shut()
		for _, name := range names(many) {
			w.website(ctx, name, `{}`)
		}
		Eventually(t.requests).WithContext(ctx).Should(Equal(1))
		load(many, 1) // the one inside, those outside, and once more the one that is reconciled: its marks have changed it

		By("deleting one that everybody else is in front of")
		Expect(kube.Delete(ctx, w.ref("deleted"))).To(Succeed())
		load(many+1, 1)
		t.turns <- struct{}{} // the one that is reconciled
		t.turns <- struct{}{} // the one that was inside
		w.gone(ctx, w.ref("deleted"), "deleted")
		Expect(t.requests()).To(BeNumerically("<=", 3), "all others wait")

		By("letting the others go on")
		t.open()
		for _, name := range names(many) {
			w.settled(ctx, name)
		}
		load(0, 0)
	})
})

var _ = Describe("A queue in which namespaces take turns", func() {
	It("serves a resource of another namespace before all that wait of one, and shows for how long they do", func(ctx context.Context) {
		w := newWorld(ctx)
		other := w.anotherNamespace(ctx)
		t := startTeller()
		t.shut()
		w.running(ctx, w.box(ctx, fmt.Sprintf(`
workers: 1
resync: 1h
queue: {fairness: Namespace, maxDepth: 2}
external:
- {name: quota, url: "%s/{{ .metadata.namespace }}/{{ .metadata.name }}", timeout: 60s, retries: 0}
onReconcile:
  configmaps:
  - data: {value: "{{ .external.quota.limit }}"}
`, t.url)))

		By("having one namespace wait with many, and then another with one")
		for _, name := range names(20) {
			w.website(ctx, name, `{}`)
		}
		Eventually(t.requests).WithContext(ctx).Should(Equal(1))
		Eventually(func(g Gomega) {
			g.Expect(manager.gauge(g, "orkestra_queue_depth", w.id)).To(BeEquivalentTo(20))
		}).WithContext(ctx).Should(Succeed())
		w.websiteIn(ctx, other, "late", nil)
		Eventually(func(g Gomega) {
			g.Expect(manager.gauge(g, "orkestra_queue_depth", w.id)).To(BeEquivalentTo(21))
			g.Expect(manager.waiting(g, w.id)).To(And(HaveLen(2), HaveKey(w.namespace), HaveKey(other)))
		}).WithContext(ctx).Should(Succeed())

		By("letting them go on one by one")
		go func() {
			defer GinkgoRecover()
			for range 4 { // the one that is reconciled, two that were inside, and the other namespace's
				t.turns <- struct{}{}
			}
		}()
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: other, Name: "late"}, &corev1.ConfigMap{})).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		Expect(t.requests()).To(BeNumerically("<=", 5), "all others wait")
		t.open()
		for _, name := range names(20) {
			w.settled(ctx, name)
		}
		Eventually(func(g Gomega) { g.Expect(manager.waiting(g, w.id)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
	})
})

// waiting gives how long resources of each namespace have waited, by the metrics.
func (p *process) waiting(g Gomega, box string) map[string]float64 {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == "orkestra_queue_namespace_wait_seconds" && labels["box"] == box {
				out[labels["namespace"]] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}
