package pipeline

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

var databaseKind = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Database"}

// other is an object that the box does not own.
func other(kind schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(obj.Object, content)
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID(namespace + name))
	obj.SetResourceVersion("1")
	return obj
}

func database(namespace, name, host string, labels map[string]string) *unstructured.Unstructured {
	obj := other(databaseKind, namespace, name, map[string]any{"status": map[string]any{"host": host}})
	obj.SetLabels(labels)
	return obj
}

const byName = `
cross: [{name: db, box: database, selector: {name: "{{ .spec.database.name }}"}}]
onReconcile: {configmaps: [{name: made, data: {v: "{{ .cross.db.status.host }}"}}]}
`

func withDatabase(objects ...*unstructured.Unstructured) *ports {
	p := newPorts()
	p.boxes = map[string]schema.GroupVersionKind{"database": databaseKind}
	p.others = objects
	return p
}

func TestCrossByName(t *testing.T) {
	g := gomega.NewWithT(t)
	p := withDatabase(database("team-a", "main", "db.local", nil), database("team-b", "main", "no", nil))
	_, err := p.run(planOf(t, byName), website(t, `{database: {name: main}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(made(p)).To(gomega.Equal([]string{"made=db.local configmaps/made"}))
}

func TestCrossByLabelsIsAList(t *testing.T) {
	g := gomega.NewWithT(t)
	web := map[string]string{"app": "web"}
	p := withDatabase(database("team-a", "a", "one", web), database("team-a", "b", "two", nil), database("team-a", "c", "three", web),
		database("team-b", "d", "four", web))
	_, err := p.run(planOf(t, `
cross: [{name: dbs, box: database, selector: {matchLabels: {app: "{{ .spec.host }}"}}}]
onReconcile: {configmaps: [{name: "{{ .item.metadata.name }}", forEach: {field: cross.dbs, key: "{{ .item.metadata.name }}"}, data: {v: "{{ .item.status.host }}"}}]}
`), website(t, `{host: web}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(made(p)).To(gomega.Equal([]string{
		"a=one configmaps/{{ .item.metadata.name }}#a", "c=three configmaps/{{ .item.metadata.name }}#c",
	}))
}

// TestLabelsThatAreAllLeftOut would select every object, which nobody has asked for.
func TestLabelsThatAreAllLeftOut(t *testing.T) {
	g := gomega.NewWithT(t)
	const box = `cross: [{name: dbs, box: database, selector: {matchLabels: {a: null, app: "{{ coalesce .spec.host }}"}}}]`
	p := withDatabase(database("team-a", "web", "web", map[string]string{"app": "web"}))
	_, err := p.run(planOf(t, box), website(t, `{image: x}`))
	expectStep(g, err, "cross", Permanent, v1alpha1.ReasonTemplateError)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("dbs: selector.matchLabels: each entry is null")))
	_, err = p.run(planOf(t, box), website(t, `{host: web}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
}

func TestCrossByExpressions(t *testing.T) {
	g := gomega.NewWithT(t)
	of := func(name string, labels map[string]string) *unstructured.Unstructured {
		return database("team-a", name, name, labels)
	}
	p := withDatabase(of("web", map[string]string{"app": "web", "tier": "x"}), of("api", map[string]string{"app": "api", "tier": "x"}),
		of("gone", map[string]string{"app": "api", "tier": "x", "old": ""}), of("other", map[string]string{"app": "other", "tier": "x"}), of("bare", map[string]string{"app": "api"}))
	_, err := p.run(planOf(t, `
cross:
- name: dbs
  box: database
  selector:
    matchLabels: {tier: x}
    matchExpressions: [{key: app, operator: In, values: ["{{ .spec.host }}", api]}, {key: old, operator: DoesNotExist}]
onReconcile: {configmaps: [{name: "{{ .item.metadata.name }}", forEach: {field: cross.dbs, key: "{{ .item.metadata.name }}"}, data: {v: "{{ .item.status.host }}"}}]}
`), website(t, `{host: web}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(made(p)).To(gomega.ConsistOf(gomega.HavePrefix("web="), gomega.HavePrefix("api=")))

	_, err = p.run(planOf(t, `cross: [{name: dbs, box: database, selector: {matchExpressions: [{key: app, operator: NotIn, values: ["{{ .spec.host }}"]}]}}]`), website(t, `{host: a b}`))
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(`dbs: selector.matchExpressions[0]: values[0][app]: Invalid value: "a b"`)))

	_, errs := Compile(boxOf(t, `
cross:
- {name: a, box: database, selector: {name: x, matchExpressions: [{key: app, operator: Exists}]}}
- {name: b, box: database, selector: {matchExpressions: [{key: "a b", operator: In}, {key: a, operator: Exists, values: [b]}, {key: a, operator: Gt, values: ["{{ .spec.hots }}"]}]}}
`), Env{CRD: websites(t), Mapper: stubMapper()})
	g.Expect(messages(errs)).To(gomega.ConsistOf(
		"spec.cross[0].selector.matchExpressions: Forbidden: name and matchExpressions contradict each other: a name gives one object, labels give a list",
		gomega.HavePrefix(`spec.cross[1].selector.matchExpressions[0].key: Invalid value: "a b": no key of labels: `),
		"spec.cross[1].selector.matchExpressions[0].values: Required value: In compares the label with values",
		"spec.cross[1].selector.matchExpressions[1].values: Forbidden: Exists asks whether the label is there, and takes no values",
		`spec.cross[1].selector.matchExpressions[2].operator: Invalid value: "Gt": wanted one of In, NotIn, Exists, DoesNotExist`,
		`spec.cross[1].selector.matchExpressions[2].values[0]: Invalid value: "{{ .spec.hots }}": column 4: spec.hots: no such field in the CRD's schema, did you mean "host"?`,
	))
}

