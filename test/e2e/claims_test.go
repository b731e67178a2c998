package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Two boxes for one CRD", func() {
	var (
		w             *world
		first, second string
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		first, second = w.id+"-z", w.id+"-a" // the younger one is the first by name
	})
	// box makes boxes whose ConfigMaps have these names, each with its box's name in it.
	box := func(ctx context.Context, name string, more string, children ...string) {
		GinkgoHelper()
		list := ""
		for _, child := range children {
			list += fmt.Sprintf(`{name: "{{ .metadata.name }}-%s", data: {by: "%s"}},`, child, name)
		}
		w.boxNamed(ctx, name, fmt.Sprintf(`{onReconcile: {configmaps: [%s]%s}}`, list, more))
	}
	madeBy := func(ctx context.Context, child, data, label string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			w.child(ctx, g, c, child)
			g.Expect(c.Data).To(HaveKeyWithValue("by", data))
			g.Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelBox, label))
		}).WithContext(ctx).Should(Succeed())
	}
	refused := func(ctx context.Context, box, holder string) {
		GinkgoHelper()
		boxShows(ctx, box, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDClaimed, fmt.Sprintf("box %q is for %s already", holder, w.crdName()))
		boxShows(ctx, box, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCRDClaimed, "delete that box")
		Eventually(func(g Gomega) {
			h := getHealth(ctx, g, box)
			g.Expect(h.Status.State).To(Equal(v1alpha1.HealthStopped))
			g.Expect(h.Status.ClaimedAt).To(BeNil())
		}).WithContext(ctx).Should(Succeed())
	}
	leftBehind := func(ctx context.Context, box string, n int) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, box).Status.Resources.LeftBehind).To(BeEquivalentTo(n))
			g.Expect(getBox(ctx, g, box).Status.Resources.LeftBehind).To(BeEquivalentTo(n))
		}).WithContext(ctx).Should(Succeed())
	}

	It("run one after the other: the second touches nothing, takes over what it renders, and counts the rest", func(ctx context.Context) {
		box(ctx, first, `, services: [{name: "{{ .metadata.name }}-svc", port: 80, selector: {a: b}}]`, "shared", "left")
		w.running(ctx, first)
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, first).Status.ClaimedAt).NotTo(BeNil())
		}).WithContext(ctx).Should(Succeed())

		box(ctx, second, "", "shared", "new")
		refused(ctx, second, first)
		By("changing the resource, which the first box still serves alone")
		w.website(ctx, "other", `{}`)
		w.settled(ctx, "other")
		for _, name := range []string{"web", "other"} {
			Expect(w.get(ctx, Default, name).GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationManagedBy, first))
			madeBy(ctx, name+"-shared", first, first)
			w.gone(ctx, &corev1.ConfigMap{}, name+"-new")
		}
		shared := &corev1.ConfigMap{}
		w.child(ctx, Default, shared, "web-shared")

		deleteBox(ctx, first)
		boxGone(ctx, first)
		w.running(ctx, second)
		for _, name := range []string{"web", "other"} {
			madeBy(ctx, name+"-shared", second, second)
			madeBy(ctx, name+"-new", second, second)
			w.settled(ctx, name)
			Expect(w.get(ctx, Default, name).GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationManagedBy, second))
			madeBy(ctx, name+"-left", first, first)
			w.child(ctx, Default, &corev1.Service{}, name+"-svc")
		}
		again := &corev1.ConfigMap{}
		w.child(ctx, Default, again, "web-shared")
		Expect(again.UID).To(Equal(shared.UID), "it was taken over")
		leftBehind(ctx, second, 4)

		By("restarting the manager")
		manager.stop()
		manager = startManager(cluster.Config())
		leftBehind(ctx, second, 4)

		By("deleting one of those by hand, and declaring another")
		left := &corev1.ConfigMap{}
		w.child(ctx, Default, left, "web-left")
		Expect(kube.Delete(ctx, left)).To(Succeed())
		leftBehind(ctx, second, 3)
		box(ctx, second, "", "shared", "new", "left")
		madeBy(ctx, "other-left", second, second)
		leftBehind(ctx, second, 2)
		for _, name := range []string{"web", "other"} {
			service := &corev1.Service{}
			w.child(ctx, Default, service, name+"-svc")
			Expect(kube.Delete(ctx, service)).To(Succeed())
		}
		leftBehind(ctx, second, 0)
		Eventually(func(g Gomega) {
			g.Expect(getBox(ctx, g, second).Status.ManagedKinds).To(ConsistOf(v1alpha1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}))
		}).WithContext(ctx).Should(Succeed())
	})

	It("keep their places when the manager starts again", func(ctx context.Context) {
		box(ctx, first, "", "shared")
		w.running(ctx, first)
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		box(ctx, second, "", "shared")
		refused(ctx, second, first)
		var since *metav1.Time
		Eventually(func(g Gomega) {
			since = getHealth(ctx, g, first).Status.ClaimedAt
			g.Expect(since).NotTo(BeNil())
		}).WithContext(ctx).Should(Succeed())

		manager.stop()
		manager = startManager(cluster.Config())
		w.website(ctx, "other", `{}`)
		w.settled(ctx, "other")
		madeBy(ctx, "other-shared", first, first)
		w.running(ctx, first)
		refused(ctx, second, first)
		Expect(getHealth(ctx, Default, first).Status.ClaimedAt).To(Equal(since))
	})

	It("let the waiting one go without a trace, also when no manager ran", func(ctx context.Context) {
		box(ctx, first, "", "shared")
		w.running(ctx, first)
		w.website(ctx, "web", `{}`)
		marks := w.settled(ctx, "web").GetAnnotations()
		for _, stopped := range []bool{false, true} {
			box(ctx, second, "", "shared")
			refused(ctx, second, first)
			w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: second}}, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
			if stopped {
				manager.stop()
			}
			deleteBox(ctx, second)
			if stopped {
				manager = startManager(cluster.Config())
			}
			boxGone(ctx, second)
			madeBy(ctx, "web-shared", first, first)
			Expect(w.get(ctx, Default, "web").GetAnnotations()).To(Equal(marks), "the times have not changed: nobody let go of it")
		}
	})

	It("wait for a holder that is still being deleted, also in another process", func(ctx context.Context) {
		w.boxNamed(ctx, first, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-shared", data: {by: `+first+`}}]}, onDelete: {jobs: [`+job("bye", endless)+`]}}`)
		w.running(ctx, first)
		for _, name := range []string{"web", "other"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		box(ctx, second, "", "shared")
		refused(ctx, second, first)
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.cleaning(ctx, "web", "web-bye")
		deleteBox(ctx, first)
		boxShows(ctx, first, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, w.namespace+"/web")
		manager.stop()
		manager = startManager(cluster.Config())
		boxShows(ctx, first, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, w.namespace+"/web")
		refused(ctx, second, first)
		w.finishes(ctx, "web-bye")
		w.vanished(ctx, "web")
		boxGone(ctx, first)
		w.running(ctx, second)
		madeBy(ctx, "other-shared", second, second)
	})

	It("start in the order in which they were made", func(ctx context.Context) {
		third := w.id + "-m"
		box(ctx, first, "", "shared")
		w.running(ctx, first)
		older := getBox(ctx, Default, first).CreationTimestamp
		next := older
		for _, name := range []string{third, second} {
			previous := next
			Eventually(func(g Gomega) { // creation times are whole seconds
				g.Expect(metav1.Now().Unix()).To(BeNumerically(">", previous.Unix()))
			}).WithContext(ctx).Should(Succeed())
			box(ctx, name, "", "shared")
			refused(ctx, name, first)
			next = getBox(ctx, Default, name).CreationTimestamp
		}
		deleteBox(ctx, first)
		w.running(ctx, third)
		refused(ctx, second, third)
		deleteBox(ctx, third)
		w.running(ctx, second)
	})
})
