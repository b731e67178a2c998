package health

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// listener remembers what a tracker reports.
type listener struct {
	mu      sync.Mutex
	reports []bool // guarded by mu
}

func (l *listener) changed(urgent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reports = append(l.reports, urgent)
}

// take gives what was reported since the last take: "", "slow" or "urgent", by the most pressing one.
func (l *listener) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := ""
	for _, urgent := range l.reports {
		if urgent {
			said = "urgent"
		} else if said == "" {
			said = "slow"
		}
	}
	l.reports = nil
	return said
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func success(name string) Observation {
	return Observation{Resource: named(name), Ready: true, Counts: true}
}

func failed(name string) Observation {
	return Observation{Resource: named(name), Counts: true, Failed: true, Step: "validation", Message: "no"}
}

func newTracker(threshold int32) (*Tracker, *clocktesting.FakePassiveClock, *listener) {
	clk, l := clocktesting.NewFakePassiveClock(start), &listener{}
	return NewTracker(clk, threshold, l.changed), clk, l
}

func observe(t *Tracker, all ...Observation) {
	for _, o := range all {
		t.Observe(o)
	}
}

func listed(s Snapshot) []string {
	var names []string
	for _, f := range s.Failing {
		names = append(names, f.Name)
	}
	return names
}

func TestDegraded(t *testing.T) {
	for name, tc := range map[string]struct {
		threshold   int32
		seen        []Observation
		consecutive int64
		degraded    bool
	}{
		"one below the threshold":                 {3, []Observation{failed("a"), failed("b")}, 2, false},
		"at the threshold, over the whole box":    {3, []Observation{failed("a"), failed("b"), failed("c")}, 3, true},
		"a success starts again at zero":          {3, []Observation{failed("a"), failed("a"), success("b"), failed("a")}, 1, false},
		"one success of any resource ends it":     {2, []Observation{failed("a"), failed("a"), success("b")}, 0, false},
		"a threshold that is not positive is 5":   {0, []Observation{failed("a"), failed("a"), failed("a"), failed("a")}, 4, false},
		"five failures reach the default":         {0, []Observation{failed("a"), failed("a"), failed("a"), failed("a"), failed("a")}, 5, true},
		"a look that did not count ends nothing":  {1, []Observation{failed("a"), {Resource: named("b"), Ready: true}}, 1, true},
		"a look that did not count is no failure": {1, []Observation{success("a"), {Resource: named("a"), Failed: true}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tracker, _, _ := newTracker(tc.threshold)
			observe(tracker, tc.seen...)
			s := tracker.Snapshot()
			g.Expect(s.ConsecutiveFailures).To(Equal(tc.consecutive))
			g.Expect(s.Degraded).To(Equal(tc.degraded))
		})
	}
}

func TestSetThreshold(t *testing.T) {
	g := NewWithT(t)
	tracker, _, l := newTracker(5)
	observe(tracker, failed("a"), failed("a"))
	l.take()

	tracker.SetThreshold(2)
	g.Expect(tracker.Snapshot().Degraded).To(BeTrue())
	g.Expect(l.take()).To(Equal("urgent"))
	tracker.SetThreshold(2)
	g.Expect(l.take()).To(BeEmpty())
	tracker.SetThreshold(3)
	g.Expect(tracker.Snapshot().Degraded).To(BeFalse())
	g.Expect(l.take()).To(Equal("urgent"))
}

func TestWhatIsRolledBackFails(t *testing.T) {
	g := NewWithT(t)
	tracker, _, _ := newTracker(5)
	observe(tracker, Observation{Resource: named("a"), Back: true}) // the first look of a process
	observe(tracker, Observation{Resource: named("b"), Waiting: true, Back: true})
	s := tracker.Snapshot()
	g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Failing: 2}))
	g.Expect(s.ConsecutiveFailures).To(BeZero(), "no reconcile was counted")
	observe(tracker, success("a"))
	g.Expect(tracker.Snapshot().Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Ready: 1, Failing: 1}))
}

