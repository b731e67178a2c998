package e2e_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Clean-up", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	// begin makes a resource of a box and deletes it.
	begin := func(ctx context.Context, box, spec string) {
		GinkgoHelper()
		w.running(ctx, w.box(ctx, box))
		w.website(ctx, "web", spec)
		w.settled(ctx, "web")
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
	}
	absent := func(ctx context.Context, name string) {
		GinkgoHelper()
		err := kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &batchv1.Job{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), name)
	}

	It("waits at a gate, and goes on in the order that gates make", func(ctx context.Context) {
		begin(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {jobs: [
			{id: drop, name: "{{ .metadata.name }}-drop", image: "busybox:1", parallelism: 0, when: [{field: children.backup.status.succeeded, equals: 1}]},
			{id: backup, name: "{{ .metadata.name }}-backup", image: "busybox:1", parallelism: 0},
			{name: "{{ .metadata.name }}-never", image: "busybox:1", when: [{field: spec.tls, equals: true}]}]}}`, `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonDeleting,
			"drop: children.backup.status.succeeded: wanted equals 1, actual ")
		absent(ctx, "web-drop")
		w.finishes(ctx, "web-backup")
		w.cleaning(ctx, "web", "web-drop")

		By("taking away what the gate reads: what has begun is seen to its end")
		Expect(kube.Delete(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-backup"}},
			client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		w.gone(ctx, &batchv1.Job{}, "web-backup")
		w.lookedAt(ctx, "web")
		w.cleaning(ctx, "web", "web-drop")
		mark := manager.requests.mark()
		w.finishes(ctx, "web-drop")
		w.vanished(ctx, "web")
		Expect(sent(mark, http.MethodPost, w.path("jobs"))).To(BeZero(), "nothing ran twice, and the choice ran never")
		w.gone(ctx, &corev1.ConfigMap{}, "web")
	})

	It("runs for each item", func(ctx context.Context) {
		begin(ctx, `{deletion: {ordered: true}, onDelete: {jobs: [
			{forEach: {field: spec.tags, key: "{{ .item }}"}, name: "{{ .metadata.name }}-{{ .item }}", image: "busybox:1", parallelism: 0, when: [{field: item, notEquals: skip}]}]}}`,
			`{tags: [a, skip, b]}`)
		w.cleaning(ctx, "web", "web-a")
		absent(ctx, "web-b")
		w.finishes(ctx, "web-a")
		w.cleaning(ctx, "web", "web-b")

		By("in another process")
		manager.stop()
		manager = startManager(cluster.Config())
		w.finishes(ctx, "web-b")
		w.vanished(ctx, "web")
		Expect(sent(0, http.MethodPost, w.path("jobs"))).To(BeZero())
		for _, name := range []string{"web-a", "web-b", "web-skip"} {
			w.gone(ctx, &batchv1.Job{}, name)
		}
	})

	It("waits for what says when it is done", func(ctx context.Context) {
		begin(ctx, `{onDelete: {configmaps: [{name: "{{ .metadata.name }}-export", data: {a: b},
			readyWhen: [{field: "object.metadata.annotations['done']", operator: exists}]}]}}`, `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting, `ConfigMap "web-export": object.metadata.annotations`)
		w.patch(ctx, w.configMapOf(ctx, "web-export"), `{"metadata":{"annotations":{"done":"yes"}}}`)
		w.vanished(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web-export")
	})

	It("leaves what is to stay", func(ctx context.Context) {
		begin(ctx, `{onReconcile: {configmaps: [{data: {a: b}}, {name: "{{ .metadata.name }}-kept", deletionPolicy: Orphan, data: {a: b}}]}, onDelete: {
			configmaps: [{name: "{{ .metadata.name }}-record", deletionPolicy: Orphan, data: {image: "{{ .spec.image }}"}}]}}`, `{image: "nginx:1"}`)
		w.vanished(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web")
		for _, name := range []string{"web-kept", "web-record"} {
			c := &corev1.ConfigMap{}
			w.child(ctx, Default, c, name)
			Expect(c.DeletionTimestamp).To(BeNil())
			Expect(c.Labels).NotTo(HaveKey(v1alpha1.LabelOwnerUID))
			Expect(c.OwnerReferences).To(BeEmpty())
		}
	})

	It("of one declaration that fails holds up none of the others", func(ctx context.Context) {
		begin(ctx, `{onDelete: {jobs: [`+job("first", failing)+`, `+job("second", endless)+`]}}`, `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCleanupFailed, `clean-up Job "web-first" failed`)
		w.finishes(ctx, "web-second")
		w.annotate(ctx, "web", v1alpha1.AnnotationSkipCleanup, "true")
		w.vanished(ctx, "web")
	})

	It("says once that it skips what can't be made, and waits for the rest", func(ctx context.Context) {
		ns := w.anotherNamespace(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {
			jobs: [{name: "{{ .metadata.name }}-there", namespace: `+w.namespace+`, image: "busybox:1", parallelism: 0}],
			configmaps: [{name: "{{ .metadata.name }}-note", data: {a: b}}]}}`))
		w.websiteIn(ctx, ns, "web", nil)
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: ns, Name: "web"}, &corev1.ConfigMap{})).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		mark := manager.requests.mark()
		Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		w.finishes(ctx, "web-there")
		Eventually(func(g Gomega) {
			err := kube.Get(ctx, types.NamespacedName{Name: ns}, &corev1.Namespace{})
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the namespace is gone")
		}).WithContext(ctx).Should(Succeed())
		w.gone(ctx, &batchv1.Job{}, "web-there")
		Expect(sent(mark, http.MethodPost, "/api/v1/namespaces/"+ns+"/configmaps")).To(BeNumerically("<=", 1), "what is skipped is not tried again")
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(kube.List(ctx, &list)).To(Succeed())
			g.Expect(list.Items).To(ContainElement(And(HaveField("Reason", v1alpha1.ReasonCleanupSkipped), HaveField("Note", ContainSubstring(ns+"/web")))))
		}).WithContext(ctx).Should(Succeed())
	})

	It("reads the spec as stored, not as normalize and mutation leave it", func(ctx context.Context) {
		begin(ctx, `{normalize: {spec: {image: "{{ .spec.image | lower }}"}}, mutation: {rules: [{field: spec.mode, default: slow}]},
			onReconcile: {configmaps: [{data: {image: "{{ .spec.image }}", mode: "{{ .spec.mode }}"}}]},
			onDelete: {configmaps: [{name: "{{ .metadata.name }}-how", deletionPolicy: Orphan, data: {image: "{{ .spec.image }}", mode: '{{ .spec.mode | default "none" }}'}}]}}`,
			`{image: NGINX}`)
		w.vanished(ctx, "web")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web-how")
		Expect(c.Data).To(Equal(map[string]string{"image": "NGINX", "mode": "none"}))
	})
})
