package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// TestAfterThatMeansNothing: each is told when the box is applied.
func TestAfterThatMeansNothing(t *testing.T) {
	for name, tc := range map[string]struct{ box, at, why string }{
		"an unknown id": {
			`onReconcile: {configmaps: [{id: settings, name: a}], services: [{port: 80, selector: {a: b}, after: [setting]}]}`,
			`spec.onReconcile.services[0].after[0]`, `did you mean "settings"?; give the one that is meant an `,
		},
		"of another group": {
			`{onReconcile: {services: [{port: 80, selector: {a: b}, after: [done]}]}, onDelete: {configmaps: [{id: done, name: a}]}}`,
			`spec.onReconcile.services[0].after[0]`, `no declaration that runs with this one has this id`,
		},
		"of a group that runs later": {
			`{onCreate: {configmaps: [{name: a, after: [web]}]}, onReconcile: {configmaps: [{id: web, name: b}]}}`,
			`spec.onCreate.configmaps[0].after[0]`, `spec.onReconcile.configmaps[0] stands in onReconcile, which runs after onCreate: move one of the two`,
		},
		"in onDelete": {
			`onDelete: {configmaps: [{id: a, name: a}, {id: b, name: b, after: [a]}]}`,
			`spec.onDelete.configmaps[1].after`, `deletion.ordered puts what stands in onDelete in an order; remove after`,
		},
		"itself": {
			`onReconcile: {configmaps: [{id: a, name: a, after: [a]}]}`,
			`spec.onReconcile.configmaps[0]`, "these wait for each other's children by `when`, `after` or what their templates read: none of them would ever be made; let one of them not wait, as with `default`",
		},
		"a ring": {
			`onReconcile: {configmaps: [{id: a, name: a, after: [b]}, {id: b, name: b, after: [c]}, {id: c, name: c, when: [{field: children.a.data.x, equals: y}]}]}`,
			`spec.onReconcile.configmaps[0]`, `a → b → c → a`,
		},
		"a ring of templates": {
			`onReconcile: {configmaps: [{id: a, name: a, data: {x: "of {{ .children.b.metadata.uid }}"}}, {id: b, name: b, labels: {x: "{{ .children.c.data.x | trunc 5 }}"}},
				{id: c, name: c, data: {x: "{{ .children.a.data.x }}"}}]}`,
			`spec.onReconcile.configmaps[0]`, `a → b → c → a`,
		},
		"a ring of a template, a value and a gate": {
			`{values: [{name: ip, value: "{{ .children.web.spec.clusterIP }}"}], onReconcile: {configmaps: [{id: a, name: a, data: {x: "{{ .values.ip }}"}}],
				services: [{id: web, port: 80, selector: {a: b}, when: [{field: children.a, exists: true}]}]}}`,
			`spec.onReconcile.configmaps[0]`, `a → web → a`,
		},
		"a template that reads its own child": {
			`onReconcile: {configmaps: [{id: a, name: a, data: {x: "{{ .children.a.metadata.uid }}"}}]}`,
			`spec.onReconcile.configmaps[0]`, `a → a`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t)})
			g.Expect(errs).To(gomega.HaveLen(1))
			g.Expect(errs[0].Field).To(gomega.Equal(tc.at))
			g.Expect(errs[0].Error()).To(gomega.ContainSubstring(tc.why))
		})
	}
}

// TestAfterWaitsUntilWhatComesFirstIsCurrent: by readyWhen, and again with each change.
// Rings of templates are made as far as a read may be absent, or is not made each time.
func TestRingsOfTemplatesThatMove(t *testing.T) {
	for _, read := range []string{
		`{{ .children.b.metadata.uid | default "none" }}`, `{{ if .children.b }}{{ .children.b.metadata.uid }}{{ end }}`, `{{ and .spec.tls .children.b.metadata.uid }}`,
	} {
		g := gomega.NewWithT(t)
		p := newPorts()
		plan := planOf(t, `onReconcile: {configmaps: [{id: a, name: a, data: {x: '`+read+`'}}, {id: b, name: b, data: {x: "{{ .children.a.metadata.name }}"}}]}`)
		shownBy(g, p, plan, website(t, `{tls: false}`))
		g.Expect(p.done()).To(gomega.HaveExactElements("mark Website/shop", "create ConfigMap/a", "create ConfigMap/b"), read)
	}
}