func TestTotals(t *testing.T) {
	g := NewWithT(t)
	tracker, clk, _ := newTracker(5)
	observe(tracker, success("a"), failed("b"))
	clk.SetTime(start.Add(time.Minute))
	observe(tracker, Observation{Resource: named("a"), Ready: true})

	s := tracker.Snapshot()
	g.Expect(s.SuccessCount).To(Equal(int64(1)))
	g.Expect(s.FailureCount).To(Equal(int64(1)))
	g.Expect(s.LastReconcile).To(Equal(start), "a look that did not count changes no time")
	g.Expect(s.LastSuccess).To(Equal(start))
	g.Expect(s.LastFailure).To(Equal(&v1alpha1.Failure{
		Time:     metav1.NewTime(start),
		Resource: v1alpha1.ResourceReference{Namespace: "default", Name: "b"},
		Step:     "validation",
		Message:  "no",
	}))
	g.Expect(s.Failing).To(ConsistOf(And(HaveField("Name", "b"), HaveField("ConsecutiveFailures", int64(1)))))
}

func TestResourceCounts(t *testing.T) {
	waits := Observation{Resource: named("a"), Waiting: true, Counts: true}
	retried := failed("a")
	retried.Waiting = true
	for name, tc := range map[string]struct {
		do   func(*Tracker)
		want v1alpha1.ResourceCounts
	}{
		"nothing seen":        {func(*Tracker) {}, v1alpha1.ResourceCounts{}},
		"ready":               {func(t *Tracker) { t.Observe(success("a")) }, v1alpha1.ResourceCounts{Total: 1, Ready: 1}},
		"waiting is no error": {func(t *Tracker) { t.Observe(waits) }, v1alpha1.ResourceCounts{Total: 1, Waiting: 1}},
		"failing":             {func(t *Tracker) { t.Observe(failed("a")) }, v1alpha1.ResourceCounts{Total: 1, Failing: 1}},
		"retried":             {func(t *Tracker) { t.Observe(retried) }, v1alpha1.ResourceCounts{Total: 1, Failing: 1}},
		"a status that was not written does not hide a failure": {
			func(t *Tracker) { observe(t, failed("a"), Observation{Resource: named("a"), Ready: true}) },
			v1alpha1.ResourceCounts{Total: 1, Failing: 1},
		},
		"a look that did not count makes nothing failing": {
			func(t *Tracker) { t.Observe(Observation{Resource: named("a")}) },
			v1alpha1.ResourceCounts{Total: 1},
		},
		"succeeded, but not ready": {
			func(t *Tracker) { t.Observe(Observation{Resource: named("a"), Counts: true}) },
			v1alpha1.ResourceCounts{Total: 1, Failing: 1},
		},
		"recovered": {func(t *Tracker) { observe(t, failed("a"), success("a")) }, v1alpha1.ResourceCounts{Total: 1, Ready: 1}},
		"forgotten": {
			func(t *Tracker) {
				observe(t, failed("a"), success("b"))
				t.Forget(named("a"))
				t.Forget(named("a"))
				t.Forget(named("unknown"))
			},
			v1alpha1.ResourceCounts{Total: 1, Ready: 1},
		},
		"seeded": {
			func(t *Tracker) {
				t.Seed(named("a"), true, false, false)
				t.Seed(named("b"), false, false, true)
				t.Seed(named("c"), false, true, false)
				t.Seed(named("new"), false, false, false)
			},
			v1alpha1.ResourceCounts{Total: 4, Ready: 1, Failing: 1, Waiting: 1},
		},
		"a seed is no news after the first look": {
			func(t *Tracker) {
				t.Observe(success("a"))
				t.Seed(named("a"), false, false, true)
			},
			v1alpha1.ResourceCounts{Total: 1, Ready: 1},
		},
		"a seeded failure is over when a look finds it ready": {
			func(t *Tracker) {
				t.Seed(named("a"), false, false, true)
				t.Observe(Observation{Resource: named("a"), Ready: true})
			},
			v1alpha1.ResourceCounts{Total: 1, Ready: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tracker, _, _ := newTracker(5)
			tc.do(tracker)
			NewWithT(t).Expect(tracker.Snapshot().Resources).To(Equal(tc.want))
		})
	}
}

