package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
)

// rolled is a box of ConfigMaps that are current when their phase is up, changed in turn.
func rolled(rollout string) string {
	return `onReconcile: {configmaps: [{id: web, name: "{{ .item }}", forEach: {field: spec.tags, rollout: ` + rollout + `},
  data: {image: "{{ .spec.image }}"}, readyWhen: [{field: object.metadata.annotations.phase, equals: up}]}]}`
}

// up is what the controller of a child does.
func (p *ports) up(names ...string) {
	for _, name := range names {
		p.edit(name, withPhase("up"))
	}
}

// TestItemsAreMadeAndChangedOneAfterAnother, and deleted in the same order.
func TestItemsAreMadeAndChangedOneAfterAnother(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, rolled(`{order: Descending}`))
	r, res := shownBy(g, p, plan, website(t, `{image: v1, tags: [a, b, c]}`))
	g.Expect(p.done()).To(gomega.HaveExactElements("mark Website/shop", "create ConfigMap/a"), "made from the first in any order")
	g.Expect(res.Reconciling).To(gomega.Equal(conditionIs("Reconciling", "True", v1alpha1.ReasonRollingOut,
		`web: 2 items wait for ConfigMap "a": object.metadata.annotations.phase: wanted equals up, actual absent (1 is changed at a time)`)))
	step := func(upNow, did string) {
		p.up(upNow)
		r, res = shownBy(g, p, plan, r.Stored)
		g.Expect(p.done()).To(gomega.HaveExactElements(strings.Split(did, ", ")))
	}
	step("a", "create ConfigMap/b")
	step("b", "create ConfigMap/c")
	p.up("c")
	_, res = shownBy(g, p, plan, r.Stored)
	g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue))

	r.Stored = withSpec(t, r.Stored, `{image: v2, tags: [a, b, c]}`)
	step("", "change ConfigMap/c")
	g.Expect(res.Reconciling.Reason).To(gomega.Equal(v1alpha1.ReasonRollingOut))
	g.Expect(res.Reconciling.Message).To(gomega.HavePrefix(`web: 2 items wait for ConfigMap "c": `))
	step("c", "change ConfigMap/b")
	g.Expect(res.Reconciling.Message).To(gomega.HavePrefix(`web: 1 item waits for ConfigMap "b": `))
	step("b", "change ConfigMap/a")
	p.up("a")

	p.delete = p.holdChild
	gone := func(name string) {
		for _, c := range p.list(configMapKind, "u1") {
			if c.GetName() == name {
				p.remove("gone", c)
			}
		}
		p.done()
	}
	r.Stored = withSpec(t, r.Stored, `{image: v2, tags: [a]}`)
	step("", "delete ConfigMap/c")
	p.edit("c", func(c *unstructured.Unstructured) { c.SetFinalizers([]string{"example.com/data"}) })
	_, res = shownBy(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.BeEmpty())
	g.Expect(res.Reconciling.Message).To(gomega.HavePrefix(
		`web: 1 item waits for ConfigMap "c": it is being deleted; the finalizer "example.com/data" holds it (1 is changed at a time)`))
	gone("c")
	step("", "delete ConfigMap/b")
}

