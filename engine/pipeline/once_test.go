package pipeline

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/children"
)

// lives runs a plan for a resource that goes on as the last run has marked it.
func (p *ports) lives(t *testing.T, plan *Plan, marks map[string]string, spec string) (map[string]string, error) {
	t.Helper()
	resource := website(t, spec)
	resource.SetAnnotations(marks)
	r, err := p.run(plan, resource)
	return r.Stored.GetAnnotations(), err
}

// draws runs a plan for a new resource, and gives its marks and what the ConfigMap web holds then.
func (p *ports) draws(t *testing.T, plan *Plan, spec string) (marks map[string]string, drew any) {
	t.Helper()
	g := gomega.NewWithT(t)
	marks, err := p.lives(t, plan, nil, spec)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	drew = p.data("web")
	g.Expect(drew).To(gomega.HaveKeyWithValue("password", gomega.HaveLen(16)))
	return marks, drew
}

// keeps runs a plan again, and expects that the ConfigMap web still holds what was drawn.
func (p *ports) keeps(t *testing.T, plan *Plan, marks map[string]string, spec string, drew any) map[string]string {
	t.Helper()
	g := gomega.NewWithT(t)
	marks, err := p.lives(t, plan, marks, spec)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("web")).To(gomega.Equal(drew))
	return marks
}

// madeBy gives the id of the declaration that a ConfigMap says has made it.
func (p *ports) madeBy(name string) string {
	for _, c := range p.list(configMapKind, "u1") {
		if c.GetName() == name {
			return children.IDOf(c)
		}
	}
	return ""
}

// drawnOnce is a text that is another one each time, of a child that is made once.
const drawnOnce = `once: true, data: {password: "{{ randAlpha 16 }}"}`

// What one declaration has drawn is not taken by another that makes its object once, too, also where the first one is not about to render it.
func TestWhatIsMadeOnceIsNotTaken(t *testing.T) {
	for name, test := range map[string]struct {
		box, made string
		edits     []string // in each, the second declaration leads to what the first has made
		message   string   // the end of it
		back      string   // where it no longer does
	}{
		"of onCreate, under its name": {
			box: `
onCreate: {configmaps: [{id: cr, name: "{{ .spec.host }}", ` + drawnOnce + `}]}
onReconcile: {configmaps: [{id: rec, name: "{{ .spec.image }}", after: [cr], ` + drawnOnce + `}]}`,
			made: `{host: web, image: o}`, edits: []string{`{host: web, image: web}`, `{host: elsewhere, image: web}`}, back: `{host: web, image: o}`,
			message: `"rec" renders ConfigMap "web", which "cr" has made once and keeps; give "rec" another name`,
		},
		"by a gate that keeps it": {
			box: `
onReconcile:
  configmaps:
  - {id: a, name: web, whenFalse: Keep, when: [{field: spec.host, equals: a}], ` + drawnOnce + `}
  - {id: b, name: web, when: [{field: spec.host, equals: b}], ` + drawnOnce + `}`,
			made: `{host: a}`, edits: []string{`{host: b}`}, back: `{host: none}`,
			message: `"b" renders ConfigMap "web", which "a" has made once and keeps; give "b" another name`,
		},
		"by a gate that keeps it, and is asked later": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: web, when: [{field: spec.host, equals: b}], ` + drawnOnce + `}
  - {id: first, name: first}
  - {id: a, name: web, whenFalse: Keep, after: [first], when: [{field: spec.host, equals: a}], ` + drawnOnce + `}`,
			made: `{host: a}`, edits: []string{`{host: b}`}, back: `{host: none}`,
			message: `"b" renders ConfigMap "web", which "a" has made once and keeps; give "b" another name`,
		},
		"by a gate that keeps it, under a former name": {
			box: `
onReconcile:
  configmaps:
  - {id: a, name: "{{ .spec.image }}", whenFalse: Keep, when: [{field: spec.tls, equals: true}], ` + drawnOnce + `}
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}`,
			made: `{image: web, tls: true, host: o}`, edits: []string{`{image: elsewhere, tls: false, host: web}`}, back: `{image: web, tls: true, host: o}`,
			message: `"b" renders ConfigMap "web", which "a" has made once and keeps; give "b" another name`,
		},
		"by a wait": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: lever, name: lever, data: {ready: "{{ .spec.image }}"}}
  - {id: a, name: web, when: [{field: children.lever.data.ready, equals: "yes"}], ` + drawnOnce + `}`,
			made: `{host: o, image: "yes"}`, edits: []string{`{host: web, image: "no"}`}, back: `{host: o, image: "no"}`,
			message: `give one of them another name`, // the lever still says yes
		},
		"before its turn": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: first, name: first}
  - {id: a, name: web, after: [first], ` + drawnOnce + `}`,
			made: `{host: o}`, edits: []string{`{host: web}`}, back: `{host: o}`,
			message: `"b" renders ConfigMap "web", which "a" has made once; give one of them another name`,
		},
		"by the gate of an item": {
			box: `
