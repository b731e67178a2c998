package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func failing(names ...string) []v1alpha1.FailingResource {
	var out []v1alpha1.FailingResource
	for i, name := range names {
		out = append(out, v1alpha1.FailingResource{
			ResourceReference:   v1alpha1.ResourceReference{Namespace: "default", Name: name},
			ConsecutiveFailures: int64(len(names) - i),
			Step:                "validation",
			Message:             "replicas of " + name,
			Since:               metav1.NewTime(start),
		})
	}
	return out
}

func running(s Snapshot) Report {
	return Report{Phase: Running, Snapshot: s, Revision: "rev-1", FailureThreshold: 5, CRD: "websites.demo.example.com"}
}

func degradedBy(names ...string) Report {
	return running(Snapshot{
		Degraded: true, ConsecutiveFailures: 7, FailureCount: 7, Failing: failing(names...),
		Resources: v1alpha1.ResourceCounts{Total: int32(len(names)), Failing: int32(len(names))},
	})
}

func TestState(t *testing.T) {
	for name, tc := range map[string]struct {
		phase    Phase
		degraded bool
		want     v1alpha1.HealthState
	}{
		"pending":                       {Pending, false, v1alpha1.HealthPending},
		"starting, after a restart":     {Starting, true, v1alpha1.HealthStarting},
		"running":                       {Running, false, v1alpha1.HealthHealthy},
		"running and failing":           {Running, true, v1alpha1.HealthDegraded},
		"suspended hides the failures":  {Suspended, true, v1alpha1.HealthSuspended},
		"stopped hides them too":        {Stopped, true, v1alpha1.HealthStopped},
		"an unknown phase is no health": {"Nonsense", false, v1alpha1.HealthPending},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(State(tc.phase, tc.degraded)).To(Equal(tc.want))
		})
	}
}

// someFail is a box that works, but for these resources.
func someFail(names ...string) Report {
	r := degradedBy(names...)
	r.Snapshot.Degraded, r.Snapshot.Resources.Failing = false, int32(len(names))
	return r
}

func TestConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		report                       Report
		ready, reconciling, stalled  string // reason, with + for True and - for False
		started, healthy, theMessage string // the message is that of Ready
	}{
		"healthy": {
			running(Snapshot{}),
			"+Healthy", "-Healthy", "-Healthy", "+Running", "+Healthy", "the box works",
		},
		"degraded": {
			degradedBy("web", "api"),
			"-Degraded", "-Degraded", "+Degraded", "+Running", "-Degraded",
			"at least 5 reconciles in a row failed; websites default/web: validation: replicas of web",
		},
		"healthy, and some resources fail": {
			someFail("web", "api"),
			"+Healthy", "-Healthy", "-Healthy", "+Running", "+Healthy",
			"the box works, but some resources fail; websites default/web: validation: replicas of web",
		},
		"healthy, and an object can't be read": {
			Report{Phase: Running, Message: "serviceaccounts \"a/b\" can't be read"},
			"+Healthy", "-Healthy", "-Healthy", "+Running", "+Healthy", "the box works; serviceaccounts \"a/b\" can't be read",
		},
		"degraded by the first failure": {
			Report{Phase: Running, FailureThreshold: 1, Snapshot: Snapshot{Degraded: true}},
			"-Degraded", "-Degraded", "+Degraded", "+Running", "-Degraded", "a reconcile failed",
		},
		"degraded, and all that failed are gone": {
			running(Snapshot{Degraded: true}),
			"-Degraded", "-Degraded", "+Degraded", "+Running", "-Degraded", "at least 5 reconciles in a row failed",
		},
		"pending": {
			Report{Phase: Pending, Reason: v1alpha1.ReasonCRDMissing, Message: "no such CRD"},
			"-CRDMissing", "+CRDMissing", "-CRDMissing", "-CRDMissing", "-CRDMissing", "no such CRD",
		},
		"pending for no reason told": {
			Report{Phase: Pending},
			"-Pending", "+Pending", "-Pending", "-Pending", "-Pending", "the box has not started yet",
		},
		"starting": {
			Report{Phase: Starting},
			"-Starting", "+Starting", "-Starting", "-Starting", "-Starting", "caches are filling",
		},
		"the spec has mistakes": {
			Report{Phase: Pending, Reason: v1alpha1.ReasonCompileFailed, Message: "spec.onCreate: no"},
			"-CompileFailed", "-CompileFailed", "+CompileFailed", "-CompileFailed", "-CompileFailed", "spec.onCreate: no",
		},
		"it waits for what does not stop": {
			Report{Phase: Pending, Reason: v1alpha1.ReasonStuck, Message: "waits for a/web"},
			"-Stuck", "-Stuck", "+Stuck", "-Stuck", "-Stuck", "waits for a/web",
		},
		"the spec has mistakes, and the old plan goes on": {
			Report{Phase: Running, Revision: "site-1", Reason: v1alpha1.ReasonCompileFailed, Message: "spec.onCreate: no"},
			"+Healthy", "-Healthy", "+CompileFailed", "+Running", "+Healthy", "revision site-1 works; a problem stands beside it: spec.onCreate: no",
		},
		"another box has the CRD": {
			Report{Phase: Stopped, Reason: v1alpha1.ReasonCRDClaimed, Message: `box "a" runs it`},
			"-CRDClaimed", "-CRDClaimed", "+CRDClaimed", "-CRDClaimed", "-CRDClaimed", `box "a" runs it`,
		},
		"the CRD is gone": {
			Report{Phase: Stopped, Reason: v1alpha1.ReasonCRDMissing, Message: "gone"},
			"-CRDMissing", "+CRDMissing", "-CRDMissing", "-CRDMissing", "-CRDMissing", "gone",
		},
		"stopped": {
			Report{Phase: Stopped},
			"-Stopped", "-Stopped", "-Stopped", "-Stopped", "-Stopped", "the sub-controller is stopped",
		},
		"suspended": {
			Report{Phase: Suspended},
			"-Suspended", "-Suspended", "-Suspended", "-Suspended", "-Suspended", "spec.suspend is true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.report.FailureThreshold == 0 {
				tc.report.FailureThreshold = 5
			}
			s := Status(v1alpha1.CRDHealthStatus{}, 3, tc.report, start)
			g.Expect(s.ObservedGeneration).To(Equal(int64(3)))
			var got []string
			for _, c := range s.Conditions {
				g.Expect(c.ObservedGeneration).To(Equal(int64(3)))
				g.Expect(c.LastTransitionTime.Time).To(Equal(start))
				sign := map[metav1.ConditionStatus]string{metav1.ConditionTrue: "+", metav1.ConditionFalse: "-"}[c.Status]
				got = append(got, c.Type+sign+c.Reason)
			}
			g.Expect(got).To(Equal([]string{
				"Ready" + tc.ready, "Reconciling" + tc.reconciling, "Stalled" + tc.stalled,
				"Started" + tc.started, "Healthy" + tc.healthy,
			}))
			g.Expect(s.Conditions[0].Message).To(Equal(tc.theMessage))
		})
	}
}

func TestStatusIsStable(t *testing.T) {
	g := NewWithT(t)
	at := start.Add(123456789 * time.Nanosecond)
	r := degradedBy("web")
	r.StartedAt, r.ClaimedAt = at, at
	r.Snapshot.LastReconcile, r.Snapshot.LastSuccess = at, at
	r.Snapshot.LastFailure = &v1alpha1.Failure{Time: metav1.NewTime(at), Message: "no"}
	r.Snapshot.Failing[0].Since = metav1.NewTime(at)
	old := v1alpha1.CRDHealthStatus{Conditions: []metav1.Condition{{Type: "Foreign"}}}
	untouched, given := old.DeepCopy(), r.Snapshot.Failing[0]

	first := Status(old, 1, r, at)
	second := Status(first, 1, r, at.Add(time.Hour))
	g.Expect(cmp.Diff(first, second)).To(BeEmpty(), "an idle box writes nothing")
	g.Expect(old).To(Equal(*untouched))
	g.Expect(r.Snapshot.Failing[0]).To(Equal(given))
	g.Expect(meta.FindStatusCondition(first.Conditions, "Foreign")).To(BeNil())
	for name, stored := range map[string]time.Time{
		"startedAt":      first.StartedAt.Time,
		"claimedAt":      first.ClaimedAt.Time,
		"lastReconcile":  first.LastReconcile.Time,
		"lastSuccess":    first.LastSuccess.Time,
		"lastFailure":    first.LastFailure.Time.Time,
		"failing.since":  first.Failing[0].Since.Time,
		"lastTransition": first.Conditions[0].LastTransitionTime.Time,
	} {
		g.Expect(stored).To(Equal(start), name)
	}
}

