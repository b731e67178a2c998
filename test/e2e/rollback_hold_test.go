package e2e_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// holding is a box that rolls a resource back at its first error that no retry mends, and holds it.
const holding = "rollback: {trigger: {consecutiveFailures: 3}}\nresync: 1s\n" + steps

// heldAt rolls a resource back from a bad generation to a good one, and waits until it is held.
func (w *world) heldAt(ctx context.Context) {
	GinkgoHelper()
	w.labeled(ctx, "web", goodSteps, "one")
	w.settled(ctx, "web")
	w.labeled(ctx, "web", badSteps, "two")
	w.rolledBack(ctx, "web", "generation 2 failed in onReconcile; the children are those of generation 1; held: edit the spec")
	w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonHeld, v1alpha1.AnnotationReconcileAt)
	w.firstHolds(ctx, "web", "good", "one")
}

var _ = Describe("Rollback that holds", func() {
	It("keeps the children in place, sends nothing, and does not fight with Git", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, holding)
		w.running(ctx, name)
		w.heldAt(ctx)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "70000")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")

		By("applying the same spec from Git again, and waiting for looks that the time asks for")
		skipped := manager.skipped(Default, name)
		mark := manager.requests.mark()
		w.labeled(ctx, "web", badSteps, "two")
		Eventually(func(g Gomega) { g.Expect(manager.skipped(g, name)).To(BeNumerically(">", skipped+2)) }).WithContext(ctx).Should(Succeed())
		Expect(manager.requests.since(mark, "/namespaces/"+w.namespace+"/")).To(BeEmpty())

		By("changing a child by hand")
		var first corev1.ConfigMap
		w.child(ctx, Default, &first, "web-first")
		first.Data["image"] = "drift"
		Expect(kube.Update(ctx, &first)).To(Succeed())
		w.firstHolds(ctx, "web", "good", "one")
		w.rolledBack(ctx, "web", "generation 2 failed")

		By("restarting the manager")
		manager.stop()
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) { g.Expect(manager.skipped(g, name)).To(BeNumerically(">", 1)) }).WithContext(ctx).Should(Succeed())
		Expect(manager.requests.writes(0, "/namespaces/"+w.namespace+"/")).To(BeEmpty())
		w.rolledBack(ctx, "web", "generation 2 failed")
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, name).Status.Rollback).To(HaveValue(HaveField("Count", BeEquivalentTo(1))))
			g.Expect(manager.metric(g, "orkestra_resources", name, "rolled_back")).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())
		Expect(w.snapshots(ctx, Default)).To(HaveLen(1))
	})

	It("tries again when the spec, the box or reconcile-at changes, and at nothing else", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, holding)
		w.running(ctx, name)
		w.heldAt(ctx)
		rollbacks := func(n int) {
			GinkgoHelper()
			Eventually(func(g Gomega) { g.Expect(manager.metric(g, "orkestra_rollbacks_total", name)).To(BeEquivalentTo(n)) }).
				WithContext(ctx).Should(Succeed())
			w.rolledBack(ctx, "web", "failed")
			w.firstHolds(ctx, "web", "good", "one")
			skipped := manager.skipped(Default, name)
			Eventually(func(g Gomega) { g.Expect(manager.skipped(g, name)).To(BeNumerically(">", skipped), "it stays there") }).
				WithContext(ctx).Should(Succeed())
			Expect(manager.metric(Default, "orkestra_rollbacks_total", name)).To(BeEquivalentTo(n))
		}
		rollbacks(1)

		By("setting another annotation, and a label")
		evaluated := manager.evaluations(Default, name)
		w.annotate(ctx, "web", "example.com/note", "hello")
		Eventually(func(g Gomega) { g.Expect(manager.evaluations(g, name)).To(BeNumerically(">", evaluated)) }).WithContext(ctx).Should(Succeed())
		rollbacks(1)

		By("setting reconcile-at")
		w.annotate(ctx, "web", v1alpha1.AnnotationReconcileAt, "now")
		rollbacks(2)

		By("editing the spec to another bad one")
		w.labeled(ctx, "web", `{image: "worse", port: 70001}`, "three")
		rollbacks(3)
		w.rolledBack(ctx, "web", "generation 3 failed")
		w.told(ctx, "web", v1alpha1.ReasonRolledBack, "generation 3 failed") // it is the first try of this one

		By("changing the box so that the spec is good")
		w.box(ctx, strings.ReplaceAll(holding, `port: "{{ .spec.port }}"`, `port: 80`))
		w.settled(ctx, "web")
		w.firstHolds(ctx, "web", "worse", "three")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")
	})

	It("lets a held resource be deleted", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, holding+"onDelete: {configmaps: [{name: last}]}\n"))
		w.heldAt(ctx)
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.gone(ctx, w.ref("web"), "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web-first")
		Eventually(func(g Gomega) {
			g.Expect(w.snapshots(ctx, g)).To(BeEmpty())
			g.Expect(getHealth(ctx, g, w.id).Status.Rollback).To(HaveValue(HaveField("Active", false)))
		}).WithContext(ctx).Should(Succeed())
	})

	It("goes back with exactly the resources in failure when the box degrades", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, "rollback: {}\nfailureThreshold: 5\nresync: 10m\n"+steps)
		w.running(ctx, name)
		bad := []string{"one", "two", "three", "four", "five"}
		for _, resource := range append([]string{"well"}, bad...) {
			w.labeled(ctx, resource, goodSteps, "a")
			w.settled(ctx, resource)
		}
		w.labeled(ctx, "one", badSteps, "b")
		w.shows(ctx, "one", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "70000")
		w.firstHolds(ctx, "one", "bad", "b")
		Expect(condition(w.get(ctx, Default, "one"), v1alpha1.ConditionRolledBack).Status).To(Equal(metav1.ConditionFalse), "the box is not degraded")

		By("having more of them fail: now the first one is looked at again, though nothing of it has changed")
		for _, resource := range bad[1:] {
			w.labeled(ctx, resource, badSteps, "b")
		}
		for _, resource := range bad {
			w.rolledBack(ctx, resource, "generation 2 failed in onReconcile; the children are those of generation 1; held")
			w.firstHolds(ctx, resource, "good", "a")
		}
		w.settled(ctx, "well")
		Expect(condition(w.get(ctx, Default, "well"), v1alpha1.ConditionRolledBack).Status).To(Equal(metav1.ConditionFalse))
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, name).Status).To(And(HaveField("State", v1alpha1.HealthDegraded), HaveField("Rollback", HaveValue(And(
				HaveField("Count", BeEquivalentTo(len(bad))), HaveField("Reason", "Degraded"))))))
		}).WithContext(ctx).Should(Succeed())
	})

	It("goes back under the revision of the box that the snapshot was taken under", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, holding)
		w.running(ctx, name)
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		before := getBox(ctx, Default, name).Status.Revision

		By("breaking the box: a kind more, other content, and a port that there is none of")
		w.box(ctx, strings.NewReplacer(`"{{ .spec.image }}"`, `"other {{ .spec.image }}"`, `port: "{{ .spec.port }}"`, `port: "{{ 70000 }}"`,
			"  services:", "  secrets:\n  - {name: extra, data: {a: b}}\n  services:").Replace(holding))
		w.running(ctx, name)
		w.rolledBack(ctx, "web", fmt.Sprintf("generation 1 under box revision %s failed in onReconcile; the children are those of generation 1 under %s",
			getBox(ctx, Default, name).Status.Revision, before))
		w.firstHolds(ctx, "web", "good", "one")
		w.gone(ctx, &corev1.Secret{}, "extra")

		By("restarting the manager, and changing a child by hand")
		manager.stop()
		manager = startManager(cluster.Config())
		w.running(ctx, name)
		var first corev1.ConfigMap
		w.child(ctx, Default, &first, "web-first")
		first.Data["image"] = "drift"
		Expect(kube.Update(ctx, &first)).To(Succeed())
		w.firstHolds(ctx, "web", "good", "one")

		By("mending the box")
		w.box(ctx, strings.ReplaceAll(holding, `port: "{{ .spec.port }}"`, `port: 8080`))
		w.settled(ctx, "web")
		var second corev1.Service
		w.child(ctx, Default, &second, "web-second")
		Expect(second.Spec.Ports[0].Port).To(BeEquivalentTo(8080))
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(2)) }).WithContext(ctx).Should(Succeed())
	})
})