onReconcile:
  configmaps:
  - {id: each, name: web, forEach: {field: spec.any.list, as: it, key: "{{ .it.key }}"}, whenFalse: Keep, when: [{field: it.active, equals: true}], ` + drawnOnce + `}`,
			made: `{any: {list: [{key: a, active: true}]}}`, edits: []string{`{any: {list: [{key: a, active: false}, {key: b, active: true}]}}`, `{any: {list: [{key: b, active: true}, {key: a, active: false}]}}`},
			back:    `{any: {list: [{key: a, active: false}]}}`,
			message: `"each#b" renders ConfigMap "web", which "each#a" has made once and keeps; give "each#b" another name`,
		},
		"by an item": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: first, name: first}
  - {id: each, name: "{{ .item }}", forEach: {field: spec.tags, key: "{{ .item }}"}, after: [first], ` + drawnOnce + `}`,
			made: `{host: o, tags: [web, x]}`, edits: []string{`{host: web, tags: [web, x]}`}, back: `{host: o, tags: [web, x]}`,
			message: `"b" renders ConfigMap "web", which "each#web" has made once; give one of them another name`,
		},
		"while its source is not there": {
			box: `
cross: [{name: db, apiVersion: v1, kind: ConfigMap, selector: {name: "{{ .spec.image }}"}}]
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: a, name: web, whenFalse: Delete, when: [{field: cross.db.data.k, equals: v}], ` + drawnOnce + `}`,
			made: `{host: o, image: there}`, edits: []string{`{host: web, image: absent}`}, back: `{host: o, image: absent}`,
			message: `"b" renders ConfigMap "web", which "a" has made once and keeps; give "b" another name`,
		},
		"while its name can't be told": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: first, name: first}
  - {id: a, name: "{{ .spec.image }}", after: [first], ` + drawnOnce + `}`,
			made: `{host: o, image: web}`, edits: []string{`{host: web}`}, back: `{host: o, image: web}`,
			message: `"b" renders ConfigMap "web", which "a" has made once and keeps; give "b" another name`,
		},
		"while its gate can't be told": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: first, name: first}
  - {id: a, name: web, after: [first], when: [{cel: "self.spec.image == 'x'"}], ` + drawnOnce + `}`,
			made: `{host: o, image: x}`, edits: []string{`{host: web}`}, back: `{host: o, image: x}`,
			message: `"b" renders ConfigMap "web", which "a" has made once and keeps; give "b" another name`,
		},
		"while its items can't be told": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: first, name: first}
  - {id: each, name: "{{ .item.name }}", forEach: {field: spec.any.list, key: "{{ .item.name }}"}, after: [first], ` + drawnOnce + `}`,
			made: `{host: o, any: {list: [{name: web}]}}`, edits: []string{`{host: web, any: {list: [{nom: web}]}}`}, back: `{host: o, any: {list: [{name: web}]}}`,
			message: `"b" renders ConfigMap "web", which "each#web" has made once and keeps; give "b" another name`,
		},
		"while it can't be told which item it is of": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: first, name: first}
  - {id: each, name: "{{ .item.name }}", forEach: {field: spec.any.list}, after: [first], ` + drawnOnce + `}`,
			made: `{host: o, any: {list: [{name: web}]}}`, edits: []string{`{host: web, any: {list: [{nom: web}]}}`}, back: `{host: o, any: {list: [{name: web}]}}`,
			message: `"b" renders ConfigMap "web", which "each#web" has made once and keeps; give "b" another name`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, p, plan := gomega.NewWithT(t), newPorts(), planOf(t, test.box)
			p.others = append(p.others, other(configMapKind, "team-a", "there", map[string]any{"data": map[string]any{"k": "v"}}))
			marks, drew := p.draws(t, plan, test.made)
			by := p.madeBy("web")
			for _, spec := range append(test.edits, test.edits...) {
				var err error
				marks, err = p.lives(t, plan, marks, spec)
				expectStep(g, err, "onReconcile", Refused, v1alpha1.ReasonDuplicateChild)
				g.Expect(err.Error()).To(gomega.HaveSuffix(test.message))
				g.Expect(p.madeBy("web")).To(gomega.Equal(by))
			}
			for _, spec := range []string{test.back, test.made} {
				marks = p.keeps(t, plan, marks, spec, drew)
				g.Expect(p.madeBy("web")).To(gomega.Equal(by))
			}
		})
	}
}

