package declare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/when"
)

// Compile gives the declarations of all groups of a box, and what they take from each other. What is wrong with them is in the box's
// mistakes.
func Compile(b *compile.Box) *Set {
	at := field.NewPath("spec")
	c := &compiler{Box: b, written: map[*Declaration]*v1alpha1.Declaration{}, runsFor: map[*Declaration][]expr.Path{}}
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
	s.Patches, s.Hook, s.Provided = c.patched, c.byHook(), c.provided()
	s.index()
	c.idsOfKinds(s.all())
	for _, group := range [][]*Declaration{s.Live, s.OnDelete, s.OnRollback} {
		c.uniqueIDs(group)
		c.after(group)
	}
	living := slices.Concat(s.Live, s.Patches)
	if s.Hook != nil {
		living = append(living, s.Hook)
	}
	c.uniqueIDs(living)
	c.runForThemselves(s.Live)
	all := s.all()
	c.defaultSources(s.Live, all)
	for _, d := range slices.Concat(s.Every(), s.Provided) {
		d.Outside = b.Outside(d.outsidePaths())
	}
	c.childDeletion(s)
	quotable(all)
	quotablePatches(slices.Concat(s.Patches, s.Provided))
	for _, group := range [][]*Declaration{s.Live, s.OnRollback} {
		noteReads(group)
		c.rings(group)
	}
	noteNeeds(s.Live)
	if s.Reverse {
		s.noteReaders()
	}
	return s
}

// compiler compiles the declarations of one box.
type compiler struct {
	*compile.Box
	gate *when.Gate // the box's own
	// written are the declarations as they are written.
	written map[*Declaration]*v1alpha1.Declaration
	patched []*Declaration               // what is patched
	runsFor map[*Declaration][]expr.Path // what the values of rerunOn read, of each Job
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
		if kind.IsPatch() {
			c.patches(kind, g[key], phase, at.Child(key))
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

// idsOfKinds reports ids that templates would take for a kind of the box's children. Those of the kinds that have keys are refused in any
// box; others, such as Pods, are known by their manifests. The only child of its kind may have the name of that kind, which means nothing else.
func (c *compiler) idsOfKinds(all []*Declaration) {
	for _, d := range all {
		own := d.Loop == nil && d.Kinds.Calls(d.ID)
		if !d.Explicit || kinds.IsName(d.ID) && !own {
			continue
		}
		same := func(other *Declaration) bool {
			return slices.Contains(other.Kinds.ChildNames(), d.ID) && (other != d || !own)
		}
		if at := slices.IndexFunc(all, same); at >= 0 {
			if all[at] == d && d.Loop != nil {
				c.Fail(field.Invalid(field.NewPath(d.Where).Child("id"), d.ID, noKindAsIDOfLoop))
				continue
			}
			c.Fail(field.Invalid(field.NewPath(d.Where).Child("id"), d.ID,
				fmt.Sprintf("templates know children of kind %s by this name (%s); give it another id, or none", all[at].Kinds, all[at].Where)))
		}
	}
}

// childDeletion says who deletes children with their owner. A foreground deletion would remove what has an owner reference before the
// clean-up runs, so with onDelete there are none, unless asked for. The garbage collector knows no order, so in reverse there are none either.
func (c *compiler) childDeletion(s *Set) {
	var spec v1alpha1.DeletionSpec
	if c.Spec.Deletion != nil {
		spec = *c.Spec.Deletion
	}
	at := field.NewPath("spec", "deletion")
	switch spec.Children {
	case "":
	case v1alpha1.DeletedInReverse:
		s.Reverse = true
		if spec.ChildrenFirst {
			c.Fail(field.Forbidden(at.Child("childrenFirst"), "it gives children owner references, by which Kubernetes deletes them in no order, "+
				"and spec.deletion.children is Reverse; remove one of them"))
		}
	default:
		c.Fail(field.NotSupported(at.Child("children"), spec.Children, []v1alpha1.ChildDeletion{v1alpha1.DeletedByCollector, v1alpha1.DeletedInReverse}))
	}
	s.childrenFirst = spec.ChildrenFirst
	s.own(len(s.OnDelete) > 0)
}

// own says whether children name their owner. cleansUp: something has to be done before they go.
func (s *Set) own(cleansUp bool) {
	all := slices.Concat(s.Live, s.OnRollback)
	if s.Hook != nil {
		all = append(all, s.Hook)
	}
	for _, d := range all {
		d.OwnerReference = !s.Reverse && (!cleansUp || s.childrenFirst)
	}
}

// CleansUp says that code has something to do before children go, as onDelete has.
func (s *Set) CleansUp() { s.own(true) }
