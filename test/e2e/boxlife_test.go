package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// reads gives the lists and watches of a collection since a mark.
func (l *requestLog) reads(mark int, collection string) []request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []request
	for _, r := range l.all[mark:] {
		if r.method == http.MethodGet && strings.HasSuffix(r.path, collection) {
			out = append(out, r)
		}
	}
	return out
}

// oneMap is a box that makes one ConfigMap.
func oneMap(workers int, value string) string {
	return fmt.Sprintf(`{workers: %d, onReconcile: {configmaps: [{data: {value: %q}}]}}`, workers, value)
}

// holds waits until the ConfigMap of a resource has a value.
func (w *world) holds(ctx context.Context, name, value string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var c corev1.ConfigMap
		w.child(ctx, g, &c, name)
		g.Expect(c.Data).To(HaveKeyWithValue("value", value))
	}).WithContext(ctx).Should(Succeed())
}

// overwrites changes a ConfigMap by hand.
func (w *world) overwrites(ctx context.Context, name, value string) {
	GinkgoHelper()
	var c corev1.ConfigMap
	w.child(ctx, Default, &c, name)
	c.Data = map[string]string{"value": value}
	Expect(kube.Update(ctx, &c)).To(Succeed())
}

func names(n int) []string {
	out := make([]string, n)
	for i := range n {
		out[i] = fmt.Sprintf("web-%03d", i)
	}
	return out
}

