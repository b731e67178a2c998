package children

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// Living are the living children of one resource, read from the inventory when they are first needed, and again after a
// write.
type Living struct {
	cycle       *Cycle
	loaded      bool
	list        []*unstructured.Unstructured
	byKey       map[childKey]*unstructured.Unstructured
	viewed      bool           // a gate or a template of this cycle has seen which children there are
	tree        map[string]any // what templates see
	withSecrets map[string]any // the same, with what Secrets hold
}

// Changed forgets what was read: something was written.
func (l *Living) Changed() {
	l.loaded, l.list, l.byKey, l.tree, l.withSecrets = false, nil, nil, nil, nil
}

// forgetView forgets what templates saw: it is another thing now what the children stand for.
func (l *Living) forgetView() { l.tree, l.withSecrets = nil, nil }

// forgetViewOfSuperseded forgets what templates saw where a declaration has rendered another object than the one that is there.
func (l *Living) forgetViewOfSuperseded() {
	if slices.ContainsFunc(l.list, l.cycle.applied.superseded) {
		l.forgetView()
	}
}

// All gives every child, in the order of the declarations that they stand for; those of none come last.
func (l *Living) All() []*unstructured.Unstructured {
	if l.loaded {
		return l.list
	}
	inv := l.cycle.Ports.Inventory
	for _, kind := range inv.Kinds() {
		l.list = append(l.list, inv.Owned(kind, l.cycle.Stored)...)
	}
	slices.SortStableFunc(l.list, func(a, b *unstructured.Unstructured) int { return cmp.Compare(l.place(a), l.place(b)) })
	l.loaded = true
	l.cycle.Inputs.ReadChildren(l.list) // the versions of the first read
	return l.list
}

func (l *Living) place(child *unstructured.Unstructured) int {
	if d := l.cycle.Declared.Of(IDOf(child)); d != nil {
		return d.Order
	}
	return math.MaxInt
}

// Find gives the living children of one instance; for one that stands for all items, those of each of them.
func (l *Living) Find(in Instance) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, child := range l.All() {
		id := IDOf(child)
		if id == in.ID || in.ForAll() && l.cycle.Declared.Of(id) == in.Declaration {
			out = append(out, child)
		}
	}
	return out
}

// View is .children: by singular (the first declared), by plural and name, and by explicit id.
func (l *Living) View() map[string]any {
	if l.tree == nil || !l.loaded {
		l.tree = l.treeOf(kinds.View)
	}
	return l.tree
}

// viewWithSecrets is View with what Secrets hold.
func (l *Living) viewWithSecrets() map[string]any {
	if l.withSecrets == nil || !l.loaded {
		l.withSecrets = l.treeOf(kinds.ViewWithSecrets)
	}
	return l.withSecrets
}

func (l *Living) treeOf(view func(*unstructured.Unstructured) map[string]any) map[string]any {
	l.viewed = true
	tree := map[string]any{}
	superseded := l.cycle.applied.superseded
	all := l.visible()
	// While a name changes, one declaration has two objects. Templates mean the new one, and the first of a kind is its singular.
	current := slices.DeleteFunc(slices.Clone(all), superseded)
	former := slices.DeleteFunc(all, func(child *unstructured.Unstructured) bool { return !superseded(child) })
	for _, child := range slices.Concat(current, former) {
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
		byName[l.cycle.ChildName(child)] = seen
		if d := l.cycle.Declared.Named(IDOf(child)); d != nil && d.Explicit && !superseded(child) {
			addByID(tree, d, IDOf(child), seen)
		}
	}
	return tree
}

// byInstance gives the children that templates see by the ids of their instances. Of two of one instance, while a name changes, it is the
// one that is declared now.
func (l *Living) byInstance() map[string]*unstructured.Unstructured {
	l.viewed = true
	out := map[string]*unstructured.Unstructured{}
	for _, child := range l.visible() {
		if !l.cycle.applied.superseded(child) {
			out[IDOf(child)] = child
		}
	}
	return out
}

// at gives the living child in a place; nil where there is none.
func (l *Living) at(key childKey) *unstructured.Unstructured {
	all := l.All()
	if l.byKey == nil {
		l.byKey = make(map[childKey]*unstructured.Unstructured, len(all))
		for _, child := range all {
			l.byKey[keyOf(child)] = child
		}
	}
	return l.byKey[key]
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

// Foresee implements stage.Children.
func (l *Living) Foresee(ctx context.Context, paths []expr.Path) {
	l.cycle.Jobs.foresee(ctx, l.cycle.Declared.ReadBy(paths))
}

// ReadersOf implements stage.Children.
func (l *Living) ReadersOf(ctx context.Context, sources []compile.Outside) []string {
	var readers []string
	for _, d := range l.cycle.Declared.Live {
		if slices.ContainsFunc(d.Outside, func(n compile.Outside) bool { return slices.Contains(sources, n) }) {
			readers = append(readers, InstanceOf(d).Label(ctx, l.cycle))
		}
	}
	return readers
}