// A resource is counted from when it is queued: before its first reconcile it waits, behind others that take long, or in one that hangs.
func TestAResourceThatIsQueuedIsCounted(t *testing.T) {
	g := NewWithT(t)
	tracker, _, said := newTracker(5)
	tracker.Expect(named("first"))
	tracker.Expect(named("second"))
	g.Expect(said.take()).To(Equal("slow"))
	g.Expect(tracker.Snapshot().Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Waiting: 2}))
	observe(tracker, success("first"))
	said.take()
	tracker.Expect(named("first"))
	tracker.Expect(named("second"))
	g.Expect(said.take()).To(BeEmpty(), "one that is counted counts as it did")
	g.Expect(tracker.Snapshot().Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Ready: 1, Waiting: 1}))
	tracker.Left(named("first"))
	g.Expect(tracker.Snapshot().Resources.Total).To(BeEquivalentTo(2), "its next reconcile finds out")
	tracker.Left(named("second"))
	g.Expect(said.take()).To(Equal("slow"))
	g.Expect(tracker.Snapshot().Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Ready: 1}))
	tracker.Left(named("second"))
	g.Expect(said.take()).To(BeEmpty())
}

// What a former process has counted is shown until the caches have synced, whatever is queued meanwhile.
func TestWhatIsQueuedBeforeTheCachesHaveSynced(t *testing.T) {
	g := NewWithT(t)
	tracker, _, said := newTracker(5)
	tracker.Restore(v1alpha1.CRDHealthStatus{Resources: v1alpha1.ResourceCounts{Total: 7, Ready: 7}})
	tracker.Expect(named("new"))
	g.Expect(said.take()).To(BeEmpty())
	g.Expect(tracker.Snapshot().Resources.Total).To(BeEquivalentTo(7))
	tracker.Retain(func(types.NamespacedName) bool { return true })
	g.Expect(tracker.Snapshot().Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Waiting: 1}))
}

func TestNoResourcesAreHealthy(t *testing.T) {
	g := NewWithT(t)
	tracker, _, l := newTracker(2)
	g.Expect(tracker.Snapshot().Degraded).To(BeFalse())
	observe(tracker, failed("a"), failed("a"))
	l.take()

	tracker.Forget(named("a"))
	g.Expect(l.take()).To(Equal("urgent"))
	s := tracker.Snapshot()
	g.Expect(s.Degraded).To(BeFalse())
	g.Expect(s.Failing).To(BeEmpty())
	g.Expect(s.ConsecutiveFailures).To(Equal(int64(2)), "only a success sets it to zero")
}

func TestFailingList(t *testing.T) {
	g := NewWithT(t)
	tracker, clk, _ := newTracker(5)
	for i := range 12 { // r00 fails 12 times, r11 once
		clk.SetTime(start.Add(time.Duration(i) * time.Second))
		for range 12 - i {
			tracker.Observe(failed(fmt.Sprintf("r%02d", i)))
		}
	}
	s := tracker.Snapshot()
	g.Expect(listed(s)).To(Equal([]string{"r00", "r01", "r02", "r03", "r04", "r05", "r06", "r07", "r08", "r09"}))
	g.Expect(s.Failing[9]).To(Equal(v1alpha1.FailingResource{
		ResourceReference:   v1alpha1.ResourceReference{Namespace: "default", Name: "r09"},
		ConsecutiveFailures: 3,
		Step:                "validation",
		Message:             "no",
		Since:               metav1.NewTime(start.Add(9 * time.Second)),
	}))
	g.Expect(s.Resources.Failing).To(Equal(int32(12)), "all are counted")

	observe(tracker, failed("r11"), failed("r11"), failed("r11"))
	g.Expect(listed(tracker.Snapshot())).To(Equal(
		[]string{"r00", "r01", "r02", "r03", "r04", "r05", "r06", "r07", "r08", "r11"}), "it pushes the tenth out")
	tracker.Observe(success("r00"))
	tracker.Forget(named("r01"))
	g.Expect(listed(tracker.Snapshot())).To(Equal(
		[]string{"r02", "r03", "r04", "r05", "r06", "r07", "r08", "r11", "r09", "r10"}), "those that waited move up")
}