// TestAPercentageOfWhatLeavesIsOfItemsNotOfObjects: while its name changes, an item has two objects, and is one item nevertheless.
func TestAPercentageOfWhatLeavesIsOfItemsNotOfObjects(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.delete = p.holdChild
	plan := planOf(t, strings.Replace(rolled(`{maxUnavailable: 50%}`),
		`name: "{{ .item }}", forEach: {`, `name: "{{ .item }}-{{ .spec.image }}", forEach: {key: "{{ .item }}", `, 1))
	r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a, b, c, d]}`))
	p.up("a-v1", "b-v1")
	r, _ = shownBy(g, p, plan, r.Stored)
	p.up("c-v1", "d-v1")
	r, _ = shownBy(g, p, plan, withSpec(t, r.Stored, `{image: v2, tags: [a, b, c, d]}`))
	p.up("a-v2", "b-v2")
	p.done()
	shownBy(g, p, plan, withSpec(t, r.Stored, `{image: v2, tags: []}`))
	g.Expect(p.done()).To(gomega.HaveLen(2), "half of four items, though they have six objects")
}

// TestAStuckItemHoldsTheOthersAndIsChangedFirst: a change back to something good mends it, wherever it stands.
func TestAStuckItemHoldsTheOthersAndIsChangedFirst(t *testing.T) {
	for _, order := range []string{"Ascending", "Descending"} {
		t.Run(order, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, rolled(`{order: `+order+`}`))
			r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a, b, c]}`))
			for _, name := range []string{"a", "b", "c"} {
				p.up(name)
				r, _ = shownBy(g, p, plan, r.Stored)
			}
			bad := withSpec(t, r.Stored, `{image: bad, tags: [a, b, c]}`)
			shownBy(g, p, plan, bad)
			first := map[string]string{"Ascending": "a", "Descending": "c"}[order]
			p.up(first)
			shownBy(g, p, plan, bad)
			p.done()
			for range 3 {
				_, res := shownBy(g, p, plan, bad)
				g.Expect(p.done()).To(gomega.BeEmpty(), "it never gets current")
				g.Expect(res.Reconciling.Message).To(gomega.HavePrefix(`web: 1 item waits for ConfigMap "b": `))
			}
			good := withSpec(t, r.Stored, `{image: v1, tags: [a, b, c]}`)
			shownBy(g, p, plan, good)
			g.Expect(p.done()).To(gomega.Equal([]string{"change ConfigMap/b"}))
			p.up("b")
			shownBy(g, p, plan, good)
			g.Expect(p.done()).To(gomega.Equal([]string{"change ConfigMap/" + first}))
			p.up(first)
			_, res := shownBy(g, p, plan, good)
			g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue))
		})
	}
}

// TestWhatLeavesServesUntilOthersDo: an item that leaves and is out of service goes at once, and takes none along that are in service.
func TestWhatLeavesServesUntilOthersDo(t *testing.T) {
	for name, tc := range map[string]struct {
		rollout, from, to string
		down              []string
		cycles            []string // what each does, while all that is there comes up after it
	}{
		"all are replaced": {`{}`, "w1, w2, w3, bad", "x1, x2, x3", []string{"bad"}, []string{
			"delete bad", "create x1", "create x2", "create x3", "delete w1, delete w2, delete w3",
		}},
		"from the last": {`{order: Descending}`, "w1, w2, w3, bad", "x1, x2", []string{"bad"}, []string{
			"delete bad", "create x1", "create x2", "delete w3, delete w2, delete w1",
		}},
		"one is new":                        {`{}`, "a, b, c, d", "c, e", []string{"b"}, []string{"delete b", "create e", "delete a, delete d"}},
		"two at a time":                     {`{maxUnavailable: 2}`, "a, b, c, d", "c, e, f", []string{"b"}, []string{"create e, delete b", "create f, delete a, delete d"}},
		"half of the two that are declared": {`{maxUnavailable: 50%}`, "a, b, c, d", "x1, x2", nil, []string{"create x1", "create x2", "delete a, delete b, delete c, delete d"}},
		"more than may be are out of service, and one of them stays": {`{}`, "a, b, c", "b", []string{"a", "b"}, []string{"delete a", "delete c"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, rolled(tc.rollout))
			up := func() {
				for _, c := range p.list(configMapKind, "u1") {
					p.up(c.GetName())
				}
			}
			r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [`+tc.from+`]}`))
			for range 4 {
				up()
				r, _ = shownBy(g, p, plan, r.Stored)
			}
			up()
			p.done()
			for _, name := range tc.down {
				p.edit(name, withPhase("down"))
			}
			r.Stored = withSpec(t, r.Stored, `{image: v1, tags: [`+tc.to+`]}`)
			for _, did := range tc.cycles {
				r, _ = shownBy(g, p, plan, r.Stored)
				g.Expect(strings.ReplaceAll(strings.Join(p.done(), ", "), "ConfigMap/", "")).To(gomega.Equal(did))
				up()
			}
			_, res := shownBy(g, p, plan, r.Stored)
			g.Expect(p.done()).To(gomega.BeEmpty())
			g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue), res.Ready.Message)
		})
	}
}

// TestWhatLeavesServesWhileOthersCannotBeMade, because they come after something that is not current, wait at a gate, or read what is not there
// yet. What is optional is waited for by nothing.
func TestWhatLeavesServesWhileOthersCannotBeMade(t *testing.T) {
	for name, tc := range map[string]struct {
		held  string
		to    string   // "x" where it is empty
		meant []string // what the cycle in which they can't be made does
	}{
		"they come after something":   {held: `after: [db]`},
		"they read what is not there": {held: `data: {a: "{{ .children.db.metadata.annotations.phase }}"}`},
		"they wait at a gate":         {held: `when: [{field: item, notEquals: y}, {field: children.db.metadata.annotations.phase, equals: up}]`},
		"nobody waits for them":       {held: `optional: true, after: [db]`, meant: []string{"delete ConfigMap/a", "delete ConfigMap/b"}},
		"one is there":                {held: `after: [db]`, to: "b", meant: []string{"delete ConfigMap/a"}},
		"they are not wanted":         {held: `when: [{field: item, notEquals: x}]`, meant: []string{"delete ConfigMap/a", "delete ConfigMap/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, `onReconcile: {configmaps: [{id: db, readyWhen: [{field: object.metadata.annotations.phase, equals: up}]},
  {id: web, name: "{{ .item }}", forEach: {field: spec.tags, rollout: {maxUnavailable: 1}}, `+tc.held+`}]}`)
			r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a, b]}`))
			p.up("shop")
			r, _ = shownBy(g, p, plan, r.Stored)
			p.edit("shop", func(c *unstructured.Unstructured) {
				unstructured.RemoveNestedField(c.Object, "metadata", "annotations", "phase")
			})
			p.done()
			r, res := shownBy(g, p, plan, withSpec(t, r.Stored, `{image: v1, tags: [`+cmp.Or(tc.to, "x")+`]}`))
			g.Expect(p.done()).To(gomega.Equal(tc.meant))
			if tc.meant != nil {
				return
			}
			g.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionTrue))
			g.Expect(r.Waits).To(gomega.ContainElement(gomega.HaveField("Message",
				"web: 2 items wait for those that are made and changed before them (1 is changed at a time)")))
			p.up("shop")
			shownBy(g, p, plan, r.Stored)
			g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/x", "delete ConfigMap/a", "delete ConfigMap/b"}))
		})
	}
}

