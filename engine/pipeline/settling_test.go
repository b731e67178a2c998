package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/status"
)

// rows are the declarations of a box, by the key of their kind.
type rows map[string][]string

// shuffled gives the box with its rows in some order.
func (r rows) shuffled(rnd *rand.Rand) string {
	box := "onReconcile:\n"
	for _, kind := range slices.Sorted(maps.Keys(r)) {
		declared := slices.Clone(r[kind])
		rnd.Shuffle(len(declared), func(i, j int) { declared[i], declared[j] = declared[j], declared[i] })
		box += "  " + kind + ":\n" + strings.Join(declared, "\n") + "\n"
	}
	return box + "status: {fields: [{path: message, value: '{{ len .children }}'}]}\n"
}

// chainedRows are static children that read each other through gates, templates, names and loops, without a ring. What a child reads may be
// in a rank that is made earlier or later.
func chainedRows(rnd *rand.Rand) rows {
	groups := rows{}
	order := rnd.Perm(2 + rnd.IntN(7))
	kindOf := make([]string, len(order))
	for i := range order {
		kindOf[i] = []string{"configmaps", "configmaps", "services", "ingresses", "deployments", "jobs"}[rnd.IntN(6)]
	}
	var earlier []int // those that may be read: not what a loop makes, which is known by its items
	for _, i := range order {
		var b strings.Builder
		fmt.Fprintf(&b, "  - {id: c%d, name: %s", i, nameFrom(rnd, earlier, i))
		loops := len(earlier) > 0 && rnd.IntN(5) == 0
		if loops { // one for each label of another
			fmt.Fprintf(&b, "-{{ .index }}', forEach: {field: children.c%d.metadata.labels}", earlier[rnd.IntN(len(earlier))])
		} else {
			b.WriteByte('\'')
		}
		if len(earlier) > 0 && rnd.IntN(4) > 0 {
			fmt.Fprintf(&b, ", when: [%s]", gateOver(rnd, earlier[rnd.IntN(len(earlier))]))
			if rnd.IntN(3) == 0 {
				b.WriteString(", whenFalse: Delete")
			}
		}
		b.WriteString(contentOf(rnd, kindOf[i], earlier))
		groups[kindOf[i]] = append(groups[kindOf[i]], b.String()+"}")
		if !loops {
			earlier = append(earlier, i)
		}
	}
	return groups
}

// chainedBox is a box of chainedRows in some order: what a child reads may stand before or behind it.
func chainedBox(rnd *rand.Rand) string { return chainedRows(rnd).shuffled(rnd) }

func nameFrom(rnd *rand.Rand, earlier []int, i int) string {
	if len(earlier) == 0 || rnd.IntN(4) > 0 {
		return fmt.Sprintf("'shop-%d", i)
	}
	return fmt.Sprintf("'shop-%d-{{ if hasKey .children %q }}late{{ else }}early{{ end }}", i, fmt.Sprintf("c%d", earlier[rnd.IntN(len(earlier))]))
}

func gateOver(rnd *rand.Rand, other int) string {
	return fmt.Sprintf([]string{
		"{field: children.c%d.metadata.uid, operator: exists}",
		"{field: children.c%d.metadata.uid, operator: notExists}",
		"{field: children.c%d.metadata.labels.a, equals: b}",
		"{field: children.c%d.kind, notEquals: ConfigMap}",
	}[rnd.IntN(4)], other)
}

func contentOf(rnd *rand.Rand, kind string, earlier []int) string {
	labels := ", labels: {a: b}"
	if len(earlier) > 0 && rnd.IntN(2) == 0 {
		labels = fmt.Sprintf(", labels: {a: b, uid: '{{ default \"none\" .children.c%d.metadata.uid }}'}", earlier[rnd.IntN(len(earlier))])
	}
	switch kind {
	case "services":
		return labels + ", port: 80, selector: {a: b}"
	case "ingresses":
		return labels + ", host: a.example.com, serviceName: shop, servicePort: 80"
	case "deployments":
		return labels + ", image: nginx"
	case "jobs":
		return labels + fmt.Sprintf(", image: nginx, replace: %t", rnd.IntN(2) == 0)
	default:
		if len(earlier) > 0 && rnd.IntN(3) == 0 { // fails to render while the other one is absent
			labels += fmt.Sprintf(", data: {uid: '{{ .children.c%d.metadata.uid }}'}", earlier[rnd.IntN(len(earlier))])
		}
		return labels
	}
}

