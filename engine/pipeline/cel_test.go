package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Every place of a condition takes an expression, and says what is wrong with one by its field path.
func TestCELWhereverAConditionStands(t *testing.T) {
	const wrong = `{cel: "self.spec.imge == 'a'"}`
	for at, box := range map[string]string{
		"spec.when[0].cel":                                `{when: [` + wrong + `]}`,
		"spec.anyOf[0].cel":                               `{anyOf: [` + wrong + `]}`,
		"spec.mutation.rules[0].when[0].cel":              `{mutation: {rules: [{field: spec.image, default: a, when: [` + wrong + `]}]}}`,
		"spec.validation.rules[0].cel":                    `{validation: {rules: [` + wrong + `]}}`,
		"spec.validation.rules[0].anyOf[0].cel":           `{validation: {rules: [{field: spec.image, operator: exists, anyOf: [` + wrong + `]}]}}`,
		"spec.onReconcile.configmaps[0].when[0].cel":      `{onReconcile: {configmaps: [{when: [` + wrong + `]}]}}`,
		"spec.onReconcile.configmaps[0].readyWhen[0].cel": `{onReconcile: {configmaps: [{readyWhen: [` + wrong + `]}]}}`,
		"spec.onDelete.configmaps[0].when[0].cel":         `{onDelete: {configmaps: [{name: a, when: [` + wrong + `]}]}}`,
		"spec.status.fields[0].when[0].cel":               `{status: {fields: [{path: phase, value: a, when: [` + wrong + `]}]}}`,
		"spec.status.readyWhen[0].cel":                    `{status: {readyWhen: [` + wrong + `]}}`,
	} {
		t.Run(at, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, box), Env{CRD: websites(t)})
			g.Expect(errs).To(gomega.HaveLen(1), "%v", errs)
			g.Expect(errs[0].Field).To(gomega.Equal(at))
			g.Expect(errs[0].Detail).To(gomega.Equal(`column 10: spec.imge: no such field in the CRD's schema, did you mean "image"?`))
		})
	}
}

// What a step does not know yet, or has no part in, can't be read there.
func TestCELReadsWhatTheStepKnows(t *testing.T) {
	for box, want := range map[string]string{
		`{validation: {rules: [{cel: "has(children.configmap.metadata)"}]}, onReconcile: {configmaps: [{}]}}`:                                                    "children is not available here",
		`{onReconcile: {configmaps: [{when: [{cel: "item == 'a'"}]}]}}`:                                                                                          ".item: there is one only inside a forEach",
		`{onReconcile: {configmaps: [{when: [{cel: "has(children.deploymnt.x)"}]}], deployments: [{image: a}]}}`:                                                 `children.deploymnt: this box declares no such child, did you mean "deployment"?`,
		`{onReconcile: {configmaps: [{when: [{cel: "has(children.deployment.status.redyReplicas)"}]}], deployments: [{image: a}]}}`:                              `did you mean "readyReplicas"?`,
		`{onReconcile: {deployments: [{image: a}], configmaps: [{data: {a: "{{ .children.deployments.web.status.redyReplicas }}"}}]}}`:                           `did you mean "readyReplicas"?`,
		`{onReconcile: {secrets: [{data: {a: b}}]}, status: {fields: [{path: phase, value: "{{ .children.secret.data.a }}"}]}}`:                                  "what a Secret holds can be read only by the templates of a child's content",
		`{onReconcile: {secrets: [{id: mine, data: {a: b}, when: [{field: children.mine.data.a, equals: b}]}]}}`:                                                 "what a Secret holds can be read only",
		`{onReconcile: {secrets: [{data: {a: b}}], configmaps: [{name: "{{ .children.secret.data.a }}"}]}}`:                                                      "what a Secret holds can be read only",
		`{onReconcile: {secrets: [{data: {a: b}, when: [{cel: "children.secrets['x'].data.a == 'b'"}]}]}}`:                                                       "what a Secret holds can be read only",
		`{cross: [{name: creds, apiVersion: v1, kind: Secret, selector: {name: a}}], onReconcile: {configmaps: [{when: [{cel: "cross.creds.data.a == 'b'"}]}]}}`: "what a Secret holds can be read only",
	} {
		t.Run(box, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, box), Env{CRD: websites(t)})
			g.Expect(errs).To(gomega.HaveLen(1), "%v", errs)
			g.Expect(errs[0].Detail).To(gomega.ContainSubstring(want))
		})
	}
}