// TestAReplacedItemHoldsTheOthers, also when it is gone before the next one is looked at.
func TestAReplacedItemHoldsTheOthers(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [{name: "{{ .item }}", replace: true, forEach: {field: spec.tags, rollout: {}}, data: {a: "{{ .spec.image }}"}}]}`)
	r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a, b]}`))
	p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		for _, live := range p.list(configMapKind, "u1") {
			if sameObject(live, child.Object) && !owner.Wrote(child, live) {
				p.remove("replace", live)
				return apply.Outcome{Action: apply.Replaced, Object: live}, nil
			}
		}
		return p.applyChild(ctx, owner, child)
	}
	p.done()
	r.Stored = withSpec(t, r.Stored, `{image: v2, tags: [a, b]}`)
	for _, did := range [][]string{{"replace ConfigMap/a"}, {"create ConfigMap/a", "replace ConfigMap/b"}, {"create ConfigMap/b"}} {
		shownBy(g, p, plan, r.Stored)
		g.Expect(p.done()).To(gomega.Equal(did))
	}
}

// TestWhatLeavesHoldsNothingWhereTheResourceMayGoBack: nothing is pruned while something waits, so nothing may wait for it to go.
func TestWhatLeavesHoldsNothingWhereTheResourceMayGoBack(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, rolled(`{}`)+"\nrollback: {}")
	r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [w, bad]}`))
	p.up("w")
	r, _ = shownBy(g, p, plan, r.Stored)
	p.done()
	r.Stored = withSpec(t, r.Stored, `{image: v1, tags: [x1, x2]}`)
	r.Stored.SetGeneration(2)
	for _, step := range []struct{ did, up string }{{"create ConfigMap/x1", "x1"}, {"create ConfigMap/x2, delete ConfigMap/bad", "x2"}, {"delete ConfigMap/w", ""}} {
		shownBy(g, p, plan, r.Stored)
		g.Expect(strings.Join(p.done(), ", ")).To(gomega.Equal(step.did))
		p.up(step.up)
	}
}

// TestAPercentageIsOfWhatIsDeclared, also of items that can't be made yet.
func TestAPercentageIsOfWhatIsDeclared(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [{id: db, readyWhen: [{field: object.metadata.annotations.phase, equals: up}]},
  {id: web, name: "{{ .item }}", forEach: {field: spec.tags, rollout: {maxUnavailable: 50%}}, after: [db]}]}`)
	r, _ := shownBy(g, p, plan, website(t, `{tags: [a, b, c, d, e, f]}`))
	p.up("shop")
	r, _ = shownBy(g, p, plan, r.Stored)
	p.edit("shop", withPhase("down"))
	p.done()
	shownBy(g, p, plan, withSpec(t, r.Stored, `{tags: [x1, x2]}`))
	g.Expect(p.done()).To(gomega.BeEmpty())
}

