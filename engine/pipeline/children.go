package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// children are the living children of one resource, read from the inventory when they are first needed, and again after a
// write.
type children struct {
	run         *Run
	loaded      bool
	list        []*unstructured.Unstructured
	byKey       map[childKey]*unstructured.Unstructured
	viewed      bool           // a gate or a template of this cycle has seen which children there are
	tree        map[string]any // what templates see
	withSecrets map[string]any // the same, with what Secrets hold
}

func newChildren(r *Run) *children { return &children{run: r} }

// changed forgets what was read: something was written.
func (c *children) changed() {
	c.loaded, c.list, c.byKey, c.tree, c.withSecrets = false, nil, nil, nil, nil
}

// unsee forgets what templates saw: it is another thing now what the children stand for.
func (c *children) unsee() { c.tree, c.withSecrets = nil, nil }

// rendered forgets what templates saw where a declaration has got another object than the one that is there.
func (c *children) rendered() {
	if slices.ContainsFunc(c.list, func(child *unstructured.Unstructured) bool { return c.run.stands.age(child) > 0 }) {
		c.unsee()
	}
}

// All gives every child, in the order of the declarations that they stand for; those of none come last.
func (c *children) All() []*unstructured.Unstructured {
	if c.loaded {
		return c.list
	}
	inv := c.run.Ports.Inventory
	for _, kind := range inv.Kinds() {
		c.list = append(c.list, inv.Owned(kind, c.run.Stored)...)
	}
	slices.SortStableFunc(c.list, func(a, b *unstructured.Unstructured) int { return cmp.Compare(c.place(a), c.place(b)) })
	c.loaded = true
	c.run.Inputs.ReadChildren(c.list) // the versions of the first read
	return c.list
}

func (c *children) place(child *unstructured.Unstructured) int {
	if d := c.run.Plan.declared.Of(idOf(child)); d != nil {
		return d.Order
	}
	return math.MaxInt
}

// find gives the living children of one instance; for a declaration as a whole, those of all its items.
func (c *children) find(in instance) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, child := range c.All() {
		id := idOf(child)
		if id == in.id || in.Loop != nil && in.item == nil && c.run.Plan.declared.Of(id) == in.Declaration {
			out = append(out, child)
		}
	}
	return out
}

// View is .children: by singular (the first declared), by plural and name, and by explicit id.
func (c *children) View() map[string]any {
	if c.tree == nil || !c.loaded {
		c.tree = c.treeOf(kinds.View)
	}
	return c.tree
}

// viewWithSecrets is View with what Secrets hold.
func (c *children) viewWithSecrets() map[string]any {
	if c.withSecrets == nil || !c.loaded {
		c.withSecrets = c.treeOf(kinds.ViewWithSecrets)
	}
	return c.withSecrets
}

func (c *children) treeOf(view func(*unstructured.Unstructured) map[string]any) map[string]any {
	c.viewed = true
	tree := map[string]any{}
	all := c.seen()
	// Two objects stand for one declaration while its name changes: templates mean the new one.
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return c.run.stands.age(a) - c.run.stands.age(b) })
	for _, child := range all {
		gvk := child.GroupVersionKind()
		seen := view(child)
		if _, taken := tree[kinds.SingularOf(gvk)]; !taken {
			tree[kinds.SingularOf(gvk)] = seen
		}
		plural := kinds.PluralOf(gvk)
		byName, ok := tree[plural].(map[string]any)
		if !ok {
			byName = map[string]any{}
			tree[plural] = byName
		}
		byName[c.run.ChildName(child)] = seen
		if d := c.run.Plan.declared.Named(idOf(child)); d != nil && d.Explicit && c.run.stands.age(child) == 0 {
			addByID(tree, d, idOf(child), seen)
		}
	}
	return tree
}

// at gives the living child in a place; nil where there is none.
func (c *children) at(key childKey) *unstructured.Unstructured {
	all := c.All()
	if c.byKey == nil {
		c.byKey = make(map[childKey]*unstructured.Unstructured, len(all))
		for _, child := range all {
			c.byKey[keyOf(child)] = child
		}
	}
	return c.byKey[key]
}

// addByID puts a child where templates find it by the explicit id of its declaration: itself, or below the item's key.
func addByID(tree map[string]any, d *declare.Declaration, id string, seen map[string]any) {
	if d.Loop == nil {
		tree[d.ID] = seen
		return
	}
	byKey, ok := tree[d.ID].(map[string]any)
	if !ok {
		byKey = map[string]any{}
		tree[d.ID] = byKey
	}
	byKey[strings.TrimPrefix(id, d.ID+declare.KeyMark)] = seen
}

