package e2e_test

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// ignored are the warnings about an object that one of its annotations is not understood.
func (w *world) ignored(ctx context.Context, g Gomega, kind, name string) []eventsv1.Event {
	var list eventsv1.EventList
	g.Expect(kube.List(ctx, &list)).To(Succeed())
	var of []eventsv1.Event
	for _, e := range list.Items {
		if e.Regarding.Kind == kind && slices.Contains([]string{"", w.namespace}, e.Regarding.Namespace) && e.Regarding.Name == name && e.Reason == v1alpha1.ReasonAnnotationIgnored {
			g.Expect(e.Type).To(Equal(corev1.EventTypeWarning))
			of = append(of, e)
		}
	}
	return of
}

var _ = Describe("An annotation whose value is not understood", func() {
	const box = `onReconcile: {configmaps: [{data: {key: "{{ .spec.mode }}"}}]}`
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	DescribeTable("warns on the resource once, and has no effect", func(ctx context.Context, annotation, value string) {
		w.running(ctx, w.box(ctx, `{`+box+`}`))
		w.website(ctx, "web", `{mode: first}`)
		w.settled(ctx, "web")
		says := fmt.Sprintf(`annotation %s is %q and has no effect: only "true" has one`, annotation, value)
		w.annotate(ctx, "web", annotation, value)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReconcileSucceeded, "the last reconcile succeeded; "+says)
		w.website(ctx, "web", `{mode: second}`)
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			w.child(ctx, g, c, "web")
			g.Expect(c.Data).To(HaveKeyWithValue("key", "second"))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		Eventually(func(g Gomega) {
			g.Expect(w.ignored(ctx, g, "Website", "web")).To(ConsistOf(And(HaveField("Note", says), HaveField("Series", BeNil()))))
		}).WithContext(ctx).Should(Succeed())

		By("writing it right")
		w.annotate(ctx, "web", annotation, "false")
		Eventually(func(g Gomega) {
			g.Expect(condition(w.get(ctx, g, "web"), v1alpha1.ConditionReady).Message).To(Equal("the last reconcile succeeded"))
		}).WithContext(ctx).Should(Succeed())
	},
		Entry("paused", v1alpha1.AnnotationPaused, "yes"),
		Entry("skip-cleanup", v1alpha1.AnnotationSkipCleanup, "True"),
		Entry("orphan", v1alpha1.AnnotationOrphan, "1"),
	)

	It("is warned of no more where it is mended by pausing", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{`+box+`}`))
		w.website(ctx, "web", `{mode: first}`)
		w.settled(ctx, "web")
		w.annotate(ctx, "web", v1alpha1.AnnotationPaused, "yes")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReconcileSucceeded, v1alpha1.AnnotationPaused+` is "yes"`)
		w.annotate(ctx, "web", v1alpha1.AnnotationPaused, v1alpha1.True)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonPaused, v1alpha1.AnnotationPaused)
		Expect(condition(w.get(ctx, Default, "web"), v1alpha1.ConditionReady).Message).To(Equal("the last reconcile succeeded"))
	})

	It("warns on the box", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{`+box+`}`))
		w.website(ctx, "web", `{mode: first}`)
		w.settled(ctx, "web")
		says := `annotation ` + v1alpha1.AnnotationCleanup + ` is "yes" and has no effect: only "true" has one`
		w.merge(ctx, getBox(ctx, Default, w.id), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"yes"}}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionTrue, v1alpha1.ReasonCompiled, "the spec is valid; "+says)
		Eventually(func(g Gomega) {
			g.Expect(w.ignored(ctx, g, "OperatorBox", w.id)).To(ConsistOf(HaveField("Note", says)))
		}).WithContext(ctx).Should(Succeed())
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		w.child(ctx, Default, &corev1.ConfigMap{}, "web")
		Expect(w.ignored(ctx, Default, "OperatorBox", w.id)).To(ConsistOf(HaveField("Series", BeNil())))
	})

	It("warns on the namespace that is asked", func(ctx context.Context) {
		other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-x", Annotations: map[string]string{v1alpha1.AnnotationAllowFrom: "a, team-*"}}}
		Expect(kube.Create(ctx, other)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, other))).To(Succeed()) })
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{namespace: "{{ .spec.mode }}", data: {a: b}}]}}`))
		w.website(ctx, "web", `{mode: `+other.Name+`}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, other.Name)
		Eventually(func(g Gomega) {
			g.Expect(w.ignored(ctx, g, "Namespace", other.Name)).To(ConsistOf(HaveField("Note",
				`annotation `+v1alpha1.AnnotationAllowFrom+` lists "team-*", which lets nobody in: list names of namespaces, separated by commas, or "*"`)))
		}).WithContext(ctx).Should(Succeed())
		Expect(w.ignored(ctx, Default, "Website", "web")).To(BeEmpty(), "it is no business of those who are not let in")
	})
})