func TestTransitionTime(t *testing.T) {
	g := NewWithT(t)
	first := Status(v1alpha1.CRDHealthStatus{}, 1, running(Snapshot{}), start)
	second := Status(first, 2, degradedBy("web"), start.Add(time.Minute))
	third := Status(second, 2, degradedBy("api"), start.Add(time.Hour))
	at := func(s v1alpha1.CRDHealthStatus, kind string) time.Time {
		return meta.FindStatusCondition(s.Conditions, kind).LastTransitionTime.Time
	}
	g.Expect(at(second, v1alpha1.ConditionReady)).To(Equal(start.Add(time.Minute)))
	g.Expect(at(second, v1alpha1.ConditionStarted)).To(Equal(start))
	g.Expect(at(third, v1alpha1.ConditionReady)).To(Equal(start.Add(time.Minute)), "only the message changed")
}

func TestDegradedMessage(t *testing.T) {
	g := NewWithT(t)
	message := func(s v1alpha1.CRDHealthStatus) string { return s.Conditions[0].Message }
	first := Status(v1alpha1.CRDHealthStatus{}, 1, degradedBy("web", "api"), start)
	g.Expect(message(first)).To(ContainSubstring("default/web: "))
	second := Status(first, 1, degradedBy("api", "web"), start)
	g.Expect(message(second)).To(Equal(message(first)), "it stays with the resource it named")
	third := Status(second, 1, degradedBy("api"), start)
	g.Expect(message(third)).To(ContainSubstring("default/api: "), "until that is gone")

	r := degradedBy("web")
	r.Snapshot.Failing[0].Namespace, r.Snapshot.Failing[0].Step, r.CRD = "", "", ""
	g.Expect(message(Status(first, 1, r, start))).To(Equal("at least 5 reconciles in a row failed; web: replicas of web"))

	r.Phase, r.Message = Pending, strings.Repeat("x ", 2500)
	g.Expect(message(Status(first, 1, r, start))).To(Equal(strings.Repeat("x ", 511) + "x…"))
}

func TestCountsAreCarriedOver(t *testing.T) {
	known := Snapshot{
		ConsecutiveFailures: 2, SuccessCount: 10, FailureCount: 4, LastReconcile: start, LastSuccess: start,
		LastFailure: &v1alpha1.Failure{Time: metav1.NewTime(start)}, Failing: failing("web"),
		Resources: v1alpha1.ResourceCounts{Total: 3, Ready: 2, Failing: 1},
	}
	old := Status(v1alpha1.CRDHealthStatus{}, 1, running(known), start)
	for name, tc := range map[string]struct {
		report    Report
		successes int64
		failing   int
		total     int32
	}{
		"a tracker that was not restored, before the box runs": {Report{Phase: Pending}, 10, 1, 3},
		"the same while suspended":                             {Report{Phase: Suspended}, 10, 1, 3},
		"a stopped box has no resources, and none that fails":  {Report{Phase: Stopped}, 10, 0, 0},
		"the truth of a running box, whatever a person wrote":  {running(Snapshot{}), 0, 0, 0},
		"what the tracker knows": {
			Report{Phase: Suspended, Snapshot: Snapshot{SuccessCount: 11}}, 11, 0, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := Status(old, 1, tc.report, start)
			g.Expect(s.SuccessCount).To(Equal(tc.successes))
			g.Expect(s.Failing).To(HaveLen(tc.failing))
			g.Expect(s.Resources.Total).To(Equal(tc.total))
		})
	}
}