func TestAbsentCrossSources(t *testing.T) {
	const optional = "cross: [{name: db, %s, optional: true}]\n" +
		"onReconcile: {configmaps: [{name: made, data: {v: '{{ default \"none\" .cross.db.status.host }}'}}]}"
	cases := map[string]struct {
		box     string
		ports   *ports
		waits   string // empty: it goes on
		missing []string
	}{
		"required object":    {box: byName, ports: withDatabase(), waits: `cross db: Database "team-a/main" does not exist`},
		"box that runs not":  {box: byName, ports: newPorts(), waits: `cross db: box "database" does not run`},
		"required list":      {box: `cross: [{name: db, box: database, selector: {matchLabels: {a: b}}}]`, ports: withDatabase(), waits: `cross db: no Database in namespace "team-a" has the labels "a=b"`},
		"optional object":    {box: fmt.Sprintf(optional, `box: database, selector: {name: main}`), ports: withDatabase()},
		"optional box":       {box: fmt.Sprintf(optional, `box: database, selector: {name: main}`), ports: newPorts()},
		"optional kind":      {box: fmt.Sprintf(optional, `apiVersion: a.example.com/v1, kind: Thing, selector: {name: main}`), ports: newPorts(), missing: []string{"Thing"}},
		"optional, no name":  {box: fmt.Sprintf(optional, `box: database, selector: {name: '{{ default "" .spec.host }}'}`), ports: withDatabase()},
		"required, no name":  {box: `cross: [{name: db, box: database, selector: {name: '{{ default "" .spec.host }}'}}]`, ports: withDatabase(), waits: `cross db: selector.name is empty`},
		"several, the first": {box: "cross: [{name: a, box: one}, {name: b, box: two}]", ports: newPorts(), waits: `cross a: box "one" does not run`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			tc.ports.missing = tc.missing
			r, err := tc.ports.run(planOf(t, tc.box), website(t, `{database: {name: main}}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			if tc.waits == "" {
				g.Expect(r.Waits).To(gomega.BeEmpty())
				g.Expect(made(tc.ports)).To(gomega.Equal([]string{"made=none configmaps/made"}))
				return
			}
			g.Expect(r.Waits[0]).To(gomega.And(gomega.HaveField("Reason", v1alpha1.ReasonWaitingForCross), gomega.HaveField("Message", tc.waits)))
			g.Expect(tc.ports.children).To(gomega.BeEmpty(), "no group runs")
			g.Expect(r.Stored.GetAnnotations()).NotTo(gomega.HaveKey(v1alpha1.AnnotationActiveSince))
		})
	}
}

// readsInParts has declarations that read what is required, by themselves or by what they take from another, and some that don't.
const readsInParts = `
cross: [{name: db, box: database, selector: {name: main}}, {name: spare, box: database, selector: {name: spare}, optional: true}]
external: [{name: quota, url: "https://quota.example.com/{{ .cross.db.status.host }}"}]
onReconcile:
  configmaps:
  - {name: reads, data: {v: "{{ .cross.db.status.host }}"}}
  - {name: gated, when: [{field: cross.db.status.host, operator: exists}]}
  - {name: calls, data: {v: "{{ .external.quota.limit }}"}}
  - {name: free, data: {v: "{{ .spec.host }}", spare: '{{ default "none" .cross.spare.status.host }}'}}
  deployments: [{name: "{{ .cross.db.status.host }}", image: "{{ .spec.image }}"}]
  services: [{name: front, port: 80}]
`

func TestARequiredObjectThatGoesAwayStopsOnlyWhatReadsIt(t *testing.T) {
	g := gomega.NewWithT(t)
	p := withDatabase(database("team-a", "main", "db", nil))
	c := &caller{ports: p, answer: func(*external.Request) (*external.Answer, error) {
		return &external.Answer{Status: 200, Body: map[string]any{"limit": int64(5)}}, nil
	}}
	plan := planOf(t, readsInParts)
	r, err := c.cycle(plan, website(t, `{image: nginx, host: one}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children).To(gomega.HaveLen(6))
	p.done()

	p.others = nil
	p.edit("free", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: children.IDOf(o)})
	})
	stored := r.Stored.DeepCopy()
	calls := len(c.asked)
	r, err = c.cycle(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"change ConfigMap/free"}), "what does not read it is corrected, and nothing is pruned")
	g.Expect(c.asked).To(gomega.HaveLen(calls), "what a call reads is not there")
	g.Expect(r.Waits).To(gomega.ConsistOf(stage.Wait{Of: ".cross.db", Reason: v1alpha1.ReasonWaitingForCross, Message: `cross db: Database "team-a/main" does not exist; ` +
		`waiting for it: configmaps/reads, configmaps/gated, configmaps/calls and 2 more`}))
}

