package e2e_test

import (
	"context"
	"crypto/tls"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// onceBox makes a Secret with a drawn password, and a ConfigMap that follows spec.mode. %s is in the Secret's declaration.
func onceBox(group, fields string) string {
	secret := `{id: password, name: "{{ .metadata.name }}-password", once: true, ` + fields + ` data: {password: "{{ randAlphaNum 24 }}", user: admin}}`
	follower := `configmaps: [{data: {mode: "{{ .spec.mode }}"}}]`
	if group == "onCreate" {
		return `{resync: 24h, onCreate: {secrets: [` + secret + `]}, onReconcile: {` + follower + `}}`
	}
	return `{resync: 24h, onReconcile: {secrets: [` + secret + `], ` + follower + `}}`
}

// password waits for the generated Secret of a resource, and gives it.
func (w *world) password(ctx context.Context, name string) *corev1.Secret {
	GinkgoHelper()
	s := &corev1.Secret{}
	Eventually(func(g Gomega) { w.child(ctx, g, s, name+"-password") }).WithContext(ctx).Should(Succeed())
	Expect(string(s.Data["password"])).To(MatchRegexp(`^[0-9A-Za-z]{24}$`))
	return s
}

var _ = Describe("What is made once", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	// same checks that a Secret is the one that it was.
	same := func(ctx context.Context, before *corev1.Secret) {
		GinkgoHelper()
		now := &corev1.Secret{}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(before), now)).To(Succeed())
		Expect(now.UID).To(Equal(before.UID))
		Expect(now.Data).To(Equal(before.Data))
	}

	for _, group := range []string{"onCreate", "onReconcile"} {
		Describe("in "+group, func() {
			It("keeps what was drawn: whatever is edited elsewhere, and after a restart", func(ctx context.Context) {
				w.running(ctx, w.box(ctx, onceBox(group, "")))
				w.website(ctx, "web", `{mode: a}`)
				secret := w.password(ctx, "web")
				w.settled(ctx, "web")

				By("the resource, again and again")
				for _, mode := range []string{"b", "c"} {
					w.website(ctx, "web", `{mode: `+mode+`}`)
					w.hasData(ctx, "web", map[string]string{"mode": mode})
				}
				w.lookedAt(ctx, "web")
				same(ctx, secret)

				By("the declaration")
				w.box(ctx, onceBox(group, `labels: {team: a}, type: Opaque,`))
				w.running(ctx, w.id)
				w.lookedAt(ctx, "web")
				w.settled(ctx, "web")
				same(ctx, secret)

				By("another process")
				manager.stop()
				manager = startManager(cluster.Config())
				w.running(ctx, w.id)
				w.lookedAt(ctx, "web")
				w.settled(ctx, "web")
				same(ctx, secret)
				nothingSent(ctx, w, "web")
			})

			It("keeps what was drawn when somebody takes the labels off", func(ctx context.Context) {
				w.running(ctx, w.box(ctx, onceBox(group, "")))
				w.website(ctx, "web", `{mode: a}`)
				secret := w.password(ctx, "web")
				w.settled(ctx, "web")
				w.merge(ctx, secret, `{"metadata":{"labels":null}}`)
				w.website(ctx, "web", `{mode: b}`)
				w.hasData(ctx, "web", map[string]string{"mode": "b"})
				w.settled(ctx, "web")
				same(ctx, secret)
				if group == "onReconcile" {
					Eventually(func(g Gomega) {
						g.Expect(w.password(ctx, "web").Labels).To(HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(w.get(ctx, g, "web").GetUID())))
					}).WithContext(ctx).Should(Succeed())
					nothingSent(ctx, w, "web")
				}
				same(ctx, secret)
			})
		})
	}

	It("is drawn for each resource, and again only when somebody deletes it", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, onceBox("onReconcile", "")))
		w.website(ctx, "web", `{mode: a}`)
		w.website(ctx, "other", `{mode: a}`)
		secret := w.password(ctx, "web")
		w.settled(ctx, "web")
		Expect(w.password(ctx, "other").Data["password"]).NotTo(Equal(secret.Data["password"]))
		Expect(kube.Delete(ctx, secret)).To(Succeed())
		Eventually(func(g Gomega) {
			next := &corev1.Secret{}
			w.child(ctx, g, next, "web-password")
			g.Expect(next.UID).NotTo(Equal(secret.UID))
			g.Expect(next.Data["password"]).NotTo(Equal(secret.Data["password"]))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})

	It("is not drawn over by a cache that is behind: what is there already is kept", func(ctx context.Context) {
		log := &writeLog{parts: []string{"/namespaces/" + w.id, "/secrets"}}
		replaceManager(via(log.wrap))
		var first *unstructured.Unstructured
		// Another process of ours, as one that just lost the lease, is faster by a moment.
		log.justBefore(http.MethodPost, func(_ http.RoundTripper, r *http.Request) error {
			body, err := readAll(r.Body)
			if err != nil {
				return err
			}
			first = objectIn(body)
			if err := unstructured.SetNestedField(first.Object, "Zmlyc3Q=", "data", "password"); err != nil {
				return err
			}
			return kube.Create(r.Context(), first, client.FieldOwner(v1alpha1.FieldManager))
		})
		w.running(ctx, w.box(ctx, onceBox("onReconcile", "")))
		w.website(ctx, "web", `{mode: a}`)
		Eventually(log.interfered).WithContext(ctx).Should(BeTrue())
		w.settled(ctx, "web")
		s := &corev1.Secret{}
		w.child(ctx, Default, s, "web-password")
		Expect(s.UID).To(Equal(first.GetUID()))
		Expect(s.Data).To(HaveKeyWithValue("password", []byte("first")))
		nothingSent(ctx, w, "web")
		w.child(ctx, Default, s, "web-password")
		Expect(s.Data).To(HaveKeyWithValue("password", []byte("first")))
	})

	It("is drawn once although two resources want it: the other is refused", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {secrets: [{name: shared, once: true, data: {password: "{{ randAlphaNum 24 }}"}}]}}`))
		w.website(ctx, "a", `{}`)
		w.website(ctx, "b", `{}`)
		refused := 0
		Eventually(func(g Gomega) {
			refused = 0
			for _, name := range []string{"a", "b"} {
				if condition(w.get(ctx, g, name), v1alpha1.ConditionStalled).Reason == v1alpha1.ReasonNotOwned {
					refused++
				}
			}
			g.Expect(refused).To(Equal(1))
		}).WithContext(ctx).Should(Succeed())
		s := &corev1.Secret{}
		w.child(ctx, Default, s, "shared")
		w.lookedAt(ctx, "a")
		w.lookedAt(ctx, "b")
		same(ctx, s)
	})

	It("is taken by no other declaration, also where onCreate keeps it under a former name", func(ctx context.Context) {
		const drawn = `once: true, data: {password: "{{ randAlphaNum 24 }}"}`
		w.running(ctx, w.box(ctx, `{onCreate: {secrets: [{id: cr, name: "{{ .spec.host }}-password", `+drawn+`}]},
			onReconcile: {secrets: [{id: rec, name: "{{ .spec.mode }}-password", `+drawn+`, after: [cr]}]}}`))
		w.website(ctx, "web", `{host: keep, mode: o}`)
		w.settled(ctx, "web")
		secret := w.password(ctx, "keep")
		for _, spec := range []string{`{host: keep, mode: keep}`, `{host: elsewhere, mode: keep}`} {
			w.website(ctx, "web", spec)
			w.observed(ctx, "web")
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonDuplicateChild,
				`"rec" renders Secret "keep-password", which "cr" has made once and keeps; give "rec" another name`)
			same(ctx, secret)
			Expect(w.password(ctx, "keep").Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationDeclaration, "cr"))
		}
		w.website(ctx, "web", `{host: keep, mode: o}`)
		w.settled(ctx, "web")
		w.lookedAt(ctx, "web")
		same(ctx, secret)
		nothingSent(ctx, w, "web")
	})

	It("is not evaluated again: what its templates read may be gone", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {secrets: [{name: "{{ .metadata.name }}-password", once: true, data: {password: "{{ .spec.mode }}-{{ randAlphaNum 24 }}"}}], configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		secret := &corev1.Secret{}
		w.child(ctx, Default, secret, "web-password")
		w.website(ctx, "web", `{port: 1}`)
		w.observed(ctx, "web")
		w.settled(ctx, "web")
		same(ctx, secret)
	})

	It("holds a key and the certificate that belongs to it", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {secrets: [{name: "{{ .metadata.name }}-tls", once: true, type: kubernetes.io/tls,
			data: "{{ genSelfSignedCert .metadata.name (list) (list .metadata.name) 365 | tlsData }}"}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		s := &corev1.Secret{}
		w.child(ctx, Default, s, "web-tls")
		Expect(s.Type).To(Equal(corev1.SecretTypeTLS))
		_, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"])
		Expect(err).NotTo(HaveOccurred())
	})

	It("together with Jobs that are done and fields that are left alone, a settled resource asks nothing", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h,
			onCreate: {jobs: [{id: seed, name: "{{ .metadata.name }}-seed", image: "busybox:1"}], secrets: [{name: "{{ .metadata.name }}-first", once: true, data: {p: "{{ uuidv4 }}"}}]},
			onReconcile: {jobs: [{id: migrate, image: "busybox:1", ttlSecondsAfterFinished: 0}], secrets: [{name: "{{ .metadata.name }}-second", once: true, data: {p: "{{ uuidv4 }}"}}],
			  deployments: [{image: "nginx:1", replicas: 2, initialFields: [spec.replicas]}], configmaps: [{data: {a: b}, initialFields: [data.a]}]}}`))
		w.website(ctx, "web", `{}`)
		w.done(ctx, "web", "migrate")
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})
})
