package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/admission"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// data gives the data of the ConfigMap of a name that a run has made.
func (p *ports) data(name string) map[string]string {
	if c := p.configMap(name); c != nil {
		data, _, _ := unstructured.NestedStringMap(c.Object, "data")
		return data
	}
	return nil
}

// configMap gives the ConfigMap of a name that a run has made; nil: there is none.
func (p *ports) configMap(name string) *unstructured.Unstructured {
	for _, c := range p.children {
		if c.GetKind() == "ConfigMap" && c.GetName() == name {
			return c
		}
	}
	return nil
}

func TestValuesAreReadEverywhere(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, `
values:
- {name: host, value: "{{ .spec.host }}.example.com"}
- {name: parts, cel: "self.spec.host.split('-')"}
- {name: labels, value: {app: "{{ .values.host }}", first: "{{ index .values.parts 0 }}", port: 80}}
- {name: many, cel: "values.parts.size() > 1 && values.labels.port == 80"}
normalize: {spec: {host: "{{ lower .spec.host }}"}}
onReconcile:
  configmaps:
  - name: "{{ .values.labels.first }}"
    labels: {app: "{{ .values.labels.app }}"}
    when: [{field: values.many, equals: true}, {cel: "values.parts[0] == 'my'"}, {field: spec.host, equals: "{{ .values.parts | join \"-\" }}"}]
    data: {host: "{{ .values.host }}", all: "{{ toJson .values.labels }}"}
  - name: "each-{{ .item }}"
    forEach: {field: values.parts}
    data: {of: "{{ .values.host }}"}
`), website(t, `{host: My-Shop}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("my")).To(gomega.Equal(map[string]string{
		"host": "my-shop.example.com", "all": `{"app":"my-shop.example.com","first":"my","port":80}`,
	}))
	g.Expect(p.data("each-my")).To(gomega.Equal(map[string]string{"of": "my-shop.example.com"}))
	g.Expect(p.data("each-shop")).NotTo(gomega.BeNil())
}

// A value that is missing is missing to those who read it, for the reason for which it is.
func TestAnAbsentValueIsAbsentForWhoReadsIt(t *testing.T) {
	const box = `
values:
- {name: ip, value: "{{ .children.service.spec.clusterIP }}"}
- {name: url, value: "http://{{ .values.ip }}"}
- {name: service, value: "{{ .children.service }}"}
onReconcile:
  services: [{name: web, port: 80, selector: {a: b}}]
  configmaps:
  - {name: waits, data: {url: "{{ .values.url }}"}}
  - {name: chooses, data: {url: '{{ default "none" .values.url }}'}}
  - {name: asks, when: [{cel: "values.url.startsWith('http')"}], data: {url: "{{ .values.ip }}"}}
  - {name: below, data: {url: "{{ .values.service.spec.clusterIP }}"}}
  - {name: other, data: {a: b}}
`
	g := gomega.NewWithT(t)
	p, plan := newPorts(), planOf(t, box)
	r, err := p.run(plan, website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("chooses")).To(gomega.Equal(map[string]string{"url": "none"}))
	g.Expect(p.data("other")).NotTo(gomega.BeNil())
	g.Expect(p.data("waits")).To(gomega.BeNil())
	g.Expect(p.data("asks")).To(gomega.BeNil())
	var messages []string
	for _, w := range r.Waits {
		messages = append(messages, w.Message)
	}
	g.Expect(messages).To(gomega.ContainElements("configmaps/waits: values.url: values.ip: children.service.spec.clusterIP is not there yet",
		"configmaps/below: values.service.spec.clusterIP is not there yet"))

	p.edit("web", func(s *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(s.Object, "10.0.0.1", "spec", "clusterIP")
	})
	_, err = p.run(plan, website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for _, name := range []string{"waits", "chooses"} {
		g.Expect(p.data(name)).To(gomega.Equal(map[string]string{"url": "http://10.0.0.1"}), name)
	}
	g.Expect(p.data("asks")).To(gomega.Equal(map[string]string{"url": "10.0.0.1"}))
}

// What a declaration reads by a value is what it reads: the child is made first, in the same cycle.
func TestWhatAValueReadsComesFirst(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	r, err := p.run(planOf(t, `
values: [{name: text, value: "{{ .children.first.data.a }}"}]
onReconcile:
  configmaps:
  - {id: second, name: second, data: {b: "{{ .values.text }}!"}}
  - {id: first, name: first, data: {a: "{{ .spec.host }}"}}
`), website(t, `{host: x}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.BeEmpty())
	g.Expect(p.data("second")).To(gomega.Equal(map[string]string{"b": "x!"}))
}