func TestAfterWaitsUntilWhatComesFirstIsCurrent(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [
  {id: web, name: web, data: {host: "{{ .spec.host }}"}, after: [first]},
  {id: first, name: first, data: {host: "{{ .spec.host }}"}, readyWhen: [{field: object.metadata.annotations.phase, equals: "{{ .spec.host }}"}]}]}`)
	r, res := shownBy(g, p, plan, website(t, `{host: a}`))
	g.Expect(p.done()).To(gomega.HaveExactElements("mark Website/shop", "create ConfigMap/first"))
	const waiting = `web: after first: ConfigMap "first": object.metadata.annotations.phase: wanted equals a, actual absent`
	g.Expect(res.Reconciling).To(gomega.Equal(conditionIs("Reconciling", "True", v1alpha1.ReasonWaitingForGate, waiting+" (and 1 more)")))
	p.edit("first", withPhase("a"))
	r, res = shownBy(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/web"}))
	g.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionFalse))

	changed := r.Stored.DeepCopy()
	changed.Object["spec"] = map[string]any{"host": "b"}
	r, res = shownBy(g, p, plan, changed)
	g.Expect(p.done()).To(gomega.Equal([]string{"change ConfigMap/first"}), "the other is left as it is")
	g.Expect(res.Reconciling.Message).To(gomega.ContainSubstring(`wanted equals b, actual absent; ConfigMap "web" is left as it is`))
	p.edit("first", withPhase("b"))
	_, res = shownBy(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.Equal([]string{"change ConfigMap/web"}))
	g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue))
}

// otherWebAnd is a box of three ConfigMaps, of which the second comes after the third.
func otherWebAnd(first string) string {
	name := "first"
	if strings.Contains(first, "forEach") {
		name = "first{{ .key }}"
	}
	return `onReconcile: {configmaps: [{id: other, name: other}, {id: web, name: web, after: [first]}, {id: first, name: "` + name + `", ` + first + `}]}`
}

// TestWhatAfterDoesNotWaitFor: what is not made by choice, what has no items, and what is optional and waits.
func TestWhatAfterDoesNotWaitFor(t *testing.T) {
	const never = `readyWhen: [{field: object.data.never, exists: true}]`
	for name, first := range map[string]string{
		"not made by choice":            `when: [{field: spec.tls, equals: true}], ` + never,
		"an item not made by choice":    `forEach: {field: spec.tags}, when: [{field: item, equals: c}], ` + never,
		"no items":                      `forEach: {field: spec.any}, ` + never,
		"optional, and waits":           `optional: true, when: [{field: children.other.data.x, equals: y}], ` + never,
		"optional, and an absent field": `optional: true, data: {x: "{{ .children.other.data.x }}"}, ` + never,
		"current":                       `data: {a: b}`,
		"items that are current":        `forEach: {field: spec.tags}, data: {a: b}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, otherWebAnd(first))
			shownBy(g, p, plan, website(t, `{tls: false, tags: [a, b]}`))
			g.Expect(p.done()).To(gomega.ContainElement("create ConfigMap/web"))
		})
	}
}

// TestWhatAfterWaitsFor: what waits itself, each item of a loop, and what is there no more.
func TestWhatAfterWaitsFor(t *testing.T) {
	for name, tc := range map[string]struct{ first, why string }{
		"it waits by a gate":        {`when: [{field: children.other.data.x, equals: y}]`, "web: after first: it waits itself"},
		"it waits for a field":      {`data: {x: "{{ .children.other.data.x }}"}`, "web: after first: it waits itself"},
		"an item that waits":        {`forEach: {field: spec.tags}, data: {x: '{{ if eq .item "b" }}{{ .children.other.data.x }}{{ end }}'}`, "web: after first: it waits itself"},
		"an item is not current":    {`forEach: {field: spec.tags}, readyWhen: [{field: item, equals: a}]`, `web: after first: ConfigMap "first1": item: wanted equals a, actual a string`},
		"an item that a gate holds": {`forEach: {field: spec.tags}, anyOf: [{field: item, equals: a}, {field: children.other.data.x, equals: y}]`, "web: after first: it waits itself"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, otherWebAnd(tc.first))
			r, _ := shownBy(g, p, plan, website(t, `{tags: [a, b]}`))
			g.Expect(p.done()).NotTo(gomega.ContainElement("create ConfigMap/web"))
			var waits []string
			for _, w := range r.Waits {
				waits = append(waits, w.Message)
			}
			g.Expect(waits).To(gomega.ContainElement(tc.why))
		})
	}
}

