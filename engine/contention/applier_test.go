package contention

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// contested is one child that somebody else keeps changing, with a clock of its own.
type contested struct {
	stage.Applier

	g        *WithT
	now      time.Time
	version  int
	drifted  bool
	absent   bool
	going    bool
	content  string
	fields   []string
	other    string
	resource *unstructured.Unstructured
	guard    Guard
	fixes    []time.Time
	next     time.Time // when the last cycle asked for another; zero: it did not
}

func newContested(t *testing.T) *contested {
	t.Helper()
	resource := &unstructured.Unstructured{Object: map[string]any{}}
	resource.SetGeneration(1)
	resource.SetNamespace("team")
	return &contested{g: NewWithT(t), now: time.Unix(0, 0), resource: resource, content: "ours", other: "other", fields: []string{"data.a"}}
}

func (a *contested) child(version int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": a.content}}}
	obj.SetNamespace("team")
	obj.SetName("c")
	obj.SetResourceVersion(strconv.Itoa(version))
	if a.going {
		obj.SetDeletionTimestamp(new(metav1.Unix(0, 0)))
	}
	return obj
}

// Apply implements pipeline.Applier.
func (a *contested) Apply(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) {
	if !a.drifted {
		return apply.Outcome{Action: apply.None, Object: a.child(a.version)}, nil
	}
	a.drifted = false
	a.version++
	a.fixes = append(a.fixes, a.now)
	return apply.Outcome{Action: apply.Corrected, Object: a.child(a.version), Drift: a.drift()}, nil
}

// Get implements Cache.
func (a *contested) Get(schema.GroupVersionKind, string, string) (*unstructured.Unstructured, bool) {
	return a.child(a.version), !a.absent
}

func (a *contested) drift() []apply.Correction {
	var out []apply.Correction
	for _, f := range a.fields {
		out = append(out, apply.Correction{Difference: drift.Difference{Path: f}, SetBy: a.other})
	}
	return out
}

// interfere is a change by the other manager.
func (a *contested) interfere() {
	a.version++
	a.drifted = true
}

// cycle is one reconcile, and gives what the resource says of the child.
func (a *contested) cycle(resync time.Duration) string {
	a.guard.Begin(a.resource, a.now)
	applier := a.guard.Applier(a, a, a.resource, a.now, resync)
	out, err := applier.Apply(context.Background(), apply.Owner{}, apply.Child{Object: a.child(0)})
	a.g.Expect(err).NotTo(HaveOccurred())
	a.next = out.ReconcileAt
	a.g.Expect(a.next.IsZero()).To(Equal(out.Contention == ""))
	return out.Contention
}

// until lets time pass, with the reconciles that were asked for, and a change by the other manager in every interval; 0: none. It gives what the
// last one said.
func (a *contested) until(end time.Time, interval, resync time.Duration) (last string) {
	change := end.Add(time.Hour)
	if interval > 0 {
		change = a.now.Add(interval)
	}
	for {
		now := change
		if a.next.After(a.now) && a.next.Before(now) {
			now = a.next
		}
		if now.After(end) {
			a.now = end
			return last
		}
		a.now = now
		if now.Equal(change) {
			a.interfere()
			change = change.Add(interval)
		}
		last = a.cycle(resync)
	}
}

const contestedMessage = `ConfigMap "c": manager "other" keeps changing data.a, so that it is corrected less often: only one of the two may set it`

func TestAManagerThatKeepsWritingIsCorrectedLessOften(t *testing.T) {
	// They end soon after a correction, in the middle of a pause, and shortly before its end.
	for _, lasts := range []time.Duration{8 * time.Second, 12 * time.Second, 15 * time.Second, 25 * time.Second} {
		t.Run(lasts.String(), func(t *testing.T) {
			a := newContested(t)
			const interval = time.Second / 43
			a.interfere()
			a.cycle(time.Minute)
			a.g.Expect(a.until(a.now.Add(lasts), interval, time.Minute)).To(Equal(contestedMessage))
			a.g.Expect(len(a.fixes)).To(BeNumerically("<=", 60), "of 43 a second")
			a.g.Expect(len(a.fixes)).To(BeNumerically(">", maxCorrections))
			ended := a.now
			a.until(ended.Add(earlyPause), 0, time.Minute)
			a.g.Expect(a.drifted).To(BeFalse(), "put right")
			a.g.Expect(a.until(ended.Add(earlyPause+calm), 0, time.Minute)).To(BeEmpty(), "and over")
		})
	}
}

func TestPausesGrowUpToResync(t *testing.T) {
	a := newContested(t)
	a.interfere()
	a.cycle(10 * time.Second)
	a.until(a.now.Add(5*time.Minute), 20*time.Millisecond, 10*time.Second)
	var pauses []time.Duration
	for i := maxCorrections; i < len(a.fixes); i++ {
		pauses = append(pauses, a.fixes[i].Sub(a.fixes[i-1]).Round(time.Second))
	}
	a.g.Expect(pauses[:3]).To(Equal([]time.Duration{time.Second, 2 * time.Second, 2 * time.Second}), "they stay short at first")
	a.g.Expect(slices.Compact(slices.Clone(pauses))).To(Equal([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second}))
	a.g.Expect(slices.Index(pauses, 4*time.Second)).To(BeNumerically("~", 30, 1), "for a minute")
}

func TestNoPauseIsLongerThanResync(t *testing.T) {
	a := newContested(t)
	const resync = 500 * time.Millisecond
	a.interfere()
	a.cycle(resync)
	a.until(a.now.Add(5*time.Minute), 20*time.Millisecond, resync)
	for i := maxCorrections; i < len(a.fixes); i++ {
		a.g.Expect(a.fixes[i].Sub(a.fixes[i-1]).Round(100*time.Millisecond)).To(Equal(firstPause), "but the first pause")
	}
}