// childFailed is a cycle without error after which a child stands in the way.
func childFailed(name, message string) Observation {
	return Observation{Resource: named(name), Counts: true, Reason: v1alpha1.ReasonChildFailed, Message: message}
}

func TestWhatFailsByAChildIsListed(t *testing.T) {
	g := NewWithT(t)
	tracker, clk, l := newTracker(5)
	tracker.Observe(childFailed("a", "no room"))
	g.Expect(l.take()).To(Equal("urgent"))
	listedA := v1alpha1.FailingResource{
		ResourceReference: v1alpha1.ResourceReference{Namespace: "default", Name: "a"},
		Reason:            v1alpha1.ReasonChildFailed, Message: "no room", Since: metav1.NewTime(start),
	}
	s := tracker.Snapshot()
	g.Expect(s.Failing).To(Equal([]v1alpha1.FailingResource{listedA}))
	g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Failing: 1}))
	g.Expect(s.SuccessCount).To(Equal(int64(1)), "the reconcile has succeeded")
	g.Expect(s.ConsecutiveFailures).To(BeZero())
	g.Expect(tracker.InFailure()).To(BeEmpty())

	clk.SetTime(start.Add(time.Hour))
	tracker.Observe(childFailed("a", "no room"))
	g.Expect(l.take()).To(Equal("slow"), "it says the same")
	tracker.Observe(childFailed("a", "no money"))
	g.Expect(l.take()).To(Equal("urgent"))
	tracker.Observe(Observation{Resource: named("a"), Reason: v1alpha1.ReasonChildFailed, Message: "no money"})
	listedA.Message = "no money"
	g.Expect(tracker.Snapshot().Failing).To(Equal([]v1alpha1.FailingResource{listedA}), "a look that counts nothing knows it too")

	by := func(what string, o Observation, want ...string) {
		tracker.Observe(o)
		g.Expect(listed(tracker.Snapshot())).To(Equal(want), what)
	}
	by("reconciles that fail are worse", failed("b"), "b", "a")
	by("and it may fail itself", failed("a"), "a", "b")
	g.Expect(tracker.Snapshot().Failing[0].Since).To(Equal(listedA.Since))
	by("until they succeed", childFailed("a", "no room"), "b", "a")
	by("what is on its way does not fail", Observation{Resource: named("a"), Counts: true, Waiting: true}, "b")
	by("nor what is rolled back no more", success("b"))
	g.Expect(tracker.Snapshot().Resources.Failing).To(BeZero())
}

func TestWhatFailsByAChildMakesRoomForWorse(t *testing.T) {
	g := NewWithT(t)
	tracker, _, _ := newTracker(100)
	var want []string
	for i := range 10 {
		name := fmt.Sprintf("c%02d", i)
		tracker.Observe(childFailed(name, "no"))
		want = append(want, name)
	}
	tracker.Observe(childFailed("d", "no"))
	g.Expect(listed(tracker.Snapshot())).To(Equal(want), "no more than ten")
	tracker.Observe(failed("e"))
	g.Expect(listed(tracker.Snapshot())).To(Equal(append([]string{"e"}, want[:9]...)))
	tracker.Observe(childFailed("e", "no"))
	g.Expect(listed(tracker.Snapshot())).To(Equal(want), "it is one of many again")
	tracker.Observe(success("c00"))
	g.Expect(listed(tracker.Snapshot())).To(Equal(append(want[1:], "d")))
}

