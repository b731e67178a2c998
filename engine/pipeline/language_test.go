package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/test/fixtures"
)

// row is one declaration of a random box, with what is needed to say by the words of the documentation what it comes to.
type row struct {
	id, kind string
	items    []string // the names of its children
	loop     string   // its forEach; empty: there is none
	name     string   // as it is written
	shut     bool     // by a gate that reads the resource alone
	gate     string
	after    []*row
	reads    []*row // without a default: it waits for them
	data     []string
	never    bool // its children are there and never current
	rolls    bool // one after another
	optional bool

	made  []string
	waits bool
}

// mixedBox is a box that uses all of the language at once, without rings.
type mixedBox struct {
	head, values []string
	all          []*row
	patches      []*patchRow
}

// patchRow is a patch of an object of others, which may not be there.
type patchRow struct {
	id, target, written string
	shut                bool
	reads               *row // nil: none
}

const mixedSpec = `{image: v1, host: "on", replicas: 3, tags: [a, b, c], any: {none: [], two: [{name: x, in: [p, q]}, {name: z, in: [r]}], map: {k1: v1, k2: v2}}}`

// loops are the loops of random boxes: what is written, the name of an item, and the items that there are for mixedSpec.
var loops = []struct {
	over, name string
	items      []string
}{
	{`field: spec.tags`, `{{ .item }}`, []string{"a", "b", "c"}},
	{`field: spec.any.none`, `{{ .item }}`, nil},
	{`field: spec.any.absent`, `{{ .item }}`, nil},
	{`field: spec.any.map, as: v`, `{{ .v }}`, []string{"v1", "v2"}},
	{`field: values.list`, `{{ .item }}`, []string{"a-2", "b-2", "c-2"}},
	{`field: "{{ until 2 }}", key: "k{{ .item }}"`, `{{ .key }}`, []string{"k0", "k1"}},
	{`loops: [{field: spec.any.two, as: o}, {field: o.in, as: i}], key: "{{ .o.name }}{{ .i }}"`, `{{ .o.name }}-{{ .i }}`, []string{"x-p", "x-q", "z-r"}},
	{`loops: [{field: spec.tags, as: t}, {field: spec.any.none, as: o}]`, `{{ .t }}`, nil},
}

func newMixedBox(d fixtures.Dice) *mixedBox {
	b := &mixedBox{values: []string{
		`{name: switch, cel: "self.spec.host + 'ly'"}`, `{name: list, cel: "self.spec.tags.map(t, t + '-2')"}`,
		`{name: tree, value: {a: "{{ .values.switch }}", b: ["{{ .spec.image }}"]}}`,
	}}
	if d.IntN(2) == 0 {
		b.head = append(b.head, "deletion: {children: Reverse}")
	}
	for i := range 2 + d.IntN(6) {
		b.add(d, i)
	}
	for i := range d.IntN(4) {
		b.patch(d, i)
	}
	return b
}

// shuffled writes the box, with its declarations in some order.
func (b *mixedBox) shuffled(d fixtures.Dice) string {
	groups := rows{}
	for _, r := range b.all {
		groups[r.kind] = append(groups[r.kind], "  - "+r.written())
	}
	for _, p := range b.patches {
		groups["patches"] = append(groups["patches"], "  - "+p.written)
	}
	return strings.Join(append(b.head, "values: ["+strings.Join(b.values, ", ")+"]", groups.shuffled(d.Rand)), "\n")
}

// gates that read the resource alone, and whether they are open for mixedSpec.
func mixedGate(d fixtures.Dice) (gate string, shut bool) {
	if d.IntN(2) == 0 {
		return "", false
	}
	shut = d.IntN(3) == 0
	wanted := map[bool]string{false: "only", true: "onlx"}[shut]
	return fmt.Sprintf([]string{
		`when: [{field: values.switch, equals: %s}]`, `anyOf: [{field: spec.host, equals: x}, {cel: "values.switch == '%s'"}]`, `when: [{cel: "values.tree.a == '%s'"}]`,
		`when: [{field: "{{ .values.tree.a }}", equals: "%s"}]`,
	}[d.IntN(4)], wanted), shut
}