func TestReportIsShown(t *testing.T) {
	g := NewWithT(t)
	r := running(Snapshot{})
	r.Workers, r.QueueDepth, r.StartedAt, r.ClaimedAt = 3, 7, start, start
	old := v1alpha1.CRDHealthStatus{
		Rollback:     &v1alpha1.RollbackStatus{Active: true},
		Dependencies: []v1alpha1.DependencyStatus{{Name: "x"}},
	}
	s := Status(old, 1, r, start)
	g.Expect([]any{s.Workers, s.QueueDepth, s.Revision, s.FailureThreshold}).To(Equal([]any{int32(3), int32(7), "rev-1", int32(5)}))
	g.Expect(s.StartedAt.Time).To(Equal(start))
	g.Expect(s.ClaimedAt.Time).To(Equal(start))
	g.Expect(s.Rollback).To(BeNil(), "nothing is rolled back, whatever a person wrote")
	g.Expect(s.Dependencies).To(BeEmpty())

	s = Status(s, 1, Report{Phase: Stopped}, start)
	g.Expect(s.StartedAt).To(BeNil())
	g.Expect(s.ClaimedAt).To(BeNil(), "the claim is given up")
}

func TestLastKnownGood(t *testing.T) {
	old := &v1alpha1.KnownGood{Revision: "rev-0", Time: metav1.NewTime(start)}
	later := start.Add(time.Hour)
	counts := v1alpha1.ResourceCounts{Total: 1, Ready: 1}
	at := func(revision string, at time.Time) *v1alpha1.KnownGood {
		return &v1alpha1.KnownGood{Revision: revision, Time: metav1.NewTime(at)}
	}
	bad := degradedBy("web")
	bad.Snapshot.LastSuccess = start
	for name, tc := range map[string]struct {
		old    *v1alpha1.KnownGood
		report Report
		want   *v1alpha1.KnownGood
	}{
		"never healthy":      {nil, degradedBy("web"), nil},
		"degraded":           {old, bad, old},
		"starting":           {old, Report{Phase: Starting, Revision: "rev-1"}, old},
		"nothing runs":       {old, Report{Phase: Running, Snapshot: Snapshot{LastSuccess: start}}, old},
		"no resources":       {nil, running(Snapshot{}), nil},
		"none any more":      {old, running(Snapshot{LastSuccess: start, GoodRevision: "rev-0"}), old},
		"the plan is told":   {old, running(Snapshot{Resources: counts, LastSuccess: later, GoodRevision: "rev-1"}), at("rev-1", later)},
		"no plan is told":    {old, running(Snapshot{Resources: counts, LastSuccess: later}), at("rev-1", later)},
		"nothing succeeded":  {old, running(Snapshot{Resources: counts, ConsecutiveFailures: 1, FailureCount: 1}), nil}, // a former version took it for good
		"it is the first":    {nil, running(Snapshot{Resources: counts, ConsecutiveFailures: 1, FailureCount: 1}), nil},
		"edited back":        {old, Report{Phase: Running, Revision: "rev-0", Snapshot: Snapshot{Resources: counts, LastSuccess: later, GoodRevision: "rev-0"}}, at("rev-0", later)},
		"it has only begun":  {old, running(Snapshot{Resources: counts, LastSuccess: later, GoodRevision: "rev-0"}), old},
		"the same, and idle": {at("rev-1", start), running(Snapshot{LastSuccess: start, GoodRevision: "rev-1"}), at("rev-1", start)},
		"never back": {
			old,
			Report{Phase: Starting, Revision: "rev-1", Snapshot: Snapshot{LastSuccess: later, GoodRevision: "older"}}, old,
		},
		"the object was deleted while degraded": {
			nil,
			running(Snapshot{Degraded: true, Resources: counts, LastSuccess: later, GoodRevision: "rev-0"}), at("rev-0", later),
		},
	} {
		t.Run(name, func(t *testing.T) {
			was := v1alpha1.CRDHealthStatus{LastKnownGood: tc.old}
			if tc.old != nil {
				was.LastSuccess = &tc.old.Time
			}
			s := Status(was, 1, tc.report, later)
			NewWithT(t).Expect(s.LastKnownGood).To(Equal(tc.want))
		})
	}
}

