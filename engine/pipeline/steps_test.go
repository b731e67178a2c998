package pipeline

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestNormalizeSeesTheResourceAsStored(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
normalize:
  spec:
    host: "{{ .spec.image }}"
    image: "{{ .spec.host }}"
    replicas: "{{ .spec.database.name }}"
    database.size: "{{ .spec.replicas }}"
    tls: null
`)
	stored := website(t, `{image: I, host: H, replicas: 2, tls: true, database: {name: "7"}}`)
	r, err := newPorts().run(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Object["spec"]).To(gomega.Equal(map[string]any{
		"host": "I", "image": "H", "replicas": int64(7), "database": map[string]any{"name": "7", "size": int64(2)},
	}))
	g.Expect(stored.Object["spec"]).To(gomega.HaveKeyWithValue("host", "H"), "the stored resource is never changed")
}

func TestNormalizeMakesMissingParentsAndConvertsInside(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
normalize:
  spec:
    database.name: db
    tags: ["{{ .spec.replicas }}", b]
`)
	r, err := newPorts().run(plan, website(t, `{replicas: 2}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Object["spec"]).To(gomega.Equal(map[string]any{
		"replicas": int64(2), "database": map[string]any{"name": "db"}, "tags": []any{"2", "b"},
	}))
}

func TestStepErrors(t *testing.T) {
	cases := map[string]struct {
		box, spec, step, reason, message string
	}{
		"normalize reads what is absent": {
			`normalize: {spec: {image: "{{ .spec.host }}"}}`, `{}`, stage.StepNormalize, v1alpha1.ReasonTemplateError,
			"normalize: spec.image: evaluating {{ .spec.host }}: spec.host: no such field in this resource; where it may be absent, use default or if",
		},
		"normalize yields another type": {
			`normalize: {spec: {replicas: "{{ .spec.host }}"}}`, `{host: many}`, stage.StepNormalize, v1alpha1.ReasonTemplateError,
			`normalize: spec.replicas: wanted integer, got string "many"`,
		},
		"mutation yields another type": {
			`mutation: {rules: [{field: spec.tls, override: "{{ .spec.host }}"}]}`, `{host: maybe}`, stage.StepMutation, v1alpha1.ReasonTemplateError,
			`mutation: spec.tls: wanted boolean, got string "maybe"`,
		},
		"a child's name is empty": {
			`onReconcile: {configmaps: [{name: "{{ .spec.host }}"}]}`, `{host: ""}`, stage.StepOnReconcile, v1alpha1.ReasonTemplateError,
			`onReconcile: configmaps[0]: name: the template "{{ .spec.host }}" yields an empty name`,
		},
		"a template leads into another namespace": {
			`onReconcile: {configmaps: [{id: c, namespace: "{{ .spec.host }}"}]}`, `{host: kube-system}`, stage.StepOnReconcile, v1alpha1.ReasonTemplateError,
			`onReconcile: c: namespace: namespace "kube-system" does not let resources of "team-a" in: add "team-a" to its annotation orkestra.orkspace.io/allow-from, if it exists, or write the namespace literally in the box`,
		},
		"two declarations render one object": {
			`onReconcile: {configmaps: [{id: a, name: x}, {id: b, name: "{{ .spec.host }}"}]}`, `{host: x}`, stage.StepOnReconcile, v1alpha1.ReasonDuplicateChild,
			`onReconcile: b: "a" and "b" both render ConfigMap "x"; give one of them another name`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, err := newPorts().run(planOf(t, tc.box), website(t, tc.spec))
			expectStep(g, err, tc.step, classFor(tc.reason), tc.reason)
			g.Expect(err.Error()).To(gomega.Equal(tc.message))
		})
	}
}

func TestMutation(t *testing.T) {
	cases := map[string]struct {
		rules, spec string
		want        map[string]any
	}{
		"default where absent":          {`[{field: spec.replicas, default: "3"}]`, `{}`, map[string]any{"replicas": int64(3)}},
		"0 is a value":                  {`[{field: spec.replicas, default: 3}]`, `{replicas: 0}`, map[string]any{"replicas": int64(0)}},
		"false is a value":              {`[{field: spec.tls, default: true}]`, `{tls: false}`, map[string]any{"tls": false}},
		"an empty string is a value":    {`[{field: spec.host, default: x}]`, `{host: ""}`, map[string]any{"host": ""}},
		"null is absent":                {`[{field: spec.host, default: x}]`, `{host: null}`, map[string]any{"host": "x"}},
		"override always":               {`[{field: spec.host, override: x}]`, `{host: old}`, map[string]any{"host": "x"}},
		"a rule sees those before it":   {`[{field: spec.host, default: x}, {field: spec.image, default: "{{ .spec.host }}1"}]`, `{}`, map[string]any{"host": "x", "image": "x1"}},
		"a false gate":                  {`[{field: spec.host, override: x, when: [{field: spec.tls, equals: true}]}]`, `{tls: false}`, map[string]any{"tls": false}},
		"a default needs no evaluation": {`[{field: spec.host, default: "{{ .spec.image }}"}]`, `{host: old}`, map[string]any{"host": "old"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			r, err := newPorts().run(planOf(t, "mutation: {rules: "+tc.rules+"}"), website(t, tc.spec))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(r.Object["spec"]).To(gomega.Equal(tc.want))
		})
	}
}

func TestMutationSeesWhatNormalizeMade(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
normalize: {spec: {image: "{{ .spec.image | lower }}"}}
mutation: {rules: [{field: spec.host, default: "{{ .spec.image }}.example.com"}]}
onReconcile: {configmaps: [{name: "{{ .spec.image }}", data: {host: "{{ .spec.host }}"}}]}
`)
	p := newPorts()
	_, err := p.run(plan, website(t, `{image: NGINX}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children[0].Object["data"]).To(gomega.Equal(map[string]any{"host": "nginx.example.com"}))
	g.Expect(p.children[0].GetName()).To(gomega.Equal("nginx"))
}

func TestValidationNamesEveryBrokenRule(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
validation:
  rules:
  - {field: spec.replicas, operator: lte, value: 10, message: "at most 10 replicas"}
  - {field: spec.host, operator: suffix, value: .example.com}
  - {field: spec.tls, equals: true, action: warn, message: "TLS is off"}
  - {field: spec.image, operator: exists}
  - {field: spec.database.size, operator: gt, value: 0}
  - {field: spec.host, operator: prefix, value: never, when: [{field: spec.replicas, operator: lt, value: 5}]}
onReconcile: {configmaps: [{}]}
`)
	p := newPorts()
	r, err := p.run(plan, website(t, `{replicas: 11, host: example.org, tls: false}`))
	expectStep(g, err, stage.StepValidation, Permanent, v1alpha1.ReasonValidationFailed)
	g.Expect(err.Error()).To(gomega.Equal(
		`validation: spec.replicas: at most 10 replicas (found 11); spec.host: wanted suffix .example.com, found example.org; spec.image: wanted a value, found absent`))
	g.Expect(r.Events).To(gomega.Equal([]stage.Event{{Warning: true, Reason: "ValidationWarning", Message: "spec.tls: TLS is off (found false)"}}))
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop"}), "a denied resource gets no children")
}

func TestValidationLooksAtTheMutatedCopy(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
mutation: {rules: [{field: spec.replicas, override: 1}]}
validation: {rules: [{field: spec.replicas, operator: lte, value: 10}]}
`)
	_, err := newPorts().run(plan, website(t, `{replicas: 11}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
}
