package declare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/when"
)

// Compile gives the declarations of all groups of a box, and what they take from each other. What is wrong with them is in the box's
// mistakes.
func Compile(b *compile.Box) *Set {
	at := field.NewPath("spec")
	c := &compiler{Box: b}
	gate, errs := when.CompileGate(b.Spec.Gate, b.Scope, at)
	b.Fail(errs...)
	c.gate = gate
	s := &Set{
		OnCreate:    c.group(b.Spec.OnCreate, OnCreate, at.Child("onCreate")),
		OnReconcile: c.group(b.Spec.OnReconcile, OnReconcile, at.Child("onReconcile")),
		OnDelete:    c.group(b.Spec.OnDelete, OnDelete, at.Child("onDelete")),
	}
	if b.Spec.Rollback != nil {
		s.OnRollback = c.group(b.Spec.Rollback.OnRollback, OnRollback, at.Child("rollback", "onRollback"))
	}
	s.index()
	for _, group := range [][]*Declaration{s.Live, s.OnDelete, s.OnRollback} {
		c.uniqueIDs(group)
	}
	all := s.all()
	c.defaultSources(s.Live, all)
	for _, d := range all {
		d.Outside = b.Outside(d.outsidePaths())
	}
	c.ownerReferences(s)
	quotable(all)
	for _, group := range [][]*Declaration{s.Live, s.OnRollback} {
		noteReads(group)
		c.rings(group)
	}
	noteNeeds(s.Live)
	return s
}

// compiler compiles the declarations of one box.
type compiler struct {
	*compile.Box
	gate *when.Gate // the box's own
}

// group compiles one resource group. Keys go in the order of their ranks and names, so that equal boxes make equal plans.
func (c *compiler) group(g v1alpha1.ResourceGroup, phase Phase, at *field.Path) []*Declaration {
	var out []*Declaration
	for _, key := range sortedKeys(g) {
		kind, ok := kinds.Lookup(key)
		if !ok {
			c.unknownKey(key, at.Child(key))
			continue
		}
		for i := range g[key] {
			if d := c.declaration(kind, &g[key][i], phase, at.Child(key).Index(i)); d != nil {
				out = append(out, d)
			}
		}
	}
	return out
}

// sortedKeys gives the keys of a group by rank and name. Manifests come last: they have no rank of their own.
func sortedKeys(g v1alpha1.ResourceGroup) []string {
	place := func(key string) int {
		if kind, ok := kinds.Lookup(key); ok && !kind.GVK.Empty() {
			return kind.Rank
		}
		return math.MaxInt
	}
	return slices.SortedFunc(maps.Keys(g), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

func (c *compiler) unknownKey(key string, at *field.Path) {
	hint := suggest.DidYouMean(key, kinds.Keys())
	if hint == "" {
		hint = "; a kind that has no key goes under resources, as a manifest"
	}
	c.Fail(field.Invalid(at, key, "unknown key"+hint))
}

// uniqueIDs reports declarations that could not be told apart.
func (c *compiler) uniqueIDs(group []*Declaration) {
	first := map[string]*Declaration{}
	for _, d := range group {
		if other := first[d.ID]; other != nil {
			c.Fail(&field.Error{Type: field.ErrorTypeDuplicate, Field: d.Where, BadValue: d.ID,
				Detail: other.Where + " has the same id; give each an `id`, or names that differ"})
			continue
		}
		first[d.ID] = d
	}
}

// ownerReferences says which children the garbage collector may delete with their owner. A foreground deletion would remove them before
// the clean-up runs, so with onDelete there are none, unless asked for.
func (c *compiler) ownerReferences(s *Set) {
	childrenFirst := c.Spec.Deletion != nil && c.Spec.Deletion.ChildrenFirst
	for _, d := range slices.Concat(s.Live, s.OnRollback) {
		d.OwnerReference = len(s.OnDelete) == 0 || childrenFirst
	}
}