// untilUnchanged runs cycles as events would: one more as long as something has changed that the last one read.
func untilUnchanged(g *gomega.WithT, p *ports, plan *Plan, stored *unstructured.Unstructured) (r *Run, shown status.Result, cycles int) {
	for cycles = 1; cycles < 40; cycles++ {
		var err error
		r, err = p.run(plan, stored)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		shown, err = r.Result(context.Background(), nil)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		if stored = r.Stored; r.Inputs.Unchanged(&plan.Plan, stored, p, now) {
			return r, shown, cycles
		}
	}
	g.Expect(cycles).To(gomega.BeZero(), "the cycles don't come to an end")
	return r, shown, cycles
}

func TestNothingIsLeftToDoWhenNothingHasChanged(t *testing.T) {
	for seed := range uint64(400) {
		box := chainedBox(rand.New(rand.NewPCG(seed, 1)))
		g := gomega.NewWithT(t)
		p := newPorts()
		plan := planOf(t, box)
		r, shown, _ := untilUnchanged(g, p, plan, website(t, ""))
		p.done()
		forced, err := p.run(plan, r.Stored)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(p.done()).To(gomega.BeEmpty(), "seed %d:\n%s", seed, box)
		g.Expect(forced.Waits).To(gomega.Equal(r.Waits), "seed %d:\n%s", seed, box)
		again, err := forced.Result(context.Background(), nil)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(again).To(gomega.Equal(shown), "seed %d:\n%s", seed, box)
	}
}

// comesTo is what a box comes to, with the name of each child in place of its UID.
func comesTo(g *gomega.WithT, plan *Plan, resource *unstructured.Unstructured) []string {
	p := newPorts()
	r, shown, _ := untilUnchanged(g, p, plan, resource)
	var out []string
	say := func(what any) {
		text, err := json.Marshal(what)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, c := range p.children {
			text = bytes.ReplaceAll(text, []byte(c.GetUID()), []byte("UID of "+c.GetName()))
		}
		out = append(out, string(text))
	}
	for _, c := range p.children {
		say([]any{c.GetKind(), c.GetName(), c.GetLabels(), c.Object["data"], c.Object["spec"]})
	}
	for _, w := range r.Waits {
		say(w)
	}
	shown.Reconciling.Message = "" // it joins the waits, in the order of the rows
	say(shown)
	slices.Sort(out)
	return out
}

func TestTheOrderOfRowsNeverMatters(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		declared := chainedRows(rnd)
		one, other := declared.shuffled(rnd), declared.shuffled(rnd)
		g := gomega.NewWithT(t)
		g.Expect(comesTo(g, planOf(t, other), website(t, ""))).To(gomega.Equal(comesTo(g, planOf(t, one), website(t, ""))), "seed %d:\n%s\n%s", seed, one, other)
	}
}

// Each child waits for the one before it, and is declared before it: one cycle makes all of them, in the order in which they read.
func TestAChainOfGates(t *testing.T) {
	g := gomega.NewWithT(t)
	box := "onReconcile:\n  configmaps:\n"
	for i := 7; i > 0; i-- {
		box += fmt.Sprintf("  - {id: n%d, name: n%d, data: {uid: '{{ .children.n%d.metadata.uid }}'}, when: [{field: children.n%d.metadata.uid, operator: exists}]}\n", i, i, i-1, i-1)
	}
	box += "  - {id: n0, name: n0}\n"
	p := newPorts()
	r, _, cycles := untilUnchanged(g, p, planOf(t, box), website(t, ""))
	g.Expect(p.children).To(gomega.HaveLen(8))
	g.Expect(r.Waits).To(gomega.BeEmpty())
	g.Expect(cycles).To(gomega.Equal(2), "one that makes them, and one that finds them")
}
