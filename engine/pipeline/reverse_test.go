package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/test/fixtures"
)

// stack is a box of three that read each other: the Deployment the Service, and the Service the ConfigMap. The ConfigMap beside them is
// read by none.
const stack = `
deletion: {children: Reverse}
onReconcile:
  configmaps: [{id: settings, name: settings, data: {a: b}}, {id: beside, name: beside}]
  services: [{id: front, name: front, port: 80, selector: {a: b}, labels: {of: "{{ .children.settings.metadata.uid }}"}}]
  deployments: [{id: web, name: web, image: nginx, labels: {of: "{{ .children.front.metadata.name }}"}}]
`

func putStack(p *ports, change ...func(*unstructured.Unstructured)) {
	p.put(configMapKind, "settings", "settings", change...)
	p.put(configMapKind, "beside", "beside", change...)
	p.put(serviceKind, "front", "front", change...)
	p.put(deploymentKind, "web", "web", change...)
}

func TestChildrenGoInReverse(t *testing.T) {
	finish := "finish shop [" + v1alpha1.Finalizer + "]"
	for name, tc := range map[string]struct {
		box    string
		change func(*unstructured.Unstructured)
		more   func(p *ports)
		want   []string
	}{
		"what reads goes before what it reads": {box: stack, want: []string{
			"delete Deployment/web", "delete ConfigMap/beside", "delete Service/front", "delete ConfigMap/settings", finish}},
		"also where owner references are left from before": {box: stack, change: ownedByReference, want: []string{
			"delete Deployment/web", "delete ConfigMap/beside", "delete Service/front", "delete ConfigMap/settings", finish}},
		"what no declaration stands for any more goes first": {box: stack, more: func(p *ports) { p.put(configMapKind, "former", "former") }, want: []string{
			"delete ConfigMap/former", "delete Deployment/web", "delete ConfigMap/beside", "delete Service/front", "delete ConfigMap/settings", finish}},
		"a child that is to stay holds up nothing": {box: stack, more: func(p *ports) {
			p.edit("web", func(c *unstructured.Unstructured) {
				c.SetAnnotations(map[string]string{v1alpha1.AnnotationDeclaration: "web", v1alpha1.AnnotationDeletionPolicy: "Orphan"})
			})
		}, want: []string{"orphan Deployment/web", "delete Service/front", "delete ConfigMap/beside", "delete ConfigMap/settings", finish}},
		"after counts as reading": {
			box:  strings.Replace(stack, `labels: {of: "{{ .children.front.metadata.name }}"}`, "after: [front]", 1),
			want: []string{"delete Deployment/web", "delete ConfigMap/beside", "delete Service/front", "delete ConfigMap/settings", finish}},
		"by the name of a value": {
			box:  "values: [{name: front, cel: children.front.metadata.name}]\n" + strings.Replace(stack, ".children.front.metadata.name", ".values.front", 1),
			want: []string{"delete Deployment/web", "delete ConfigMap/beside", "delete Service/front", "delete ConfigMap/settings", finish}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			if tc.change == nil {
				tc.change = func(*unstructured.Unstructured) {}
			}
			putStack(p, tc.change)
			if tc.more != nil {
				tc.more(p)
			}
			r, err := p.run(planOf(t, tc.box), deleted(t, v1alpha1.Finalizer))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.Equal(tc.want))
			g.Expect(r.Released).To(gomega.BeTrue())
		})
	}
}

// TestARingGoesInReverseOfItsMaking: of two that read each other, the one that was made last goes first; what only reads them goes before.
// That there is another ring changes nothing: a reads x, so it goes before.
func TestARingGoesInReverseOfItsMaking(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	for _, id := range []string{"a", "b", "c", "x", "z"} {
		p.put(configMapKind, id, id)
	}
	box := func(id, reads string) string { return `{id: ` + id + `, name: ` + id + `, data: {` + reads + `}}` }
	read := func(id string) string { return id + `: '{{ default "" .children.` + id + `.data.v }}'` }
	_, err := p.run(planOf(t, "deletion: {children: Reverse}\nonReconcile: {configmaps: ["+strings.Join([]string{
		box("a", read("b")+", "+read("x")), box("b", read("a")), box("x", read("z")), box("z", read("x")), box("c", read("a")),
	}, ", ")+"]}"), deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.HaveExactElements("delete ConfigMap/c", "delete ConfigMap/z", "delete ConfigMap/b", "delete ConfigMap/a", "delete ConfigMap/x",
		gomega.HavePrefix("finish")))
}