func TestAnErrorOfAValueNamesIt(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, `
values: [{name: port, value: "{{ div 80 .spec.replicas }}"}]
onReconcile: {configmaps: [{name: made, data: {a: "{{ .values.port }}"}}]}
`), website(t, `{replicas: 0}`))
	expectStep(g, err, "onReconcile", Permanent, v1alpha1.ReasonTemplateError)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(`configmaps/made: values.port: evaluating {{ div 80 .spec.replicas }}: div: division by zero`)))
}

// A key that is not there is named with what it was looked up in, and with its value where that may be shown.
func TestAKeyThatIsNotThereIsNamed(t *testing.T) {
	for name, tc := range map[string]struct{ value, want string }{
		"of the spec":      {`{{ get (dict "small" "1Gi") .spec.host }}`, `values.size: the key "large" (.spec.host) of (dict "small" "1Gi"): no value; where it may be absent, use default or if`},
		"the key first":    {`{{ dict "small" "1Gi" | get .spec.host }}`, `values.size: the key "large" (.spec.host): no value; where`},
		"the key piped":    {`{{ .spec.host | get (dict "small" "1Gi") }}`, `values.size: the key "large" of (dict "small" "1Gi"): no value; where`},
		"written down":     {`{{ get (dict "small" "1Gi") "big" }}`, `values.size: the key "big" of (dict "small" "1Gi"): no value; where`},
		"several":          {`{{ get (dict "a" (dict "b" "c")) "a" .spec.host "x" }}`, `values.size: the key "a", "large" (.spec.host), "x" of (dict "a" (dict "b" "c")): no value; where`},
		"of a function":    {`{{ upper (get (dict "small" "1Gi") .spec.host) }}`, `values.size: the key "large" (.spec.host) of (dict "small" "1Gi"): no value; where`},
		"of a known place": {`{{ get .spec.any "big" }}`, `values.size: spec.any.big: no such field in this resource; where`},
		"by a value":       {`{{ get (dict "small" "1Gi") .values.wanted }}`, `values.size: the key "large" (.values.wanted) of (dict "small" "1Gi"): no value; where`},
		"of an annotation": {`{{ get (dict "small" "1Gi") (index .metadata.annotations "size") }}`, `values.size: the key (index .metadata.annotations "size") of (dict "small" "1Gi"): no value; where`},
		"of a child":       {`{{ get (dict "small" "1Gi") .children.free.data.size }}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			resource := website(t, `{host: large, any: {small: 1Gi}}`)
			resource.SetAnnotations(map[string]string{"size": "hidden"})
			r, err := newPorts().run(planOf(t, `
values: [{name: wanted, value: "{{ .spec.host }}"}, {name: size, value: '`+tc.value+`'}]
onReconcile: {configmaps: [{id: free, name: free, data: {size: hidden}}, {name: made, data: {a: "{{ .values.size }}"}}]}
`), resource)
			if tc.want == "" { // it may come with the next change of the child
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(r.Waits).To(gomega.ConsistOf(gomega.HaveField("Message", `configmaps/made: values.size: the key .children.free.data.size of (dict "small" "1Gi") is not there yet`)))
				return
			}
			expectStep(g, err, "onReconcile", Permanent, v1alpha1.ReasonTemplateError)
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(tc.want)))
			g.Expect(err.Error()).NotTo(gomega.ContainSubstring("hidden"))
		})
	}
}

// To who can do without, it is absent, as it was before anybody asked why.
func TestAValueWithoutItsKeyIsAbsent(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, `
values: [{name: size, value: '{{ get (dict "small" "1Gi") .spec.host }}'}]
onReconcile: {configmaps: [{name: made, when: [{cel: "!has(values.size)"}], data: {a: "{{ .values.size | default `+"`none`"+` }}"}}]}
`), website(t, `{host: large}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("made")).To(gomega.Equal(map[string]string{"a": "none"}))
}

func TestValueMistakes(t *testing.T) {
	const reads = `onReconcile: {configmaps: [{name: a, data: {a: "{{ .values.%s }}"}}]}`
	for name, tc := range map[string]struct{ box, want string }{
		"itself": {
			`values: [{name: a, value: "{{ .values.a }}"}]`,
			`spec.values[0].value: Invalid value: "{{ .values.a }}": column 4: values.a: a value can't read itself`,
		},
		"a later one": {
			`values: [{name: a, cel: "values.b + 1"}, {name: b, value: 1}]`,
			`spec.values[0].cel: Invalid value: "values.b + 1": column 7: values.b: it stands later in the list, and a value reads those before it`,
		},
		"an unknown one": {
			`values: [{name: host, value: a}]` + "\n" + fmt.Sprintf(reads, "hots"),
			`values.hots: this box has no such value, did you mean "host"?`,
		},
		"none at all":                  {fmt.Sprintf(reads, "host"), `.values: this box has no values`},
		"none at all, cel":             {`onReconcile: {configmaps: [{name: a, when: [{cel: "values.host == 'a'"}]}]}`, `.values: this box has no values`},
		"all of them":                  {`values: [{name: a, value: b}]` + "\n" + `onReconcile: {configmaps: [{name: a, data: {a: "{{ toJson .values }}"}}]}`, `values: read one of them, by its name: .values.<name>`},
		"all of them, cel":             {`values: [{name: a, value: b}]` + "\n" + `onReconcile: {configmaps: [{name: a, when: [{cel: "dyn(values) == 1"}]}]}`, `values: read one of them, by its name: .values.<name>`},
		"both":                         {`values: [{name: a, value: b, cel: "1"}]`, `spec.values[0]: Invalid value: "a": give exactly one of value and cel`},
		"neither":                      {`values: [{name: a}]`, `spec.values[0]: Invalid value: "a": give exactly one of value and cel`},
		"a name twice":                 {`values: [{name: a, value: b}, {name: a, value: c}]`, `spec.values[1].name: Duplicate value: "a"`},
		"a field that a value has not": {`values: [{name: a, value: {b: c}}]` + "\n" + fmt.Sprintf(reads, "a.d"), `values.a.d: there is no such field`},
		"a field of a text":            {`values: [{name: a, value: "x{{ .spec.host }}"}]` + "\n" + fmt.Sprintf(reads, "a.d"), `values.a.d: values.a is of type string, which has no fields`},
		"no value of JSON":             {`values: [{name: a, cel: "type(1)"}]`, `yields type(int), which is no value of JSON: make a text or a number of it`},
		"a Secret in a status": {`
values: [{name: password, value: "{{ index .children.secret.data \"p\" }}"}]
status: {fields: [{path: message, value: "{{ .values.password }}"}]}
onReconcile: {secrets: [{name: s, data: {p: q}}]}`, `values.password: children.secret.data: what a Secret holds can be read only by the templates of a child's content`},
		"children before they are read": {`
values: [{name: ready, value: "{{ .children.deployment.status.readyReplicas }}"}]
normalize: {spec: {replicas: "{{ .values.ready }}"}}
onReconcile: {deployments: [{image: a}]}`, `values.ready: children is not available here: this step runs before it is read`},
		"cross when the resource goes": {`
cross: [{name: db, apiVersion: v1, kind: ConfigMap, selector: {name: db}}]
values: [{name: host, value: "{{ .cross.db.data.host }}"}]
onDelete: {configmaps: [{name: a, data: {a: "{{ .values.host }}"}}]}`, `values.host: cross is not available here`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t)})
			g.Expect(errs).NotTo(gomega.BeEmpty())
			g.Expect(errs.ToAggregate().Error()).To(gomega.ContainSubstring(tc.want))
		})
	}
}