func TestAnOptionalSourceThatIsRefusedIsSaid(t *testing.T) {
	const box = `
cross: [{name: db, apiVersion: v1, kind: ConfigMap, selector: {name: x, namespace: "{{ .spec.host }}"}, optional: true}]
onReconcile: {configmaps: [{data: {v: '{{ default "none" .cross.db.data.v }}'}}]}
`
	g := gomega.NewWithT(t)
	p := newPorts()
	ns := other(stage.NamespaceKind, "", "shared", nil)
	p.others = []*unstructured.Unstructured{ns}
	plan := planOf(t, box)
	ready := func(stored *unstructured.Unstructured) (string, *unstructured.Unstructured) {
		r, err := p.run(plan, stored)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		res, err := r.Result(context.Background(), nil)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue))
		g.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionFalse), "nothing is under way")
		return res.Ready.Message, r.Stored
	}
	message, stored := ready(website(t, `{host: shared}`))
	g.Expect(message).To(gomega.HavePrefix(`the last reconcile succeeded; cross db: selector.namespace: namespace "shared" does not`))
	ns.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowFrom: "team-a"})
	message, _ = ready(stored)
	g.Expect(message).To(gomega.Equal("the last reconcile succeeded"), "what is allowed, and absent, is not")
}

func TestARequiredKindThatIsNotInstalledIsRetried(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.missing = []string{"Thing"}
	_, err := p.run(planOf(t, `cross: [{name: db, apiVersion: a.example.com/v1, kind: Thing, selector: {name: x}}]`), website(t, ""))
	expectStep(g, err, stage.StepCross, Transient, "")
}

