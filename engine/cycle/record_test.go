package cycle

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
)

func TestMerged(t *testing.T) {
	long := strings.Repeat("é", maxNote)
	one, other := corev1.ObjectReference{Name: "one"}, corev1.ObjectReference{Name: "other"}
	cases := map[string]struct{ in, want []pipeline.Event }{
		"none": {nil, nil},
		"one reason": {
			[]pipeline.Event{{Reason: "A", Message: "x"}, {Reason: "B", Message: "z"}, {Reason: "A", Message: "y"}},
			[]pipeline.Event{{Reason: "A", Message: "x; y"}, {Reason: "B", Message: "z"}},
		},
		"a warning is another event": {
			[]pipeline.Event{{Reason: "A", Message: "x"}, {Reason: "A", Message: "y", Warning: true}},
			[]pipeline.Event{{Reason: "A", Message: "x"}, {Reason: "A", Message: "y", Warning: true}},
		},
		"one other object that it is about": {
			[]pipeline.Event{{Reason: "A", Message: "x", Related: one}, {Reason: "B", Message: "y", Related: one}, {Reason: "B", Message: "z", Related: one}},
			[]pipeline.Event{{Reason: "A", Message: "x", Related: one}, {Reason: "B", Message: "y; z", Related: one}},
		},
		"several others": {
			[]pipeline.Event{{Reason: "A", Message: "x", Related: one}, {Reason: "A", Message: "y", Related: other}},
			[]pipeline.Event{{Reason: "A", Message: "x; y"}},
		},
		"as long as may be": {
			[]pipeline.Event{{Reason: "A", Message: strings.Repeat("x", maxNote)}},
			[]pipeline.Event{{Reason: "A", Message: strings.Repeat("x", maxNote)}},
		},
		"what a terminal would obey": {
			[]pipeline.Event{{Reason: "A", Message: "a\x1b[2Jb"}}, []pipeline.Event{{Reason: "A", Message: `a\x1b[2Jb`}},
		},
		"too long": {
			[]pipeline.Event{{Reason: "A", Message: long}},
			[]pipeline.Event{{Reason: "A", Message: strings.Repeat("é", (maxNote-3)/2) + "…"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := merged(tc.in)
			g.Expect(got).To(Equal(tc.want))
			for _, e := range got {
				g.Expect(len(e.Message)).To(BeNumerically("<=", maxNote))
				g.Expect(utf8.ValidString(e.Message)).To(BeTrue())
			}
		})
	}
}

func TestMergedLeavesWhatItIsGiven(t *testing.T) {
	g := NewWithT(t)
	in := []pipeline.Event{{Reason: "A", Message: "x"}, {Reason: "A", Message: "y"}}
	merged(in)
	g.Expect(in[0].Message).To(Equal("x"))
}

// A child that has failed is told once: what else is on its way beside it comes and goes.
func TestAChildThatFailedIsToldOnce(t *testing.T) {
	failed := func(message string) metav1.Condition { return status.NotReady(v1alpha1.ReasonChildFailed, message) }
	for name, tc := range map[string]struct {
		before, after metav1.Condition
		want          string
	}{
		"one":                          {status.Succeeded(), failed("a failed"), "a failed"},
		"the same":                     {failed("a failed"), failed("a failed"), ""},
		"the same, and another waits":  {failed("a failed"), failed("a failed (and 1 more)"), ""},
		"the same, and others settled": {failed("a failed (and 3 more)"), failed("a failed (and 1 more)"), ""},
		"another":                      {failed("a failed (and 1 more)"), failed("b failed (and 1 more)"), "b failed (and 1 more)"},
		"after an error":               {status.Failed("a failed"), failed("a failed (and 1 more)"), "a failed (and 1 more)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Record{Run: &pipeline.Run{Cycle: &children.Cycle{Cycle: &stage.Cycle{}}}, Plan: &pipeline.Plan{}}
			r.Run.Stored = &unstructured.Unstructured{Object: map[string]any{}}
			r.Status.Before, r.Status.After.Ready = tc.before, tc.after
			g := NewWithT(t)
			a, ok := r.transition("box")
			g.Expect(ok).To(Equal(tc.want != ""))
			if ok {
				g.Expect(a.note).To(Equal(tc.want))
				g.Expect(a.warning).To(BeTrue())
				g.Expect(a.reason).To(Equal(v1alpha1.ReasonChildFailed))
			}
		})
	}
}

// TestHealthIsToldTheSortOfError: that a reconcile has failed is known without a reason.
func TestHealthIsToldTheSortOfError(t *testing.T) {
	failed := &pipeline.StepError{Step: "onReconcile", Class: pipeline.Permanent, Reason: v1alpha1.ReasonTemplateError, Err: errors.New("no")}
	stalled := func(reason string) status.Result {
		return status.Result{Ready: status.Failed("onReconcile: no"), Stalled: status.StalledBy(reason, "no")}
	}
	childFailed := status.Result{Ready: status.NotReady(v1alpha1.ReasonChildFailed, "no"), Stalled: status.StalledBy(v1alpha1.ReasonChildFailed, "no")}
	passing := &pipeline.StepError{Step: "onReconcile", Class: pipeline.Transient, Err: errors.New("no")}
	unwritten := &pipeline.StepError{Step: "status", Class: pipeline.Permission, Reason: v1alpha1.ReasonForbidden, Err: errors.New("no")}
	for want, change := range map[string]func(*Record){
		v1alpha1.ReasonTemplateError: func(r *Record) { r.Err, r.Status.After = failed, stalled(v1alpha1.ReasonTemplateError) },
		v1alpha1.ReasonReconcileError: func(r *Record) {
			r.Err, r.Status.After = passing, status.Result{Ready: status.Failed("no"), Stalled: status.NotStalled()}
		},
		v1alpha1.ReasonForbidden: func(r *Record) {
			r.Status.Failure, r.Status.After = unwritten, status.Result{Ready: status.Succeeded()}
		},
		v1alpha1.ReasonChildFailed: func(r *Record) { r.Status.After = childFailed },
		v1alpha1.ReasonHeld:        func(r *Record) { r.Back, r.Status.After = &Back{}, stalled(v1alpha1.ReasonHeld) },
	} {
		t.Run(want, func(t *testing.T) {
			r := &Record{Run: &pipeline.Run{Cycle: &children.Cycle{Cycle: &stage.Cycle{}}}, Plan: &pipeline.Plan{}}
			change(r)
			o, ok := r.observation()
			g := NewWithT(t)
			g.Expect(ok).To(BeTrue())
			g.Expect(o.Reason).To(Equal(want))
		})
	}
}