func TestUrgentAndWait(t *testing.T) {
	base := Status(v1alpha1.CRDHealthStatus{}, 1, degradedBy("web", "api"), start)
	for name, tc := range map[string]struct {
		change func(*v1alpha1.CRDHealthStatus)
		urgent bool
		wait   time.Duration // right after a write
	}{
		"nothing": {func(*v1alpha1.CRDHealthStatus) {}, false, SlowInterval},
		"counters": {func(s *v1alpha1.CRDHealthStatus) {
			s.SuccessCount, s.FailureCount, s.ConsecutiveFailures = 5, 6, 7
		}, false, SlowInterval},
		"resources":     {func(s *v1alpha1.CRDHealthStatus) { s.Resources.Total = 99 }, true, ListInterval},
		"the queue":     {func(s *v1alpha1.CRDHealthStatus) { s.QueueDepth, s.Workers = 9, 9 }, false, SlowInterval},
		"lastReconcile": {func(s *v1alpha1.CRDHealthStatus) { s.LastReconcile = new(metav1.NewTime(start)) }, false, SlowInterval},
		"lastSuccess":   {func(s *v1alpha1.CRDHealthStatus) { s.LastSuccess = new(metav1.NewTime(start)) }, false, SlowInterval},
		"lastFailure":   {func(s *v1alpha1.CRDHealthStatus) { s.LastFailure = &v1alpha1.Failure{Message: "x"} }, false, SlowInterval},
		"the counts and the order of failing": {func(s *v1alpha1.CRDHealthStatus) {
			s.Failing[0], s.Failing[1] = s.Failing[1], s.Failing[0]
			s.Failing[0].ConsecutiveFailures = 99
		}, false, SlowInterval},
		"who fails":         {func(s *v1alpha1.CRDHealthStatus) { s.Failing[0].Name = "other" }, true, ListInterval},
		"how it fails":      {func(s *v1alpha1.CRDHealthStatus) { s.Failing[0].Message = "other" }, true, ListInterval},
		"nobody fails":      {func(s *v1alpha1.CRDHealthStatus) { s.Failing = nil }, true, ListInterval},
		"a message":         {func(s *v1alpha1.CRDHealthStatus) { s.Conditions[0].Message = "other" }, true, ListInterval},
		"a condition":       {func(s *v1alpha1.CRDHealthStatus) { s.Conditions[0].Status = metav1.ConditionTrue }, true, FlapInterval},
		"a reason":          {func(s *v1alpha1.CRDHealthStatus) { s.Conditions[0].Reason = "Other" }, true, FlapInterval},
		"the state":         {func(s *v1alpha1.CRDHealthStatus) { s.State = v1alpha1.HealthHealthy }, true, FlapInterval},
		"the revision":      {func(s *v1alpha1.CRDHealthStatus) { s.Revision = "rev-2" }, true, FlapInterval},
		"the claim":         {func(s *v1alpha1.CRDHealthStatus) { s.ClaimedAt = new(metav1.NewTime(start)) }, true, FlapInterval},
		"lastKnownGood":     {func(s *v1alpha1.CRDHealthStatus) { s.LastKnownGood = &v1alpha1.KnownGood{Revision: "rev-1"} }, true, FlapInterval},
		"rollback":          {func(s *v1alpha1.CRDHealthStatus) { s.Rollback = &v1alpha1.RollbackStatus{} }, true, FlapInterval},
		"the generation":    {func(s *v1alpha1.CRDHealthStatus) { s.ObservedGeneration = 2 }, true, FlapInterval},
		"state and failing": {func(s *v1alpha1.CRDHealthStatus) { s.State, s.Failing = v1alpha1.HealthHealthy, nil }, true, FlapInterval},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			old, next := *base.DeepCopy(), *base.DeepCopy()
			tc.change(&next)
			given := *next.DeepCopy()
			g.Expect(Urgent(old, next)).To(Equal(tc.urgent))
			g.Expect(Wait(old, next, 0)).To(Equal(tc.wait))
			g.Expect(Wait(old, next, 50*time.Millisecond)).To(Equal(tc.wait - 50*time.Millisecond))
			g.Expect(Wait(old, next, time.Hour)).To(BeZero())
			g.Expect(Wait(old, next, -time.Hour)).To(BeZero(), "the clock was set back")
			g.Expect(equality.Semantic.DeepEqual(next, given)).To(BeTrue(), "what is given is not changed")
		})
	}
}

