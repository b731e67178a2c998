package outcome

import (
	"errors"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
)

// What a resource shows after an error of each class (design: recovery.md, "Errors and load").
func TestConditionsOfErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		reason string // of Stalled; empty: it is retried
	}{
		"transient":  {apierrors.NewServiceUnavailable("starting"), ""},
		"permanent":  {stage.NewPermanent(v1alpha1.ReasonValidationFailed, errors.New("no")), v1alpha1.ReasonValidationFailed},
		"refused":    {apierrors.NewBadRequest("unknown field"), v1alpha1.ReasonInvalidChild},
		"permission": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New(`User "a" cannot patch resource "pods" in API group "" at the cluster scope`)), v1alpha1.ReasonForbidden},
		"panic":      {&stage.PanicError{Value: strings.Repeat("oops ", 100)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := cycleOf(website(t, "{}"))
			c.Wait("", v1alpha1.ReasonWaitingForGate, "a wait hides no error")
			step := stage.Classify(name, tc.err)
			g.Expect(string(step.Class)).To(gomega.Equal(name))
			result, err := planOf(t, `{}`).Result(t.Context(), c, living{}, step)
			g.Expect(err).To(gomega.BeIdenticalTo(error(step)))
			message := status.Truncate(step.Error())
			g.Expect(message).To(gomega.HavePrefix(name + ": "))
			g.Expect(result.Ready).To(gomega.Equal(status.Failed(message)))
			if tc.reason == "" {
				g.Expect(result.Reconciling).To(gomega.Equal(status.Progressing(v1alpha1.ReasonRetrying, message)))
				g.Expect(result.Stalled).To(gomega.Equal(status.NotStalled()))
			} else {
				g.Expect(result.Reconciling).To(gomega.Equal(status.NotProgressing(v1alpha1.ReasonWaitingForGate, "a wait hides no error")),
					"what waits is not settled")
				g.Expect(result.Stalled).To(gomega.Equal(status.StalledBy(tc.reason, message)))
				c.Waits = nil
				result, _ = planOf(t, `{}`).Result(t.Context(), c, living{}, step)
				g.Expect(result.Reconciling).To(gomega.Equal(status.Settled()))
			}
		})
	}
}

// A status field that can't be made is an error, too, and hides no wait.
func TestAnErrorOfAStatusFieldHidesNoWait(t *testing.T) {
	g := gomega.NewWithT(t)
	c := cycleOf(website(t, `{host: many}`))
	c.Wait("", v1alpha1.ReasonWaitingForGate, "the gate is closed")
	result, err := planOf(t, `{status: {fields: [{path: replicas, value: "{{ .spec.host }}"}]}}`).Result(t.Context(), c, living{}, nil)
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(result.Stalled.Status).To(gomega.Equal(metav1.ConditionTrue))
	g.Expect(result.Reconciling).To(gomega.Equal(status.NotProgressing(v1alpha1.ReasonWaitingForGate, "the gate is closed")))
}

