package outcome

import (
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
)

func TestOwnConditions(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
status:
  fields:
  - {path: "conditions[Available]", value: {status: "{{ .spec.tls }}", reason: "{{ .spec.image }}", message: "{{ .spec.replicas }} of 3"}, when: [{field: spec.image, operator: exists}]}
  - {path: "conditions[Available]", value: "False", when: [{field: spec.image, operator: notExists}]}
  - {path: "conditions['example.com/Gated']", value: true, when: [{field: spec.host, equals: "yes"}]}
  - {path: "conditions[Absent]", value: {status: true, message: "{{ .spec.database.name }}"}}
  - {path: "conditions[Plain]", value: "{{ eq .spec.host \"yes\" }}"}
`)
	res := shownBy(g, plan, website(t, `{tls: true, image: Good, replicas: 2, host: "yes"}`))
	g.Expect(res.Fields).To(gomega.BeEmpty())
	g.Expect(res.Conditions).To(gomega.Equal([]status.Own{
		{Condition: metav1.Condition{Type: "Available", Status: "True", Reason: "Good", Message: "2 of 3"}},
		{Condition: metav1.Condition{Type: "example.com/Gated", Status: "True", Reason: "Met"}},
		{Condition: metav1.Condition{Type: "Absent"}, Remove: true},
		{Condition: metav1.Condition{Type: "Plain", Status: "True", Reason: "Met"}},
	}))
	res = shownBy(g, plan, website(t, `{host: "no"}`))
	g.Expect(res.Conditions).To(gomega.Equal([]status.Own{
		{Condition: metav1.Condition{Type: "Available", Status: "False", Reason: "NotMet"}},
		{Condition: metav1.Condition{Type: "example.com/Gated"}, Remove: true},
		{Condition: metav1.Condition{Type: "Absent"}, Remove: true},
		{Condition: metav1.Condition{Type: "Plain", Status: "False", Reason: "NotMet"}},
	}))
}

func TestAnOwnConditionOfAnotherShapeIsAnError(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `status: {fields: [{path: "conditions[A]", value: {status: true, reason: "{{ .spec.host }}"}}, {path: "conditions[B]", value: true}, {path: phase, value: Up}]}`)
	c := cycleOf(website(t, `{host: not a reason}`))
	res, err := plan.Result(t.Context(), c, living{}, nil)
	step := stage.AsStepError(err)
	g.Expect([]string{step.Step, string(step.Class), step.Reason}).To(gomega.Equal([]string{stage.StepStatus, string(stage.Permanent), v1alpha1.ReasonTemplateError}))
	g.Expect(err).To(gomega.MatchError("status: fields: status.conditions[A].reason: wanted one word in CamelCase, such as PodsReady, got another text"))
	g.Expect(res.Conditions).To(gomega.HaveLen(1), "the others are still shown")
	g.Expect(res.Fields).To(gomega.HaveLen(1))
	c.Wait("", v1alpha1.ReasonWaitingForGate, "the gate is closed")
	res, _ = plan.Unstorable(c, living{}, res, nil, err)
	g.Expect(res.Conditions).To(gomega.BeEmpty())
	g.Expect(res.Reconciling.Reason).To(gomega.Equal(v1alpha1.ReasonWaitingForGate), "an error hides no wait")
}

func TestStatusFieldMistakes(t *testing.T) {
	cases := map[string]struct{ fields, want string }{
		"Ready":            {`{path: "conditions[Ready]", value: true}`, `spec.status.fields[0].path: Invalid value: "conditions[Ready]": Orkestra writes the condition Ready itself; give yours another type`},
		"a type":           {`{path: "conditions[not available]", value: true}`, `spec.status.fields[0].path: Invalid value: "conditions[not available]": not the type of a condition`},
		"below one":        {`{path: "conditions['Available'].message", value: a}`, `spec.status.fields[0].path: Invalid value: "conditions['Available'].message": Orkestra writes this field itself; a condition of your own has the path conditions[Available]`},
		"a field":          {`{path: "conditions[A]", value: {status: "{{ .spec.tls }}", messge: a}}`, `spec.status.fields[0].value: Invalid value: "{\"messge\":\"a\",\"status\":\"{{ .spec.tls }}\"}": a condition has status, reason, message; found "messge", did you mean "message"?`},
		"no status":        {`{path: "conditions[A]", value: {message: a}}`, `spec.status.fields[0].value: Invalid value: "{\"message\":\"a\"}": a condition needs a status: True, False or Unknown`},
		"a status":         {`{path: "conditions[A]", value: maybe}`, `spec.status.fields[0].value: Invalid value: "\"maybe\"": status.conditions[A].status: wanted True, False or Unknown, got another text`},
		"a reason":         {`{path: "conditions[A]", value: {status: "{{ .spec.tls }}", reason: "no reason"}}`, `spec.status.fields[0].value: Invalid value: "{\"reason\":\"no reason\",\"status\":\"{{ .spec.tls }}\"}": status.conditions[A].reason: wanted one word`},
		"a list's element": {`{path: "tags[0]", value: a}`, `spec.status.fields[0].path: Invalid value: "tags[0]": status.tags is a list, which is written as a whole`},
		"two of one path":  {`{path: "conditions[A]", value: true}, {path: "conditions['A']", value: false}`, `spec.status.fields[1].path: Duplicate value: "conditions['A']": several fields write this path`},
		"lost": {`{path: free.a, value: 1}, {path: free, value: {b: 2}}`,
			`spec.status.fields[1].path: Invalid value: "free": it is written after free.a, and as a whole: the value of spec.status.fields[0].path would be lost; put it in front of that`},
	}
	crd := websites(t)
	crd.Schema = crd.Schema.DeepCopy()
	properties := crd.Schema.Properties["status"].Properties
	properties["tags"] = crd.Schema.Properties["spec"].Properties["tags"]
	properties["free"] = *properties["conditions"].Items.Schema
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, errs := compiled(t, crd, "status: {fields: ["+tc.fields+"]}")
			gomega.NewWithT(t).Expect(messages(errs)).To(gomega.ConsistOf(gomega.HavePrefix(tc.want)))
		})
	}
}

func TestOwnConditionsNeedASchemaThatKnowsConditions(t *testing.T) {
	g := gomega.NewWithT(t)
	crd := websites(t)
	delete(crd.Schema.Properties["status"].Properties, "conditions")
	_, errs := compiled(t, crd, `status: {fields: [{path: "conditions[A]", value: true}]}`)
	g.Expect(messages(errs)).To(gomega.Equal([]string{
		`spec.status.fields[0].path: Invalid value: "conditions[A]": the CRD's schema does not know status.conditions`,
	}))
}

func TestWhatStandsBelowAFieldMayFollowIt(t *testing.T) {
	g := gomega.NewWithT(t)
	crd := websites(t)
	crd.Schema = nil
	_, errs := compiled(t, crd, `status: {fields: [{path: free, value: {b: 2}}, {path: free.a, value: 1}]}`)
	g.Expect(messages(errs)).To(gomega.BeEmpty())
}
