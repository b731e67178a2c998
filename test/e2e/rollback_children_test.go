package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// rollsOut is a Deployment that fails when one Pod is wanted of it, since no node takes it, and a ConfigMap whose name follows the image.
const rollsOut = `
resync: 24h
status: {ready: Current}
onReconcile:
  configmaps:
  - {id: settings, name: "{{ .metadata.name }}-{{ .spec.image }}", data: {value: "{{ .spec.image }}"}}
  deployments:
  - image: "{{ .spec.image }}"
    replicas: "{{ .spec.replicas }}"
    nodeSelector: {nowhere: "true"}
    spec: {progressDeadlineSeconds: 1}
`

// deploys waits until the Deployment of a resource is of an image, and gives it.
func (w *world) deploys(ctx context.Context, name, image string) *appsv1.Deployment {
	GinkgoHelper()
	var d appsv1.Deployment
	Eventually(func(g Gomega) {
		w.child(ctx, g, &d, name)
		g.Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal(image))
	}).WithContext(ctx).Should(Succeed())
	return &d
}

var _ = Describe("Rollback of children that fail", func() {
	DescribeTable("goes back, and holds",
		func(ctx context.Context, form string) {
			w := newWorld(ctx)
			name := w.box(ctx, form+rollsOut)
			w.running(ctx, name)
			w.website(ctx, "web", `{image: good, replicas: 0}`)
			w.settled(ctx, "web")
			Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
			var before, after corev1.ConfigMap
			w.child(ctx, Default, &before, "web-good")

			By("a spec that every cycle succeeds with, and whose Deployment never comes up")
			w.website(ctx, "web", `{image: bad, replicas: 1}`)
			w.rolledBack(ctx, "web", "generation 2 failed by a child; the children are those of generation 1; held")
			w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, `children: Deployment "web": `)
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonHeld, `Deployment "web": `)
			Expect(w.deploys(ctx, "web", "good").Spec.Replicas).To(HaveValue(BeEquivalentTo(0)))
			w.child(ctx, Default, &after, "web-good")
			Expect(after.UID).To(Equal(before.UID), "nothing is pruned before the new Deployment has come up")
			w.gone(ctx, &corev1.ConfigMap{}, "web-bad")
			healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.HealthHealthy), "no cycle has failed")
				g.Expect(s.Rollback).To(HaveField("Count", BeEquivalentTo(1)))
				g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Failing: 1}))
				g.Expect(s.Failing).To(ConsistOf(And(HaveField("Name", "web"), HaveField("Message", ContainSubstring(`Deployment "web": `)))))
			})

			By("mending the spec")
			w.website(ctx, "web", `{image: better, replicas: 0}`)
			w.settled(ctx, "web")
			w.deploys(ctx, "web", "better")
			w.gone(ctx, &corev1.ConfigMap{}, "web-good")
			healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Rollback).To(HaveField("Active", false)) })
		},
		Entry("with a trigger", `rollback: {trigger: {}}`),
		Entry("with rollBackOnError: another attempt would replace what works", `rollBackOnError: true`),
	)

	It("says that there is nothing to go back to, and goes on saying it", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, "rollBackOnError: true"+rollsOut))
		w.website(ctx, "web", `{image: bad, replicas: 1}`)
		nothing := func() {
			GinkgoHelper()
			w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonNoSnapshot, "no snapshot of this resource is kept")
			w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonChildFailed, `Deployment "web": `)
		}
		nothing()
		w.overwrites(ctx, "web-bad", "by hand")
		w.holds(ctx, "web-bad", "bad")
		nothing()
		w.deploys(ctx, "web", "bad")

		By("counting it as failing, also after a restart")
		fails := func() {
			GinkgoHelper()
			healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
				g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Ready: 1, Failing: 1}))
				g.Expect(s.Failing).To(ConsistOf(And(HaveField("Name", "web"), HaveField("Reason", v1alpha1.ReasonChildFailed))))
			})
		}
		w.website(ctx, "good", `{image: good, replicas: 0}`)
		w.settled(ctx, "good")
		fails()
		manager.stop()
		manager = startManager(cluster.Config())
		w.website(ctx, "good", `{image: better, replicas: 0}`)
		w.deploys(ctx, "good", "better")
		w.settled(ctx, "good")
		fails()
	})

	It("leaves the children to a box that goes back only when it degrades", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, "rollback: {}"+rollsOut))
		w.website(ctx, "web", `{image: good, replicas: 0}`)
		w.settled(ctx, "web")
		w.website(ctx, "web", `{image: bad, replicas: 1}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonChildFailed, `Deployment "web": `)
		w.deploys(ctx, "web", "bad")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSettled, "nothing is rolled back")
	})
})