func idOf(child *unstructured.Unstructured) string {
	return child.GetAnnotations()[v1alpha1.AnnotationDeclaration]
}

// childKey names an object.
type childKey struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func keyOf(obj *unstructured.Unstructured) childKey {
	return childKey{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), name: obj.GetName()}
}

// standing is what the declarations of a cycle stand for. Everything else of this resource and box is pruned.
type standing struct {
	rendered map[childKey]string           // the id that rendered an object
	places   map[childKey]string           // and what messages call it
	held     map[string]bool               // ids that did not render this time, and whose children stay
	wholly   map[*declare.Declaration]bool // declarations of which no item was rendered this time, and whose children stay
	expanded map[*declare.Declaration]bool // declarations whose items are known this time
	met      map[string]bool               // ids of the instances of those
	objects  map[string]childKey           // what each id rendered
	complete bool                          // all declarations were asked: what is not covered is about to be pruned
}

// age is 1 for a child whose declaration has rendered another object in this cycle, and 0 for all others.
func (s standing) age(child *unstructured.Unstructured) int {
	if now, ok := s.objects[idOf(child)]; ok && now != keyOf(child) {
		return 1
	}
	return 0
}

func newStanding() standing {
	return standing{rendered: map[childKey]string{}, places: map[childKey]string{}, held: map[string]bool{}, wholly: map[*declare.Declaration]bool{},
		expanded: map[*declare.Declaration]bool{}, met: map[string]bool{}, objects: map[string]childKey{}}
}

// add notes a rendered object. Two that are the same are a mistake.
func (s standing) add(obj *unstructured.Unstructured, in instance) error {
	key := keyOf(obj)
	if other, taken := s.places[key]; taken {
		return stage.NewPermanent(v1alpha1.ReasonDuplicateChild,
			fmt.Errorf("%q and %q both render %s %q; give one of them another name", other, in.place(), obj.GetKind(), obj.GetName()))
	}
	if len(s.rendered) >= maxChildren {
		return stage.NewPermanent(v1alpha1.ReasonBudgetExceeded, fmt.Errorf("a resource may have at most %d children, and %q is one more", maxChildren, in.place()))
	}
	s.rendered[key], s.places[key], s.objects[in.id] = in.id, in.place(), key
	return nil
}

// meet notes the instances of a declaration.
func (s standing) meet(d *declare.Declaration, instances []instance) {
	s.expanded[d] = true
	for _, in := range instances {
		s.met[in.id] = true
	}
}

// hold notes that an instance, or a declaration as a whole, does not act this time, and that its children stay.
func (s standing) hold(in instance) {
	if in.Loop != nil && (in.item == nil || in.nameless) {
		s.wholly[in.Declaration] = true
		return
	}
	s.held[in.id] = true
}

// covers says whether a declaration stands for a living child.
func (r *Run) covers(child *unstructured.Unstructured) bool {
	id := idOf(child)
	return r.stands.held[id] || r.stands.rendered[keyOf(child)] == id && id != "" || r.stands.wholly[r.Plan.declared.Of(id)]
}

// RankOf is the place of an object's kind in the order inside a group.
func RankOf(child *unstructured.Unstructured) int { return kinds.RankOf(child.GroupVersionKind()) }

// Foresee implements stage.Children.
func (c *children) Foresee(ctx context.Context, paths []expr.Path) {
	c.run.foresee(ctx, c.run.Plan.declared.ReadBy(paths))
}

// ReadersOf implements stage.Children.
func (c *children) ReadersOf(ctx context.Context, sources []compile.Outside) []string {
	var readers []string
	for _, d := range c.run.Plan.declared.Live {
		if slices.ContainsFunc(d.Outside, func(n compile.Outside) bool { return slices.Contains(sources, n) }) {
			readers = append(readers, c.run.label(ctx, instanceOf(d)))
		}
	}
	return readers
}

// Unsettled gives the children that have not settled, or have failed.
func (c *children) Unsettled(ctx context.Context) ([]stage.Blocker, error) {
	return c.run.unsettled(ctx)
}

// Blocker gives what is known of something that waits.
func (c *children) Blocker(w stage.Wait, of stage.Weight) stage.Blocker {
	b := stage.Blocker{Wait: w, Weight: of, Gives: w.Of}
	if d := c.run.Plan.declared.Named(w.Of); d != nil {
		b.Gives, b.Needs = d.ID, d.Needs
	}
	return b
}