func (b *mixedBox) add(d fixtures.Dice, i int) {
	r := &row{id: fmt.Sprintf("d%d", i), kind: "configmaps"}
	r.items, r.name = []string{r.id}, r.id
	if d.IntN(6) == 0 {
		r.kind, r.never = "jobs", true
	}
	r.gate, r.shut = mixedGate(d)
	if d.IntN(3) == 0 {
		loop := loops[d.IntN(len(loops))]
		r.loop, r.name, r.items = loop.over, r.id+"-"+loop.name, nil
		for _, item := range loop.items {
			r.items = append(r.items, r.id+"-"+item)
		}
		r.rolls = r.kind != "jobs" && d.IntN(2) == 0
	}
	if r.kind == "configmaps" && d.IntN(5) == 0 {
		r.never = true
	}
	r.optional = !r.never && d.IntN(6) == 0
	for _, other := range b.all {
		switch how := d.IntN(8); {
		case how == 0:
			r.after = append(r.after, other)
		case other.loop != "" || other.kind == "jobs":
		case how == 1:
			r.reads = append(r.reads, other)
			r.data = append(r.data, fmt.Sprintf(`%s: "{{ .children.%s.data.k }}"`, other.id, other.id))
		case how == 2: // by the name of a value
			r.reads = append(r.reads, other)
			b.values = append(b.values, fmt.Sprintf([]string{`{name: %[2]s, value: "{{ .children.%[1]s.data.k }}"}`, `{name: %[2]s, cel: "children.%[1]s.data.k"}`}[d.IntN(2)], other.id, other.id+"of"+r.id))
			r.data = append(r.data, fmt.Sprintf(`%s: "{{ .values.%s }}"`, other.id, other.id+"of"+r.id))
		case how == 3:
			r.data = append(r.data, fmt.Sprintf(`%s: '{{ default "none" .children.%s.metadata.name }}'`, other.id, other.id))
		}
	}
	b.all = append(b.all, r)
}