// TestItemsThatAreCurrentAtOnce are changed in one cycle: no event would wake the next.
func TestItemsThatAreCurrentAtOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [{name: "{{ .item }}", forEach: {field: spec.tags, rollout: {order: Descending}}, data: {a: "{{ .spec.image }}"}}]}`)
	r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a, b, c]}`))
	p.done()
	r, _ = shownBy(g, p, plan, withSpec(t, r.Stored, `{image: v2, tags: [a, b, c]}`))
	g.Expect(p.done()).To(gomega.Equal([]string{"change ConfigMap/c", "change ConfigMap/b", "change ConfigMap/a"}))
	shownBy(g, p, plan, withSpec(t, r.Stored, `{image: v2, tags: []}`))
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/c", "delete ConfigMap/b", "delete ConfigMap/a"}))
}

// TestAnItemThatIsOutOfServiceIsRenamedAtOnce: its old object serves nothing, so that nothing waits for it. The others have their turns as ever.
func TestAnItemThatIsOutOfServiceIsRenamedAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		rollout string
		down    []string
		cycles  []string // what each does, while all that is declared comes up after it
	}{
		"one": {`{}`, []string{"b1"}, []string{
			"create b2, delete b1", "create a2", "create c2", "delete a1, delete c1",
		}},
		"the last": {`{}`, []string{"c1"}, []string{
			"create c2, delete c1", "create a2", "create b2", "delete a1, delete b1",
		}},
		"more than may be": {`{}`, []string{"a1", "c1"}, []string{
			"create a2, create c2, delete a1, delete c1", "create b2", "delete b1",
		}},
		"one of two at a time": {`{maxUnavailable: 2}`, []string{"b1"}, []string{
			"create a2, create b2, delete b1", "create c2, delete a1, delete c1",
		}},
		"none, from the last": {`{order: Descending}`, nil, []string{
			"create c2", "create b2", "create a2", "delete a1, delete b1, delete c1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, strings.Replace(rolled(tc.rollout), `name: "{{ .item }}", forEach: {`,
				`name: "{{ .item }}{{ .spec.image }}", forEach: {key: "{{ .item }}", `, 1))
			up := func(image string) {
				for _, c := range p.list(configMapKind, "u1") {
					if strings.HasSuffix(c.GetName(), image) {
						p.up(c.GetName())
					}
				}
			}
			r, _ := shownBy(g, p, plan, website(t, `{image: "1", tags: [a, b, c]}`))
			for range 3 {
				up("1")
				r, _ = shownBy(g, p, plan, r.Stored)
			}
			p.done()
			for _, name := range tc.down {
				p.edit(name, withPhase("down"))
			}
			r.Stored = withSpec(t, r.Stored, `{image: "2", tags: [a, b, c]}`)
			for _, did := range tc.cycles {
				r, _ = shownBy(g, p, plan, r.Stored)
				g.Expect(strings.ReplaceAll(strings.Join(slices.Sorted(slices.Values(p.done())), ", "), "ConfigMap/", "")).To(gomega.Equal(did), "in any order")
				up("2")
			}
			_, res := shownBy(g, p, plan, r.Stored)
			g.Expect(p.done()).To(gomega.BeEmpty())
			g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue), res.Ready.Message)
			g.Expect(p.list(configMapKind, "u1")).To(gomega.HaveLen(3))
		})
	}
}