func TestWhatCrossReadsIsAnInput(t *testing.T) {
	cases := map[string]struct {
		box    string
		change func(p *ports)
		want   bool
	}{
		"nothing":               {byName, func(*ports) {}, true},
		"another object":        {byName, func(p *ports) { p.others = append(p.others, database("team-a", "new", "x", nil)) }, true},
		"the object":            {byName, func(p *ports) { p.others[0].SetResourceVersion("2") }, false},
		"the object goes":       {byName, func(p *ports) { p.others = nil }, false},
		"the object is another": {byName, func(p *ports) { p.others[0].SetUID("new") }, false},
		"the box serves another kind": {byName, func(p *ports) {
			p.boxes["database"] = schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "Y"}
		}, false},
		"a list gets longer": {`cross: [{name: dbs, box: database}]`, func(p *ports) {
			p.others = append(p.others, database("team-a", "new", "x", nil))
		}, false},
		"a list elsewhere gets longer": {`cross: [{name: dbs, box: database}]`, func(p *ports) {
			p.others = append(p.others, database("team-b", "new", "x", nil))
		}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := withDatabase(database("team-a", "main", "db.local", nil))
			plan := planOf(t, tc.box)
			r := idleRun(g, p, plan, website(t, `{database: {name: main}}`))
			tc.change(p)
			g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.Equal(tc.want))
		})
	}
}

