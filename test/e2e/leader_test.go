package e2e_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// elected has a manager run only while it leads.
func elected(namespace string) func(*settings) {
	return func(s *settings) {
		s.manager.LeaderElection, s.manager.LeaderElectionID = true, "e2e"
		s.manager.LeaderElectionNamespace, s.manager.LeaderElectionReleaseOnCancel = namespace, true
	}
}

// changes are the requests that change the cluster: not the lease, and not questions about rights, or who one is.
func (l *requestLog) changes(mark int) []request {
	return slices.DeleteFunc(l.writes(mark, "/"), func(r request) bool {
		return strings.Contains(r.path, "/leases") || strings.HasSuffix(r.path, "accessreviews") || strings.HasSuffix(r.path, "selfsubjectreviews")
	})
}

var _ = Describe("Of several managers", func() {
	It("only the leader writes; the others keep caches, and one takes over when it stops", func(ctx context.Context) {
		w := newWorld(ctx)
		first := newStreams()
		replaceManager(elected(w.namespace), via(first.wrap))
		w.running(ctx, w.box(ctx, atMostTen))
		watches := "/" + w.group + "/"
		Eventually(func() int { return first.count(watches) }).WithContext(ctx).Should(Equal(1))

		second := newStreams()
		follower := startManager(cluster.Config(), elected(w.namespace), via(second.wrap))
		DeferCleanup(func() { follower.stop() })
		Eventually(func() int { return second.count(watches) }).WithContext(ctx).Should(Equal(1), "the follower keeps caches")

		By("working while there is a follower")
		for _, name := range []string{"a", "b", "c"} {
			w.website(ctx, name, `{replicas: 11}`)
			w.shows(ctx, name, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "found 11")
		}
		w.website(ctx, "good", `{replicas: 1}`)
		w.settled(ctx, "good")
		w.website(ctx, "d", `{replicas: 11}`)
		var before v1alpha1.CRDHealthStatus
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 5, Ready: 1, Failing: 4}))
			g.Expect(s.FailureCount).To(BeEquivalentTo(4))
			g.Expect(s.ConsecutiveFailures).To(BeEquivalentTo(1))
			before = s
		})
		w.running(ctx, w.box(ctx, strings.Replace(atMostTen, "failureThreshold: 3", "failureThreshold: 4", 1)))
		w.website(ctx, "later", `{replicas: 1}`)
		w.settled(ctx, "later")
		Expect(follower.requests.changes(0)).To(BeEmpty())
		Expect(manager.requests.changes(0)).NotTo(BeEmpty())

		By("stopping the leader")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.SuccessCount).To(BeNumerically(">", before.SuccessCount))
			g.Expect(s.Resources.Total).To(BeEquivalentTo(6))
			before = s
		})
		manager.stop()
		mark := follower.requests.mark()
		w.website(ctx, "new", `{replicas: 1}`)
		w.settled(ctx, "new")
		w.website(ctx, "e", `{replicas: 11}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 8, Ready: 3, Failing: 5}))
			g.Expect(s.FailureCount).To(Equal(before.FailureCount + 1))
			g.Expect(s.ClaimedAt).To(Equal(before.ClaimedAt))
			g.Expect(s.FailureThreshold).To(BeEquivalentTo(4))
		})
		for _, r := range follower.requests.since(mark, "/namespaces/"+w.namespace+"/") {
			Expect(r.path).To(Or(HaveSuffix("/events"), HaveSuffix("/e2e"), ContainSubstring("/new"), ContainSubstring("/e")),
				"what was settled is left alone: %s", r)
		}
		Expect(follower.requests.since(mark, w.group+"/v1/websites")).To(BeEmpty(), "the caches were warm")
	})
})