// hold gives a child a finalizer of somebody else.
func hold(c *unstructured.Unstructured) { c.SetFinalizers([]string{"example.com/held"}) }

// begin begins the deletion of a child, as the API server does: one that somebody holds stays.
func (w *world) begin(ctx context.Context, child *unstructured.Unstructured) error {
	if len(child.GetFinalizers()) == 0 {
		return w.deleteChild(ctx, child)
	}
	return w.holdChild(ctx, child)
}

func TestWhatAHeldChildReadsStays(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.delete = p.begin
	putStack(p)
	p.edit("front", hold)
	r, err := p.run(planOf(t, stack), deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"delete Deployment/web", "delete ConfigMap/beside", "delete Service/front"}))
	g.Expect(r.Waits).To(gomega.Equal([]stage.Wait{{Reason: v1alpha1.ReasonDeleting,
		Message: `waiting for Service "front" to be gone; the finalizer "example.com/held" holds it`}}))
	_, err = p.run(planOf(t, stack), deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.BeEmpty(), "nothing is asked for twice")
	p.children = slices.DeleteFunc(p.children, func(c *unstructured.Unstructured) bool { return c.GetName() == "front" })
	r, err = p.run(planOf(t, stack), deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Released).To(gomega.BeTrue())
	g.Expect(p.done()).To(gomega.HaveExactElements("delete ConfigMap/settings", gomega.HavePrefix("finish")))
}

func TestWhatIsNotDeclaredAnyMoreIsWaitedFor(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.delete = p.begin
	putStack(p)
	p.put(configMapKind, "former", "former", hold)
	r, err := p.run(planOf(t, stack), deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"delete ConfigMap/former"}))
	g.Expect(r.Waits[0].Message).To(gomega.Equal(`waiting for ConfigMap "former" to be gone; the finalizer "example.com/held" holds it`))
}

// TestOnDeleteWorksBeforeChildrenGoInReverse: its children are there meanwhile, and what it has made goes before them.
func TestOnDeleteWorksBeforeChildrenGoInReverse(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.delete = p.begin
	putStack(p)
	plan := planOf(t, stack+"onDelete: {jobs: [{name: backup, image: backup, labels: {of: '{{ .children.web.metadata.name }}'}}]}\n")
	r, err := p.run(plan, deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"create Job/backup"}))
	p.edit("backup", endJob("Complete"))
	p.edit("backup", hold)
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop", "delete Job/backup"}))
	p.children = slices.DeleteFunc(p.children, func(c *unstructured.Unstructured) bool { return c.GetName() == "backup" })
	r, err = p.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Released).To(gomega.BeTrue())
	g.Expect(p.done()).To(gomega.Equal([]string{
		"delete Deployment/web", "delete ConfigMap/beside", "delete Service/front", "delete ConfigMap/settings", "finish shop [" + v1alpha1.Finalizer + "]",
	}))
}

func TestTheMessageNamesWhatIsHeld(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	p.delete = p.holdChild // as with a finalizer of the garbage collector, which goes by itself
	putStack(p)
	p.edit("web", hold)
	r, err := p.run(planOf(t, stack), deleted(t, v1alpha1.Finalizer))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits[0].Message).To(gomega.Equal(`waiting for Deployment "web" to be gone; the finalizer "example.com/held" holds it`))
}