func TestResultOf(t *testing.T) {
	g := NewWithT(t)
	g.Expect((&Record{}).result()).To(BeEmpty(), "nothing ran")
	g.Expect((&Record{Decision: Decision{Action: Skip}}).result()).To(Equal(metrics.ResultSkipped))
	g.Expect((&Record{Run: &pipeline.Run{Cycle: &children.Cycle{Cycle: &stage.Cycle{}}}}).result()).To(Equal(metrics.ResultSuccess))
	waits := &pipeline.Run{Cycle: &children.Cycle{Cycle: &stage.Cycle{Report: stage.Report{Waits: []stage.Wait{{}}}}}}
	g.Expect((&Record{Run: waits}).result()).To(Equal(metrics.ResultWaiting))
	g.Expect((&Record{Run: waits, Class: pipeline.Refused}).result()).To(Equal("refused"))
}

func TestMarkedAndPaused(t *testing.T) {
	g := NewWithT(t)
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	plan := &pipeline.Plan{}
	g.Expect(plan.Holds(obj)).To(BeFalse())
	g.Expect(paused(obj)).To(BeFalse())
	obj.SetFinalizers([]string{"a/b", v1alpha1.Finalizer})
	obj.SetAnnotations(map[string]string{v1alpha1.AnnotationPaused: "true"})
	g.Expect(plan.Holds(obj)).To(BeTrue())
	g.Expect(paused(obj)).To(BeTrue())
	obj.SetDeletionTimestamp(new(metav1.Now()))
	g.Expect(paused(obj)).To(BeFalse(), "a pause holds no deletion back")
	obj.SetAnnotations(map[string]string{v1alpha1.AnnotationPaused: "yes"})
	g.Expect(paused(obj)).To(BeFalse())
}

func TestUrgent(t *testing.T) {
	ready := func(status, reason string, observed any) map[string]any {
		return map[string]any{"type": "Ready", "status": status, "reason": reason, "observedGeneration": observed}
	}
	failing := ready("False", v1alpha1.ReasonReconcileError, int64(4))
	for name, tc := range map[string]struct {
		status  map[string]any
		deleted bool
		want    bool
	}{
		"new":                                  {},
		"deleted":                              {deleted: true, want: true},
		"failing, and changed":                 {status: map[string]any{"observedGeneration": int64(4), "conditions": []any{failing}}, want: true},
		"failing, as its condition alone says": {status: map[string]any{"conditions": []any{failing}}, want: true},
		"failing, and not changed":             {status: map[string]any{"observedGeneration": int64(5), "conditions": []any{failing}}},
		"failing, of a generation that nobody knows": {status: map[string]any{"conditions": []any{ready("False", v1alpha1.ReasonReconcileError, nil)}}},
		"changed, and well":                          {status: map[string]any{"observedGeneration": int64(4), "conditions": []any{ready("True", v1alpha1.ReasonReconciled, int64(4))}}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"status": tc.status}}
			obj.SetGeneration(5)
			if tc.deleted {
				obj.SetDeletionTimestamp(new(metav1.Now()))
			}
			NewWithT(t).Expect(Urgent(&pipeline.Plan{}, obj)).To(Equal(tc.want))
		})
	}
}

func TestReconciled(t *testing.T) {
	condition := func(reason string, generation any) map[string]any {
		return map[string]any{"type": "Ready", "status": "True", "reason": reason, "observedGeneration": generation}
	}
	for name, tc := range map[string]struct {
		status map[string]any
		want   int64
	}{
		"no status":               {nil, 5},
		"reconciled":              {map[string]any{"observedGeneration": int64(3), "conditions": []any{condition("Any", int64(3))}}, 3},
		"never reconciled":        {map[string]any{"observedGeneration": int64(3), "conditions": []any{condition("Paused", int64(3))}}, 5},
		"generation in Ready":     {map[string]any{"conditions": []any{condition("Any", int64(3))}}, 3},
		"no conditions":           {map[string]any{"observedGeneration": int64(3)}, 3},
		"the default of a CRD":    {map[string]any{"observedGeneration": int64(-1)}, 5},
		"no generation":           {map[string]any{"conditions": []any{condition("Any", nil)}}, 0},
		"another shape than ours": {map[string]any{"observedGeneration": "3", "conditions": "none"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"status": tc.status}}
			obj.SetGeneration(5)
			NewWithT(t).Expect(reconciledGeneration(obj)).To(Equal(tc.want))
		})
	}
}