func TestWhatFailsByAChildIsKnownAfterARestart(t *testing.T) {
	g := NewWithT(t)
	tracker, _, _ := newTracker(5)
	observe(tracker, childFailed("a", "no room"), failed("b"))
	was := Status(v1alpha1.CRDHealthStatus{}, 1, Report{Phase: Running, Snapshot: tracker.Snapshot()}, start)
	again, _, _ := newTracker(5)
	again.Restore(was)
	again.Seed(named("a"), false, false, true)
	again.Seed(named("b"), false, false, true)
	again.Retain(func(types.NamespacedName) bool { return true })
	s := again.Snapshot()
	g.Expect(s.Failing).To(Equal(was.Failing))
	g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Failing: 2}))
	again.Observe(Observation{Resource: named("a"), Ready: true})
	g.Expect(listed(again.Snapshot())).To(Equal([]string{"b"}), "it was mended meanwhile")
}

func TestWhatIsRolledBackIsListed(t *testing.T) {
	g := NewWithT(t)
	tracker, _, _ := newTracker(5)
	tracker.Observe(Observation{Resource: named("a"), Back: true, Reason: v1alpha1.ReasonReconcileError, Message: "children: no room"})
	g.Expect(tracker.Snapshot().Failing).To(ConsistOf(And(HaveField("Name", "a"), HaveField("Message", "children: no room"))))
	tracker.Observe(Observation{Resource: named("a"), Counts: true, Ready: true})
	g.Expect(tracker.Snapshot().Failing).To(BeEmpty())
}

// TestTheReasonIsThatOfToday: what failed stays to be told, though nothing is counted any more.
func TestTheReasonIsThatOfToday(t *testing.T) {
	failing := func(counts bool, reason, message string) Observation {
		return Observation{Resource: named("a"), Counts: counts, Failed: true, Reason: reason, Step: "children", Message: message}
	}
	for name, tc := range map[string]struct {
		then Observation
		want v1alpha1.FailingResource
	}{
		"it fails in another way":             {failing(true, "Forbidden", "no"), v1alpha1.FailingResource{ConsecutiveFailures: 2, Reason: "Forbidden", Step: "children", Message: "no"}},
		"it is held":                          {Observation{Resource: named("a"), Back: true, Reason: "Held", Message: "children: no room"}, v1alpha1.FailingResource{ConsecutiveFailures: 1, Reason: "Held", Step: "children", Message: "no room"}},
		"a newer version has a word for it":   {failing(false, "InvalidChild", "no room"), v1alpha1.FailingResource{ConsecutiveFailures: 1, Reason: "InvalidChild", Step: "children", Message: "no room"}},
		"another failure that does not count": {failing(false, "Forbidden", "no"), v1alpha1.FailingResource{ConsecutiveFailures: 1, Reason: "ReconcileError", Step: "children", Message: "no room"}},
	} {
		t.Run(name, func(t *testing.T) {
			tracker, _, l := newTracker(5)
			tracker.Observe(failing(true, "ReconcileError", "no room"))
			l.take()
			tracker.Observe(tc.then)
			tc.want.ResourceReference, tc.want.Since = v1alpha1.ResourceReference{Namespace: "default", Name: "a"}, metav1.NewTime(start)
			NewWithT(t).Expect(tracker.Snapshot().Failing).To(Equal([]v1alpha1.FailingResource{tc.want}))
		})
	}
	tracker, _, _ := newTracker(5)
	tracker.Seed(named("a"), false, false, true)
	tracker.Observe(failing(false, "InvalidChild", "no room"))
	NewWithT(t).Expect(tracker.Snapshot().Failing).To(ConsistOf(And(HaveField("Step", "children"), HaveField("Reason", "InvalidChild"), HaveField("ConsecutiveFailures", BeZero()))),
		"one that a former process has counted, and did not list")
}

