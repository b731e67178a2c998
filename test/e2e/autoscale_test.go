package e2e_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// scaled is a box with autoscale, whose reconciles wait for a host.
type scaled struct {
	*world
	host *teller
}

const (
	scaledBase = 1 // workers by the spec
	scaledDo   = 4 // workers while the conditions hold
)

// scaledBox makes the host. The box is made by applies.
func scaledBox(ctx context.Context) *scaled {
	GinkgoHelper()
	return &scaled{world: newWorld(ctx), host: startTeller()}
}

// applies makes or edits the box; more are further fields.
func (s *scaled) applies(ctx context.Context, more string) {
	GinkgoHelper()
	s.box(ctx, fmt.Sprintf(`
resync: 1h
external:
- {name: quota, url: "%s/{{ .metadata.name }}", timeout: 60s, retries: 0}
onReconcile:
  configmaps:
  - data: {value: "{{ .external.quota.limit }}"}
%s`, s.host.url, more))
}

// autoscaled is spec.autoscale with a cooldown.
func autoscaled(cooldown string) string {
	return fmt.Sprintf(`autoscale:
  interval: 1s
  cooldown: %s
  conditions: {when: [{field: status.queueDepth, greaterThan: 5}, {field: metrics.workersBusyPercent, greaterThan: 50}]}
  do: {workers: %d, queueDepth: 3, resync: 30m}
`, cooldown, scaledDo)
}

// bursts makes resources while the host does not answer, and waits until there are more workers.
func (s *scaled) bursts(ctx context.Context) {
	GinkgoHelper()
	s.host.shut()
	for _, name := range names(20) {
		s.website(ctx, name, `{}`)
	}
	Eventually(s.host.requests).WithContext(ctx).Should(Equal(scaledDo), "as many calls are under way as there are workers")
	s.hasWorkers(ctx, scaledDo)
}

// drains has the host answer, and waits until all is settled.
func (s *scaled) drains(ctx context.Context) {
	GinkgoHelper()
	s.host.open()
	for _, name := range names(20) {
		s.settled(ctx, name)
	}
	Eventually(func(g Gomega) { g.Expect(manager.gauge(g, "orkestra_queue_depth", s.id)).To(BeZero()) }).WithContext(ctx).Should(Succeed())
}

// hasWorkers waits until the metrics and CRDHealth show so many workers, and whether they are those of autoscale.
func (s *scaled) hasWorkers(ctx context.Context, n int) {
	GinkgoHelper()
	active := n == scaledDo
	Eventually(func(g Gomega) {
		g.Expect(manager.gauge(g, "orkestra_workers_wanted", s.id)).To(BeEquivalentTo(n))
		if active {
			g.Expect(manager.gauge(g, "orkestra_autoscale_active", s.id)).To(BeEquivalentTo(1))
		} else {
			g.Expect(manager.gauge(g, "orkestra_autoscale_active", s.id)).To(BeNumerically("<=", 0), "-1: the box has no autoscale")
		}
		health := getHealth(ctx, g, s.id).Status
		if !active {
			g.Expect(health.Autoscale).To(BeNil())
			return
		}
		g.Expect(health.Workers).To(BeEquivalentTo(n))
		shown := health.Autoscale
		g.Expect(shown).NotTo(BeNil())
		g.Expect(shown.Since).NotTo(BeNil())
		g.Expect(shown.Reason).To(MatchRegexp(`^status\.queueDepth is \d+, metrics\.workersBusyPercent is \d+$`))
		shown.Since, shown.Reason = nil, ""
		g.Expect(*shown).To(Equal(v1alpha1.AutoscaleStatus{
			Active: true, Workers: new(int32(scaledDo)), QueueDepth: new(int32(3)), Resync: &metav1.Duration{Duration: 30 * time.Minute},
		}))
	}).WithContext(ctx).Should(Succeed())
}

// scaledUp gives a box that has more workers than its spec says, and for an hour keeps them without load.
func scaledUp(ctx context.Context) *scaled {
	GinkgoHelper()
	s := scaledBox(ctx)
	s.applies(ctx, "workers: 1\n"+autoscaled("1h"))
	s.bursts(ctx)
	s.drains(ctx)
	return s
}

var _ = Describe("Autoscale", func() {
	It("gives a box more workers under load, and takes them back when it is over", func(ctx context.Context) {
		s := scaledBox(ctx)
		s.applies(ctx, "workers: 1\n"+autoscaled("2s"))
		s.running(ctx, s.id)
		s.hasWorkers(ctx, scaledBase)
		s.bursts(ctx)
		s.saysEvent(ctx, "default", s.id, v1alpha1.ReasonAutoscaled, "workers 1→4, queue depth 0→3, resync 1h0m0s→30m0s: status.queueDepth is ")
		s.drains(ctx)
		s.hasWorkers(ctx, scaledBase)
		s.saysEvent(ctx, "default", s.id, v1alpha1.ReasonAutoscaleEnded, "workers 4→1, queue depth 3→0, resync 30m0s→1h0m0s: the conditions have been false for ")
	})

	It("begins with the limits of the spec after a restart", func(ctx context.Context) {
		s := scaledUp(ctx)
		s.hasWorkers(ctx, scaledDo) // it cools down
		manager.stop()
		manager = startManager(cluster.Config())
		s.hasWorkers(ctx, scaledBase)
		s.running(ctx, s.id)
	})

	It("keeps what it has replaced while the box is edited, and gives it back when it is taken away", func(ctx context.Context) {
		s := scaledUp(ctx)
		By("editing something else")
		s.applies(ctx, "workers: 2\ncommonLabels: {edited: \"yes\"}\n"+autoscaled("1h"))
		s.running(ctx, s.id)
		s.hasWorkers(ctx, scaledDo)
		By("taking autoscale away")
		s.applies(ctx, "workers: 2\n")
		s.hasWorkers(ctx, 2)
		s.saysEvent(ctx, "default", s.id, v1alpha1.ReasonAutoscaleEnded, "workers 4→2, queue depth 3→0, resync 30m0s→1h0m0s: spec.autoscale is gone, or the box serves deletions alone")
	})

	It("leaves the limits of the spec to a box that is suspended, and begins with them when it goes on", func(ctx context.Context) {
		s := scaledUp(ctx)
		s.applies(ctx, "workers: 1\nsuspend: true\n"+autoscaled("1h"))
		s.hasWorkers(ctx, scaledBase)
		s.applies(ctx, "workers: 1\n"+autoscaled("1h"))
		s.running(ctx, s.id)
		s.hasWorkers(ctx, scaledBase)
	})
})