var _ = Describe("A change to a box", func() {
	It("gives every resource the new templates, on the same informer and queue", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(2, "first")))
		for _, name := range names(5) {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		mark := manager.requests.mark()
		revision := getBox(ctx, Default, w.id).Status.Revision
		for _, workers := range []int{2, 8, 1} {
			value := fmt.Sprintf("with %d workers", workers)
			w.running(ctx, w.box(ctx, oneMap(workers, value)))
			for _, name := range names(5) {
				w.holds(ctx, name, value)
			}
			Eventually(func(g Gomega) {
				g.Expect(getBox(ctx, g, w.id).Status.Revision).NotTo(Equal(revision))
				g.Expect(getHealth(ctx, g, w.id).Status.Revision).To(Equal(getBox(ctx, g, w.id).Status.Revision))
				g.Expect(getHealth(ctx, g, w.id).Status.Workers).To(BeEquivalentTo(workers))
			}).WithContext(ctx).Should(Succeed())
			revision = getBox(ctx, Default, w.id).Status.Revision
		}
		Expect(manager.requests.reads(mark, "/"+w.group+"/v1/websites")).To(BeEmpty(), "lists and watches of the resources")
		Expect(manager.requests.reads(mark, "/api/v1/configmaps")).To(BeEmpty(), "lists and watches of the children")
	})

	It("keeps to the number of workers, also when that is raised and lowered", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		d := startBlocked(writesOf(w.namespace, "configmaps"))
		w.running(ctx, w.box(ctx, oneMap(2, "before")))
		other.running(ctx, other.box(ctx, oneMap(1, "x")))
		for _, name := range names(10) {
			w.website(ctx, name, `{}`)
			w.holds(ctx, name, "before")
		}
		for _, workers := range []int{2, 6, 1} {
			By(fmt.Sprintf("running %d workers", workers))
			value := fmt.Sprintf("with %d workers", workers)
			d.shut()
			w.box(ctx, oneMap(workers, value))
			Eventually(d.holding).WithContext(ctx).Should(Equal(workers))
			// Ten resources want a worker. What another box makes after that is made while they wait.
			later := fmt.Sprintf("later-%d", workers)
			other.website(ctx, later, `{}`)
			other.settled(ctx, later)
			Expect(d.holding()).To(Equal(workers))
			d.open()
			for _, name := range names(10) {
				w.holds(ctx, name, value)
			}
			_, most, _ := d.counts()
			Expect(most).To(Equal(workers), "writes at the same time")
		}
	})

	It("never replaces a plan that runs by one that does not compile", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		good := getBox(ctx, Default, w.id).Status.Revision

		By("making three mistakes")
		w.box(ctx, `{onReconcile: {configmaps: [{daat: {a: b}}], deployments: [{image: "{{ .spec.imgae }}", replicas: many}]}}`)
		Eventually(func(g Gomega) {
			box := getBox(ctx, g, w.id)
			g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
			message := boxCondition(box, v1alpha1.ConditionCompiled).Message
			for _, text := range []string{
				`spec.onReconcile.configmaps[0].daat: unknown field, did you mean "data"?`,
				`spec.onReconcile.deployments[0].image`, `spec.imgae: no such field in the CRD's schema, did you mean "image"?`,
				`spec.onReconcile.deployments[0].replicas: Invalid value: "many": want 32-bit integer, got string`,
				"3 mistakes", "revision " + good + " goes on",
			} {
				g.Expect(message).To(ContainSubstring(text))
			}
			g.Expect(boxCondition(box, v1alpha1.ConditionCompiled)).To(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonCompileFailed)))
			g.Expect(boxCondition(box, v1alpha1.ConditionReady)).To(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonCompileFailed)))
			g.Expect(boxCondition(box, v1alpha1.ConditionStalled)).To(And(
				HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonCompileFailed)))
			g.Expect(box.Status.Revision).To(Equal(good))
			health := getHealth(ctx, g, w.id)
			g.Expect(health.Status.State).To(Equal(v1alpha1.HealthHealthy))
			g.Expect(health.Status.Revision).To(Equal(good))
			g.Expect(healthCondition(health, v1alpha1.ConditionStalled)).To(And(
				HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonCompileFailed)))
		}).WithContext(ctx).Should(Succeed())

		By("working on with the old plan")
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "good")
		w.website(ctx, "new", `{}`)
		w.settled(ctx, "new")
		w.holds(ctx, "new", "good")

		By("mending the mistakes")
		w.running(ctx, w.box(ctx, oneMap(3, "better")))
		w.holds(ctx, "web", "better")
		w.holds(ctx, "new", "better")
		Eventually(func(g Gomega) {
			box := getBox(ctx, g, w.id)
			g.Expect(boxCondition(box, v1alpha1.ConditionCompiled)).To(HaveField("Status", metav1.ConditionTrue))
			g.Expect(boxCondition(box, v1alpha1.ConditionStalled)).To(HaveField("Status", metav1.ConditionFalse))
			g.Expect(box.Status.Revision).NotTo(Equal(good))
			g.Expect(healthCondition(getHealth(ctx, g, w.id), v1alpha1.ConditionStalled)).To(HaveField("Status", metav1.ConditionFalse))
		}).WithContext(ctx).Should(Succeed())
	})

	It("serves deletions of a box that does not compile, also after a restart", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		for _, name := range []string{"first", "second"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		w.box(ctx, `{onReconcile: {configmaps: [{daat: {a: b}}]}}`)
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionStalled)).To(HaveField("Status", metav1.ConditionTrue))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Delete(ctx, w.ref("first"))).To(Succeed())
		w.gone(ctx, w.ref("first"), "first")

		manager.stop()
		manager = startManager(cluster.Config())
		Expect(kube.Delete(ctx, w.ref("second"))).To(Succeed())
		w.gone(ctx, w.ref("second"), "second")
	})

	It("stops everything but deletions while it is suspended, and goes on where it was", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		for _, name := range []string{"web", "gone"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		w.box(ctx, `{suspend: true, onReconcile: {configmaps: [{data: {value: good}}]}}`)
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.State).To(Equal(v1alpha1.HealthSuspended))
			g.Expect(boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionReady)).To(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonSuspended)))
		}).WithContext(ctx).Should(Succeed())
		w.overwrites(ctx, "web", "by hand")
		w.website(ctx, "new", `{}`)
		Expect(kube.Delete(ctx, w.ref("gone"))).To(Succeed())
		w.gone(ctx, w.ref("gone"), "gone")
		w.holds(ctx, "web", "by hand")
		Expect(w.get(ctx, Default, "new").GetFinalizers()).To(BeEmpty())

		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		w.holds(ctx, "web", "good")
		w.settled(ctx, "new")
	})
})

func healthCondition(health *v1alpha1.CRDHealth, kind string) *metav1.Condition {
	return meta.FindStatusCondition(health.Status.Conditions, kind)
}