// A value may read what a Secret holds, for the content of a child alone, and then no message shows what stands beside it.
func TestAValueOfASecret(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.others = []*unstructured.Unstructured{other(compile.SecretKind, "team-a", "login", map[string]any{"data": map[string]any{"p": "d29yZA=="}})}
	plan := planOf(t, `
cross: [{name: login, apiVersion: v1, kind: Secret, selector: {name: login}}]
values: [{name: url, value: "db://{{ b64dec .cross.login.data.p }}@host"}, {name: name, value: "{{ .cross.login.metadata.name }}"}]
onReconcile:
  configmaps: [{id: made, name: "{{ .values.name }}", data: {url: "{{ .values.url }}"}}]
`)
	_, err := p.run(plan, website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("login")).To(gomega.Equal(map[string]string{"url": "db://word@host"}))
	g.Expect(plan.declared.OnReconcile[0].UsesSecrets).To(gomega.BeTrue())
}

func TestAValueThatNobodyReadsIsNoted(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
values: [{name: a, value: b}, {name: used, value: "{{ .values.a }}"}, {name: unused, value: c}]
status: {fields: [{path: message, value: "{{ .values.used }}"}]}`)
	g.Expect(plan.Notes).To(gomega.ConsistOf("spec.values: nothing reads unused"))
}

// Each value is evaluated once for each state of what it reads, however many read it.
func TestValuesAreEvaluatedOnce(t *testing.T) {
	box := func(names int) string {
		var b strings.Builder
		// Each value doubles the work of the one before, if values were not kept.
		b.WriteString("values:\n- {name: v0, value: \"{{ .spec.host }}\"}\n")
		for i := range names {
			fmt.Fprintf(&b, "- {name: v%d, value: \"{{ if eq .values.v%d .values.v%d }}{{ .values.v%d }}{{ end }}\"}\n", i+1, i, i, i)
		}
		fmt.Fprintf(&b, "onReconcile: {configmaps: [{name: a, data: {v: \"{{ .values.v%d }}\"}}]}", names)
		return b.String()
	}
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, box(63)), website(t, `{host: x}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("a")).To(gomega.Equal(map[string]string{"v": "x"}))
}

