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
	"github.com/orkspace/orkestra/test/fixtures"
)

var _ = Describe("An object that one template gives", func() {
	const (
		box       = `{onReconcile: {resources: [{manifest: "{{ .spec.free }}", kinds: [v1/ConfigMap, v1/Service]}]}}`
		configMap = `{free: {apiVersion: v1, kind: ConfigMap, data: {a: b}}}`
		service   = `{free: {apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}}`
	)

	It("leaves nothing over where its kind alternates, also while the manager is down", func(ctx context.Context) {
		w := newWorldOf(ctx, fixtures.With("spec", "free", `{type: object, x-kubernetes-preserve-unknown-fields: true}`))
		w.running(ctx, w.box(ctx, box))
		w.website(ctx, "web", configMap)
		w.settled(ctx, "web")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web")
		w.website(ctx, "web", service)
		w.gone(ctx, &corev1.ConfigMap{}, "web")
		w.child(ctx, Default, &corev1.Service{}, "web")
		manager.stop()
		w.website(ctx, "web", configMap)
		manager = startManager(cluster.Config())
		w.gone(ctx, &corev1.Service{}, "web")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web")

		// A kind that leaves the list takes its child along.
		w.box(ctx, `{onReconcile: {resources: [{manifest: "{{ .spec.free }}", kinds: [v1/Service]}]}}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "the template gives v1/ConfigMap, and kinds allows v1/Service")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web")
		w.website(ctx, "web", service)
		w.gone(ctx, &corev1.ConfigMap{}, "web")
		w.child(ctx, Default, &corev1.Service{}, "web")
	})

	It("stays until the one of another kind that comes after it is made", func(ctx context.Context) {
		w := newWorldOf(ctx, fixtures.With("spec", "free", `{type: object, x-kubernetes-preserve-unknown-fields: true}`))
		w.running(ctx, w.box(ctx, box))
		w.website(ctx, "web", configMap)
		w.settled(ctx, "web")
		var before, now corev1.ConfigMap
		w.child(ctx, Default, &before, "web")
		stays := func() {
			GinkgoHelper()
			w.child(ctx, Default, &now, "web")
			Expect(now.UID).To(Equal(before.UID))
			Expect(now.DeletionTimestamp).To(BeNil())
		}

		By("refusing it")
		w.website(ctx, "web", `{free: {apiVersion: v1, kind: Service, spec: {ports: [{port: 80000}]}}}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "80000")
		w.looksAgain(ctx, "web")
		stays()

		By("having an object of its name that is being deleted")
		theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web", Finalizers: []string{"e2e.test/held"}}}
		theirs.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		Expect(kube.Create(ctx, theirs)).To(Succeed())
		Expect(kube.Delete(ctx, theirs)).To(Succeed())
		w.website(ctx, "web", service)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildTerminating, `Service "web" is being deleted`)
		w.looksAgain(ctx, "web")
		stays()

		By("letting that one go")
		Expect(kube.Patch(ctx, theirs, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		w.looksAgain(ctx, "web")
		w.settled(ctx, "web")
		w.gone(ctx, &now, "web")
		w.child(ctx, Default, theirs, "web")
		Expect(theirs.Labels).To(HaveKey(v1alpha1.LabelOwnerUID))
	})

	It("is made for each object of a list, and leaves what was there where one is of a kind that is not listed", func(ctx context.Context) {
		w := newWorldOf(ctx, fixtures.With("spec", "free", `{type: object, x-kubernetes-preserve-unknown-fields: true}`))
		w.running(ctx, w.box(ctx, `{onReconcile: {resources: [{forEach: {field: spec.free.objects}, manifest: "{{ .item }}", kinds: [v1/ConfigMap, v1/Service]}]}}`))
		w.website(ctx, "web", `{free: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}, {apiVersion: v1, kind: Service, metadata: {name: one}, spec: {ports: [{port: 80}]}}]}}`)
		w.settled(ctx, "web")
		w.child(ctx, Default, &corev1.ConfigMap{}, "one")
		w.child(ctx, Default, &corev1.Service{}, "one")
		w.website(ctx, "web", `{free: {objects: [{apiVersion: v1, kind: Secret, metadata: {name: one}}]}}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "the template gives v1/Secret")
		w.child(ctx, Default, &corev1.ConfigMap{}, "one")
		w.child(ctx, Default, &corev1.Service{}, "one")
		w.website(ctx, "web", `{free: {objects: []}}`)
		w.gone(ctx, &corev1.ConfigMap{}, "one")
		w.gone(ctx, &corev1.Service{}, "one")
	})
})
