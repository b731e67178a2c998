package metrics

import (
	"reflect"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// recordAll uses every method once.
func recordAll(r *Recorder, box string) {
	r.Ensure(box)
	r.Reconciled(box, ResultSuccess, 20*time.Millisecond)
	r.Measure(box, func() Load { return Load{Queued: 4, Workers: 3, Busy: 2, Overdue: 1} })
	r.MeasureAutoscale(box, func() (bool, int, bool) { return true, 3, true })
	r.MeasureWaits(box, func() ([]Wait, bool) { return []Wait{{Namespace: "team-a", Longest: time.Second}}, true })
	r.SetResources(box, v1alpha1.ResourceCounts{Total: 5, Ready: 3, Failing: 1, Waiting: 2})
	r.SetState(box, v1alpha1.HealthDegraded)
	r.ChildWritten(box, "corrected")
	r.RolledBack(box)
	r.SetRolledBack(box, 1)
	r.Panicked(box)
	r.ExternalRequested(box, "200", time.Second)
	r.ExternalRequested(box, CodeHeld, time.Second)
	r.ProviderCalled(ProviderCall{Box: box, Provider: "p", Kind: "k", Operation: "ensure", Result: ResultSuccess, Took: time.Second})
}

// boxes counts the series of each box.
func boxes(t *testing.T, registry prometheus.Gatherer) map[string]int {
	t.Helper()
	families, err := registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	count := map[string]int{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == labelBox {
					count[l.GetValue()]++
				}
			}
		}
	}
	return count
}