func (r *row) written() string {
	parts := []string{"id: " + r.id, `name: "` + r.name + `"`}
	if r.gate != "" {
		parts = append(parts, r.gate)
	}
	if r.loop != "" {
		loop := r.loop
		if r.rolls {
			loop += ", rollout: {}"
		}
		parts = append(parts, "forEach: {"+loop+"}")
	}
	if len(r.after) > 0 {
		ids := make([]string, len(r.after))
		for i, other := range r.after {
			ids[i] = other.id
		}
		parts = append(parts, "after: ["+strings.Join(ids, ", ")+"]")
	}
	if r.optional {
		parts = append(parts, "optional: true")
	}
	if r.kind == "jobs" {
		parts = append(parts, "image: x", `rerunOn: ["{{ .spec.image }}", "{{ .values.switch }}"]`, "labels: {l: "+`"{{ .values.tree.a }}"}`)
		if len(r.data) > 0 {
			parts = append(parts, "annotations: {"+strings.Join(r.data, ", ")+"}")
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if r.never {
		parts = append(parts, "readyWhen: [{field: object.metadata.annotations.up, exists: true}]")
	}
	return "{" + strings.Join(append(parts, "data: {"+strings.Join(append(r.data, `k: "{{ index .values.tree.b 0 }}"`), ", ")+"}"), ", ") + "}"
}

func (b *mixedBox) patch(d fixtures.Dice, i int) {
	p := &patchRow{id: fmt.Sprintf("p%d", i), target: []string{"theirs", "others", "missing"}[d.IntN(3)]}
	gate, shut := mixedGate(d)
	data := "v"
	if of := b.all[d.IntN(len(b.all))]; of.kind == "configmaps" && of.loop == "" && d.IntN(2) == 0 {
		p.reads, data = of, fmt.Sprintf("{{ .children.%s.data.k }}", of.id)
	}
	if p.shut = shut; gate != "" {
		gate = ", " + gate
	}
	p.written = fmt.Sprintf(`{id: %[1]s, target: {apiVersion: v1, kind: ConfigMap, name: %[2]s}, patch: {metadata: {labels: {%[1]s: "{{ .values.switch }}"}}, data: {%[1]s: "%[3]s"}}%[4]s}`,
		p.id, p.target, data, gate)
	b.patches = append(b.patches, p)
}

// comesTo says what is there in the end, by the words of the documentation: the children, and the patches that are set.
func (b *mixedBox) comesTo() (made, patched []string) {
	for _, r := range b.all { // those that others read come before them
		if r.shut || len(r.items) == 0 {
			continue // a choice: who comes after it does not wait
		}
		for _, other := range r.after {
			stuck := len(other.made) > 0 && (other.never || len(other.made) < len(other.items))
			r.waits = r.waits || stuck || other.waits && !other.optional
		}
		for _, other := range r.reads {
			r.waits = r.waits || len(other.made) == 0
		}
		switch {
		case r.waits:
		case r.rolls && r.never:
			r.made = r.items[:1]
		default:
			r.made = r.items
		}
		kind := map[string]string{"configmaps": "ConfigMap/", "jobs": "Job/"}[r.kind]
		for _, name := range r.made {
			made = append(made, kind+name)
		}
	}
	for _, p := range b.patches {
		if !p.shut && p.target != "missing" && (p.reads == nil || len(p.reads.made) > 0) {
			patched = append(patched, p.id+" "+p.target)
		}
	}
	slices.Sort(made)
	slices.Sort(patched)
	return made, patched
}

// remembering sets patches as the API server would: nothing is sent of one that stands.
type remembering struct {
	*patcher

	stand map[string]string // what each manager has set of an object
}

func (p *remembering) Patch(_ context.Context, patch apply.Patch, live *unstructured.Unstructured) (apply.Outcome, error) {
	text, err := json.Marshal(patch.Object)
	if key := patch.Manager + " " + live.GetName(); p.stand[key] != string(text) {
		p.stand[key], p.sent = string(text), append(p.sent, key)
		return apply.Outcome{Action: apply.Changed, Object: live}, err
	}
	return apply.Outcome{Action: apply.None, Object: live}, err
}

func (p *remembering) Withdraw(_ context.Context, manager string, target *unstructured.Unstructured, _ *taken.Fields) (apply.Withdrawn, error) {
	p.sent = append(p.sent, "taken back "+manager+" "+target.GetName())
	delete(p.stand, manager+" "+target.GetName())
	return apply.Withdrawn{}, nil
}

// settles runs cycles until nothing has changed that the last one read, and then one more, which must send nothing. It gives the resource, and
// what it waits for.
func (p *remembering) settles(t *testing.T, plan *Plan, stored *unstructured.Unstructured, what string) (*unstructured.Unstructured, []string) {
	t.Helper()
	in := p.ports.ports()
	in.Patcher = p
	var waits []string
	for cycle := 0; ; cycle++ {
		r := plan.NewRun(stored, now, in)
		err := plan.Execute(t.Context(), r)
		if _, failed := r.Result(t.Context(), err); err != nil || failed != nil {
			t.Fatalf("%v, %v\n%s", err, failed, what)
		}
		sent := slices.Concat(p.done(), p.taken())
		slices.Sort(waits)
		if stored = r.Stored; waits != nil {
			if len(sent) > 0 {
				t.Fatalf("nothing has changed, and %v is sent\n%s", sent, what)
			}
			return stored, waits
		}
		if cycle > 60 {
			t.Fatalf("it does not settle: %v\n%s", sent, what)
		}
		if r.Inputs.Unchanged(&plan.Plan, stored, p.ports, now) {
			waits = []string{}
			for _, w := range r.Waits {
				waits = append(waits, w.Reason+" "+w.Message)
			}
		}
	}
}

// there gives the children that are there, and the patches that are set.
func (p *remembering) there(b *mixedBox) (made, patched []string) {
	for _, c := range p.children {
		made = append(made, c.GetKind()+"/"+c.GetName())
	}
	for _, row := range b.patches {
		if p.stand[byPatch(row.id)+" "+row.target] != "" {
			patched = append(patched, row.id+" "+row.target)
		}
	}
	slices.Sort(made)
	slices.Sort(patched)
	return made, patched
}

// TestAnyBoxComesToWhatTheDocumentationSays: boxes of values, loops, after, rollouts, reads, Jobs and patches come to an end, with the children
// that a simple reading gives, in any order of their rows, also after another spec; and a cycle without a change sends nothing.
func TestAnyBoxComesToWhatTheDocumentationSays(t *testing.T) {
	for seed := range uint64(100) {
		g := gomega.NewWithT(t)
		d := fixtures.NewDice(seed)
		b := newMixedBox(d)
		made, patched := b.comesTo()
		var waited []string
		for order := range 2 {
			written := b.shuffled(d)
			what := fmt.Sprintf("seed %d:\n%s", seed, written)
			p := &remembering{patcher: newPatcher(theirConfig("theirs"), theirConfig("others")), stand: map[string]string{}}
			plan := planOf(t, written)
			stored, waits := p.settles(t, plan, website(t, mixedSpec), what)
			isMade, isPatched := p.there(b)
			g.Expect(isMade).To(gomega.Equal(made), what)
			g.Expect(isPatched).To(gomega.Equal(patched), what)
			if order > 0 {
				g.Expect(waits).To(gomega.Equal(waited), what)
			}
			waited = waits

			stored, _ = p.settles(t, plan, withSpec(t, stored, `{image: v2, host: "off", replicas: 1, tags: [c, d], any: {map: {k2: w2}}}`), what)
			p.settles(t, planOf(t, b.shuffled(d)), withSpec(t, stored, mixedSpec), what)
		}
	}
}