// TestAfterAJobWaitsForTheJobThatIsDeclaredNow: one that completed with something else does not count, and one that is gone does.
func TestAfterAJobWaitsForTheJobThatIsDeclaredNow(t *testing.T) {
	l := newLife(t, `onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", replace: true, ttlSecondsAfterFinished: 10}],
  deployments: [{image: "{{ .spec.image }}", after: [migrate]}]}`, `{image: a}`)
	l.runUntilIdle()
	l.Expect(l.rolledOut()).To(gomega.BeEmpty())
	l.ends("shop", batchv1.JobFailed)
	r := l.runUntilIdle()
	l.Expect(l.rolledOut()).To(gomega.BeEmpty(), "a Job that failed is not current")
	l.Expect(r.Waits).NotTo(gomega.BeEmpty())
	l.ends("shop", batchv1.JobComplete)
	l.runUntilIdle()
	l.Expect(l.rolledOut()).To(gomega.Equal("a"))
	l.goes("shop")
	l.edit(`{image: a, host: x}`)
	l.Expect(l.runUntilIdle().Waits).To(gomega.BeEmpty(), "it is gone as its life time asked for")
	l.edit(`{image: b}`)
	l.runUntilIdle()
	l.Expect(l.rolledOut()).To(gomega.Equal("a"))
	l.ends("shop", batchv1.JobComplete)
	l.runUntilIdle()
	l.Expect(l.rolledOut()).To(gomega.Equal("b"))
}

// TestAfterOfWhatIsMadeOnce: what is made does not wait again, and what was made once and is gone is not waited for.
func TestAfterOfWhatIsMadeOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `{onCreate: {configmaps: [{id: seed, name: seed, readyWhen: [{field: object.metadata.annotations.phase, equals: Up}]}]},
onReconcile: {configmaps: [{id: web, name: web, after: [seed]}, {id: fixed, name: fixed, once: true, after: [seed]}]}}`)
	r, _ := shownBy(g, p, plan, website(t, `{}`))
	g.Expect(p.done()).To(gomega.And(gomega.ContainElement("create ConfigMap/seed"), gomega.Not(gomega.ContainElement("create ConfigMap/web"))))
	p.edit("seed", withPhase("Up"))
	r, _ = shownBy(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.ContainElements("create ConfigMap/web", "create ConfigMap/fixed"))
	p.edit("seed", withPhase("Down"))
	r, _ = shownBy(g, p, plan, r.Stored)
	g.Expect(r.Waits).To(gomega.HaveLen(1), "what is made once has nothing left to do")
	g.Expect(r.Waits[0].Message).To(gomega.HavePrefix("web: after seed: "))
	for _, c := range p.list(configMapKind, "u1") {
		if c.GetName() == "seed" {
			p.remove("gone", c)
		}
	}
	r, _ = shownBy(g, p, plan, r.Stored)
	g.Expect(r.Waits).To(gomega.BeEmpty(), "it is not made again")
}

// TestAfterWhatReadsAnAbsentSource: of a loop over it, nothing is known yet, so that it does not count as one without items.
func TestAfterWhatReadsAnAbsentSource(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `{cross: [{name: db, apiVersion: v1, kind: ConfigMap, selector: {name: db}}],
onReconcile: {configmaps: [{id: web, name: web, data: {host: "{{ .spec.host }}"}, after: [first]}, {id: first, name: "first-{{ .key }}", forEach: {field: cross.db.data}}]}}`)
	p.others = append(p.others, other(configMapKind, "team-a", "db", map[string]any{"data": map[string]any{"a": "b"}}))
	r, _ := shownBy(g, p, plan, website(t, `{host: a}`))
	g.Expect(p.done()).To(gomega.ContainElements("create ConfigMap/first-a", "create ConfigMap/web"))
	p.others = nil
	changed := r.Stored.DeepCopy()
	changed.Object["spec"] = map[string]any{"host": "b"}
	r, _ = shownBy(g, p, plan, changed)
	g.Expect(p.done()).NotTo(gomega.ContainElement("change ConfigMap/web"))
	g.Expect(r.Waits).To(gomega.ContainElement(gomega.HaveField("Message", `web: after first: it waits itself; ConfigMap "web" is left as it is`)))
}