// Two operators that correct each other: each is quiet until the other one has written.
func TestTwoOperatorsThatCorrectEachOtherSlowDown(t *testing.T) {
	a := newContested(t)
	for len(a.fixes) < maxCorrections {
		a.interfere()
		a.cycle(time.Minute)
		a.now = a.now.Add(time.Millisecond)
	}
	began := a.now
	for a.now.Before(began.Add(10 * time.Minute)) {
		if !a.drifted {
			a.now = a.now.Add(time.Millisecond)
			a.interfere()
		}
		message := a.cycle(time.Minute)
		if a.drifted {
			a.g.Expect(message).To(Equal(contestedMessage))
			a.now = a.next
		} else {
			a.g.Expect(message).To(BeElementOf("", contestedMessage), "the same message all the time")
		}
	}
	a.g.Expect(len(a.fixes)).To(BeNumerically("~", maxCorrections+30+12, 3), "every 2 s for a minute, then twice as rare each time, up to once a minute")
}

func TestTenCorrectionsAMinuteAreNotThrottled(t *testing.T) {
	a := newContested(t)
	for range 100 {
		a.interfere()
		a.g.Expect(a.cycle(time.Minute)).To(BeEmpty())
		a.g.Expect(a.drifted).To(BeFalse())
		a.now = a.now.Add(correctionWindow/maxCorrections + correctionWindow/(maxCorrections*maxCorrections))
	}
	a.now = a.now.Add(2 * correctionWindow)
	a.cycle(time.Minute)
	a.g.Expect(a.guard.children).To(BeEmpty(), "nothing is remembered")
}

// throttledChild gives a contested child that is not corrected at this moment.
func throttledChild(t *testing.T) *contested {
	t.Helper()
	a := newContested(t)
	for range maxCorrections + 1 {
		a.interfere()
		a.cycle(time.Minute)
		a.now = a.now.Add(time.Millisecond)
	}
	a.g.Expect(a.drifted).To(BeTrue())
	return a
}

func TestWhatEndsAPauseAtOnce(t *testing.T) {
	for name, change := range map[string]func(a *contested){
		"an edit of the resource": func(a *contested) { a.resource.SetGeneration(2) },
		"reconcile-at": func(a *contested) {
			a.resource.SetAnnotations(map[string]string{v1alpha1.AnnotationReconcileAt: "now"})
		},
		"other content":        func(a *contested) { a.content = "new" },
		"a child that is gone": func(a *contested) { a.absent = true },
		"one that is going":    func(a *contested) { a.going = true },
	} {
		t.Run(name, func(t *testing.T) {
			a := throttledChild(t)
			a.g.Expect(a.cycle(time.Minute)).NotTo(BeEmpty())
			change(a)
			a.cycle(time.Minute)
			a.g.Expect(a.drifted).To(BeFalse())
		})
	}
}

// TestEachContentionIsToldOnce: when it begins, and not while it goes on.
func TestEachContentionIsToldOnce(t *testing.T) {
	a := newContested(t)
	a.interfere()
	a.cycle(time.Minute)
	a.g.Expect(a.guard.Begun()).To(BeZero(), "one correction is none")
	a.until(a.now.Add(5*time.Second), time.Second/43, time.Minute)
	a.g.Expect(a.guard.Begun()).To(Equal(1))
	a.until(a.now.Add(5*time.Second), time.Second/43, time.Minute)
	a.g.Expect(a.guard.Begun()).To(BeZero())
}

// A manager that writes more rarely than the first pause lasts is not held back by it; the contention is counted nevertheless.
func TestAContentionThatTheFirstPauseDoesNotHoldBackIsCounted(t *testing.T) {
	a := newContested(t)
	a.until(a.now.Add(40*time.Second), 3*time.Second, time.Hour)
	a.g.Expect(len(a.fixes)).To(BeNumerically(">", maxCorrections))
	a.g.Expect(a.guard.Begun()).To(Equal(1))
}

func TestAnUnknownManagerIsSomebodyElse(t *testing.T) {
	const unknown = `ConfigMap "c": somebody else keeps changing data.a, so that it is corrected less often: only one of the two may set it`
	a := newContested(t)
	a.other = ""
	a.interfere()
	a.cycle(time.Minute)
	a.g.Expect(a.until(a.now.Add(10*time.Second), 20*time.Millisecond, time.Minute)).To(Equal(unknown))
	a.other, a.fields = "other", []string{"data.b", "data.a"}
	a.until(a.now.Add(10*time.Second), 20*time.Millisecond, time.Minute)
	a.fields = []string{"data.a"}
	a.g.Expect(a.until(a.now.Add(10*time.Second), 20*time.Millisecond, time.Minute)).To(Equal(contestedMessage), "it is named when it does")
}

func TestRemovedLabelsAreCorrectedLessOften(t *testing.T) {
	a := newContested(t)
	a.fields, a.absent, a.other = []string{apply.LabelsPath}, true, ""
	a.interfere()
	a.cycle(time.Minute)
	a.g.Expect(a.until(a.now.Add(10*time.Second), 20*time.Millisecond, time.Minute)).
		To(ContainSubstring("keeps changing metadata.labels"))
	a.g.Expect(len(a.fixes)).To(BeNumerically("<", 2*maxCorrections))
}

func TestADeletionIsNotThrottled(t *testing.T) {
	a := newContested(t)
	var g Guard
	a.resource.SetDeletionTimestamp(new(metav1.Unix(0, 0)))
	a.g.Expect(g.Applier(a, a, a.resource, a.now, time.Minute)).To(BeIdenticalTo(a))
}