func TestFailingListTies(t *testing.T) {
	g := NewWithT(t)
	tracker, clk, _ := newTracker(5)
	clk.SetTime(start.Add(time.Second))
	observe(tracker, failed("c"), failed("b"))
	clk.SetTime(start)
	tracker.Observe(failed("z"))
	clk.SetTime(start.Add(time.Second))
	tracker.Observe(Observation{Resource: types.NamespacedName{Namespace: "aaa", Name: "y"}, Counts: true, Failed: true})
	g.Expect(listed(tracker.Snapshot())).To(Equal([]string{"z", "y", "b", "c"}))
}

func TestFailingSinceBeginsAnew(t *testing.T) {
	g := NewWithT(t)
	tracker, clk, _ := newTracker(5)
	observe(tracker, failed("a"), success("a"))
	clk.SetTime(start.Add(time.Hour))
	tracker.Observe(failed("a"))
	clk.SetTime(start.Add(2 * time.Hour))
	tracker.Observe(failed("a"))
	f := tracker.Snapshot().Failing[0]
	g.Expect(f.ConsecutiveFailures).To(Equal(int64(2)))
	g.Expect(f.Since.Time).To(Equal(start.Add(time.Hour)))
}

func TestMessageIsCut(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"short":           {"no", "no"},
		"at the limit":    {strings.Repeat("é", 256), strings.Repeat("é", 256)},
		"by characters":   {strings.Repeat("é", 300), strings.Repeat("é", 255) + "…"},
		"a long name":     {"reading ConfigMap \"" + strings.Repeat("a", 249) + "\": it is not there", "reading ConfigMap \"" + strings.Repeat("a", 40) + "…" + strings.Repeat("a", 22) + "\": it is not there"},
		"not valid UTF-8": {"a\xffb", "a\uFFFDb"},
		"an escape":       {"a\x1b[2Jb", `a\x1b[2Jb`},
		"empty":           {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tracker, _, _ := newTracker(5)
			tracker.Observe(Observation{Resource: named("a"), Counts: true, Failed: true, Message: tc.message})
			s := tracker.Snapshot()
			g.Expect(s.Failing[0].Message).To(Equal(tc.want))
			g.Expect(s.LastFailure.Message).To(Equal(tc.want))
		})
	}
}

func TestWhichChangesAreReported(t *testing.T) {
	g := NewWithT(t)
	tracker, _, l := newTracker(4)
	step := func(want string, o Observation) {
		t.Helper()
		tracker.Observe(o)
		g.Expect(l.take()).To(Equal(want))
	}
	step("slow", success("a"))
	step("slow", success("a"))
	step("", Observation{Resource: named("a"), Ready: true})
	step("slow", Observation{Resource: named("a"), Waiting: true}) // the counts change
	step("urgent", failed("a"))                                    // a new entry
	step("slow", failed("a"))                                      // only its count changes
	other := failed("a")
	other.Message = "other"
	step("urgent", other) // another message
	step("urgent", other) // Degraded
	step("slow", other)
	step("urgent", success("b")) // no longer Degraded
	step("urgent", success("a")) // no longer listed
	step("slow", success("a"))
	step("urgent", failed("a")) // nobody has read the list in between
}

func TestWhichChangesOfAFullListAreReported(t *testing.T) {
	g := NewWithT(t)
	tracker, _, l := newTracker(1)
	for i := range 10 {
		name := fmt.Sprintf("r%02d", i)
		observe(tracker, failed(name), failed(name))
	}
	l.take()
	tracker.Observe(failed("x"))
	g.Expect(l.take()).To(Equal("slow"), "an eleventh is only counted")
	tracker.Observe(failed("x"))
	g.Expect(l.take()).To(Equal("slow"))
	tracker.Observe(failed("x"))
	g.Expect(l.take()).To(Equal("urgent"), "until it is among the ten worst")
	tracker.Observe(failed("r00"))
	l.take()
	tracker.Observe(success("r00"))
	g.Expect(l.take()).To(Equal("urgent"))
	g.Expect(listed(tracker.Snapshot())).To(HaveLen(10))
}