// An error in between has kept the former object of an item. It goes when the item has had its turn, and does not stand in its way.
func TestAFormerObjectIsNotWaitedFor(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [
  {id: first, name: first, readyWhen: [{field: object.metadata.name, exists: true}]}, {id: other, name: "{{ .spec.host }}", after: [first]},
  {id: part, name: "{{ .item }}{{ .spec.image }}", forEach: {key: "{{ .item }}", field: spec.tags, rollout: {}}, data: {host: "{{ .spec.host }}"},
   readyWhen: [{field: object.metadata.annotations.phase, equals: up}]}]}`)
	r, _ := shownBy(g, p, plan, website(t, `{image: "1", host: x, tags: [a, b]}`))
	for _, name := range []string{"a1", "b1"} {
		p.up(name)
		r, _ = shownBy(g, p, plan, r.Stored)
	}
	r.Stored = withSpec(t, r.Stored, `{image: "2", host: a2, tags: [a, b]}`)
	_, err := p.run(plan, r.Stored) // makes a2, and prunes nothing
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("both render")))
	g.Expect(made(p)).To(gomega.ContainElements(gomega.HavePrefix("a1="), gomega.HavePrefix("a2=")))
	p.done()

	r.Stored = withSpec(t, r.Stored, `{image: "1", host: z, tags: [a, b]}`)
	r, _ = shownBy(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.ContainElement("change ConfigMap/a1"))
	for range 3 {
		for _, name := range []string{"a1", "b1"} {
			p.up(name)
		}
		r, _ = shownBy(g, p, plan, r.Stored)
	}
	_, res := shownBy(g, p, plan, r.Stored)
	g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue), res.Ready.Message)
	g.Expect(made(p)).To(gomega.ConsistOf(gomega.HavePrefix("first="), gomega.HavePrefix("z="), gomega.HavePrefix("a1="), gomega.HavePrefix("b1=")))
}

// TestConditionsThatReadMoreThanTheObject say nothing of an item that has not been changed yet.
func TestConditionsThatReadMoreThanTheObject(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [{name: "{{ .item }}", forEach: {field: spec.tags, rollout: {}}, data: {image: "{{ .spec.image }}"},
  readyWhen: [{field: object.metadata.annotations.phase, equals: "{{ .spec.image }}"}]}]}`)
	r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a, b]}`))
	p.edit("a", withPhase("v1"))
	r, _ = shownBy(g, p, plan, r.Stored)
	p.edit("b", withPhase("v1"))
	p.done()
	changed := withSpec(t, r.Stored, `{image: v2, tags: [a, b]}`)
	shownBy(g, p, plan, changed)
	g.Expect(p.done()).To(gomega.Equal([]string{"change ConfigMap/a"}))
	shownBy(g, p, plan, changed)
	g.Expect(p.done()).To(gomega.BeEmpty())
}

// TestConditionsThatReadMoreThanTheObjectAskNothingOfWhatLeaves: it never has what is declared now, and would go at once.
func TestConditionsThatReadMoreThanTheObjectAskNothingOfWhatLeaves(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `onReconcile: {configmaps: [{name: "{{ .item }}", forEach: {field: spec.tags, rollout: {}}, data: {image: "{{ .spec.image }}"},
  readyWhen: [{field: object.metadata.annotations.phase, equals: "{{ .spec.image }}"}]}]}`)
	r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a]}`))
	p.edit("a", withPhase("v1"))
	p.done()
	r.Stored = withSpec(t, r.Stored, `{image: v2, tags: [x]}`)
	for _, did := range [][]string{{"create ConfigMap/x"}, nil} {
		shownBy(g, p, plan, r.Stored)
		g.Expect(p.done()).To(gomega.Equal(did))
	}
	p.edit("x", withPhase("v2"))
	shownBy(g, p, plan, r.Stored)
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/a"}))
}