// TestAfterANameThatChanges: the object under the former name says nothing of the one that is declared now.
func TestAfterANameThatChanges(t *testing.T) {
	for name, sorted := range map[string]func([]*unstructured.Unstructured){"the former first": func([]*unstructured.Unstructured) {}, "the former last": slices.Reverse[[]*unstructured.Unstructured]} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.owned = func(kind schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured {
				all := p.list(kind, owner)
				sorted(all)
				return all
			}
			plan := planOf(t, `onReconcile: {configmaps: [{id: web, name: web, data: {host: "{{ .spec.host }}"}, after: [first]},
  {id: first, name: "first-{{ .spec.host }}", readyWhen: [{field: object.metadata.annotations.phase, equals: Up}]}]}`)
			r, _ := shownBy(g, p, plan, website(t, `{host: a}`))
			p.edit("first-a", withPhase("Up"))
			r, _ = shownBy(g, p, plan, r.Stored)
			g.Expect(p.done()).To(gomega.ContainElement("create ConfigMap/web"))
			changed := r.Stored.DeepCopy()
			changed.Object["spec"] = map[string]any{"host": "b"}
			shownBy(g, p, plan, changed)
			g.Expect(p.done()).NotTo(gomega.ContainElement("change ConfigMap/web"))
		})
	}
}

// TestAJobThatComesAfterIsNotAnsweredByItsFormerRun: what reads the Job waits with it.
func TestAJobThatComesAfterIsNotAnsweredByItsFormerRun(t *testing.T) {
	l := newLife(t, `onReconcile: {configmaps: [{id: first, name: first, readyWhen: [{field: object.metadata.annotations.phase, equals: "{{ .spec.image }}"}]}],
  jobs: [{id: migrate, image: "{{ .spec.image }}", replace: true, after: [first]}],
  deployments: [{image: "{{ .spec.image }}", when: [`+migrated+`]}]}`, `{image: a}`)
	l.cycle()
	l.world.edit("first", withPhase("a"))
	l.runUntilIdle()
	l.ends("shop", batchv1.JobComplete)
	l.runUntilIdle()
	l.Expect(l.rolledOut()).To(gomega.Equal("a"))
	l.edit(`{image: b}`)
	l.runUntilIdle()
	l.Expect(l.rolledOut()).To(gomega.Equal("a"), "the Job of b has not run")
}

// TestAfterInARollback: a Job is not run again, so that nothing waits for it.
func TestAfterInARollback(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `{rollback: {}, onReconcile: {jobs: [{id: seed, image: "{{ .spec.image }}"}], configmaps: [{name: a, after: [seed]}]}}`)
	r := plan.NewRunTo(snapshotOf(website(t, "image: good")), website(t, "image: bad"), now, p.ports())
	g.Expect(plan.GoBack(t.Context(), r)).To(gomega.Succeed())
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/a"}))
}

// TestAfterIsNotAskedByTheDryRun: what comes later is tried with the rest, before anything changes.
func TestAfterIsNotAskedByTheDryRun(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	dry := &recorder{ports: p, refuse: "b"}
	ports := p.ports()
	ports.DryRun = dry
	plan := planOf(t, `{rollBackOnError: true, onReconcile: {configmaps: [{id: a, name: a, readyWhen: [{field: object.data.x, exists: true}]}, {name: b, after: [a]}]}}`)
	err := plan.Execute(t.Context(), plan.NewRun(website(t, "image: x"), now, ports))
	expectStep(g, err, "dryRun", Refused, v1alpha1.ReasonInvalidChild)
	g.Expect(p.done()).NotTo(gomega.ContainElement("create ConfigMap/a"))
}
