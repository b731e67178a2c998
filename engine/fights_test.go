package engine

import (
	"context"
	"errors"
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
	"github.com/orkspace/orkestra/engine/pipeline"
)

// arena is one child that somebody else keeps changing, with a clock of its own.
type arena struct {
	pipeline.Applier

	g        *WithT
	now      time.Time
	version  int
	drifted  bool
	absent   bool
	going    bool
	content  string
	fields   []string
	foe      string
	lost     error // the API server's answer to who it is
	asked    int
	resource *unstructured.Unstructured
	brake    brake
	fixes    []time.Time
	run      *pipeline.Run
}

func newArena(t *testing.T) *arena {
	t.Helper()
	resource := &unstructured.Unstructured{Object: map[string]any{}}
	resource.SetGeneration(1)
	resource.SetNamespace("team")
	return &arena{g: NewWithT(t), now: time.Unix(0, 0), resource: resource, content: "ours", foe: "foe", fields: []string{"data.a"}}
}

func (a *arena) child(version int) *unstructured.Unstructured {
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
func (a *arena) Apply(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) {
	if !a.drifted {
		return apply.Outcome{Action: apply.None, Object: a.child(a.version)}, nil
	}
	a.drifted = false
	a.version++
	a.fixes = append(a.fixes, a.now)
	return apply.Outcome{Action: apply.Corrected, Object: a.child(a.version), Drift: a.drift()}, nil
}

// Get implements reader.
func (a *arena) Get(schema.GroupVersionKind, string, string) (*unstructured.Unstructured, bool) {
	return a.child(a.version), !a.absent
}

func (a *arena) drift() []apply.Correction {
	var out []apply.Correction
	for _, f := range a.fields {
		out = append(out, apply.Correction{Difference: drift.Difference{Path: f}})
	}
	return out
}

// Foe implements foes.
func (a *arena) Foe(context.Context, *unstructured.Unstructured, []string) (manager, field string, err error) {
	a.asked++
	return a.foe, a.fields[0], a.lost
}

// attack is a change by the foe.
func (a *arena) attack() {
	a.version++
	a.drifted = true
}

// cycle is one look, unless nothing asks for one, and gives the waits.
func (a *arena) cycle(resync time.Duration) []pipeline.Wait {
	a.brake.renew(a.resource)
	a.run = (&pipeline.Plan{}).NewRun(a.resource, a.now, pipeline.Ports{})
	p := patient{Applier: a, foes: a, children: a, fights: &a.brake.fights, now: a.now, resync: resync}
	_, err := p.Apply(context.Background(), apply.Owner{}, apply.Child{Object: a.child(0)})
	a.g.Expect(err).NotTo(HaveOccurred())
	a.brake.note(a.run, resync)
	return a.run.Waits
}

// until lets time pass, with the looks that were asked for, and a change by the foe in every interval; 0: none.
func (a *arena) until(end time.Time, interval, resync time.Duration) (last []pipeline.Wait) {
	next := end.Add(time.Hour)
	if interval > 0 {
		next = a.now.Add(interval)
	}
	for {
		look := next
		if expires := a.run.Inputs.Expires(); !expires.IsZero() && expires.After(a.now) {
			look = earlier(look, expires)
		}
		if look.After(end) {
			a.now = end
			return last
		}
		a.now = look
		if look.Equal(next) {
			a.attack()
			next = next.Add(interval)
		}
		last = a.cycle(resync)
	}
}

const told = `ConfigMap "c": manager "foe" keeps changing data.a, so that it is corrected less often: only one of the two may set it`

func TestAFoeThatNeverRests(t *testing.T) {
	// They end soon after a correction, in the middle of a pause, and shortly before its end.
	for _, lasts := range []time.Duration{8 * time.Second, 12 * time.Second, 15 * time.Second, 25 * time.Second} {
		t.Run(lasts.String(), func(t *testing.T) {
			a := newArena(t)
			const interval = time.Second / 43
			a.attack()
			a.cycle(time.Minute)
			waits := a.until(a.now.Add(lasts), interval, time.Minute)
			a.g.Expect(waits).To(ConsistOf(pipeline.Wait{Reason: v1alpha1.ReasonFighting, Message: told}))
			a.g.Expect(len(a.fixes)).To(BeNumerically("<=", 60), "of 43 a second")
			a.g.Expect(len(a.fixes)).To(BeNumerically(">", maxCorrections))
			a.g.Expect(a.asked).To(Equal(1))
			waits = a.until(a.now.Add(2*time.Second), 0, time.Minute)
			a.g.Expect(a.drifted).To(BeFalse(), "put right")
			a.g.Expect(waits).To(BeEmpty(), "and over")
		})
	}
}

func TestPausesGrowUpToResync(t *testing.T) {
	a := newArena(t)
	a.attack()
	a.cycle(10 * time.Second)
	a.until(a.now.Add(5*time.Minute), 20*time.Millisecond, 10*time.Second)
	var pauses []time.Duration
	for i := maxCorrections; i < len(a.fixes) && i < maxCorrections+6; i++ {
		pauses = append(pauses, a.fixes[i].Sub(a.fixes[i-1]).Round(time.Second))
	}
	a.g.Expect(pauses).To(Equal([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}))
}

// Two operators that correct each other: each is quiet until the other one has written.
func TestAFoeThatAnswers(t *testing.T) {
	a := newArena(t)
	for len(a.fixes) < maxCorrections {
		a.attack()
		a.cycle(time.Minute)
		a.now = a.now.Add(time.Millisecond)
	}
	began := a.now
	for a.now.Before(began.Add(10 * time.Minute)) {
		if !a.drifted {
			a.now = a.now.Add(time.Millisecond)
			a.attack()
		}
		a.cycle(time.Minute)
		if a.drifted {
			a.g.Expect(a.run.Waits).To(ConsistOf(HaveField("Message", told)))
			a.now = a.run.Inputs.Expires()
		} else {
			a.g.Expect(a.run.Waits).To(Or(BeEmpty(), ConsistOf(HaveField("Message", told))), "the same message all the time")
		}
	}
	a.g.Expect(len(a.fixes)).To(BeNumerically("~", maxCorrections+15, 3), "twice as rare each time, up to once a minute")
}

func TestTenCorrectionsAMinuteAreNoFight(t *testing.T) {
	a := newArena(t)
	for range 100 {
		a.attack()
		a.g.Expect(a.cycle(time.Minute)).To(BeEmpty())
		a.g.Expect(a.drifted).To(BeFalse())
		a.now = a.now.Add(correctionWindow/maxCorrections + correctionWindow/(maxCorrections*maxCorrections))
	}
	a.now = a.now.Add(2 * correctionWindow)
	a.cycle(time.Minute)
	a.g.Expect(a.brake.fights.all).To(BeEmpty(), "nothing is remembered")
}

// fighting gives an arena whose child is left alone at this moment.
func fighting(t *testing.T) *arena {
	t.Helper()
	a := newArena(t)
	for range maxCorrections + 1 {
		a.attack()
		a.cycle(time.Minute)
		a.now = a.now.Add(time.Millisecond)
	}
	a.g.Expect(a.drifted).To(BeTrue())
	return a
}

func TestWhatEndsAPauseAtOnce(t *testing.T) {
	for name, change := range map[string]func(a *arena){
		"an edit of the resource": func(a *arena) { a.resource.SetGeneration(2) },
		"reconcile-at":            func(a *arena) { a.resource.SetAnnotations(map[string]string{v1alpha1.AnnotationReconcileAt: "now"}) },
		"other content":           func(a *arena) { a.content = "new" },
		"a child that is gone":    func(a *arena) { a.absent = true },
		"one that is going":       func(a *arena) { a.going = true },
	} {
		t.Run(name, func(t *testing.T) {
			a := fighting(t)
			a.g.Expect(a.cycle(time.Minute)).NotTo(BeEmpty())
			change(a)
			a.cycle(time.Minute)
			a.g.Expect(a.drifted).To(BeFalse())
		})
	}
}

func TestAFoeThatNobodyKnows(t *testing.T) {
	const unknown = `ConfigMap "c": somebody else keeps changing data.a, so that it is corrected less often: only one of the two may set it`
	for name, change := range map[string]func(a *arena){
		"left no trace": func(a *arena) { a.foe = "" },
		"nobody could be asked": func(a *arena) {
			a.foe, a.lost = "", errors.New("away")
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArena(t)
			change(a)
			a.attack()
			a.cycle(time.Minute)
			a.g.Expect(a.until(a.now.Add(10*time.Second), 20*time.Millisecond, time.Minute)).To(ConsistOf(HaveField("Message", unknown)))
			a.g.Expect(a.asked).To(And(BeNumerically(">", 1), BeNumerically("<=", 5)), "once per pause")
		})
	}
}

func TestSomebodyTakesOurLabelsOff(t *testing.T) {
	a := newArena(t)
	a.fields, a.absent, a.foe = []string{apply.LabelsPath}, true, ""
	a.attack()
	a.cycle(time.Minute)
	a.g.Expect(a.until(a.now.Add(10*time.Second), 20*time.Millisecond, time.Minute)).
		To(ConsistOf(HaveField("Message", ContainSubstring("keeps changing metadata.labels"))))
	a.g.Expect(len(a.fixes)).To(BeNumerically("<", 2*maxCorrections))
}

func TestADeletionIsNotSlowedDown(t *testing.T) {
	g := NewWithT(t)
	b := &box{writer: &apply.Writer{}, engine: &Engine{}}
	resource := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}}}
	g.Expect(b.patience(resource, &state{}, time.Time{}, time.Minute)).To(BeIdenticalTo(b.writer))
	g.Expect(b.patience(&unstructured.Unstructured{Object: map[string]any{}}, &state{}, time.Time{}, time.Minute)).To(BeAssignableToTypeOf(patient{}))
}