func TestTheArrivalOfAnAbsentObjectIsAnInput(t *testing.T) {
	g := gomega.NewWithT(t)
	p := withDatabase()
	plan := planOf(t, byName)
	r, err := p.run(plan, website(t, `{database: {name: main}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeTrue())
	p.others = append(p.others, database("team-a", "main", "x", nil))
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse())
}

func TestCrossMistakes(t *testing.T) {
	known := func(string) *apiextensionsv1.JSONSchemaProps {
		return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"host": {Type: "string"}}},
		}}
	}
	cases := map[string]struct{ box, want string }{
		"box and kind":               {`cross: [{name: db, box: a, kind: B, apiVersion: v1}]`, "give exactly one of box and kind"},
		"neither":                    {`cross: [{name: db}]`, "give exactly one of box and kind"},
		"no version":                 {`cross: [{name: db, kind: B}]`, "spec.cross[0].apiVersion: Required value: such as v1, or apps/v1"},
		"a version beside box":       {`cross: [{name: db, box: a, apiVersion: v1}]`, "spec.cross[0].apiVersion: Forbidden"},
		"a kind there is not":        {`cross: [{name: db, kind: Secrt, apiVersion: v1}]`, `v1 has no such kind, did you mean "Secret"?`},
		"name and labels":            {`cross: [{name: db, box: a, selector: {name: x, matchLabels: {a: b}}}]`, "name and matchLabels contradict each other"},
		"one name twice":             {`cross: [{name: db, box: a}, {name: db, box: b}]`, `spec.cross[1].name: Duplicate value: "db"`},
		"it reads children":          {`cross: [{name: db, box: a, selector: {name: "{{ .children.deployment.metadata.name }}"}}]`, "children is not available here"},
		"it reads cross":             {`cross: [{name: db, box: a, selector: {name: "{{ .cross.db.x }}"}}]`, "cross is not available here"},
		"an unknown source":          {`{cross: [{name: db, box: a}], onReconcile: {configmaps: [{data: {a: "{{ .cross.dbx.y }}"}}]}}`, `did you mean "db"?`},
		"an unknown field":           {`{cross: [{name: db, box: a, selector: {name: x}}], onReconcile: {configmaps: [{data: {a: "{{ .cross.db.status.hots }}"}}]}}`, `did you mean "host"?`},
		"an unknown field of a list": {`{cross: [{name: db, box: a}], onReconcile: {configmaps: [{forEach: {field: cross.db}, data: {a: "{{ .item.status.hots }}"}}]}}`, `did you mean "host"?`},
		"in validation":              {`{cross: [{name: db, box: a}], validation: {rules: [{field: cross.db, operator: exists}]}}`, "cross is not available here"},
		"in onDelete":                {`{cross: [{name: db, box: a}], onDelete: {configmaps: [{data: {a: "{{ .cross.db.x }}"}}]}}`, "cross is not available here"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t), BoxSchema: known})
			g.Expect(messages(errs)).To(gomega.ConsistOf(gomega.ContainSubstring(tc.want)))
		})
	}
}

// Who may write a resource must not learn which namespaces there are.
func TestANamespaceThatIsNotThereSoundsLikeOneThatDoesNotLetIn(t *testing.T) {
	for name, box := range map[string]string{
		"child": `onReconcile: {configmaps: [{name: made, namespace: "{{ .spec.host }}"}]}`,
		"cross": `cross: [{name: c, apiVersion: v1, kind: ConfigMap, selector: {name: x, namespace: "{{ .spec.host }}"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			answers := map[bool]string{}
			for _, exists := range []bool{true, false} {
				p := newPorts()
				if exists {
					p.others = append(p.others, other(stage.NamespaceKind, "", "shared", nil))
				}
				r, err := p.run(planOf(t, box), website(t, "host: shared"))
				answers[exists] = fmt.Sprint(err, r.Waits, r.Completed)
			}
			g.Expect(answers[true]).To(gomega.ContainSubstring("does not let resources"))
			g.Expect(answers[false]).To(gomega.Equal(answers[true]))
		})
	}
}

func TestReachingOtherNamespaces(t *testing.T) {
	const box = `onReconcile: {configmaps: [{name: made, namespace: "{{ .spec.host }}"}]}`
	cases := map[string]struct{ allow, want string }{
		"its own name":     {"team-a", ""},
		"among others":     {"x, team-a ,y", ""},
		"everybody":        {"*", ""},
		"others":           {"team-b", `namespace: namespace "shared" does not let resources of "team-a" in: add "team-a" to its annotation orkestra.orkspace.io/allow-from`},
		"a part of a name": {"team", "does not let resources"},
		"nobody":           {"", "does not let resources"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			ns := other(stage.NamespaceKind, "", "shared", nil)
			ns.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowFrom: tc.allow})
			p.others = append(p.others, ns)
			plan := planOf(t, box)
			g.Expect(plan.ObservedKinds).To(gomega.Equal([]schema.GroupVersionKind{stage.NamespaceKind}))
			r, err := p.run(plan, website(t, `{host: shared}`))
			if tc.want == "" {
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(p.children[0].GetNamespace()).To(gomega.Equal("shared"))
			} else {
				expectStep(g, err, stage.StepOnReconcile, Permanent, v1alpha1.ReasonTemplateError)
				g.Expect(err.Error()).To(gomega.ContainSubstring(tc.want))
			}
			ns.SetResourceVersion("2")
			g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, p, now)).To(gomega.BeFalse(), "the annotation is an input")
		})
	}
}

const copies = `
cross: [{name: source, apiVersion: v1, kind: Secret, selector: {name: creds}}]
onReconcile: {resources: [{manifest: {apiVersion: v1, kind: Secret, metadata: {name: copy}, data: "{{ .cross.source.data }}"}}]}
status: {fields: [{path: message, value: "{{ toJson .cross.source }}"}]}
`