// The content of a child, and nothing else, may be made of a Secret.
func TestTheContentOfAChildMayBeMadeOfASecret(t *testing.T) {
	g := gomega.NewWithT(t)
	box := `{onReconcile: {secrets: [{data: {a: b}}], configmaps: [{data: {copy: "{{ .children.secret.data.a }}"}}]}}`
	_, errs := Compile(boxOf(t, box), Env{CRD: websites(t)})
	g.Expect(messages(errs)).To(gomega.BeEmpty())
}

func TestCELRules(t *testing.T) {
	const spec = `{image: nginx, replicas: 7, database: {size: 3}}`
	for name, tc := range map[string]struct{ rule, want, reason string }{
		"holds":     {`{cel: "self.spec.replicas > self.spec.database.size"}`, "", ""},
		"is broken": {`{cel: "self.spec.replicas <= self.spec.database.size"}`, `validation: cel "self.spec.replicas <= self.spec.database.size": self.spec.replicas is 7, self.spec.database.size is 3`, v1alpha1.ReasonValidationFailed},
		"with a message": {`{cel: "self.spec.replicas <= self.spec.database.size", message: too many}`,
			`validation: too many (self.spec.replicas is 7, self.spec.database.size is 3)`, v1alpha1.ReasonValidationFailed},
		"reads what is absent": {`{cel: "self.spec.host == 'a'"}`, `spec.host: no such field in this resource; where it may be absent, use has(self.spec.host)`, v1alpha1.ReasonConditionError},
		"costs too much": {`{cel: "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= self.spec.replicas - 100))"}`,
			"over the cost limit of a CEL expression (1000000 units)", v1alpha1.ReasonBudgetExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, err := newPorts().run(planOf(t, `{validation: {rules: [`+tc.rule+`]}}`), website(t, spec))
			if tc.want == "" {
				g.Expect(err).NotTo(gomega.HaveOccurred())
				return
			}
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(tc.want)))
			step, ok := errors.AsType[*StepError](err)
			g.Expect(ok).To(gomega.BeTrue())
			g.Expect(step.Class).To(gomega.Equal(Permanent))
			g.Expect(step.Reason).To(gomega.Equal(tc.reason))
		})
	}
}

// A gate that waits holds nothing else up: the child it waits for comes before it, whatever its rank.
func TestCELGateWaitsForAChildThatIsNotThere(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
onReconcile:
  services: [{port: 80, when: [{cel: "children.deployment.status.readyReplicas > 0"}]}]
  deployments: [{image: nginx}]
  configmaps: [{name: extra, when: [{cel: "self.spec.replicas > 9"}]}]
`)
	p := newPorts()
	r, err := p.run(plan, website(t, `{replicas: 1}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop", "create Deployment/shop"}))
	g.Expect(waitsFor(r)).To(gomega.Equal([]string{
		`services: cel "children.deployment.status.readyReplicas > 0": children.deployment.status.readyReplicas is 0`}))
}

// Where the time decides, the resource is reconciled again when it changes the answer.
func TestTimeConditionsSayWhenToReconcile(t *testing.T) {
	const hour = `{field: metadata.creationTimestamp, olderThan: 1h}`
	for name, box := range map[string]string{
		"when":                    `{onReconcile: {configmaps: [{when: [` + hour + `]}]}}`,
		"anyOf":                   `{onReconcile: {configmaps: [{anyOf: [{cel: "has(self.spec) && has(self.spec.host)"}, ` + hour + `]}]}}`,
		"the box's own":           `{when: [` + hour + `], onReconcile: {configmaps: [{}]}}`,
		"one that is true":        `{onReconcile: {configmaps: [{when: [{field: metadata.creationTimestamp, youngerThan: 1h}]}]}}`,
		"a rule":                  `{validation: {rules: [{field: metadata.creationTimestamp, youngerThan: 1h}]}}`,
		"the gate of a rule":      `{validation: {rules: [{field: spec.image, operator: exists, when: [` + hour + `]}]}}`,
		"the gate of a mutation":  `{mutation: {rules: [{field: spec.image, default: a, when: [` + hour + `]}]}}`,
		"the gate of a field":     `{status: {fields: [{path: phase, value: old, when: [` + hour + `]}]}}`,
		"readyWhen of the status": `{status: {readyWhen: [` + hour + `]}}`,
		"readyWhen of a child":    `{onReconcile: {configmaps: [{readyWhen: [` + hour + `]}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			stored := website(t, "")
			stored.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Minute)))
			r, _ := shownBy(g, newPorts(), planOf(t, box), stored)
			g.Expect(r.Inputs.Expires()).To(gomega.BeTemporally("==", now.Add(59*time.Minute), time.Second))
		})
	}
}
