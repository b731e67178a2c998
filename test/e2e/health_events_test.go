package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Health", func() {
	It("makes events of transitions only, and none again after a restart", func(ctx context.Context) {
		w, bare := newWorld(ctx), newWorldOf(ctx, func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Subresources = nil })
		notes := func(g Gomega, w *world, name string) []string {
			var all []string
			for _, reason := range []string{v1alpha1.ReasonReconciled, v1alpha1.ReasonReconcileError, v1alpha1.ReasonRecovered} {
				for range w.notes(ctx, g, name, reason) {
					all = append(all, reason)
				}
			}
			return all
		}
		const good, bad, mended = "good", "bad", "mended"
		wanted := map[string][]string{
			good:   {v1alpha1.ReasonReconciled},
			bad:    {v1alpha1.ReasonReconcileError},
			mended: {v1alpha1.ReasonReconcileError, v1alpha1.ReasonRecovered},
		}
		check := func() {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				for _, each := range []*world{w, bare} {
					for name, want := range wanted {
						g.Expect(notes(g, each, name)).To(Equal(want), "%s of %s", name, each.id)
					}
				}
			}).WithContext(ctx).Should(Succeed())
		}
		counts := func(each *world, failures int) v1alpha1.CRDHealthStatus {
			GinkgoHelper()
			var last v1alpha1.CRDHealthStatus
			healthShows(ctx, each.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
				g.Expect(s.FailureCount).To(BeEquivalentTo(failures))
				last = s
			})
			return last
		}
		for _, each := range []*world{w, bare} {
			each.running(ctx, each.box(ctx, strings.Replace(atMostTen, "failureThreshold: 3", "failureThreshold: 2", 1)))
			each.website(ctx, good, `{replicas: 1}`)
			each.hasData(ctx, good, map[string]string{"replicas": "1"})
			each.website(ctx, mended, `{replicas: 11}`)
			counts(each, 1)
			each.website(ctx, mended, `{replicas: 1}`)
			each.hasData(ctx, mended, map[string]string{"replicas": "1"})
			Eventually(func(g Gomega) {
				g.Expect(manager.evaluations(g, each.id)).To(BeNumerically(">=", 3), "its success has been counted")
			}).WithContext(ctx).Should(Succeed())
			each.website(ctx, bad, `{replicas: 11}`)
			counts(each, 2)
			each.website(ctx, bad, `{replicas: 12}`)
			inState(ctx, each.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
			each.website(ctx, bad, `{replicas: 11}`)
		}
		wanted[bad] = []string{v1alpha1.ReasonReconcileError, v1alpha1.ReasonReconcileError, v1alpha1.ReasonReconcileError}
		check()
		before := map[*world]v1alpha1.CRDHealthStatus{w: counts(w, 4), bare: counts(bare, 4)}
		manager.stop()
		manager = startManager(cluster.Config())
		for _, each := range []*world{w, bare} {
			Eventually(func(g Gomega) { g.Expect(manager.evaluations(g, each.id)).To(BeNumerically(">=", 3)) }).WithContext(ctx).Should(Succeed())
			inState(ctx, each.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
			each.website(ctx, "next", `{replicas: 11}`)
			after := counts(each, 5)
			Expect(after.SuccessCount).To(Equal(before[each].SuccessCount))
		}
		check()
		about := func(g Gomega, box, reason string) int {
			var list eventsv1.EventList
			g.Expect(kube.List(ctx, &list, client.InNamespace("default"))).To(Succeed())
			count := 0
			for i := range list.Items {
				if e := &list.Items[i]; e.Regarding.Name == box && e.Reason == reason {
					count++
				}
			}
			return count
		}
		for _, each := range []*world{w, bare} {
			each.website(ctx, bad, `{replicas: 1}`)
			Eventually(func(g Gomega) {
				g.Expect(about(g, each.id, v1alpha1.ReasonRecovered)).To(Equal(1))
				g.Expect(about(g, each.id, v1alpha1.ReasonDegraded)).To(Equal(1), "a restart is no transition")
			}).WithContext(ctx).Should(Succeed())
		}
	})
})
