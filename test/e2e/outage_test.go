package e2e_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/localcluster"
)

var _ = Describe("An API server that goes away", func() {
	It("is carried on with when it is back: nothing is lost, nothing is made twice", func(ctx context.Context) {
		if cluster.Existing() {
			Expect(cluster.StopAPIServer(ctx)).To(MatchError(localcluster.ErrExisting))
			return // it is somebody else's
		}
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onCreate: {jobs: [{image: "nginx:1"}]}
onReconcile: {configmaps: [{data: {value: "{{ .spec.image }}"}}]}
`))
		const many = 30
		for _, name := range names(3) {
			w.website(ctx, name, `{image: "nginx:1"}`)
			w.settled(ctx, name)
		}
		before := w.uids(ctx)
		Expect(before).To(HaveLen(6))

		By("stopping the API server in the middle of work")
		for _, name := range names(many)[3:] {
			w.website(ctx, name, `{image: "nginx:1"}`)
		}
		Expect(cluster.KillAPIServer(ctx)).To(Succeed())
		Eventually(func() error { return kube.List(ctx, w.list()) }).WithContext(ctx).Should(HaveOccurred())
		Eventually(func(g Gomega) {
			// What was under way fails, or nothing was: either way the box is still there.
			g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">", 0))
		}).WithContext(ctx).Should(Succeed())
		Expect(cluster.StartAPIServer(ctx)).To(Succeed())

		By("finding all that was asked for before, once")
		for _, name := range names(many) {
			w.settled(ctx, name)
		}
		Eventually(func(g Gomega) {
			after := w.uids(ctx)
			g.Expect(after).To(HaveLen(2 * many))
			for key, uid := range before {
				g.Expect(after).To(HaveKeyWithValue(key, uid), "made again")
			}
		}).WithContext(ctx).Should(Succeed())

		By("seeing what happens from then on")
		w.overwrites(ctx, "web-000", "by hand")
		w.holds(ctx, "web-000", "nginx:1")
		w.website(ctx, "web-001", `{image: "nginx:2"}`)
		w.holds(ctx, "web-001", "nginx:2")
		Expect(kube.Delete(ctx, w.ref("web-002"))).To(Succeed())
		w.gone(ctx, w.ref("web-002"), "web-002")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {value: "new"}}]}}`))
		w.holds(ctx, "web-003", "new")
	})

	It("may be away when the manager starts", func(ctx context.Context) {
		if cluster.Existing() {
			return
		}
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		manager.stop()
		Expect(cluster.StopAPIServer(ctx)).To(Succeed())
		Expect(errors.Join(kube.List(ctx, w.list()))).To(HaveOccurred())
		manager = startManager(cluster.Config())
		Expect(cluster.StartAPIServer(ctx)).To(Succeed())
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "good")
	})
})

// uids are the UIDs of the Jobs and ConfigMaps that Orkestra made in the world's namespace.
func (w *world) uids(ctx context.Context) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	ours := client.MatchingLabels{v1alpha1.LabelBox: w.id}
	var jobs batchv1.JobList
	var maps corev1.ConfigMapList
	Expect(kube.List(ctx, &jobs, client.InNamespace(w.namespace), ours)).To(Succeed())
	Expect(kube.List(ctx, &maps, client.InNamespace(w.namespace), ours)).To(Succeed())
	for i := range jobs.Items {
		out["job/"+jobs.Items[i].Name] = string(jobs.Items[i].UID)
	}
	for i := range maps.Items {
		out["configmap/"+maps.Items[i].Name] = string(maps.Items[i].UID)
	}
	return out
}
