package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const loop = `onReconcile: {configmaps: [{id: map, name: "%s", forEach: %s, data: {v: "%s"}}]}`

// made gives the children as "<name>=<data.v> <id>".
func made(p *ports) []string {
	var out []string
	for _, c := range p.children {
		v, _, _ := unstructured.NestedString(c.Object, "data", "v")
		out = append(out, fmt.Sprintf("%s=%s %s", c.GetName(), v, children.IDOf(c)))
	}
	slices.Sort(out)
	return out
}

func TestForEach(t *testing.T) {
	cases := map[string]struct {
		name, loop, value, spec string
		want                    []string
	}{
		"list": {
			"m-{{ .item }}", `{field: spec.tags}`, "{{ .index }}/{{ .key }}", `{tags: [a, b]}`,
			[]string{"m-a=0/0 map#m-a", "m-b=1/1 map#m-b"},
		},
		"list with keys": {
			"m-{{ .key }}", `{field: spec.tags, key: "{{ .item | upper }}"}`, "{{ .item }}", `{tags: [a, b]}`,
			[]string{"m-A=a map#A", "m-B=b map#B"},
		},
		"a name of its own for the item": {
			"m-{{ .tag }}", `{field: spec.tags, as: tag}`, "{{ .item }}", `{tags: [a]}`,
			[]string{"m-a=a map#m-a"},
		},
		"map, in the order of its keys": {
			"m-{{ .key }}", `{field: spec.database}`, "{{ .item }}/{{ .index }}", `{database: {size: 3, name: x}}`,
			[]string{"m-name=x/0 map#name", "m-size=3/1 map#size"},
		},
		"number":              {"m-{{ .item }}", `{field: spec.replicas}`, "{{ .key }}", `{replicas: 2}`, []string{"m-0=0 map#0", "m-1=1 map#1"}},
		"template":            {"m-{{ .item }}", `{field: "{{ until 2 }}"}`, "x", `{}`, []string{"m-0=x map#m-0", "m-1=x map#m-1"}},
		"absent":              {"m-{{ .item }}", `{field: spec.tags}`, "x", `{}`, nil},
		"null":                {"m-{{ .item }}", `{field: spec.tags}`, "x", `{tags: null}`, nil},
		"empty":               {"m-{{ .item }}", `{field: spec.tags}`, "x", `{tags: []}`, nil},
		"a key with the mark": {"m-{{ .index }}", `{field: spec.tags, key: "{{ .item }}#x"}`, "x", `{tags: [a]}`, []string{"m-0=x map#a#x"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, fmt.Sprintf(loop, tc.name, tc.loop, tc.value))
			r, err := p.run(plan, website(t, tc.spec))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(made(p)).To(gomega.Equal(tc.want))
			p.done()
			_, err = p.run(plan, r.Stored)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.BeEmpty(), "what stands is neither written again nor pruned")
		})
	}
}

func tags(from, to int) string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("t%d", i))
	}
	return "{tags: [" + strings.Join(all, ", ") + "]}"
}

// withSpec is the resource as it was stored, with another spec.
func withSpec(t *testing.T, stored *unstructured.Unstructured, spec string) *unstructured.Unstructured {
	t.Helper()
	stored = stored.DeepCopy()
	stored.Object["spec"] = website(t, spec).Object["spec"]
	return stored
}

func TestAnItemThatMovesChangesNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, fmt.Sprintf(loop, "{{ .item }}", "{field: spec.tags}", "{{ .item }}"))
	r, err := p.run(plan, website(t, tags(0, 100)))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.done()
	r, err = p.run(plan, withSpec(t, r.Stored, tags(1, 100)))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/t0"}))
	_, err = p.run(plan, withSpec(t, r.Stored, tags(0, 100)))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/t0"}))
}

// Earlier versions marked the children of a list by where their items stood.
func TestAChildKeepsTheMarkThatItWasMadeWith(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, fmt.Sprintf(loop, "{{ .item }}", "{field: spec.tags}", "{{ .item }}"))
	r, err := p.run(plan, website(t, tags(0, 3)))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for i := range 3 {
		p.edit(fmt.Sprintf("t%d", i), func(c *unstructured.Unstructured) {
			a := c.GetAnnotations()
			a[v1alpha1.AnnotationDeclaration] = fmt.Sprintf("map#%d", i)
			c.SetAnnotations(a)
		})
	}
	p.done()
	for _, step := range []struct{ spec, did string }{
		{tags(0, 3), "[]"}, {tags(1, 3), "[delete ConfigMap/t0]"}, {tags(1, 4), "[create ConfigMap/t3]"}, {tags(0, 4), "[create ConfigMap/t0]"},
	} {
		r, err = p.run(plan, withSpec(t, r.Stored, step.spec))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(fmt.Sprint(p.done())).To(gomega.Equal(step.did))
	}
	g.Expect(made(p)).To(gomega.Equal([]string{"t0=t0 map#t0", "t1=t1 map#1", "t2=t2 map#2", "t3=t3 map#t3"}))
}

