package health

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestTransitions(t *testing.T) {
	is := func(state v1alpha1.HealthState, failures int64) v1alpha1.CRDHealthStatus {
		return v1alpha1.CRDHealthStatus{State: state, ConsecutiveFailures: failures, FailureThreshold: 3}
	}
	const healthy, degraded, starting = v1alpha1.HealthHealthy, v1alpha1.HealthDegraded, v1alpha1.HealthStarting
	cases := map[string]struct {
		old, next          v1alpha1.CRDHealthStatus
		degrades, recovers bool
	}{
		"the first failures":                 {is(healthy, 2), is(degraded, 3), true, false},
		"more of them":                       {is(degraded, 3), is(degraded, 4), false, false},
		"a success":                          {is(degraded, 4), is(healthy, 0), false, true},
		"one more":                           {is(healthy, 0), is(healthy, 0), false, false},
		"it starts":                          {is("", 0), is(healthy, 0), false, false},
		"it starts again":                    {is(healthy, 2), is(starting, 2), false, false},
		"it starts again, as healthy":        {is(starting, 2), is(healthy, 2), false, false},
		"it starts again, and fails":         {is(starting, 2), is(degraded, 3), true, false},
		"a degraded one starts again":        {is(degraded, 3), is(starting, 3), false, false},
		"it still is":                        {is(starting, 3), is(degraded, 3), false, false},
		"it succeeds at once":                {is(starting, 3), is(healthy, 0), false, true},
		"it is suspended and goes on so":     {is(v1alpha1.HealthSuspended, 3), is(degraded, 3), false, false},
		"the CRD is gone with all resources": {is(degraded, 3), is(v1alpha1.HealthStopped, 3), false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(Degrades(tc.old, tc.next)).To(Equal(tc.degrades))
			g.Expect(Recovers(tc.old, tc.next)).To(Equal(tc.recovers))
		})
	}
}

func TestABoxWithoutAPlanKeepsItsThreshold(t *testing.T) {
	g := NewWithT(t)
	old := v1alpha1.CRDHealthStatus{FailureThreshold: 3}
	g.Expect(Status(old, 1, Report{Phase: Pending}, start).FailureThreshold).To(BeEquivalentTo(3))
	g.Expect(Status(old, 1, Report{Phase: Running, FailureThreshold: 4}, start).FailureThreshold).To(BeEquivalentTo(4))
	g.Expect(Status(old, 1, Report{Phase: Running, Monitored: true}, start).FailureThreshold).To(BeZero(), "another operator has its own")
}

func TestDependenciesAreShownAtOnce(t *testing.T) {
	g := NewWithT(t)
	unmet := []v1alpha1.DependencyStatus{{Name: "db", Condition: v1alpha1.ConditionHealthy}}
	r := running(Snapshot{})
	before := Status(v1alpha1.CRDHealthStatus{}, 1, r, start)
	r.Dependencies, r.Awaits = unmet, `box "db" is Degraded, wanted Healthy`
	after := Status(before, 1, r, start)
	g.Expect(after.Dependencies).To(Equal(unmet))
	g.Expect(after.State).To(Equal(v1alpha1.HealthHealthy))
	g.Expect(meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)).To(HaveValue(And(
		HaveField("Status", metav1.ConditionTrue), HaveField("Message", `the box works; new resources wait: box "db" is Degraded, wanted Healthy`))))
	g.Expect(Wait(before, after, FlapInterval)).To(BeZero())
	g.Expect(Wait(before, after, 0)).To(BeNumerically("<=", FlapInterval))
	met := r
	met.Dependencies = []v1alpha1.DependencyStatus{{Name: "db", Condition: v1alpha1.ConditionHealthy, Met: true}}
	g.Expect(Wait(after, Status(after, 1, met, start), FlapInterval)).To(BeZero())
}

func TestMonitored(t *testing.T) {
	monitored := func(failing ...v1alpha1.FailingResource) Report {
		s := Snapshot{Resources: v1alpha1.ResourceCounts{Total: 3, Ready: 3}, Failing: failing, Degraded: len(failing) > 0}
		s.Resources.Failing = int32(len(failing))
		return Report{Monitored: true, Phase: Running, StartedAt: start, Snapshot: s, CRD: "databases.example.com"}
	}
	type shown struct {
		state                                        v1alpha1.HealthState
		ready, reconciling, stalled, started, health metav1.ConditionStatus
		message                                      string
	}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	cases := map[string]struct {
		report Report
		want   shown
	}{
		"all is well": {monitored(), shown{v1alpha1.HealthHealthy, yes, no, no, yes, yes, "every resource is healthy"}},
		"one is not": {monitored(failing("main")...), shown{
			v1alpha1.HealthDegraded, no, no, no, yes, no, "not every resource is healthy; databases default/main: validation: replicas of main",
		}},
		"a mistake": {
			Report{Monitored: true, Phase: Pending, Reason: v1alpha1.ReasonCompileFailed, Message: "m"},
			shown{v1alpha1.HealthPending, no, no, yes, no, no, "m"},
		},
		"no CRD": {
			Report{Monitored: true, Phase: Stopped, Reason: v1alpha1.ReasonCRDMissing, Message: "m"},
			shown{v1alpha1.HealthStopped, no, yes, no, no, no, "m"},
		},
		"caches are filling": {Report{Monitored: true, Phase: Starting}, shown{v1alpha1.HealthStarting, no, yes, no, no, no, "caches are filling"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := Status(v1alpha1.CRDHealthStatus{}, 1, tc.report, start)
			status := func(kind string) metav1.ConditionStatus { return meta.FindStatusCondition(s.Conditions, kind).Status }
			got := shown{
				s.State, status(v1alpha1.ConditionReady), status(v1alpha1.ConditionReconciling), status(v1alpha1.ConditionStalled),
				status(v1alpha1.ConditionStarted), status(v1alpha1.ConditionHealthy), meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady).Message,
			}
			g.Expect(got).To(Equal(tc.want))
			again := Status(s, 1, tc.report, start.Add(time.Hour))
			g.Expect(again).To(Equal(s), "nothing is written that has not changed")
		})
	}
}
