package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Pausing", func() {
	const spec = `onReconcile: {configmaps: [{data: {key: "{{ .spec.mode }}"}}]}`
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, `{`+spec+`}`))
	})
	begin := func(ctx context.Context) {
		GinkgoHelper()
		w.website(ctx, "web", `{mode: first}`)
		w.settled(ctx, "web")
	}
	// drift changes the child and gives its version.
	drift := func(ctx context.Context, name string) *corev1.ConfigMap {
		GinkgoHelper()
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, name)
		c.Data = map[string]string{"key": "changed"}
		Expect(kube.Update(ctx, c)).To(Succeed())
		return c
	}
	has := func(ctx context.Context, name, value string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			w.child(ctx, g, c, name)
			g.Expect(c.Data).To(Equal(map[string]string{"key": value}))
		}).WithContext(ctx).Should(Succeed())
	}

	Context("a resource", func() {
		paused := func(ctx context.Context) {
			GinkgoHelper()
			w.annotate(ctx, "web", v1alpha1.AnnotationPaused, "true")
			w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonPaused, v1alpha1.AnnotationPaused)
		}

		It("stops corrections and changes of this one, until it is taken back", func(ctx context.Context) {
			begin(ctx)
			paused(ctx)
			changed := drift(ctx, "web")
			w.website(ctx, "web", `{mode: second}`)
			w.annotate(ctx, "web", v1alpha1.AnnotationReconcileAt, "now")

			By("letting another resource go through all that")
			w.website(ctx, "other", `{mode: first}`)
			w.settled(ctx, "other")
			drift(ctx, "other")
			has(ctx, "other", "first")
			w.box(ctx, `{commonLabels: {team: a}, `+spec+`}`)
			Eventually(func(g Gomega) {
				c := &corev1.ConfigMap{}
				w.child(ctx, g, c, "other")
				g.Expect(c.Labels).To(HaveKeyWithValue("team", "a"))
			}).WithContext(ctx).Should(Succeed())
			w.untouched(ctx, changed)
			Expect(condition(w.get(ctx, Default, "web"), v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue), "what it came to last")

			w.annotate(ctx, "web", v1alpha1.AnnotationPaused, "")
			has(ctx, "web", "second")
			w.settled(ctx, "web")
		})

		It("speaks of the generation that was last reconciled, not of one that nobody has looked at", func(ctx context.Context) {
			// generations are those that a resource's status and its conditions speak of.
			generations := func(obj *unstructured.Unstructured) []int64 {
				GinkgoHelper()
				whole, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
				Expect(err).NotTo(HaveOccurred())
				all := []int64{whole}
				conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
				Expect(err).NotTo(HaveOccurred())
				for _, c := range conditions {
					m, _ := c.(map[string]any)
					one, _, err := unstructured.NestedInt64(m, "observedGeneration")
					Expect(err).NotTo(HaveOccurred())
					all = append(all, one)
				}
				return all
			}
			begin(ctx)
			first := w.get(ctx, Default, "web").GetGeneration()
			fresh := w.ref("new")
			fresh.SetAnnotations(map[string]string{v1alpha1.AnnotationPaused: "true"})
			Expect(kube.Create(ctx, fresh)).To(Succeed())

			By("pausing it and editing it, in one write, so that the edit is seen with the pause")
			w.merge(ctx, w.ref("web"), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationPaused+`":"true"}},"spec":{"mode":"second"}}`)
			w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonPaused, "")
			obj := w.get(ctx, Default, "web")
			Expect(obj.GetGeneration()).To(BeNumerically(">", first))
			Expect(generations(obj)).To(HaveEach(first))
			Expect(condition(obj, v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue), "what it came to last")

			By("editing one that was never reconciled, which says so")
			w.merge(ctx, w.ref("new"), `{"spec":{"mode":"second"}}`)
			Eventually(func(g Gomega) {
				obj := w.get(ctx, g, "new")
				g.Expect(condition(obj, v1alpha1.ConditionReady)).To(And(
					HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonPaused)))
				g.Expect(generations(obj)).To(HaveEach(obj.GetGeneration()))
			}).WithContext(ctx).Should(Succeed())

			By("letting it go on")
			w.annotate(ctx, "web", v1alpha1.AnnotationPaused, "")
			Expect(generations(w.settled(ctx, "web"))).To(HaveEach(obj.GetGeneration()))
			has(ctx, "web", "second")
		})

		It("stops one that is new: nothing is put on it, nothing is made", func(ctx context.Context) {
			begin(ctx)
			obj := w.ref("new")
			obj.SetAnnotations(map[string]string{v1alpha1.AnnotationPaused: "true"})
			obj.Object["spec"] = map[string]any{"mode": "first"}
			Expect(kube.Create(ctx, obj)).To(Succeed())
			w.shows(ctx, "new", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPaused, "the resource is paused")
			Expect(w.get(ctx, Default, "new").GetFinalizers()).To(BeEmpty())
			w.gone(ctx, &corev1.ConfigMap{}, "new")
			Eventually(func(g Gomega) {
				g.Expect(getHealth(ctx, g, w.id).Status.Resources).To(And(HaveField("Total", BeEquivalentTo(2)), HaveField("Ready", BeEquivalentTo(1))))
			}).WithContext(ctx).Should(Succeed())
			w.annotate(ctx, "new", v1alpha1.AnnotationPaused, "false")
			w.settled(ctx, "new")
			has(ctx, "new", "first")
		})

		It("lets a deletion through, also of one whose reconcile fails", func(ctx context.Context) {
			begin(ctx)
			w.website(ctx, "web", `{image: other}`)
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, "spec.mode")
			paused(ctx)
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, "spec.mode")
			w.removed(ctx, "web")
			w.gone(ctx, &corev1.ConfigMap{}, "web")
		})
	})

	It("asks for a look with any new value of reconcile-at", func(ctx context.Context) {
		begin(ctx)
		for _, value := range []string{"one", "two"} {
			before := manager.evaluations(Default, w.id)
			w.annotate(ctx, "web", v1alpha1.AnnotationReconcileAt, value)
			Eventually(func(g Gomega) { g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">", before)) }).WithContext(ctx).Should(Succeed())
		}
		nothingSent(ctx, w, "web")
	})

	Context("a box", func() {
		restart := func() {
			manager.stop()
			manager = startManager(cluster.Config())
		}
		suspended := func(ctx context.Context, more string) {
			GinkgoHelper()
			w.box(ctx, `{suspend: true, `+more+spec+`}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is true")
			Eventually(func(g Gomega) {
				g.Expect(getHealth(ctx, g, w.id).Status.State).To(Equal(v1alpha1.HealthSuspended))
			}).WithContext(ctx).Should(Succeed())
		}

		DescribeTable("stops everything but deletions, and heals what drifted when it goes on", func(ctx context.Context, again func()) {
			begin(ctx)
			w.website(ctx, "other", `{mode: first}`)
			w.settled(ctx, "other")
			suspended(ctx, "")
			again()
			changed := drift(ctx, "web")
			w.website(ctx, "web", `{mode: second}`)
			w.website(ctx, "new", `{mode: first}`)

			By("deleting one, which is served after all that")
			w.removed(ctx, "other")
			w.untouched(ctx, changed)
			Expect(w.get(ctx, Default, "web").GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
			Expect(w.get(ctx, Default, "new").GetFinalizers()).To(BeEmpty())
			Expect(w.get(ctx, Default, "new").Object).NotTo(HaveKey("status"))

			w.running(ctx, w.box(ctx, `{`+spec+`}`))
			has(ctx, "web", "second")
			has(ctx, "new", "first")
			w.settled(ctx, "web")
			w.settled(ctx, "new")
		}, Entry("in the process that ran it", func() {}), Entry("in another process", restart))

		It("releases nothing while it is suspended, and makes up for it", func(ctx context.Context) {
			begin(ctx)
			w.website(ctx, "other", `{mode: first}`)
			w.settled(ctx, "other")
			suspended(ctx, "selector: {matchLabels: {tier: gold}}, ")
			w.removed(ctx, "other")
			Expect(w.get(ctx, Default, "web").GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
			w.box(ctx, `{selector: {matchLabels: {tier: gold}}, `+spec+`}`)
			Eventually(func(g Gomega) {
				g.Expect(w.get(ctx, g, "web").GetFinalizers()).To(BeEmpty())
			}).WithContext(ctx).Should(Succeed())
			has(ctx, "web", "first")
		})

		It("is suspended even by an edit that breaks it", func(ctx context.Context) {
			begin(ctx)
			w.website(ctx, "other", `{mode: first}`)
			w.settled(ctx, "other")
			w.box(ctx, `{suspend: true, onReconcile: {configmaps: [{data: {key: "{{ .spec.nothing }}"}}]}}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
			changed := drift(ctx, "web")
			w.removed(ctx, "other")
			w.untouched(ctx, changed)
		})

		It("keeps its children when it is suspended", func(ctx context.Context) {
			begin(ctx)
			suspended(ctx, "")
			w.box(ctx, `{suspend: true, onReconcile: {services: [{port: 80, selector: {a: b}}]}}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "")
			has(ctx, "web", "first")
			w.box(ctx, `{onReconcile: {services: [{port: 80, selector: {a: b}}]}}`)
			w.gone(ctx, &corev1.ConfigMap{}, "web")
			w.child(ctx, Default, &corev1.Service{}, "web")
		})
	})
})
