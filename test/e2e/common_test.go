package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Labels and annotations", func() {
	keysOf := func(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

	It("marks a resource with exactly what the API lists, and keeps the times", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		began := time.Now().Truncate(time.Second)
		w.website(ctx, "web", `{}`)
		obj := w.settled(ctx, "web")
		Expect(obj.GetFinalizers()).To(Equal([]string{"orkestra.orkspace.io/cleanup"}))
		Expect(obj.GetLabels()).To(Equal(map[string]string{"orkestra.orkspace.io/managed": "true"}))
		marks := obj.GetAnnotations()
		Expect(keysOf(marks)).To(Equal([]string{
			"orkestra.orkspace.io/active-since", "orkestra.orkspace.io/managed-by", "orkestra.orkspace.io/managed-since",
		}))
		Expect(marks).To(HaveKeyWithValue("orkestra.orkspace.io/managed-by", w.id))
		for _, name := range []string{v1alpha1.AnnotationManagedSince, v1alpha1.AnnotationActiveSince} {
			at, err := time.Parse(time.RFC3339, marks[name])
			Expect(err).NotTo(HaveOccurred())
			Expect(at).To(BeTemporally(">=", began))
		}

		By("changing the resource, the box, and the manager, in a later second")
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">=", began.Add(2*time.Second)))
		w.website(ctx, "web", `{image: other}`)
		w.box(ctx, `{onReconcile: {configmaps: [{data: {a: c}}]}}`)
		manager.stop()
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			w.child(ctx, g, c, "web")
			g.Expect(c.Data).To(Equal(map[string]string{"a": "c"}))
		}).WithContext(ctx).Should(Succeed())
		Expect(w.settled(ctx, "web").GetAnnotations()).To(Equal(marks))

		By("taking a mark away")
		w.annotate(ctx, "web", v1alpha1.AnnotationManagedBy, "")
		w.merge(ctx, w.ref("web"), `{"metadata":{"labels":{"orkestra.orkspace.io/managed":null},"finalizers":null}}`)
		Eventually(func(g Gomega) {
			back := w.get(ctx, g, "web")
			g.Expect(back.GetFinalizers()).To(Equal(obj.GetFinalizers()))
			g.Expect(back.GetLabels()).To(Equal(obj.GetLabels()))
			g.Expect(back.GetAnnotations()).To(Equal(marks))
		}).WithContext(ctx).Should(Succeed())
	})

	It("marks a child with exactly what the API lists, and an owner reference that holds its owner", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{id: mine, labels: {team: "{{ .spec.mode }}"}, annotations: {note: hello}, deletionPolicy: Orphan, data: {a: b}}]}}`))
		w.website(ctx, "web", `{mode: x}`)
		owner := w.settled(ctx, "web")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		Expect(c.Labels).To(Equal(map[string]string{
			"orkestra.orkspace.io/managed": "true", "orkestra-owner": "web", "orkestra.orkspace.io/owner-uid": string(owner.GetUID()),
			"orkestra.orkspace.io/box": w.id, "app.kubernetes.io/managed-by": "orkestra", "team": "x",
		}))
		Expect(keysOf(c.Annotations)).To(Equal([]string{
			"note", "orkestra.orkspace.io/applied", "orkestra.orkspace.io/declaration", "orkestra.orkspace.io/deletion-policy",
		}))
		Expect(c.Annotations).To(And(HaveKeyWithValue("orkestra.orkspace.io/declaration", "mine"),
			HaveKeyWithValue("orkestra.orkspace.io/deletion-policy", "Orphan"), HaveKeyWithValue("note", "hello")))
		Expect(c.OwnerReferences).To(Equal([]metav1.OwnerReference{{
			APIVersion: w.group + "/v1", Kind: "Website", Name: "web", UID: owner.GetUID(),
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}))

		w.box(ctx, `{onReconcile: {configmaps: [{id: mine, data: {a: b}}]}}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, c, "web")
			g.Expect(keysOf(c.Annotations)).To(Equal([]string{"orkestra.orkspace.io/applied", "orkestra.orkspace.io/declaration"}))
			g.Expect(c.Labels).NotTo(HaveKey("team"))
		}).WithContext(ctx).Should(Succeed())
	})

	It("shortens names over 63 characters to label values", func(ctx context.Context) {
		w := newWorld(ctx)
		name := strings.Repeat("long-name.", 8) + "web" // the 54th character is a hyphen
		sum := sha256.Sum256([]byte(name))
		value := strings.TrimRight(name[:54], "-._") + "-" + hex.EncodeToString(sum[:])[:8]
		w.running(ctx, w.box(ctx, `{onReconcile: {deployments: [{image: "nginx:1", replicas: 1}], configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, name, `{}`)
		w.settled(ctx, name)
		c, d := &corev1.ConfigMap{}, &appsv1.Deployment{}
		w.child(ctx, Default, c, name)
		Expect(c.Labels).To(HaveKeyWithValue("orkestra-owner", value))
		w.child(ctx, Default, d, name)
		Expect(d.Labels).To(HaveKeyWithValue("orkestra-owner", value))
		Expect(d.Spec.Selector.MatchLabels).To(Equal(map[string]string{v1alpha1.LabelAppName: value, v1alpha1.LabelAppInstance: value}))
		Expect(d.Status.ReadyReplicas).To(BeEquivalentTo(1), "its selector selects its pods")
		w.removed(ctx, name)
	})

	Context("that all children have in common", func() {
		common := func(labels, annotations string) string {
			return "commonLabels: {" + labels + "}\ncommonAnnotations: {" + annotations + "}\n" + everyKind +
				"onCreate: {configmaps: [{id: first, name: \"{{ .metadata.name }}-once\", data: {a: b}}]}\n"
		}
		everyChild := func() map[string]client.Object {
			return map[string]client.Object{
				"web": &appsv1.Deployment{}, "web ": &corev1.Service{}, "web  ": &corev1.ConfigMap{}, "web   ": &networkingv1.Ingress{},
				"web-sa": &corev1.ServiceAccount{},
			}
		}

		It("are put on children of every kind, and follow the box", func(ctx context.Context) {
			w := newWorld(ctx)
			w.running(ctx, w.box(ctx, common(`team: a, tier: "{{ .spec.mode }}"`, `owner: "{{ .metadata.name }}", gone: soon`)))
			w.website(ctx, "web", `{image: "nginx:1", replicas: 1, mode: gold}`)
			w.settled(ctx, "web")
			for name, obj := range everyChild() {
				w.child(ctx, Default, obj, strings.TrimSpace(name))
				Expect(obj.GetLabels()).To(And(HaveKeyWithValue("team", "a"), HaveKeyWithValue("tier", "gold")), "%T", obj)
				Expect(obj.GetAnnotations()).To(And(HaveKeyWithValue("owner", "web"), HaveKeyWithValue("gone", "soon")), "%T", obj)
			}
			once := &corev1.ConfigMap{}
			w.child(ctx, Default, once, "web-once")
			Expect(once.Labels).To(HaveKeyWithValue("team", "a"))
			d := &appsv1.Deployment{}
			w.child(ctx, Default, d, "web")
			template := d.Spec.Template

			w.box(ctx, common(`team: b`, `owner: "{{ .spec.mode }}"`))
			for name, obj := range everyChild() {
				Eventually(func(g Gomega) {
					w.child(ctx, g, obj, strings.TrimSpace(name))
					g.Expect(obj.GetLabels()).To(And(HaveKeyWithValue("team", "b"), Not(HaveKey("tier"))), "%T", obj)
					g.Expect(obj.GetAnnotations()).To(And(HaveKeyWithValue("owner", "gold"), Not(HaveKey("gone"))), "%T", obj)
				}).WithContext(ctx).Should(Succeed())
			}
			w.untouched(ctx, once)
			w.child(ctx, Default, d, "web")
			Expect(d.Spec.Template).To(Equal(template), "pods are not restarted for a label of their Deployment")
			nothingSent(ctx, w, "web")
		})

		It("are put on what onDelete makes", func(ctx context.Context) {
			w := newWorld(ctx)
			w.running(ctx, w.box(ctx, `{commonLabels: {team: a}, onDelete: {jobs: [{name: "{{ .metadata.name }}-bye", image: "busybox:1", parallelism: 0}]}}`))
			w.website(ctx, "web", `{}`)
			w.settled(ctx, "web")
			Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
			job := &batchv1.Job{}
			Eventually(func(g Gomega) { w.child(ctx, g, job, "web-bye") }).WithContext(ctx).Should(Succeed())
			Expect(job.Labels).To(HaveKeyWithValue("team", "a"))
			w.annotate(ctx, "web", v1alpha1.AnnotationSkipCleanup, "true")
			w.vanished(ctx, "web")
		})

		It("give way to those of the declaration", func(ctx context.Context) {
			w := newWorld(ctx)
			w.running(ctx, w.box(ctx, `{commonLabels: {team: a}, onReconcile: {configmaps: [{labels: {team: b}, data: {a: b}}]}}`))
			w.website(ctx, "web", `{}`)
			w.settled(ctx, "web")
			c := &corev1.ConfigMap{}
			w.child(ctx, Default, c, "web")
			Expect(c.Labels).To(HaveKeyWithValue("team", "b"))
		})
	})
})