func TestAJobOfAnItemThatMovesIsNotRunAgain(t *testing.T) {
	l := newLife(t, `onReconcile: {jobs: [{id: migrate, forEach: {field: spec.tags}, name: "{{ .item }}", image: x}]}`, `{tags: [a, b, c]}`)
	l.cycle()
	for _, name := range []string{"a", "b", "c"} {
		l.ends(name, batchv1.JobComplete)
	}
	l.cycle()
	l.goes("b")
	l.goes("c")
	l.edit(`{tags: [b, c]}`)
	_, did := l.cycle()
	l.Expect(did).To(gomega.Equal([]string{"delete Job/a"}))

	marks := strings.NewReplacer("migrate#b", "migrate#0", "migrate#c", "migrate#1").Replace(l.marked())
	l.Expect(marks).NotTo(gomega.Equal(l.marked()))
	l.stored.SetAnnotations(map[string]string{v1alpha1.AnnotationDone: marks})
	l.edit(`{tags: [c]}`)
	_, did = l.cycle()
	l.Expect(did).To(gomega.BeEmpty(), "a mark of an earlier version, which named the place")
}

// The name of the second item can't be told any more: nobody knows then which of the children is its.
func TestNothingIsPrunedWhileANameCannotBeTold(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile:
  deployments: [{id: web, image: x, when: [{field: spec.tls, equals: true}]}]
  configmaps: [{id: map, name: "{{ .item }}-{{ .children.web.metadata.uid }}", forEach: {field: spec.tags}}]`)
	r, _, _ := untilUnchanged(g, p, plan, website(t, `{tls: true, tags: [a, b]}`))
	g.Expect(p.children).To(gomega.HaveLen(3))
	p.done()
	untilUnchanged(g, p, plan, withSpec(t, r.Stored, `{tls: false, tags: [a, b]}`))
	g.Expect(p.done()).To(gomega.Equal([]string{"delete Deployment/shop"}))
}

// An item that its gate leaves out may have no name.
func TestAnItemWithoutANameThatIsLeftOut(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [{name: "{{ .item.name }}", forEach: {field: spec.any}, when: [{field: item.name, operator: exists}]}]}`)
	r, err := p.run(plan, website(t, `{any: [{name: a}, {}, {name: b}]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.done()
	_, err = p.run(plan, withSpec(t, r.Stored, `{any: [{}, {name: b}]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/a"}))
}

func TestForEachRefusesAtRunTime(t *testing.T) {
	long := strings.Repeat("x", 253+1)
	cases := map[string]struct{ loop, spec, reason, want string }{
		"not a list": {
			`{field: "{{ upper .spec.image }}"}`, `{image: x}`, v1alpha1.ReasonTemplateError,
			`map: forEach: {{ upper .spec.image }}: wanted a list, a map or a number, got string`,
		},
		"a fraction":        {`{field: "{{ divf .spec.replicas 2 }}"}`, `{replicas: 3}`, v1alpha1.ReasonTemplateError, "got a fraction"},
		"a negative number": {`{field: spec.replicas}`, `{replicas: -1}`, v1alpha1.ReasonTemplateError, "wanted a number that is not negative, got -1"},
		"too many":          {`{field: spec.replicas}`, `{replicas: 100000}`, v1alpha1.ReasonBudgetExceeded, "spec.replicas has more than 1000 items"},
		"one key twice": {
			`{field: spec.tags, key: "{{ .item }}"}`, `{tags: [a, b, a]}`, v1alpha1.ReasonDuplicateChild,
			`items 0 and 2 of spec.tags both have the key "a"; give ` + "`key`" + ` a template that tells them apart`,
		},
		"an empty key": {`{field: spec.tags, key: "{{ .item }}"}`, `{tags: [""]}`, v1alpha1.ReasonTemplateError, "the key of item 0 is empty"},
		"a long key":   {`{field: spec.tags, key: "{{ .item }}"}`, `{tags: [` + long + `]}`, v1alpha1.ReasonTemplateError, "longer than 253 characters"},
		"one name twice": {
			`{field: spec.tags}`, `{tags: [a, b]}`, v1alpha1.ReasonDuplicateChild,
			`"map#0" and "map#1" both render ConfigMap "same"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.put(configMapKind, "old", "map#7")
			_, err := p.run(planOf(t, fmt.Sprintf(loop, "same", tc.loop, "x")), website(t, tc.spec))
			expectStep(g, err, stage.StepOnReconcile, classFor(tc.reason), tc.reason)
			g.Expect(err.Error()).To(gomega.ContainSubstring(tc.want))
			g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop"}), "nothing is made, and nothing pruned")
		})
	}
}

func TestForEachMistakes(t *testing.T) {
	cases := map[string]struct{ box, want string }{
		"item outside of a loop": {`onReconcile: {configmaps: [{data: {a: "{{ .item }}"}}]}`, `.item: there is one only inside a forEach`},
		"unknown field":          {`onReconcile: {configmaps: [{forEach: {field: spec.tagz}}]}`, `did you mean "tags"?`},
		"a text":                 {`onReconcile: {configmaps: [{forEach: {field: spec.image}}]}`, `spec.image is a string; wanted a list, a map or a number`},
		"a name that is taken":   {`onReconcile: {configmaps: [{forEach: {field: spec.tags, as: spec}}]}`, `forEach.as: Invalid value: "spec": templates know this name already`},
		"a key that is literal":  {`onReconcile: {configmaps: [{forEach: {field: spec.tags, key: a}}]}`, `every item would have this key`},
		"a path through an item": {`onReconcile: {configmaps: [{forEach: {field: spec.tags}, data: {a: "{{ .item.name }}"}}]}`, `.item.name`},
		"a workload that is many": {
			`onReconcile: {deployments: [{id: web, image: x, forEach: {field: spec.tags}}], services: [{port: 80}]}`,
			`the workload "web" stands for several objects: go over the same items with the same forEach, or set selector`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t)})
			g.Expect(messages(errs)).To(gomega.ConsistOf(gomega.ContainSubstring(tc.want)))
		})
	}
}

func TestAShrinkingListPrunesExactlyWhatIsGone(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, fmt.Sprintf(loop, "m-{{ .item }}", `{field: spec.tags, key: "{{ .item }}"}`, "x"))
	r, err := p.run(plan, website(t, `{tags: [a, b, c]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.done()
	g.Expect(unstructured.SetNestedStringSlice(r.Stored.Object, []string{"c", "a"}, "spec", "tags")).To(gomega.Succeed())
	_, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/m-b"}), "the others have their keys, wherever they stand")
}

func TestGatesOfALoop(t *testing.T) {
	const box = `
onReconcile:
  configmaps:
  - {id: map, name: "m-{{ .item }}", forEach: {field: "%s", key: "{{ .item }}"}, when: [{%s}], whenFalse: %s}
`
	run := func(g *gomega.WithT, p *ports, field, when, whenFalse, spec string) []string {
		_, err := p.run(planOf(t, fmt.Sprintf(box, field, when, whenFalse)), website(t, spec))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		return p.done()[1:]
	}
	t.Run("are asked for each item that they read", func(t *testing.T) {
		g := gomega.NewWithT(t)
		p := newPorts()
		p.put(configMapKind, "m-b", "map#b")
		p.put(configMapKind, "m-d", "map#d")
		g.Expect(run(g, p, "spec.tags", "field: item, notEquals: b", "Keep", `{tags: [a, b, c]}`)).To(gomega.ContainElements(
			"create ConfigMap/m-a", "create ConfigMap/m-c", "delete ConfigMap/m-d"))
		g.Expect(made(p)).To(gomega.ContainElement("m-b= map#b"), "its gate is false, and it is kept")
	})
	t.Run("are asked before the loop where they read none", func(t *testing.T) {
		g := gomega.NewWithT(t)
		p := newPorts()
		p.put(configMapKind, "m-a", "map#a")
		g.Expect(run(g, p, "{{ .spec.database.name | fail }}", "field: spec.tls, equals: true", "Keep", `{tls: false}`)).NotTo(
			gomega.ContainElement("delete ConfigMap/m-a"), "nothing is evaluated, and all are kept")
	})
	t.Run("delete all items where they say so", func(t *testing.T) {
		g := gomega.NewWithT(t)
		p := newPorts()
		p.put(configMapKind, "m-a", "map#a")
		g.Expect(run(g, p, "spec.tags", "field: spec.tls, equals: true", "Delete", `{tls: false, tags: [a]}`)).To(
			gomega.ContainElement("delete ConfigMap/m-a"))
	})
}

func TestDefaultsOfALoopComeFromTheSameItem(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	const same = `forEach: {field: spec.tags, key: "{{ .item }}"}, name: "{{ .item }}"`
	_, err := p.run(planOf(t, `
onReconcile:
  deployments: [{image: x, port: 8080, `+same+`}]
  services: [{`+same+`}]
`), website(t, `{tags: [a, b]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	var names []any
	for _, c := range p.children {
		if name, found, _ := unstructured.NestedString(c.Object, "spec", "selector", v1alpha1.LabelAppName); found {
			names = append(names, c.GetName()+"="+name)
		}
	}
	g.Expect(names).To(gomega.ConsistOf("a=a", "b=b"))
}

func TestChildrenOfALoopAreReadByTheirKey(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	r, err := p.run(planOf(t, fmt.Sprintf(loop, "m-{{ .item }}", `{field: spec.tags, key: "{{ .item }}"}`, "{{ .item }}")+
		"\nstatus: {fields: [{path: message, value: '{{ .children.map.b.data.v }}'}]}"), website(t, `{tags: [a, b]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	result, err := r.Result(context.Background(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(result.Fields[0].Value).To(gomega.Equal("b"))
}

func TestAResourceHasALimitedNumberOfChildren(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.apply = func(_ context.Context, _ apply.Owner, child apply.Child) (apply.Outcome, error) {
		return apply.Outcome{Action: apply.None, Object: child.Object}, nil
	}
	_, err := p.run(planOf(t, `
onReconcile:
  configmaps:
  - {id: a, name: "a-{{ .item }}", forEach: {field: "{{ until 600 }}"}}
  - {id: b, name: "b-{{ .item }}", forEach: {field: "{{ until 600 }}"}}
`), website(t, ""))
	expectStep(g, err, stage.StepOnReconcile, Permanent, v1alpha1.ReasonBudgetExceeded)
	g.Expect(err.Error()).To(gomega.ContainSubstring(`a resource may have at most 1000 children, and "b#400" is one more`))
}

// What is rendered is held until the last child of its rank is written: a thousand times a megabyte would be the end of the process.
func TestWhatOneReconcileRendersIsLimited(t *testing.T) {
	for name, box := range map[string]string{
		"by templates": `{onReconcile: {configmaps: [{name: "a-{{ .item }}", forEach: {field: "{{ until 1000 }}"}, data: {x: '{{ repeat 1000000 "a" }}'}}]}}`,
		"as it stands": `{onReconcile: {configmaps: [{name: "a-{{ .item }}", forEach: {field: "{{ until 1000 }}"}, data: {x: ` + strings.Repeat("a", 100_000) + `}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			pool := budget.NewPool(100<<20, nil)
			ctx, giveBack := budget.WithCycle(context.Background(), pool)
			plan := planOf(t, box)
			r := plan.NewRun(website(t, ""), now, p.ports())
			err := plan.Execute(ctx, r)
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("over the limit of what the templates of one resource may give in one reconcile (8 MiB)")))
			g.Expect(AsStepError(err).Reason).To(gomega.Equal(v1alpha1.ReasonBudgetExceeded))
			g.Expect(p.children).To(gomega.BeEmpty())
			g.Expect(pool.Used()).To(gomega.BeNumerically(">", 7<<20))
			result, _ := r.Result(ctx, err)
			g.Expect(result.Stalled.Reason).To(gomega.Equal(v1alpha1.ReasonBudgetExceeded))
			giveBack()
			g.Expect(pool.Used()).To(gomega.BeZero())
		})
	}
}

// Where others hold the memory, a reconcile that needs much of it is tried again; one of usual size needs nothing of it.
func TestMemoryThatOthersHold(t *testing.T) {
	g := gomega.NewWithT(t)
	all := budget.NewPool(1<<20, nil)
	box := budget.NewPool(100<<20, all)
	run := func(text string) error {
		p := newPorts()
		ctx, giveBack := budget.WithCycle(context.Background(), box)
		defer giveBack()
		plan := planOf(t, `{onReconcile: {configmaps: [{data: {x: '`+text+`'}}]}}`)
		return plan.Execute(ctx, plan.NewRun(website(t, ""), now, p.ports()))
	}
	err := run(`{{ $x := list }}{{ range until 10 }}{{ $x = list $x (repeat 500000 "a") }}{{ end }}{{ len $x }}`)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("over its share of the manager's memory (1 MiB); this one is tried again")))
	g.Expect(AsStepError(err).Class).To(gomega.Equal(Transient))
	g.Expect(all.Used() + box.Used()).To(gomega.BeZero())
	g.Expect(run(`{{ repeat 100000 "a" }}`)).To(gomega.Succeed())
}