// Rules see what the rules before them have set, also by a value.
func TestValuesFollowWhatRulesSet(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, `
values: [{name: twice, cel: "self.spec.replicas * 2"}]
normalize: {spec: {replicas: "{{ add .values.twice 1 }}"}}
mutation:
  rules:
  - {field: spec.replicas, override: "{{ .values.twice }}"}
  - {field: spec.host, override: "host-{{ .values.twice }}"}
validation: {rules: [{field: values.twice, equals: 28, message: twice is wrong}, {cel: "values.twice == 28", message: twice is wrong}]}
onReconcile: {configmaps: [{name: a, data: {num: "{{ .values.twice }}", host: "{{ .spec.host }}"}}]}
`), website(t, `{replicas: 3, host: x}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("a")).To(gomega.Equal(map[string]string{"num": "28", "host": "host-28"}))
}

// Within a cycle children are made one after the other: what a value gave before counts no more.
func TestAValueIsReadAnewWhenChildrenChange(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, `
values: [{name: second, value: '{{ default "none" .children.second.data.a }}'}]
onCreate: {configmaps: [{id: early, name: early, data: {a: "{{ .values.second }}"}}]}
onReconcile:
  configmaps:
  - {id: second, name: second, data: {a: made}}
  - {id: last, name: last, data: {a: "{{ .values.second }}"}}
`), website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("early")).To(gomega.Equal(map[string]string{"a": "none"}))
	g.Expect(p.data("last")).To(gomega.Equal(map[string]string{"a": "made"}))
}

// A rule on a value stays in the reconcile, because the API server knows no values.
func TestARuleOnAValueIsCheckedInTheReconcile(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
values: [{name: host, value: "{{ .spec.host }}.example.com"}]
admission: {validation: true}
validation: {rules: [{field: values.host, prefix: a, message: wrong host}]}`)
	g.Expect(admission.Compile(plan.Admission, true).Places()).To(gomega.ConsistOf(gomega.And(gomega.HaveField("Where", v1alpha1.RuleInReconcile),
		gomega.HaveField("Reason", "the API server knows no values of a box"))))
}