// Of two that have rendered one object in a cycle, both are said to render it, also where one of them makes it once.
func TestTwoThatRenderWhatOneOfThemMakesOnce(t *testing.T) {
	g, p := gomega.NewWithT(t), newPorts()
	plan := planOf(t, `
onCreate: {configmaps: [{id: first, name: web, data: {a: b}}]}
onReconcile: {configmaps: [{id: second, name: "{{ .spec.host }}", data: {a: c}}]}`)
	_, err := p.lives(t, plan, nil, `{host: web}`)
	expectStep(g, err, "onReconcile", Refused, v1alpha1.ReasonDuplicateChild)
	g.Expect(err.Error()).To(gomega.HaveSuffix(`"first" and "second" both render ConfigMap "web"; give one of them another name`))
}

// Where the declaration that has made an object no longer stands for it, another that makes one of the name once takes over what was drawn.
func TestWhatIsMadeOnceIsTakenOver(t *testing.T) {
	for name, test := range map[string]struct{ box, spec, then, thenSpec, by string }{
		"by a renamed id": {
			box: `onReconcile: {configmaps: [{id: a, name: web, ` + drawnOnce + `}]}`, spec: `{}`,
			then: `onReconcile: {configmaps: [{id: b, name: web, ` + drawnOnce + `}]}`, thenSpec: `{}`, by: "b",
		},
		"by a renamed id, of onCreate": {
			box: `onCreate: {configmaps: [{id: a, name: web, ` + drawnOnce + `}]}`, spec: `{}`,
			then: `onReconcile: {configmaps: [{id: b, name: web, ` + drawnOnce + `}]}`, thenSpec: `{}`, by: "b",
		},
		"from one that a gate has deleted": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: web, when: [{field: spec.host, equals: b}], ` + drawnOnce + `}
  - {id: a, name: web, when: [{field: spec.host, equals: a}], ` + drawnOnce + `}`, spec: `{host: a}`, thenSpec: `{host: b}`, by: "b",
		},
		"from one that leads elsewhere now": {
			box: `
onReconcile:
  configmaps:
  - {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}
  - {id: a, name: "{{ .spec.image }}", ` + drawnOnce + `}`, spec: `{host: o, image: web}`, thenSpec: `{host: web, image: o2}`, by: "b",
		},
		"from one of onCreate that leads elsewhere, before the resource is active": {
			box: `
onCreate:
  configmaps:
  - {id: cr, name: "{{ .spec.image }}", ` + drawnOnce + `}
  - {id: waits, name: waits, when: [{field: children.lever.data.ready, equals: "yes"}]}
onReconcile: {configmaps: [{id: lever, name: lever, data: {ready: "no"}}, {id: b, name: "{{ .spec.host }}", ` + drawnOnce + `}]}`,
			spec: `{host: o, image: web}`, thenSpec: `{host: web, image: o2}`, by: "b",
		},
		"from one that follows its declaration, and is kept": {
			box: `
onReconcile:
  configmaps:
  - {id: a, name: web, whenFalse: Keep, when: [{field: spec.host, equals: a}], data: {password: abcdefghijklmnop}}
  - {id: b, name: web, when: [{field: spec.host, equals: b}], ` + drawnOnce + `}`, spec: `{host: a}`, thenSpec: `{host: b}`, by: "b",
		},
		"from an item that is gone": {
			box:  `onReconcile: {configmaps: [{id: each, name: web, forEach: {field: spec.tags, key: "{{ .item }}"}, ` + drawnOnce + `}]}`,
			spec: `{tags: [a]}`, thenSpec: `{tags: [b]}`, by: "each#b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, p, plan := gomega.NewWithT(t), newPorts(), planOf(t, test.box)
			marks, drew := p.draws(t, plan, test.spec)
			if test.then != "" {
				plan = planOf(t, test.then)
			}
			for range 2 {
				marks = p.keeps(t, plan, marks, test.thenSpec, drew)
				g.Expect(p.madeBy("web")).To(gomega.Equal(test.by))
			}
		})
	}
}

// What says that it belongs to the resource, and was not made by Orkestra, is no object that was made already: whose it is, is for the writer to
// find out.
func TestWhatOrkestraHasNotMadeDoesNotCountAsMade(t *testing.T) {
	for name, managers := range map[string][]metav1.ManagedFieldsEntry{"ours": {{Manager: v1alpha1.FieldManager}}, "somebody else's": {{Manager: "kubectl"}}} {
		t.Run(name, func(t *testing.T) {
			g, p := gomega.NewWithT(t), newPorts()
			p.put(configMapKind, "web", "a", func(c *unstructured.Unstructured) { c.SetManagedFields(managers) })
			var sent []string
			p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
				sent = append(sent, child.ID)
				return p.applyChild(ctx, owner, child)
			}
			_, err := p.run(planOf(t, `onReconcile: {configmaps: [{id: a, name: web, once: true, data: {password: "{{ randAlpha 16 }}"}}]}`), website(t, `{}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			if name == "ours" {
				g.Expect(sent).To(gomega.BeEmpty())
			} else {
				g.Expect(sent).To(gomega.Equal([]string{"a"}))
			}
		})
	}
}