func TestGoodTimeIsNotUrgent(t *testing.T) {
	g := NewWithT(t)
	r := running(Snapshot{SuccessCount: 1, LastSuccess: start, Resources: v1alpha1.ResourceCounts{Total: 1}})
	old := Status(v1alpha1.CRDHealthStatus{}, 1, r, start)
	r.Snapshot.LastSuccess = start.Add(time.Minute)
	next := Status(old, 1, r, start.Add(time.Minute))
	g.Expect(next.LastKnownGood.Time.Time).To(Equal(start.Add(time.Minute)))
	g.Expect(Urgent(old, next)).To(BeFalse())
}

func TestTrackerAndStatusTogether(t *testing.T) {
	g := NewWithT(t)
	tracker, _, _ := newTracker(5)
	var s v1alpha1.CRDHealthStatus
	for i := range 5 {
		g.Expect(s.State).NotTo(Equal(v1alpha1.HealthDegraded), fmt.Sprint(i))
		tracker.Observe(failed("web"))
		s = Status(s, 1, running(tracker.Snapshot()), start)
	}
	g.Expect(s.State).To(Equal(v1alpha1.HealthDegraded))
	tracker.Observe(success("web"))
	s = Status(s, 1, running(tracker.Snapshot()), start)
	g.Expect(s.State).To(Equal(v1alpha1.HealthHealthy))
	g.Expect(s.Failing).To(BeEmpty())
}

// TestReconcilesThatDoNotEndAreNamed, and the box is as healthy as it was. The name of a failing resource beside them stays while it fails.
func TestReconcilesThatDoNotEndAreNamed(t *testing.T) {
	g := NewWithT(t)
	r := Report{Phase: Running, StartedAt: start, CRD: "databases.example.com", Overdue: "1 of 2 workers is in a reconcile"}
	after := Status(v1alpha1.CRDHealthStatus{}, 1, r, start)
	message := func(s v1alpha1.CRDHealthStatus) string {
		return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady).Message
	}
	g.Expect(after.State).To(Equal(v1alpha1.HealthHealthy))
	g.Expect(message(after)).To(Equal("the box works; but 1 of 2 workers is in a reconcile"))
	r.Snapshot = Snapshot{Degraded: true, Resources: v1alpha1.ResourceCounts{Total: 2, Failing: 2}, Failing: failing("a", "b")}
	after = Status(after, 1, r, start)
	said := message(after)
	g.Expect(said).To(And(ContainSubstring("default/a: "), HaveSuffix("; but 1 of 2 workers is in a reconcile")))
	r.Snapshot.Failing[0], r.Snapshot.Failing[1] = r.Snapshot.Failing[1], r.Snapshot.Failing[0]
	g.Expect(message(Status(after, 1, r, start))).To(Equal(said), "the order of the list changes with every retry")
	r.Unended = slices.Repeat([]types.NamespacedName{{Namespace: "default", Name: "a"}}, 11)
	listed := Status(after, 1, r, start)
	g.Expect(listed.Overdue).To(HaveLen(10))
	g.Expect(listed.Overdue[0]).To(Equal(v1alpha1.ResourceReference{Namespace: "default", Name: "a"}))
	g.Expect(Urgent(after, listed)).To(BeTrue())
	g.Expect(Wait(after, listed, 0)).To(Equal(ListInterval), "it is a list as that of the failing ones")
	r.Unended = nil
	g.Expect(Status(listed, 1, r, start).Overdue).To(BeEmpty())
	r.Overdue = ""
	g.Expect(message(Status(after, 1, r, start)) + "; but 1 of 2 workers is in a reconcile").To(Equal(said))
}

func TestStatusShowsWhatAutoscaleHasReplaced(t *testing.T) {
	g := NewWithT(t)
	replaced := &v1alpha1.AutoscaleStatus{Active: true, Reason: "status.queueDepth is 500", Workers: new(int32(12))}
	report := running(Snapshot{})
	report.Autoscale = replaced
	shown := Status(v1alpha1.CRDHealthStatus{}, 1, report, start)
	g.Expect(shown.Autoscale).To(Equal(replaced))
	g.Expect(shown.Autoscale).NotTo(BeIdenticalTo(replaced))
	back := Status(shown, 1, running(Snapshot{}), start)
	g.Expect(back.Autoscale).To(BeNil())
	g.Expect(Urgent(shown, back)).To(BeTrue())
}