// Each value is twice the one before. A list of two elements that are the same list costs CEL nothing, but it is written twice.
func TestValuesThatGrowWithoutEnd(t *testing.T) {
	for name, grown := range map[string]string{
		"texts by templates": `value: "{{ .values.v%[1]d }}{{ .values.v%[1]d }}"`,
		"texts by cel":       `cel: "values.v%[1]d + values.v%[1]d"`,
		"lists by templates": `value: "{{ concat .values.v%[1]d .values.v%[1]d }}"`,
		"lists by cel":       `cel: "values.v%[1]d + values.v%[1]d"`,
		"lists of lists":     `value: ["{{ .values.v%[1]d }}", "{{ .values.v%[1]d }}"]`,
		"lists in cel":       `cel: "[values.v%[1]d, values.v%[1]d]"`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			first := `value: abcdefgh`
			if strings.HasPrefix(name, "lists") {
				first = `value: [abcdefgh]`
			}
			box := "values:\n- {name: v0, " + first + "}\n"
			for i := range 63 {
				box += fmt.Sprintf("- {name: v%d, ", i+1) + fmt.Sprintf(grown, i) + "}\n"
			}
			box += `onReconcile: {configmaps: [{name: a, data: {a: "{{ toJson .values.v63 }}"}}]}`
			_, err := newPorts().run(planOf(t, box), website(t, `{}`))
			expectStep(g, err, "onReconcile", Permanent, v1alpha1.ReasonBudgetExceeded)
			g.Expect(err).To(gomega.MatchError(gomega.MatchRegexp(`^onReconcile: configmaps/a: values\.v1\d: .*: over the output limit of a template \(1 MiB\)$`)))
		})
	}
}

// TestValuesOfSeveralTypesInOneMap: what a child is made of is often such a map. What a condition compares is none, and the API server's
// rules refuse it there.
func TestValuesOfSeveralTypesInOneMap(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `{values: [{name: rules, cel: '["a", 1, {"host": self.spec.host, "ports": [80, "http"]}]'}],
onReconcile: {resources: [{manifest: {apiVersion: example.com/v1, kind: Route, metadata: {name: r}, spec: {rules: "{{ .values.rules }}"}}}]}}`)
	_, err := p.run(plan, website(t, `{host: x}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	made := p.owned(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Route"}, "u1")
	g.Expect(made).To(gomega.HaveLen(1))
	g.Expect(made[0].Object["spec"]).To(gomega.Equal(map[string]any{"rules": []any{"a", int64(1), map[string]any{"host": "x", "ports": []any{int64(80), "http"}}}}))
	_, errs := Compile(boxOf(t, `{when: [{cel: '[1, "a"] == [1, "b"]'}]}`), Env{CRD: websites(t)})
	g.Expect(errs.ToAggregate()).To(gomega.MatchError(gomega.ContainSubstring("expected type 'int' but found 'string'")))
}

// Below children, a key that CEL computes is waited for as one that is written out; one of the resource's own fields is an error.
func TestAKeyThatCELComputesIsWaitedFor(t *testing.T) {
	const box = `
values: [{name: ids, cel: "self.spec.tags.map(t, children.part[t].metadata.uid)"}]
onReconcile:
  configmaps:
  - {id: part, name: "{{ .item }}", forEach: {field: spec.any}}
  - {name: all, data: {ids: "{{ .values.ids | join \",\" }}"}}
  - {name: gated, when: [{cel: "self.spec.tags.all(t, children.part[t].metadata.uid != '')"}]}
`
	g := gomega.NewWithT(t)
	p, plan := newPorts(), planOf(t, box)
	r, err := p.run(plan, website(t, `{tags: [a, b], any: [a]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	var messages []string
	for _, w := range r.Waits {
		messages = append(messages, w.Message)
	}
	g.Expect(messages).To(gomega.ContainElements("configmaps/all: values.ids: children.part.b is not there yet", gomega.HavePrefix("configmaps/gated: cel ")))
	g.Expect(p.configMap("all")).To(gomega.BeNil())
	r, err = p.run(plan, website(t, `{tags: [a, b], any: [a, b]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.BeEmpty())
	g.Expect(p.configMap("all")).NotTo(gomega.BeNil())
	g.Expect(p.configMap("gated")).NotTo(gomega.BeNil())

	_, err = newPorts().run(planOf(t, strings.ReplaceAll(box, "children.part[t].metadata.uid)", "self.spec.any[t] + children.part[t].metadata.uid)")), website(t, `{tags: [a], any: {b: c}}`))
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("spec.any.a: no such field in this resource")))
}
