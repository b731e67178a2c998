package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Children in other namespaces", func() {
	var w *world
	var elsewhere string
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		elsewhere = w.anotherNamespace(ctx)
	})
	there := func(ctx context.Context, name string) error {
		return kube.Get(ctx, types.NamespacedName{Namespace: elsewhere, Name: name}, &corev1.ConfigMap{})
	}
	has := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func() error { return there(ctx, name) }).WithContext(ctx).Should(Succeed())
	}
	lost := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			err := there(ctx, name)
			g.Expect(err).To(HaveOccurred())
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
	}
	noted := func(ctx context.Context, note string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationNamespaces, note))
		}).WithContext(ctx).Should(Succeed())
	}
	// forge makes a copy of a child of "web" in the other namespace, as its tenant can: with all labels, by our field manager.
	forge := func(ctx context.Context, child string) {
		GinkgoHelper()
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, child)
		Expect(kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: elsewhere, Name: "forged", Labels: c.Labels, Annotations: c.Annotations,
		}, Data: map[string]string{"a": "evil"}}, client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
	}

	DescribeTable("are none where the box makes none, whatever their labels and managers say", func(ctx context.Context, box string) {
		w.running(ctx, w.box(ctx, box))
		w.website(ctx, "web", `{mode: `+w.namespace+`}`)
		w.settled(ctx, "web")
		forge(ctx, "mine")
		w.website(ctx, "web", `{mode: `+w.namespace+`, image: "next"}`)
		w.settled(ctx, "web")
		w.removed(ctx, "web")
		w.vanished(ctx, "web")
		Expect(there(ctx, "forged")).To(Succeed())
	},
		Entry("it has none elsewhere", `{onReconcile: {configmaps: [{id: mine, name: mine, data: {a: '{{ default "b" .spec.image }}'}}]}}`),
		Entry("its templates could lead there, and have not", `{onReconcile: {configmaps: [{id: mine, name: mine, namespace: "{{ .spec.mode }}", data: {a: '{{ default "b" .spec.image }}'}}]}}`),
	)

	It("are noted before they are made, and followed though their namespace lets nobody in any more", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: guest, namespace: "{{ .spec.mode }}"}]}}`))
		w.allow(ctx, elsewhere, "*")
		w.website(ctx, "web", `{mode: `+elsewhere+`}`)
		has(ctx, "guest")
		noted(ctx, elsewhere)
		w.settled(ctx, "web")

		By("leading them home")
		w.website(ctx, "web", `{mode: `+w.namespace+`}`)
		lost(ctx, "guest")
		noted(ctx, "")

		By("letting nobody in any more")
		w.website(ctx, "web", `{mode: `+elsewhere+`}`)
		has(ctx, "guest")
		noted(ctx, elsewhere)
		w.allow(ctx, elsewhere, "")
		w.removed(ctx, "web")
		w.vanished(ctx, "web")
		lost(ctx, "guest")
	})

	It("are found that were made before there were notes", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: guest, namespace: "{{ .spec.mode }}"}]}}`))
		w.allow(ctx, elsewhere, "*")
		w.website(ctx, "web", `{mode: `+elsewhere+`}`)
		w.settled(ctx, "web")
		manager.stop()
		w.merge(ctx, w.ref("web"), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationNamespaces+`":null}}}`)
		w.website(ctx, "web", `{mode: `+w.namespace+`}`)
		w.box(ctx, `{onReconcile: {configmaps: [{name: other}]}}`)
		manager = startManager(cluster.Config())
		lost(ctx, "guest")
	})

	It("are found in a namespace that only a former version of the box named", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: guest, namespace: `+elsewhere+`}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		has(ctx, "guest")
		manager.stop()
		w.box(ctx, `{onReconcile: {configmaps: [{name: other}]}}`)
		manager = startManager(cluster.Config())
		lost(ctx, "guest")
	})
})