func TestOnlyChildrenSeeWhatASecretHolds(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.others = []*unstructured.Unstructured{other(compile.SecretKind, "team-a", "creds", map[string]any{"data": map[string]any{"password": "aHVudGVyMg=="}})}
	r, err := p.run(planOf(t, copies), website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children[0].Object["data"]).To(gomega.Equal(map[string]any{"password": "aHVudGVyMg=="}))
	result, err := r.Result(context.Background(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	shown := fmt.Sprint(result.Fields)
	g.Expect(shown).To(gomega.And(gomega.ContainSubstring("creds"), gomega.Not(gomega.ContainSubstring("aHVudGVyMg"))))
}

func TestARefusalQuotesNothingThatASecretHolds(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.others = []*unstructured.Unstructured{other(compile.SecretKind, "team-a", "creds", map[string]any{"data": map[string]any{"password": "aHVudGVyMg=="}})}
	p.apply = func(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) {
		return apply.Outcome{}, apierrors.NewInvalid(compile.SecretKind.GroupKind(), "copy", field.ErrorList{field.Invalid(field.NewPath("data", "password"), "aHVudGVyMg==", "too short")})
	}
	_, err := p.run(planOf(t, copies), website(t, ""))
	expectStep(g, err, stage.StepOnReconcile, Refused, v1alpha1.ReasonInvalidChild)
	g.Expect(err.Error()).To(gomega.And(gomega.ContainSubstring("data.password (FieldValueInvalid)"), gomega.Not(gomega.ContainSubstring("aHVudGVyMg=="))))
}

// A field that an object of cross does not have yet holds up what reads it, and nothing else, as a field of a child does.
func TestAFieldOfACrossObjectThatIsNotThereIsAWait(t *testing.T) {
	g := gomega.NewWithT(t)
	empty := other(databaseKind, "team-a", "main", map[string]any{"status": map[string]any{}})
	p := withDatabase(empty)
	c := &caller{ports: p, answer: func(*external.Request) (*external.Answer, error) {
		return &external.Answer{Status: 200, Body: map[string]any{"limit": int64(5)}}, nil
	}}
	const box = `
values: [{name: url, value: "http://{{ .cross.db.status.host }}"}]
cross: [{name: db, box: database, selector: {name: main}}]
onReconcile:
  configmaps:
  - {name: reads, data: {v: "{{ .cross.db.status.host }}"}}
  - {name: through, data: {v: "{{ .values.url }}"}}
  - {name: either, data: {v: '{{ default "none" .cross.db.status.host }}'}}
  - {name: unimportant, optional: true, data: {v: "{{ .cross.db.status.host }}"}}
  - {name: free, data: {v: "{{ .spec.host }}"}}
`
	plan := planOf(t, box)
	r, err := c.cycle(plan, website(t, `{host: one}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(made(p)).To(gomega.ConsistOf("either=none configmaps/either", "free=one configmaps/free"))
	g.Expect(r.Waits).To(gomega.ConsistOf(
		stage.Wait{Of: "configmaps/reads", Reason: v1alpha1.ReasonWaitingForCross, Message: "configmaps/reads: cross.db.status.host is not there yet"},
		stage.Wait{Of: "configmaps/through", Reason: v1alpha1.ReasonWaitingForCross, Message: "configmaps/through: values.url: cross.db.status.host is not there yet"},
	))

	p.others = []*unstructured.Unstructured{database("team-a", "main", "db", nil)}
	r, err = c.cycle(plan, r.Stored.DeepCopy())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.BeEmpty())
	g.Expect(p.data("reads")).To(gomega.HaveKeyWithValue("v", "db"))
	g.Expect(p.data("through")).To(gomega.HaveKeyWithValue("v", "http://db"))

	p.others = []*unstructured.Unstructured{empty}
	r, err = c.cycle(plan, r.Stored.DeepCopy())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.HaveLen(2))
	g.Expect(p.data("reads")).To(gomega.HaveKeyWithValue("v", "db"), "what was made stays as it is")

	p.others = []*unstructured.Unstructured{empty}
	plan = planOf(t, `
cross: [{name: db, box: database, selector: {name: main}}]
external: [{name: quota, url: "https://quota.example.com/{{ .cross.db.status.host }}"}]
onReconcile: {configmaps: [{name: calls, data: {v: "{{ .external.quota.limit }}"}}, {name: free, data: {v: "{{ .spec.host }}"}}]}
`)
	r, err = c.cycle(plan, r.Stored.DeepCopy())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked).To(gomega.BeEmpty())
	g.Expect(r.Waits).To(gomega.ConsistOf(stage.Wait{Of: ".external.quota", Reason: v1alpha1.ReasonWaitingForCross,
		Message: "external quota: cross.db.status.host is not there yet; waiting for it: configmaps/calls"}))
}