// TestReadyAndReconcilingByWhatIsLeftToDo: what is Ready, and what is under way, by the ready policy and by what is left to do.
func TestReadyAndReconcilingByWhatIsLeftToDo(t *testing.T) {
	late := stage.Blocker{Weight: stage.ChildOnItsWay, Wait: stage.Wait{Reason: v1alpha1.ReasonChildrenNotCurrent, Message: "late", Of: "a"}}
	failed := stage.Blocker{Weight: stage.ChildFailed, Wait: stage.Wait{Reason: v1alpha1.ReasonChildFailed, Message: "failed", Of: "b"}}
	for name, tc := range map[string]struct {
		spec                        string
		left                        living
		deleting                    bool
		ready, reconciling, stalled string
	}{
		"nothing":                     {`{}`, nil, false, "True ReconcileSucceeded", "False Settled", "False NotStalled"},
		"a late child":                {`{}`, living{late}, false, "True ReconcileSucceeded", "True ChildrenNotCurrent late", "False NotStalled"},
		"a late child, Current":       {`{status: {ready: Current}}`, living{late}, false, "False ChildrenNotCurrent late", "True ChildrenNotCurrent late", "False NotStalled"},
		"a failed child":              {`{}`, living{failed}, false, "False ChildFailed failed", "False Settled", "True ChildFailed failed"},
		"a failed child among others": {`{}`, living{late, failed}, false, "False ChildFailed failed (and 1 more)", "False ChildFailed failed (and 1 more)", "True ChildFailed failed (and 1 more)"},
		"readyWhen": {`{status: {readyWhen: [{field: spec.tls, equals: true}]}}`, living{late}, false,
			"False WaitingForGate readyWhen: spec.tls", "True ChildrenNotCurrent late (and 1 more)", "False NotStalled"},
		"a deletion":             {`{}`, nil, true, "False Deleting cleaning up", "True Deleting cleaning up", "False NotStalled"},
		"children of a deletion": {`{}`, living{failed}, true, "False Deleting cleaning up", "True Deleting cleaning up", "False NotStalled"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := cycleOf(website(t, "{tls: false}"))
			c.Deleting = tc.deleting
			res, err := planOf(t, tc.spec).Result(t.Context(), c, tc.left, nil)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			for _, shown := range []struct {
				condition metav1.Condition
				want      string
			}{{res.Ready, tc.ready}, {res.Reconciling, tc.reconciling}, {res.Stalled, tc.stalled}} {
				g.Expect(string(shown.condition.Status) + " " + shown.condition.Reason + " " + shown.condition.Message).To(gomega.HavePrefix(shown.want))
			}
		})
	}
}

func TestResultWhileRolledBack(t *testing.T) {
	for name, tc := range map[string]struct {
		mark        rollback.Mark
		err         error
		ready       string
		stalled     string
		reconciling string
		back        string
	}{
		"held": {
			rollback.Mark{Held: true, Class: stage.Refused, Reason: v1alpha1.ReasonInvalidChild}, nil, "False ReconcileError onReconcile: no",
			"True Held onReconcile: no; held: edit the spec", "False Settled", "True RolledBack generation 4 failed in onReconcile; the children are those of generation 3; held"},
		"tried again, stalled": {
			rollback.Mark{Class: stage.Refused, Reason: v1alpha1.ReasonInvalidChild}, nil, "False ReconcileError onReconcile: no",
			"True InvalidChild onReconcile: no", "False Settled", "True RolledBack generation 4 failed in onReconcile; the children are those of generation 3; it is tried again"},
		"tried again, may pass": {
			rollback.Mark{Class: stage.Transient}, nil, "False ReconcileError onReconcile: no", "False NotStalled", "True Retrying onReconcile: no", "True RolledBack"},
		"failed": {
			rollback.Mark{Held: true}, rollback.Unavailable(errors.New("it is gone")), "False ReconcileError onReconcile: no",
			"True RollbackFailed going back to generation 3: rollback: it is gone", "False Settled", "False RollbackFailed going back to generation 3"},
		"failed for now": {
			rollback.Mark{Held: true}, errors.New("broken"), "False ReconcileError onReconcile: no", "False NotStalled",
			"True Retrying going back to generation 3", "False RollbackFailed going back to generation 3"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			m := tc.mark
			m.Generation, m.ToGeneration, m.Revision, m.ToRevision, m.Step, m.Message = 4, 3, "a", "a", "onReconcile", "onReconcile: no"
			res := planOf(t, `{}`).RolledBack(t.Context(), cycleOf(website(t, "{}")), &m, tc.err)
			for i, c := range []struct{ got, want string }{
				{string(res.Ready.Status) + " " + res.Ready.Reason + " " + res.Ready.Message, tc.ready},
				{string(res.Stalled.Status) + " " + res.Stalled.Reason + " " + res.Stalled.Message, tc.stalled},
				{string(res.Reconciling.Status) + " " + res.Reconciling.Reason + " " + res.Reconciling.Message, tc.reconciling},
				{string(res.Conditions[0].Condition.Status) + " " + res.Conditions[0].Condition.Reason + " " + res.Conditions[0].Condition.Message, tc.back},
			} {
				g.Expect(c.got).To(gomega.HavePrefix(c.want), "%d", i)
			}
		})
	}
}
