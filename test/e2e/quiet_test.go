package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// silencer swallows the events of watches whose path holds one of some texts: their connections stay open, and nothing comes.
type silencer struct {
	mu        sync.Mutex
	paths     []string        // none: nothing is swallowed
	swallowed map[string]bool // the watches of which it has swallowed an event, by path
}

func (s *silencer) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && strings.Contains(r.URL.RawQuery, "watch=true") {
			response.Body = &watchBody{ReadCloser: response.Body, silencer: s, path: r.URL.Path, spared: s.covers(r.URL.Path)}
		}
		return response, err
	})
}

func (s *silencer) covers(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.paths, func(part string) bool { return strings.Contains(path, part) })
}

// silence swallows the events of the watches that are open now. Those that are opened later get theirs.
func (s *silencer) silence(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths, s.swallowed = paths, map[string]bool{}
}

// count is the number of watches of which it has swallowed an event.
func (s *silencer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.swallowed)
}

// watchBody is the body of one watch.
type watchBody struct {
	io.ReadCloser

	silencer *silencer
	path     string
	spared   bool // it was opened after its path had been silenced
}

// Read gives nothing while the watch is silenced, until it is closed.
func (b *watchBody) Read(p []byte) (int, error) {
	for {
		n, err := b.ReadCloser.Read(p)
		if err != nil || b.spared || !b.silencer.covers(b.path) {
			return n, err
		}
		b.silencer.mu.Lock()
		b.silencer.swallowed[b.path] = true
		b.silencer.mu.Unlock()
	}
}

// age gives the age of the watch of a resource, as the manager exports it.
func (p *process) age(g Gomega, resource string) float64 {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "orkestra_watch_age_seconds" && m.GetLabel()[0].GetValue() == resource {
				return m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

var _ = Describe("A watch that has gone quiet", func() {
	It("is listed again, so that what it did not tell is seen, and has an age that is exported", func(ctx context.Context) {
		w := newWorld(ctx)
		quiet := &silencer{}
		replaceManager(via(quiet.wrap), func(s *settings) { s.orkestra.QuietWatch = 10 * time.Second })
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {mode: "{{ .spec.mode }}"}}]}}`))
		w.website(ctx, "web", `{mode: first}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web", map[string]string{"mode": "first"})
		Expect(manager.age(Default, w.crdName())).To(BeNumerically(">=", 0))
		Expect(manager.age(Default, "configmaps")).To(BeNumerically(">=", 0))

		By("losing a change of the resource, and one of its child")
		quiet.silence("/"+w.group+"/", "/api/v1/configmaps")
		w.website(ctx, "web", `{mode: second}`)
		w.patch(ctx, w.configMap("web"), `{"data":{"other":"kept"}}`)
		Eventually(quiet.count).WithContext(ctx).Should(Equal(2))
		w.hasData(ctx, "web", map[string]string{"mode": "second", "other": "kept"})
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")

		By("deleting the box")
		Expect(kube.Delete(ctx, getBox(ctx, Default, w.id))).To(Succeed())
		Eventually(func(g Gomega) float64 { return manager.age(g, w.crdName()) }).WithContext(ctx).Should(BeEquivalentTo(-1))
	})
})

var _ = Describe("A resource whose end no watch has told", func() {
	It("was let go before that: its children stay, also those that name no owner", func(ctx context.Context) {
		w := newWorld(ctx)
		other := w.anotherNamespace(ctx)
		quiet := &silencer{}
		replaceManager(via(quiet.wrap), func(s *settings) { s.orkestra.QuietWatch = 10 * time.Second })
		const box = `{%sonReconcile: {configmaps: [{name: "{{ .metadata.name }}-far", namespace: %s, data: {a: b}}]}}`
		w.running(ctx, w.box(ctx, fmt.Sprintf(box, "", other)))
		for _, name := range []string{"web", "stays"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		far := func(name string) error {
			return kube.Get(ctx, types.NamespacedName{Namespace: other, Name: name + "-far"}, &corev1.ConfigMap{})
		}
		Expect(far("web")).To(Succeed())

		By("letting all go by a selector, and deleting one, while nothing is told of them")
		quiet.silence("/" + w.group + "/")
		w.running(ctx, w.box(ctx, fmt.Sprintf(box, "selector: {matchLabels: {selected: \"yes\"}}, ", other)))
		Eventually(func(g Gomega) { g.Expect(w.get(ctx, g, "web").GetFinalizers()).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.vanished(ctx, "web")

		By("hearing of it by a list: what is declared now reaches the other one")
		w.merge(ctx, w.ref("stays"), `{"metadata":{"labels":{"selected":"yes"}}}`)
		w.settled(ctx, "stays")
		Eventually(func(g Gomega) { g.Expect(w.get(ctx, g, "stays").GetFinalizers()).NotTo(BeEmpty()) }).WithContext(ctx).Should(Succeed())
		w.website(ctx, "later", `{}`)
		w.merge(ctx, w.ref("later"), `{"metadata":{"labels":{"selected":"yes"}}}`)
		w.settled(ctx, "later")
		Expect(far("web")).To(Succeed(), "it was let go")
		Expect(far("stays")).To(Succeed())
	})
})
