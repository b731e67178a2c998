package metrics

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// recordAll uses every method once.
func recordAll(r *Recorder, box string) {
	r.Ensure(box)
	r.Reconciled(box, ResultSuccess, 20*time.Millisecond)
	r.Measure(box, func() Load { return Load{Queued: 4, Oldest: 1500 * time.Millisecond, Workers: 3, Busy: 2, Overdue: 1} })
	r.MeasurePlaces(func() int { return 7 })
	r.StageEnded(box, "onReconcile", 20*time.Millisecond)
	r.Waited(box, 20*time.Millisecond)
	r.BudgetExceeded(box, BudgetRetries)
	r.Contended(box, 0)
	r.Contended(box, 2)
	r.Requested(box, "apply", 201)
	r.Requested(box, "get", 0)
	r.MeasureAutoscale(box, func() (bool, string, int, bool) { return true, "time.hour", 3, true })
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
	left, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(HaveLen(1), "the places are the process'")
	g.Expect(left[0].GetName()).To(Equal("orkestra_places_busy"))
}

// TestCatalog: what is exported is described, and what is described is exported.
func TestCatalog(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	recordAll(r, "website")
	r.Watch("deployments.apps", func() (time.Duration, int64, int64) { return time.Second, 2, 3 })
	r.Policy("marks", true)
	elected := make(chan struct{})
	close(elected)
	g.Expect(RegisterProcess(registry, Build{}, Lead{Elected: elected, Renewed: time.Now})).To(Succeed())
	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]*dto.MetricFamily{}
	for _, f := range families {
		g.Expect(f.GetName()).To(HavePrefix("orkestra_"))
		found[f.GetName()] = f
	}
	for _, s := range Catalog() {
		f := found[s.Name]
		g.Expect(f).NotTo(BeNil(), "%s is described, and not exported", s.Name)
		delete(found, s.Name)
		g.Expect(f.GetHelp()).To(Equal(s.Help))
		g.Expect(strings.ToLower(f.GetType().String())).To(Equal(string(s.Type)), s.Name)
		g.Expect(s.Unit).NotTo(BeEmpty(), s.Name)
		g.Expect(s.Help).NotTo(ContainSubstring("|"), "it stands in a table")
		if s.Type == Histogram {
			g.Expect(s.Buckets).NotTo(BeEmpty(), s.Name)
		} else {
			g.Expect(s.Buckets).To(BeEmpty(), s.Name)
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		g.Expect(labels).To(ConsistOf(s.Labels), s.Name)
	}
	g.Expect(found).To(BeEmpty(), "exported, and not described")
}

// TestHistogramsAreNative: those who ask for the protobuf format get native buckets beside the others.
func TestHistogramsAreNative(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	recordAll(r, "website")
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	histograms := 0
	for _, f := range families {
		if f.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		histograms++
		h := f.GetMetric()[0].GetHistogram()
		g.Expect(h.GetBucket()).NotTo(BeEmpty(), f.GetName())
		g.Expect(h.GetPositiveSpan()).NotTo(BeEmpty(), f.GetName())
		g.Expect(h.GetSampleCount()).To(BeEquivalentTo(1), f.GetName())
	}
	g.Expect(histograms).To(Equal(5))
}

// TestTheNoOpPathAllocatesNothing: a resource that is looked at because time has passed costs its measurements no memory.
func TestTheNoOpPathAllocatesNothing(t *testing.T) {
	r, err := New(prometheus.NewPedanticRegistry())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	recordAll(r, "website")
	NewWithT(t).Expect(testing.AllocsPerRun(100, func() { skipped(r) })).To(BeZero())
}

// skipped is what is recorded of a reconcile that finds no input changed.
func skipped(r *Recorder) {
	r.Waited("website", 20*time.Millisecond)
	r.Reconciled("website", ResultSkipped, 20*time.Millisecond)
}

func BenchmarkSkipped(b *testing.B) {
	r, err := New(prometheus.NewPedanticRegistry())
	if err != nil {
		b.Fatal(err)
	}
	r.Ensure("website")
	b.ReportAllocs()
	for b.Loop() {
		skipped(r)
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
# HELP orkestra_reconcile_total Reconciles by result: success, skipped (no input had changed), waiting, or a class of failure: transient, permanent, refused, permission, panic
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
# HELP orkestra_queue_depth Resources that wait for a worker, in the queue and outside of it
# TYPE orkestra_queue_depth gauge
orkestra_queue_depth{box="website"} 4
# HELP orkestra_queue_oldest_seconds Time that the resource has waited that is due for longest; 0: none waits
# TYPE orkestra_queue_oldest_seconds gauge
orkestra_queue_oldest_seconds{box="website"} 1.5
# HELP orkestra_places_busy Reconciles of all boxes that hold one of the places of the process (--max-concurrent-reconciles) at this moment
# TYPE orkestra_places_busy gauge
orkestra_places_busy 7
# HELP orkestra_contention_total Children and patches that began to be corrected less often, because somebody else keeps changing them
# TYPE orkestra_contention_total counter
orkestra_contention_total{box="website"} 2
# HELP orkestra_budget_exceeded_total Reconciles that ended over a budget: a limit of templates and CEL (output, memory, work, iterations, depth, nesting, time, pattern, search, rendered, cost, time_of_cel), objects (one resource has too many), pool (what all resources make at the same time), retries (put off)
# TYPE orkestra_budget_exceeded_total counter
orkestra_budget_exceeded_total{box="website",budget="retries"} 1
# HELP orkestra_api_requests_total Requests to the API server by verb and status code, none: no answer; without a box: lists and watches, which boxes share. Events are not counted
# TYPE orkestra_api_requests_total counter
orkestra_api_requests_total{box="website",code="201",verb="apply"} 1
orkestra_api_requests_total{box="website",code="none",verb="get"} 1
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
# HELP orkestra_health_state 1 for the state that a box is in (Pending, Starting, Healthy, Degraded, Suspended, Stopped), 0 for all others
# TYPE orkestra_health_state gauge
orkestra_health_state{box="website",state="Degraded"} 1
orkestra_health_state{box="website",state="Healthy"} 0
orkestra_health_state{box="website",state="Pending"} 0
orkestra_health_state{box="website",state="Starting"} 0
orkestra_health_state{box="website",state="Stopped"} 0
orkestra_health_state{box="website",state="Suspended"} 0
# HELP orkestra_children_total Writes of children by action: created, changed (the declaration did), corrected (somebody else had changed the child), adopted, replaced, pruned; and of objects of others: patched
# TYPE orkestra_children_total counter
orkestra_children_total{action="corrected",box="website"} 1
# HELP orkestra_panics_total Panics that were caught; without a box: in what all boxes share
# TYPE orkestra_panics_total counter
orkestra_panics_total{box="website"} 1
`), "orkestra_reconcile_total", "orkestra_policy_installed", "orkestra_queue_depth", "orkestra_queue_oldest_seconds", "orkestra_places_busy", "orkestra_contention_total", "orkestra_budget_exceeded_total", "orkestra_api_requests_total", "orkestra_workers_wanted", "orkestra_workers_busy", "orkestra_resources",
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
