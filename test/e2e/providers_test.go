package e2e_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Providers", func() {
	// books declares one book and one for each tag, at a shelf.
	books := func(s *shelf, resync string) string {
		return `
resync: ` + resync + `
providers:
  library:
  - id: main
    book: {name: "{{ .metadata.name }}-{{ .spec.mode }}", pages: "{{ .spec.replicas | default 7 }}"}
    credentials: {secretRef: {name: library}}
    endpoint: ` + s.URL + `
onReconcile:
  configmaps: [{name: "{{ .metadata.name }}-place", data: {place: "{{ .providers.main.place }}"}}]
`
	}
	secret := func(ctx context.Context, w *world) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "library"}, StringData: map[string]string{"key": "open-sesame\n"}}
		Expect(kube.Create(ctx, s)).To(Succeed())
		return s
	}
	locked := func() *shelf {
		s := newShelf()
		s.key = "open-sesame"
		return s
	}

	It("make what is declared once, keep it, and delete it with the resource", func(ctx context.Context) {
		w, s := newWorld(ctx), locked()
		w.running(ctx, w.box(ctx, books(s, "24h")))
		w.website(ctx, "web", `{mode: x}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForProvider, `main: credentials.secretRef: Secret "`+w.namespace+`/library" does not exist`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForProvider, `main: credentials.secretRef: Secret "`+w.namespace+`/library" does not exist`)
		Expect(s.asked()).To(BeEmpty())
		secret(ctx, w)
		w.hasData(ctx, "web-place", map[string]string{"place": "shelf/web-x"})
		Expect(manager.metric(Default, "orkestra_provider_requests_total", w.id, "library", "book", "ensure", "success")).To(BeNumerically(">=", 1))
		shown := w.settled(ctx, "web")
		Expect(s.has()).To(Equal([]string{"web-x"}))
		Expect(fmt.Sprint(shown.Object)).NotTo(ContainSubstring("sesame"))
		Expect(shown.GetAnnotations()[v1alpha1.AnnotationProviders]).To(ContainSubstring(`"identity":{"name":"web-x"}`))
		w.saysEvent(ctx, w.namespace, "web", v1alpha1.ReasonProviderMade, "main: library/book (name web-x at "+s.URL+") is made")
		s.asked()

		By("changing what has nothing to do with it")
		before := manager.evaluations(Default, w.id)
		w.merge(ctx, w.ref("web"), `{"metadata":{"labels":{"a":"b"}}}`)
		Eventually(func(g Gomega) { g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">", before)) }).WithContext(ctx).Should(Succeed())
		Expect(s.asked()).To(BeEmpty())

		By("asking for it by reconcile-at, which sends nothing to the API server")
		nothingSent(ctx, w, "web")
		Expect(s.asked()).To(And(Not(BeEmpty()), HaveEach("GET web-x")))

		By("changing it")
		w.website(ctx, "web", `{mode: x, replicas: 9}`)
		Eventually(func() (pages int64) { s.change(func() { pages = s.books["web-x"].Pages }); return pages }).WithContext(ctx).Should(Equal(int64(9)))

		By("changing what tells it from others")
		w.website(ctx, "web", `{mode: z, replicas: 9}`)
		w.hasData(ctx, "web-place", map[string]string{"place": "shelf/web-z"})
		Eventually(s.has).WithContext(ctx).Should(Equal([]string{"web-z"}))
		w.settled(ctx, "web")

		By("starting another process")
		manager.stop()
		s.asked()
		manager = startManager(cluster.Config())
		Eventually(s.asked).WithContext(ctx).ShouldNot(BeEmpty())
		w.settled(ctx, "web")
		Expect(s.has()).To(Equal([]string{"web-z"}))
		w.hasData(ctx, "web-place", map[string]string{"place": "shelf/web-z"})

		By("deleting the resource while the service is down")
		s.change(func() { s.down = true })
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "main: library/book (name web-z at "+s.URL+"): DELETEBook: 503 Service Unavailable")
		s.change(func() { s.down = false })
		w.vanished(ctx, "web")
		Expect(s.has()).To(BeEmpty())
	})

	It("put right what others change, once per resync, and delete the items that leave", func(ctx context.Context) {
		w, s := newWorld(ctx), newShelf()
		w.running(ctx, w.box(ctx, `
resync: 1s
providers:
  library:
  - id: all
    forEach: {field: spec.tags}
    book: {name: "{{ .item }}", pages: 3}
    credentials: {secretRef: {name: library}}
    endpoint: `+s.URL+`
`))
		s.change(func() { s.key = "open-sesame" })
		secret(ctx, w)
		w.website(ctx, "web", `{tags: [a, b, c]}`)
		Eventually(s.has).WithContext(ctx).Should(Equal([]string{"a", "b", "c"}))
		s.change(func() { b := s.books["b"]; b.Pages = 99; s.books["b"] = b })
		Eventually(func() (pages int64) { s.change(func() { pages = s.books["b"].Pages }); return pages }).WithContext(ctx).Should(Equal(int64(3)))
		s.change(func() { delete(s.books, "b") })
		Eventually(s.has).WithContext(ctx).Should(Equal([]string{"a", "b", "c"}))
		w.saysEvent(ctx, w.namespace, "web", v1alpha1.ReasonProviderLost, "library/book (name b at "+s.URL+") was gone, and not by Orkestra")
		w.website(ctx, "web", `{tags: [c, a]}`)
		Eventually(s.has).WithContext(ctx).Should(Equal([]string{"a", "c"}))
		w.saysEvent(ctx, w.namespace, "web", v1alpha1.ReasonProviderGone, "library/book (name b at "+s.URL+") is gone")

		By("taking the declaration out of the box")
		w.running(ctx, w.box(ctx, `{resync: 1s, onReconcile: {configmaps: [{data: {a: b}}]}}`))
		Eventually(s.has).WithContext(ctx).Should(BeEmpty())
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationProviders))
		}).WithContext(ctx).Should(Succeed())
	})

	It("hold a deletion while credentials are gone, until people let it go", func(ctx context.Context) {
		w, s := newWorld(ctx), locked()
		key := secret(ctx, w)
		w.running(ctx, w.box(ctx, books(s, "24h")))
		w.website(ctx, "web", `{mode: x}`)
		w.settled(ctx, "web")
		Expect(kube.Delete(ctx, key)).To(Succeed())
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError,
			`main: library/book (name web-x at `+s.URL+`): it can't be deleted: credentials.secretRef: Secret "`+w.namespace+`/library" does not exist; when the resource is deleted, the annotation orkestra.orkspace.io/skip-cleanup: "true" leaves it`)
		w.merge(ctx, w.ref("web"), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationSkipCleanup+`":"true"}}}`)
		w.vanished(ctx, "web")
		Expect(s.has()).To(Equal([]string{"web-x"}))
		w.saysEvent(ctx, w.namespace, "web", v1alpha1.ReasonProviderLeft, "main: library/book (name web-x at "+s.URL+") is left where it is")
	})

	It("delete what a box has made that is deleted with its children", func(ctx context.Context) {
		w, s := newWorld(ctx), locked()
		secret(ctx, w)
		w.running(ctx, w.box(ctx, books(s, "24h")))
		w.website(ctx, "web", `{mode: x}`)
		w.settled(ctx, "web")
		box := getBox(ctx, Default, w.id)
		w.merge(ctx, box, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
		s.change(func() { s.down = true })
		Expect(kube.Delete(ctx, box)).To(Succeed())
		Eventually(s.asked).WithContext(ctx).Should(ContainElement("DELETE web-x"))
		s.change(func() { s.down = false })
		boxGone(ctx, w.id)
		Expect(s.has()).To(BeEmpty())
		Expect(w.get(ctx, Default, "web").GetFinalizers()).To(BeEmpty())
	})

	It("are refused where the manager does not have them", func(ctx context.Context) {
		w := newWorld(ctx)
		w.box(ctx, `{providers: {libraries: [{id: a, book: {name: a}}]}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
			strings.TrimSpace(`this manager has no provider "libraries" (it has library), did you mean "library"?; use the image orkestra-providers, or register it: docs/how-to/providers.md`))
	})
})