// TestHowManyAtATime: a number, a percentage, or a template that gives one of them.
func TestHowManyAtATime(t *testing.T) {
	for name, tc := range map[string]struct {
		most string
		made int
	}{
		"by default":                       {``, 1},
		"a number":                         {`maxUnavailable: 3`, 3},
		"more than there are":              {`maxUnavailable: 30`, 5},
		"a percentage":                     {`maxUnavailable: 50%`, 2},
		"a percentage of less than one":    {`maxUnavailable: 1%`, 1},
		"a template that gives a number":   {`maxUnavailable: "{{ .spec.replicas }}"`, 4},
		"a template that gives a text":     {`maxUnavailable: "{{ .spec.host }}"`, 3},
		"a template that is part of a one": {`maxUnavailable: "{{ .spec.replicas }}0%"`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			shownBy(g, p, planOf(t, rolled(`{`+tc.most+`}`)), website(t, `{image: x, replicas: 4, host: 60%, tags: [a, b, c, d, e]}`))
			g.Expect(p.children).To(gomega.HaveLen(tc.made))
		})
	}
	for value, why := range map[string]string{`0`: `got "0"`, `"-1"`: `got "-1"`, `150%`: `got "150%"`, `many`: `got "many"`} {
		t.Run("never "+value, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			_, err := p.run(planOf(t, rolled(`{maxUnavailable: "{{ .spec.any }}"}`)), website(t, `{image: x, tags: [a], any: `+value+`}`))
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(
				"web: forEach.rollout.maxUnavailable: wanted a whole number from 1, or a percentage of the items from 1% to 100%, " + why)))
		})
	}
}

