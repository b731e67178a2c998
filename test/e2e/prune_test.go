package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Pruning", func() {
	const one = `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-one", data: {a: b}}]}}`

	It("deletes the child of a renamed declaration", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, one))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web-one")
		w.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-two", data: {a: b}}]}}`)
		w.gone(ctx, &corev1.ConfigMap{}, "web-one")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web-two")
	})

	It("deletes children of a kind that the box no longer names, also after a restart of the manager", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}], services: [{port: 80, selector: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		manager.stop()
		w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`)
		manager = startManager(cluster.Config())
		w.gone(ctx, &corev1.Service{}, "web")
		Eventually(func(g Gomega) {
			g.Expect(getBox(ctx, g, w.id).Status.ManagedKinds).To(ConsistOf(v1alpha1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}))
		}).WithContext(ctx).Should(Succeed())
	})

	It("keeps the child of a declaration that can't be rendered this time", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-one", data: {mode: "{{ .spec.mode }}"}}]}}`))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, "spec.mode")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web-one")
	})

	It("lets go of a child that is to be orphaned", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{id: first, deletionPolicy: Orphan, data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-two", data: {a: b}}]}}`)
		Eventually(func(g Gomega) {
			var c corev1.ConfigMap
			w.child(ctx, g, &c, "web")
			g.Expect(c.Labels).NotTo(HaveKey(v1alpha1.LabelOwnerUID))
			g.Expect(c.OwnerReferences).To(BeEmpty())
			g.Expect(c.Data).To(Equal(map[string]string{"a": "b"}))
		}).WithContext(ctx).Should(Succeed())
	})
})
