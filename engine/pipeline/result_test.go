package pipeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
)

func TestTemplatesThatGoOverTheirLimits(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `onReconcile: {configmaps: [{data: {a: "{{ repeat 999999 .spec.host }}"}}]}`)
	_, err := newPorts().run(plan, website(t, "{host: "+strings.Repeat("x", 100)+"}"))
	expectStep(g, err, stage.StepOnReconcile, stage.Permanent, v1alpha1.ReasonBudgetExceeded)
}

// classFor is the class of an error of a resource's own data.
func classFor(reason string) stage.Class {
	if reason == v1alpha1.ReasonDuplicateChild {
		return stage.Refused
	}
	return stage.Permanent
}

// What a resource shows after an error of each class (design: semantics.md, "Errors").
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
			for range order() {
				run := planOf(t, `{}`).NewRun(website(t, "{}"), now, newPorts().ports())
				run.Waits = []stage.Wait{{Reason: v1alpha1.ReasonWaitingForGate, Message: "a wait hides no error"}}
				step := stage.Classify(name, tc.err)
				g.Expect(string(step.Class)).To(gomega.Equal(name))
				result, err := run.Result(t.Context(), step)
				g.Expect(err).To(gomega.BeIdenticalTo(error(step)))
				message := status.Truncate(step.Error())
				g.Expect(message).To(gomega.HavePrefix(name + ": "))
				g.Expect(result.Ready).To(gomega.Equal(status.Failed(message)))
				if tc.reason == "" {
					g.Expect(result.Reconciling).To(gomega.Equal(status.Progressing(v1alpha1.ReasonRetrying, message)))
					g.Expect(result.Stalled).To(gomega.Equal(status.NotStalled()))
				} else {
					g.Expect(result.Reconciling).To(gomega.Equal(status.Settled()))
					g.Expect(result.Stalled).To(gomega.Equal(status.StalledBy(tc.reason, message)))
				}
			}
		})
	}
}
