package outcome

import (
	"errors"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
)

// Fields of the status read how the cycle ends after which they are written.
func TestFieldsReadHowTheCycleEnds(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
status:
  fields:
  - {path: message, value: "{{ .error.step }}|{{ .error.reason }}|{{ .error.message }}"}
  - {path: phase, value: "{{ .conditions.Ready.status }} {{ .conditions.Reconciling.reason }} {{ .conditions.Stalled.message }}"}
  - {path: "conditions[Works]", value: "True", when: [{field: error, operator: notExists}]}
  - {path: "conditions[Works]", value: {status: "False", message: "{{ .error.message }}"}, when: [{cel: "has(error.message)"}]}
`)
	fields := func(res status.Result) map[string]any {
		out := map[string]any{}
		for _, f := range res.Fields {
			if !f.Remove {
				out[f.Path[0]] = f.Value
			}
		}
		return out
	}
	works := func(res status.Result) string {
		for _, c := range res.Conditions {
			if c.Condition.Type == "Works" {
				return string(c.Condition.Status) + " " + c.Condition.Message
			}
		}
		return ""
	}
	c := cycleOf(website(t, "{}"))
	res, err := plan.Result(t.Context(), c, living{}, nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(fields(res)).To(gomega.Equal(map[string]any{"phase": "True Settled nothing stands in the way"}))
	g.Expect(works(res)).To(gomega.Equal("True "))

	for reason, failed := range map[string]error{
		v1alpha1.ReasonReconcileError:   errors.New("away"),
		v1alpha1.ReasonValidationFailed: stage.NewPermanent(v1alpha1.ReasonValidationFailed, errors.New("away")),
	} {
		res, err = plan.Result(t.Context(), cycleOf(website(t, "{}")), living{}, stage.Classify(stage.StepExternal, failed))
		g.Expect(err).To(gomega.HaveOccurred())
		g.Expect(fields(res)).To(gomega.HaveKeyWithValue("message", "external|"+reason+"|external: away"))
		g.Expect(works(res)).To(gomega.Equal("False external: away"))
		g.Expect(fields(res)["phase"]).To(gomega.HavePrefix("False "))
	}

	late := stage.Blocker{Weight: stage.ChildOnItsWay, Wait: stage.Wait{Reason: v1alpha1.ReasonChildrenNotCurrent, Message: "late", Of: "a"}}
	res, err = plan.Result(t.Context(), cycleOf(website(t, "{}")), living{late}, nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(fields(res)).To(gomega.Equal(map[string]any{"phase": "True ChildrenNotCurrent nothing stands in the way"}))

	res = plan.RolledBack(t.Context(), cycleOf(website(t, "{}")), &rollback.Mark{Step: "children", Class: stage.Refused, Reason: v1alpha1.ReasonInvalidChild, Message: "children: no"}, nil)
	g.Expect(fields(res)).To(gomega.HaveKeyWithValue("message", "children|InvalidChild|children: no"))
	g.Expect(works(res)).To(gomega.Equal("False children: no"))
}

func TestHowTheCycleEndsIsReadByFieldsAlone(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := compiled(t, websites(t), `
status:
  readyWhen: [{field: error.message, exists: true}]
  fields: [{path: message, value: "{{ .error.mesage }}"}, {path: phase, value: "{{ .conditions.Redy.status }}"}]
`)
	g.Expect(messages(errs)).To(gomega.ConsistOf(
		gomega.HavePrefix("spec.status.readyWhen[0].field: "),
		gomega.ContainSubstring(`did you mean "message"?`), gomega.ContainSubstring(`did you mean "Ready"?`)))
}