// TestRolloutsThatMeanNothing: each is told when the box is applied.
func TestRolloutsThatMeanNothing(t *testing.T) {
	const loop = `name: "{{ .item }}", forEach: {field: spec.tags, rollout: %s}`
	at := "spec.onReconcile.configmaps[0].forEach.rollout"
	for name, tc := range map[string]struct{ box, at, why string }{
		"none at a time":   {`onReconcile: {configmaps: [{` + fmt.Sprintf(loop, `{maxUnavailable: 0}`) + `}]}`, at + ".maxUnavailable", "wanted a whole number from 1"},
		"no number":        {`onReconcile: {configmaps: [{` + fmt.Sprintf(loop, `{maxUnavailable: some}`) + `}]}`, at + ".maxUnavailable", `Invalid value: "some": wanted`},
		"too much":         {`onReconcile: {configmaps: [{` + fmt.Sprintf(loop, `{maxUnavailable: 101%}`) + `}]}`, at + ".maxUnavailable", "from 1% to 100%"},
		"a half":           {`onReconcile: {configmaps: [{` + fmt.Sprintf(loop, `{maxUnavailable: "0%"}`) + `}]}`, at + ".maxUnavailable", "from 1% to 100%"},
		"the item":         {`onReconcile: {configmaps: [{` + fmt.Sprintf(loop, `{maxUnavailable: "{{ .item }}"}`) + `}]}`, at + ".maxUnavailable", "item"},
		"an unknown order": {`onReconcile: {configmaps: [{` + fmt.Sprintf(loop, `{order: Random}`) + `}]}`, at + ".order", "Ascending"},
		"made once":        {`onReconcile: {configmaps: [{once: true, ` + fmt.Sprintf(loop, `{}`) + `}]}`, at, "this object is made once and never changed, so that there is no change to roll out; remove once, or remove rollout"},
		"not reconciled":   {`onReconcile: {configmaps: [{reconcile: false, ` + fmt.Sprintf(loop, `{}`) + `}]}`, at, "to roll out; remove reconcile: false, or remove rollout"},
		"in onCreate":      {`onCreate: {configmaps: [{` + fmt.Sprintf(loop, `{}`) + `}]}`, "spec.onCreate.configmaps[0].forEach.rollout", "to roll out; move it to onReconcile, or set reconcile: true, or remove rollout"},
		"once in onCreate": {`onCreate: {configmaps: [{once: true, ` + fmt.Sprintf(loop, `{}`) + `}]}`, "spec.onCreate.configmaps[0].forEach.rollout", "to roll out; set reconcile: true in place of once, or remove rollout"},
		"jobs":             {`onReconcile: {jobs: [{image: x, ` + fmt.Sprintf(loop, `{}`) + `}]}`, "spec.onReconcile.jobs[0].forEach.rollout", "a Job runs to its end"},
		"in onDelete":      {`onDelete: {configmaps: [{` + fmt.Sprintf(loop, `{}`) + `}]}`, "spec.onDelete.configmaps[0].forEach.rollout", "deletion.ordered"},
		"in onRollback": {
			`{onReconcile: {configmaps: [{}]}, rollback: {onRollback: {configmaps: [{` + fmt.Sprintf(loop, `{}`) + `}]}}}`,
			"spec.rollback.onRollback.configmaps[0].forEach.rollout", "for the time of going back",
		},
		"of patches": {
			`onReconcile: {patches: [{forEach: {field: spec.tags, rollout: {}}, target: {apiVersion: v1, kind: ConfigMap, name: "{{ .item }}"}, patch: {data: {a: b}}}]}`,
			"spec.onReconcile.patches[0].forEach.rollout", "a patch makes no object",
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

// TestTheOverviewSaysWhatItemsWaitFor, for those that are not there yet.
func TestTheOverviewSaysWhatItemsWaitFor(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, rolled(`{}`))
	r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a, b]}`))
	all := plan.Overview(t.Context(), plan.NewRun(r.Stored, now, p.ports()), nil, comparer)
	g.Expect(all).To(gomega.HaveLen(2))
	g.Expect(all[1].State).To(gomega.Equal(overview.StateWaiting))
	g.Expect(all[1].Reason).To(gomega.HavePrefix(`it waits for ConfigMap "a": object.metadata.annotations.phase`))
}

// TestARolloutNeverHasMoreThanMaxUnavailableItemsNotCurrent: over random histories of a resource, of its children and of those who meddle with
// them, no cycle leaves more items out of service than wanted, or than there were before it, nor fewer current ones. In the end, all get what is
// declared. What comes after the loop fails from time to time, and in some of the histories until the end.
func TestARolloutNeverHasMoreThanMaxUnavailableItemsNotCurrent(t *testing.T) {
	for seed := range uint64(60) {
		h := newRolloutHistory(t, seed)
		for range 60 {
			h.happens()
			h.cycle()
		}
		h.settles()
	}
}

type rolloutHistory struct {
	*gomega.WithT
	*ports

	t      *testing.T
	random *rand.Rand
	plan   *Plan
	stored *unstructured.Unstructured
	most   string
	spec   string
	fails  bool // the API server refuses a child that comes after the loop

	declared int // how many items the spec declares
}

func newRolloutHistory(t *testing.T, seed uint64) *rolloutHistory {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	h := &rolloutHistory{WithT: gomega.NewWithT(t), ports: newPorts(), t: t, random: random}
	h.most = []string{"1", "2", "3", "50%"}[random.IntN(4)]
	order := []string{"Ascending", "Descending"}[random.IntN(2)]
	box := rolled(fmt.Sprintf("{maxUnavailable: %s, order: %s}", h.most, order))
	if random.IntN(3) == 0 { // each change gives an item another object
		box = strings.Replace(box, `name: "{{ .item }}", forEach: {`, `name: "{{ .item }}-{{ .spec.image }}", forEach: {key: "{{ .item }}", `, 1)
	}
	h.plan = planOf(t, strings.TrimSuffix(box, "}")+", services: [{port: 80, selector: {a: b}}]}")
	h.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		if h.fails && child.Object.GetKind() == "Service" {
			return apply.Outcome{}, errRefused
		}
		return h.applyChild(ctx, owner, child)
	}
	h.spec, h.declared = `{image: v0, tags: [t0, t1, t2, t3]}`, 4
	h.stored = website(t, h.spec)
	if random.IntN(2) > 0 {
		h.ports.delete = h.holdChild
	}
	return h
}

// count counts the items that have a child that is current, and those that have one that is not: while its name changes, an item has two.
func (h *rolloutHistory) count() (up, down int) {
	current, late := map[string]bool{}, map[string]bool{}
	for _, c := range h.list(configMapKind, "u1") {
		if c.GetAnnotations()["phase"] == "up" && c.GetDeletionTimestamp() == nil {
			current[children.IDOf(c)] = true
		} else {
			late[children.IDOf(c)] = true
		}
	}
	return len(current), len(late)
}

// mayBeOut is how many of so many items may be out of service at a time.
func (h *rolloutHistory) mayBeOut(items int) int {
	if h.most == "50%" {
		return max(items/2, 1)
	}
	most, err := strconv.Atoi(h.most)
	h.Expect(err).NotTo(gomega.HaveOccurred())
	return most
}

// cycle runs one. What is gone is not out of service, so that of what is current is counted, too: as many as are declared, but for those that
// may be out of service, go on serving, whether they are declared or leave.
func (h *rolloutHistory) cycle() {
	upBefore, downBefore := h.count()
	r, err := h.run(h.plan, withSpec(h.t, h.stored, h.spec))
	h.Expect(errors.Is(err, errRefused)).To(gomega.Equal(h.fails), "%v", err)
	h.stored = r.Stored
	up, down := h.count()
	did := h.done()
	most := h.mayBeOut(cmp.Or(h.declared, upBefore+downBefore)) // where none is declared, it is of those that leave
	h.Expect(down).To(gomega.BeNumerically("<=", max(most, downBefore)), "%v", did)
	h.Expect(up).To(gomega.BeNumerically(">=", min(h.declared-most, upBefore)), "%v", did)
}

// happens changes the resource, a child, or whether what comes after the loop is refused.
func (h *rolloutHistory) happens() {
	if h.random.IntN(10) == 0 {
		h.fails = !h.fails
	}
	if h.random.IntN(3) == 0 {
		var tags []string
		for _, i := range h.random.Perm(6)[:h.random.IntN(7)] {
			tags = append(tags, fmt.Sprintf("t%d", i))
		}
		h.spec, h.declared = fmt.Sprintf(`{image: v%d, tags: [%s]}`, h.random.IntN(3), strings.Join(tags, ", ")), len(tags)
		return
	}
	all := h.list(configMapKind, "u1")
	if len(all) == 0 {
		return
	}
	child := all[h.random.IntN(len(all))]
	switch {
	case child.GetDeletionTimestamp() != nil:
		h.remove("gone", child)
	case h.random.IntN(6) == 0:
		h.edit(child.GetName(), withPhase("down"))
	case h.random.IntN(8) == 0:
		h.remove("lost", child)
	default:
		h.up(child.GetName())
	}
}

// settles has some children break, declares another image, and has the children get current that are what is declared now, one after another, until nothing is left to do. What was made of another
// declaration stays as it is: nothing may wait for it. An error elsewhere keeps no item from what is declared; in the end it is mended.
func (h *rolloutHistory) settles() {
	for _, c := range h.list(configMapKind, "u1") {
		if h.random.IntN(3) == 0 {
			h.edit(c.GetName(), withPhase("down"))
		}
	}
	h.spec = strings.Replace(h.spec, "image: v", "image: w", 1)
	image := h.comeUp()
	current := map[string]bool{}
	for _, c := range h.list(configMapKind, "u1") {
		if madeOf(c) == image && c.GetAnnotations()["phase"] == "up" {
			current[children.IDOf(c)] = true
		}
	}
	h.Expect(current).To(gomega.HaveLen(h.declared), "failing: %v", h.fails)
	h.fails = false
	h.comeUp()
	r, err := h.run(h.plan, withSpec(h.t, h.stored, h.spec))
	h.Expect(err).NotTo(gomega.HaveOccurred())
	res, err := r.Result(context.Background(), nil)
	h.Expect(err).NotTo(gomega.HaveOccurred())
	h.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue), res.Ready.Message)
	h.Expect(res.Reconciling.Status).To(gomega.Equal(metav1.ConditionFalse), res.Reconciling.Message)
	h.Expect(h.done()).To(gomega.BeEmpty())
	h.Expect(h.list(configMapKind, "u1")).To(gomega.HaveLen(h.declared), "nothing is left behind")
}

// comeUp has what is declared now get current while cycles run, and gives the image that it has.
func (h *rolloutHistory) comeUp() (image string) {
	image, _, err := unstructured.NestedString(withSpec(h.t, h.stored, h.spec).Object, "spec", "image")
	h.Expect(err).NotTo(gomega.HaveOccurred())
	for range 30 {
		for _, c := range h.list(configMapKind, "u1") {
			if c.GetDeletionTimestamp() != nil {
				h.remove("gone", c)
			} else if madeOf(c) == image {
				h.up(c.GetName())
			}
		}
		h.cycle()
	}
	return image
}

// madeOf is the image that a child was made of.
func madeOf(c *unstructured.Unstructured) string {
	image, _, _ := unstructured.NestedString(c.Object, "data", "image")
	return image
}