func TestRestartNeverHeals(t *testing.T) {
	g := NewWithT(t)
	before, clk, _ := newTracker(3)
	before.Observe(Observation{Resource: named("ok"), Ready: true, Counts: true, Revision: "rev-1"})
	observe(before, failed("a"), failed("a"), failed("b"))
	old := Status(v1alpha1.CRDHealthStatus{}, 1, Report{
		Phase: Running, Snapshot: before.Snapshot(), FailureThreshold: 3, Revision: "rev-1",
	}, start)
	old.LastKnownGood = &v1alpha1.KnownGood{Revision: "rev-1", Time: metav1.NewTime(start)}

	clk.SetTime(start.Add(time.Hour))
	l := &listener{}
	after := NewTracker(clk, 3, l.changed)
	after.Restore(old)
	g.Expect(after.Snapshot()).To(Equal(before.Snapshot()), "nothing is lost, and nothing counts from zero")

	after.Seed(named("a"), false, false, true)
	after.Seed(named("b"), true, false, false) // its status could not be written
	after.Seed(named("ok"), true, false, false)
	g.Expect(l.take()).To(BeEmpty(), "what is shown has not changed")
	after.Retain(func(types.NamespacedName) bool { return true })
	s := after.Snapshot()
	g.Expect(s.Degraded).To(BeTrue())
	g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 3, Ready: 1, Failing: 2}))
	g.Expect(s.Failing[0]).To(And(HaveField("Name", "a"), HaveField("ConsecutiveFailures", int64(2))))

	after.Observe(failed("a"))
	s = after.Snapshot()
	g.Expect(s.ConsecutiveFailures).To(Equal(int64(4)))
	g.Expect(s.FailureCount).To(Equal(int64(4)))
	g.Expect(s.Failing[0].ConsecutiveFailures).To(Equal(int64(3)))
	g.Expect(s.Failing[0].Since.Time).To(Equal(start))
	after.Observe(success("b"))
	g.Expect(after.Snapshot().Degraded).To(BeFalse())
}

func TestRetain(t *testing.T) {
	g := NewWithT(t)
	tracker, _, l := newTracker(1)
	tracker.Restore(v1alpha1.CRDHealthStatus{
		ConsecutiveFailures: 4,
		Failing: []v1alpha1.FailingResource{
			{ResourceReference: v1alpha1.ResourceReference{Namespace: "default", Name: "gone"}, ConsecutiveFailures: 3},
			{ResourceReference: v1alpha1.ResourceReference{Namespace: "default", Name: "kept"}, ConsecutiveFailures: 1},
		},
	})
	g.Expect(tracker.Snapshot().Degraded).To(BeTrue())
	tracker.Retain(func(name types.NamespacedName) bool {
		tracker.Snapshot() // keep may ask the tracker
		return name.Name == "kept"
	})
	g.Expect(l.take()).To(Equal("urgent"))
	s := tracker.Snapshot()
	g.Expect(listed(s)).To(Equal([]string{"kept"}))
	g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Failing: 1}))
	g.Expect(s.Degraded).To(BeTrue())

	tracker.Retain(func(types.NamespacedName) bool { return false })
	g.Expect(tracker.Snapshot().Degraded).To(BeFalse(), "a started box without resources is Healthy")
}

