package health

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// active is what is shown of resources that are rolled back.
func active(count int32, since time.Time, reason string) v1alpha1.RollbackStatus {
	return v1alpha1.RollbackStatus{Active: true, Count: count, Since: new(metav1.NewTime(since)), Reason: reason}
}

func TestRolledBackIsCounted(t *testing.T) {
	g := NewWithT(t)
	tracker, clk, reported := newTracker(5)
	shown := func() v1alpha1.RollbackStatus { return tracker.Snapshot().Rollback }
	tracker.SetRolledBack(named("web"), "")
	g.Expect(tracker.Snapshot().Resources.Total).To(BeZero(), "a resource that nobody knows is not made known by it")
	g.Expect(shown()).To(BeZero())

	tracker.Observe(failed("web"))
	tracker.Observe(failed("api"))
	reported.take()
	tracker.SetRolledBack(named("web"), "Error")
	g.Expect(shown()).To(Equal(active(1, clk.Now(), "Error")))
	g.Expect(reported.take()).To(Equal("urgent"))
	first := clk.Now()
	clk.SetTime(clk.Now().Add(time.Minute))
	tracker.SetRolledBack(named("web"), "Error")
	g.Expect(reported.take()).To(BeEmpty(), "nothing has changed")
	tracker.SetRolledBack(named("api"), "Degraded")
	g.Expect(shown()).To(Equal(active(2, first, "Error")), "since when, and why, is that of the first")
	g.Expect(tracker.InFailure()).To(ConsistOf(named("web"), named("api")))

	tracker.Forget(named("web"))
	g.Expect(shown()).To(Equal(active(1, first, "Error")), "a resource that is gone is not rolled back")
	tracker.SetRolledBack(named("api"), "")
	g.Expect(shown()).To(BeZero())
	tracker.SetRolledBack(named("api"), "Degraded")
	g.Expect(shown()).To(Equal(active(1, clk.Now(), "Degraded")), "it begins anew")
}

func TestRolledBackSurvivesARestart(t *testing.T) {
	g := NewWithT(t)
	tracker, clk, _ := newTracker(5)
	long := clk.Now().Add(-time.Hour)
	known := active(1, long, "Degraded")
	tracker.Restore(v1alpha1.CRDHealthStatus{Rollback: &known})
	tracker.Seed(named("web"), false, false, true)
	tracker.SetRolledBack(named("web"), "Error")
	g.Expect(tracker.Snapshot().Rollback).To(Equal(active(1, long, "Degraded")))

	tracker.Restore(v1alpha1.CRDHealthStatus{Rollback: &known})
	tracker.Observe(failed("web"))
	tracker.SetRolledBack(named("web"), "Error")
	g.Expect(tracker.Snapshot().Rollback).To(Equal(active(1, clk.Now(), "Error")), "what is rolled back only now, is since now")
}

func TestRollbackIsShown(t *testing.T) {
	old := active(3, start, "Error")
	now := active(1, start, "Degraded")
	report := running(Snapshot{Rollback: now})
	report.RollsBack = true
	idle := running(Snapshot{})
	idle.RollsBack = true
	for name, tc := range map[string]struct {
		report Report
		want   *v1alpha1.RollbackStatus
	}{
		"a box without rollback": {running(Snapshot{Rollback: now}), nil},
		"a box with rollback":    {report, &now},
		"nothing rolled back":    {idle, &v1alpha1.RollbackStatus{}},
		"not running yet":        {Report{Phase: Starting, RollsBack: true}, &old},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Status(v1alpha1.CRDHealthStatus{Rollback: &old}, 1, tc.report, start).Rollback).To(Equal(tc.want))
		})
	}
}