func TestSeveralArePrunedInReverse(t *testing.T) {
	gated := strings.NewReplacer("{id: settings,", "{id: settings, when: [{field: spec.tls, equals: true}],", "{id: front,", "{id: front, when: [{field: spec.tls, equals: true}],",
		"{id: web,", "{id: web, when: [{field: spec.tls, equals: true}],").Replace(stack)
	without := "deletion: {children: Reverse}\nonReconcile: {configmaps: [{id: beside, name: beside}]}"
	for name, tc := range map[string]struct {
		box  string
		held string
		want []string
		wait string
	}{
		"gates that close": {box: gated, want: []string{"delete Deployment/web", "delete Service/front", "delete ConfigMap/settings"}},
		"gates that close, and one that is held": {box: gated, held: "front", want: []string{"delete Deployment/web", "delete Service/front"},
			wait: `waiting for Service "front" to be gone, before ConfigMap "settings" is deleted; the finalizer "example.com/held" holds it`},
		"declarations that are gone are not known": {box: without, held: "front",
			want: []string{"delete ConfigMap/settings", "delete Service/front", "delete Deployment/web"}},
		"in no order": {box: strings.Replace(gated, "Reverse", "GarbageCollector", 1), held: "front",
			want: []string{"delete ConfigMap/settings", "delete Service/front", "delete Deployment/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			_, err := p.run(planOf(t, stack), website(t, `{tls: true}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			p.delete = p.begin
			p.edit(tc.held, hold)
			p.done()
			r, err := p.run(planOf(t, tc.box), website(t, `{tls: false}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			deletions := slices.DeleteFunc(p.done(), func(s string) bool { return !strings.HasPrefix(s, "delete") })
			g.Expect(deletions).To(gomega.ConsistOf(tc.want))
			if len(tc.want) == 3 && tc.held == "" {
				g.Expect(deletions).To(gomega.Equal(tc.want))
			}
			if tc.wait == "" {
				g.Expect(r.Waits).To(gomega.BeEmpty())
			} else {
				g.Expect(r.Waits).To(gomega.Equal([]stage.Wait{{Reason: v1alpha1.ReasonChildTerminating, Message: tc.wait}}))
			}
		})
	}
}

func TestOrdersOfDeletionThatMeanNothing(t *testing.T) {
	for box, want := range map[string]string{
		"deletion: {children: Backwards}":                    `spec.deletion.children: Unsupported value: "Backwards": supported values: "GarbageCollector", "Reverse"`,
		"deletion: {children: Reverse, childrenFirst: true}": `spec.deletion.childrenFirst: Forbidden: it gives children owner references, by which Kubernetes deletes them in no order, and spec.deletion.children is Reverse; remove one of them`,
	} {
		_, errs := Compile(boxOf(t, box), Env{CRD: websites(t)})
		gomega.NewWithT(t).Expect(messages(errs)).To(gomega.Equal([]string{want}))
	}
}

// randomStack is a box of ConfigMaps, some of loops, that read each other at random, without rings.
type randomStack struct {
	ids   []string
	loops map[string]bool
	reads map[string][]string
	how   map[string]string // the entry of each, without its braces
}

func newRandomStack(d fixtures.Dice) *randomStack {
	s := &randomStack{loops: map[string]bool{}, reads: map[string][]string{}, how: map[string]string{}}
	for i := range 2 + d.IntN(7) {
		id := fmt.Sprintf("d%d", i)
		entry := fmt.Sprintf("id: %s, when: [{field: spec.any.%s, exists: true}]", id, id)
		if s.loops[id] = d.IntN(4) == 0; s.loops[id] {
			entry += fmt.Sprintf(`, name: "%s-{{ .key }}", forEach: {field: spec.any.%s}`, id, id)
		} else {
			entry += ", name: " + id
		}
		var data, after []string
		for _, other := range s.ids {
			if d.IntN(3) != 0 {
				continue
			}
			s.reads[id] = append(s.reads[id], other)
			if d.IntN(2) == 0 {
				after = append(after, other)
			} else {
				data = append(data, fmt.Sprintf(`%s: '{{ default "" .children.%s | toJson }}'`, other, other))
			}
		}
		s.how[id] = entry + ", after: [" + strings.Join(after, ", ") + "], data: {" + strings.Join(data, ", ") + "}"
		s.ids = append(s.ids, id)
	}
	return s
}

// box writes the declarations in an order of its own: that of the rows means nothing.
func (s *randomStack) box(tb testing.TB, d fixtures.Dice) *Plan {
	tb.Helper()
	rows := slices.Clone(s.ids)
	d.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	var entries []string
	for _, id := range rows {
		entries = append(entries, "{"+s.how[id]+"}")
	}
	return planOf(tb, "deletion: {children: Reverse}\nonReconcile: {configmaps: ["+strings.Join(entries, ", ")+"]}")
}

// spec has an item for each declaration, and some more for loops.
func (s *randomStack) spec(d fixtures.Dice, without ...string) string {
	var fields []string
	for _, id := range s.ids {
		switch {
		case slices.Contains(without, id):
		case s.loops[id] && d.IntN(3) > 0:
			fields = append(fields, id+": {a: 1, b: 2}")
		default:
			fields = append(fields, id+": {a: 1}")
		}
	}
	return "{any: {" + strings.Join(fields, ", ") + "}}"
}

// declares says whether a child is declared for a resource: its gate is open, and its item is there.
func (s *randomStack) declares(resource, child *unstructured.Unstructured) bool {
	path := []string{"spec", "any", idOf(child)}
	if s.loops[idOf(child)] {
		_, key, _ := strings.Cut(children.IDOf(child), "#")
		path = append(path, key)
	}
	_, found, err := unstructured.NestedFieldNoCopy(resource.Object, path...)
	return found && err == nil
}

func idOf(child *unstructured.Unstructured) string {
	id, _, _ := strings.Cut(children.IDOf(child), "#")
	return id
}

var errStopped = errors.New("the manager was stopped")

// audit judges each request for a deletion, and stops the manager before or after some of them. counts says which children are to go.
type audit struct {
	*ports
	tb     testing.TB
	reads  map[string][]string
	counts func(*unstructured.Unstructured) bool
	dice   fixtures.Dice
}

func (a *audit) request(ctx context.Context, child *unstructured.Unstructured) error {
	stops := a.dice.IntN(4)
	if stops == 0 {
		return errStopped
	}
	for _, other := range a.list(configMapKind, "u1") {
		if a.counts(other) && slices.Contains(a.reads[idOf(other)], idOf(child)) {
			a.tb.Errorf("%s is deleted while %s is there, which reads it", child.GetName(), other.GetName())
		}
	}
	if err := a.begin(ctx, child); err != nil || stops > 1 {
		return err
	}
	return errStopped
}

// free takes the finalizer off one child that is being deleted; false: there is none.
func (a *audit) free() bool {
	for i, c := range a.children {
		if c.GetDeletionTimestamp() != nil {
			a.children = slices.Delete(slices.Clone(a.children), i, i+1)
			return true
		}
	}
	return false
}

// TestReverseNeverDeletesWhatALivingChildReads goes through random boxes: prune of some, then the deletion of the resource, with children that
// somebody holds, and a manager that is stopped and started again before and after its writes.
func TestReverseNeverDeletesWhatALivingChildReads(t *testing.T) {
	for seed := range uint64(60) {
		d := fixtures.NewDice(seed)
		s := newRandomStack(d)
		p := newPorts()
		a := &audit{ports: p, tb: t, reads: s.reads, dice: d}
		plan := s.box(t, d)
		resource := website(t, s.spec(d))
		for range s.ids {
			r, err := p.run(plan, resource)
			if err != nil {
				t.Fatal(err)
			}
			resource = r.Stored
		}
		for _, c := range slices.Clone(p.children) {
			if d.IntN(4) == 0 {
				p.edit(c.GetName(), hold)
			}
		}
		p.delete = a.request
		var shut []string
		for _, id := range s.ids {
			if d.IntN(2) == 0 {
				shut = append(shut, id)
			}
		}
		resource.Object["spec"] = website(t, s.spec(d, shut...)).Object["spec"]
		a.counts = func(c *unstructured.Unstructured) bool { return !s.declares(resource, c) }
		a.until(seed, func() bool {
			_, err := p.run(s.box(t, d), resource)
			return err == nil && !slices.ContainsFunc(p.children, a.counts)
		})
		a.counts = func(*unstructured.Unstructured) bool { return true }
		resource.SetDeletionTimestamp(&metav1.Time{Time: now})
		a.until(seed, func() bool {
			r, err := p.run(s.box(t, d), resource)
			return err == nil && r.Released
		})
		if len(p.children) > 0 {
			t.Errorf("seed %d: %d children are left of a resource that was let go", seed, len(p.children))
		}
	}
}

// until runs cycles until they have come to their end. Where a cycle changes nothing, one child that is held is freed.
func (a *audit) until(seed uint64, done func() bool) {
	a.tb.Helper()
	for range 200 {
		a.done()
		if done() {
			return
		}
		if len(a.wrote) == 0 {
			a.free()
		}
	}
	a.tb.Fatalf("seed %d: it does not come to an end", seed)
}