func TestRestoreOfNonsense(t *testing.T) {
	g := NewWithT(t)
	tracker, _, l := newTracker(2)
	twice := v1alpha1.FailingResource{ResourceReference: v1alpha1.ResourceReference{Name: "a"}, ConsecutiveFailures: 2}
	tracker.Restore(v1alpha1.CRDHealthStatus{
		ConsecutiveFailures: -1, SuccessCount: -2, FailureCount: -3,
		Failing: []v1alpha1.FailingResource{
			twice, twice,
			{ConsecutiveFailures: 7},
			{ResourceReference: v1alpha1.ResourceReference{Name: "b"}, ConsecutiveFailures: -1},
		},
	})
	s := tracker.Snapshot()
	g.Expect([]int64{s.ConsecutiveFailures, s.SuccessCount, s.FailureCount}).To(Equal([]int64{0, 0, 0}))
	g.Expect(listed(s)).To(Equal([]string{"a"}))
	tracker.Retain(func(types.NamespacedName) bool { return true })
	g.Expect(tracker.Snapshot().Resources.Total).To(Equal(int32(1)))

	tracker.Observe(Observation{Resource: types.NamespacedName{Name: "a"}, Ready: true, Counts: true})
	l.take()
	tracker.Observe(failed("new"))
	g.Expect(l.take()).To(Equal("urgent"), "nobody waits for a place in the list")
}

func TestSnapshotIsACopy(t *testing.T) {
	g := NewWithT(t)
	tracker, _, _ := newTracker(5)
	tracker.Observe(failed("a"))
	s := tracker.Snapshot()
	s.Failing[0].Message, s.LastFailure.Message = "changed", "changed"
	g.Expect(tracker.Snapshot().Failing[0].Message).To(Equal("no"))
	g.Expect(tracker.Snapshot().LastFailure.Message).To(Equal("no"))
}

// TestConcurrent is for the race detector. What it counts in the end does not depend on the order either.
func TestConcurrent(t *testing.T) {
	g := NewWithT(t)
	const workers, each = 8, 200
	var tracker *Tracker
	var reported atomic.Int64
	tracker = NewTracker(clocktesting.NewFakePassiveClock(start), 5, func(bool) {
		reported.Add(1)
		tracker.Snapshot() // called outside the lock, so it may ask
	})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("r%d", (w*each+i)%40)
				observe(tracker, failed(name), success(name))
				tracker.Seed(named(name), true, false, false)
				tracker.Snapshot()
				tracker.SetThreshold(int32(i%3 + 1))
			}
		})
	}
	wg.Wait()
	for i := range 40 {
		tracker.Observe(success(fmt.Sprintf("r%d", i)))
	}
	s := tracker.Snapshot()
	g.Expect(s.FailureCount).To(Equal(int64(workers * each)))
	g.Expect(s.SuccessCount).To(Equal(int64(workers*each + 40)))
	g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 40, Ready: 40}))
	g.Expect(s.Failing).To(BeEmpty())
	g.Expect(reported.Load()).To(BeNumerically(">=", 2*workers*each))
}

// TestListUnderLoad compares the list, kept up piece by piece, with one made from all resources.
func TestListUnderLoad(t *testing.T) {
	g := NewWithT(t)
	tracker, clk, _ := newTracker(5)
	seed := uint32(1)
	next := func(n uint32) uint32 { seed = seed*1664525 + 1013904223; return (seed >> 8) % n }
	for i := range 5000 {
		clk.SetTime(start.Add(time.Duration(i) * time.Millisecond))
		name := fmt.Sprintf("r%02d", next(30))
		switch next(10) {
		case 0:
			tracker.Observe(success(name))
		case 1:
			tracker.Forget(named(name))
		default:
			tracker.Observe(failed(name))
		}
		if next(4) == 0 {
			var want []*resource
			for _, r := range tracker.resources {
				if r.failures > 0 {
					want = append(want, r)
				}
			}
			slices.SortFunc(want, worse)
			var names []string
			for _, r := range want[:min(len(want), maxFailing)] {
				names = append(names, r.name.Name)
			}
			g.Expect(listed(tracker.Snapshot())).To(Equal(names))
		}
	}
}