func TestForget(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	recordAll(r, "website")
	recordAll(r, "database")
	before := boxes(t, registry)
	g.Expect(before["website"]).To(BeNumerically(">", 20))

	r.Forget("website")
	g.Expect(boxes(t, registry)).To(Equal(map[string]int{"website": len(states()), "database": before["database"]}))
	g.Expect(testutil.ToFloat64(r.states.WithLabelValues("website", "Degraded"))).To(Equal(1.0), "a box has a state while it does not run")
	r.ForgetState("website")
	g.Expect(boxes(t, registry)).To(Equal(map[string]int{"database": before["database"]}))
	for _, box := range []string{"website", "unknown", "database"} {
		r.Forget(box)
		r.ForgetState(box)
	}
	n, err := testutil.GatherAndCount(registry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(BeZero())
}

func TestEveryVectorIsListed(t *testing.T) {
	g := NewWithT(t)
	r, err := New(prometheus.NewPedanticRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.vectors()).To(HaveLen(reflect.TypeFor[Recorder]().NumField()), "one that is not listed is never forgotten")
}

func TestNamesAndHelp(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	recordAll(r, "website")
	r.Watch("deployments.apps", func() time.Duration { return time.Second })
	r.Policy("marks", true)
	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(families).To(HaveLen(len(r.vectors())+4), "loads has four, and autoscale two")
	for _, f := range families {
		g.Expect(f.GetName()).To(HavePrefix("orkestra_"))
	}
}

func TestValues(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	recordAll(r, "website")
	r.Ensure("website")
	r.Reconciled("website", ResultPermission, time.Second)
	r.Policy("marks", true)
	r.Policy("grants", false)

	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP orkestra_reconcile_total Reconciles of a box's resources by result: success, a class of failure, waiting or skipped
# TYPE orkestra_reconcile_total counter
orkestra_reconcile_total{box="website",result="panic"} 0
orkestra_reconcile_total{box="website",result="permanent"} 0
orkestra_reconcile_total{box="website",result="permission"} 1
orkestra_reconcile_total{box="website",result="refused"} 0
orkestra_reconcile_total{box="website",result="skipped"} 0
orkestra_reconcile_total{box="website",result="success"} 1
orkestra_reconcile_total{box="website",result="transient"} 0
orkestra_reconcile_total{box="website",result="waiting"} 0
# HELP orkestra_policy_installed 1 where an admission policy that the manager relies on is in force, 0 where not
# TYPE orkestra_policy_installed gauge
orkestra_policy_installed{policy="grants"} 0
orkestra_policy_installed{policy="marks"} 1
# HELP orkestra_queue_depth Resources that wait for a worker
# TYPE orkestra_queue_depth gauge
orkestra_queue_depth{box="website"} 4
# HELP orkestra_workers_wanted Workers that a box may use
# TYPE orkestra_workers_wanted gauge
orkestra_workers_wanted{box="website"} 3
# HELP orkestra_workers_busy Workers that reconcile at this moment
# TYPE orkestra_workers_busy gauge
orkestra_workers_busy{box="website"} 2
# HELP orkestra_resources Resources of a box by what they show: total, ready, failing, waiting or rolled_back
# TYPE orkestra_resources gauge
orkestra_resources{box="website",state="failing"} 1
orkestra_resources{box="website",state="ready"} 3
orkestra_resources{box="website",state="rolled_back"} 1
orkestra_resources{box="website",state="total"} 5
orkestra_resources{box="website",state="waiting"} 2
# HELP orkestra_health_state 1 for the state that a box is in, 0 for all others
# TYPE orkestra_health_state gauge
orkestra_health_state{box="website",state="Degraded"} 1
orkestra_health_state{box="website",state="Healthy"} 0
orkestra_health_state{box="website",state="Pending"} 0
orkestra_health_state{box="website",state="Starting"} 0
orkestra_health_state{box="website",state="Stopped"} 0
orkestra_health_state{box="website",state="Suspended"} 0
# HELP orkestra_children_total Writes of children by action: created, changed, corrected, adopted, replaced or pruned
# TYPE orkestra_children_total counter
orkestra_children_total{action="corrected",box="website"} 1
# HELP orkestra_panics_total Panics that were caught; without a box: in what all boxes share
# TYPE orkestra_panics_total counter
orkestra_panics_total{box="website"} 1
`), "orkestra_reconcile_total", "orkestra_policy_installed", "orkestra_queue_depth", "orkestra_workers_wanted", "orkestra_workers_busy", "orkestra_resources",
		"orkestra_health_state", "orkestra_children_total", "orkestra_panics_total")).To(Succeed())
	g.Expect(testutil.GatherAndCount(registry, "orkestra_reconcile_duration_seconds")).To(Equal(1))
	g.Expect(testutil.ToFloat64(r.externalRequests.WithLabelValues("website", "200"))).To(Equal(1.0))
	g.Expect(testutil.ToFloat64(r.externalRequests.WithLabelValues("website", CodeHeld))).To(Equal(1.0))
	g.Expect(testutil.CollectAndCompare(r.externalTimes, strings.NewReader(`
# HELP orkestra_external_request_duration_seconds Time that external requests took that were sent, retries included
# TYPE orkestra_external_request_duration_seconds histogram
orkestra_external_request_duration_seconds_bucket{box="website",le="0.005"} 0
orkestra_external_request_duration_seconds_bucket{box="website",le="0.01"} 0
orkestra_external_request_duration_seconds_bucket{box="website",le="0.05"} 0
orkestra_external_request_duration_seconds_bucket{box="website",le="0.1"} 0
orkestra_external_request_duration_seconds_bucket{box="website",le="0.5"} 0
orkestra_external_request_duration_seconds_bucket{box="website",le="1"} 1
orkestra_external_request_duration_seconds_bucket{box="website",le="5"} 1
orkestra_external_request_duration_seconds_bucket{box="website",le="10"} 1
orkestra_external_request_duration_seconds_bucket{box="website",le="30"} 1
orkestra_external_request_duration_seconds_bucket{box="website",le="90"} 1
orkestra_external_request_duration_seconds_bucket{box="website",le="+Inf"} 1
orkestra_external_request_duration_seconds_sum{box="website"} 1
orkestra_external_request_duration_seconds_count{box="website"} 1
`))).To(Succeed(), "what is held back takes no time")

	r.SetState("website", v1alpha1.HealthHealthy)
	g.Expect(testutil.ToFloat64(r.states.WithLabelValues("website", "Degraded"))).To(BeZero())
	g.Expect(testutil.ToFloat64(r.states.WithLabelValues("website", "Healthy"))).To(Equal(1.0))
}

func TestNewTwice(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	other, err := New(prometheus.NewPedanticRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(registry.Register(other.panics)).To(Succeed())
	_, err = New(registry)
	g.Expect(err).To(MatchError(ContainSubstring("registering metrics")))

	registry.Unregister(other.panics)
	_, err = New(registry)
	g.Expect(err).NotTo(HaveOccurred(), "the first try left nothing behind")
}

func TestNilRecorder(t *testing.T) {
	var r *Recorder
	NewWithT(t).Expect(func() {
		recordAll(r, "website")
		r.Forget("website")
		r.ForgetState("website")
	}).NotTo(Panic())
}
