package declare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
)

// KeyMark stands between a declaration's id and an item's key in the id of a child.
const KeyMark = "#"

// IsInstance says whether an id is that of a declaration, or of one of its items.
func IsInstance(id, declaration string) bool {
	return id == declaration || strings.HasPrefix(id, declaration+KeyMark)
}

// IsAmong says whether an id is that of one of some declarations, or of one of its items.
func IsAmong(id string, declarations map[string]bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(declarations)), func(declaration string) bool { return IsInstance(id, declaration) })
}

// Set are all declarations of a box.
type Set struct {
	// OnCreate, OnReconcile, OnDelete and OnRollback are the groups, as declared.
	OnCreate, OnReconcile, OnDelete, OnRollback []*Declaration
	// Live are those of onCreate, then those of onReconcile: what a resource has while it lives.
	Live []*Declaration
	// Patches are those that set fields of objects that others own. They make no children.
	Patches []*Declaration
	// Hook is the declaration whose objects a hook says; nil: the box has none. It stands in no group.
	Hook *Declaration
	// Provided are the resources of providers. They are no children.
	Provided []*Declaration
	// Scalers are those of HorizontalPodAutoscalers among them.
	Scalers []*Declaration
	// Reverse says that children are deleted in the reverse order of what they read.
	Reverse bool

	childrenFirst bool // as spec.deletion has it

	readers      map[*Declaration][]*Declaration // of Live, in reverse: whose children go before those of a declaration: see noteReaders
	byID         map[string]*Declaration         // of Live
	deletionOnly map[string]*Declaration         // those of onDelete whose id no other has
	rollbackOnly map[string]*Declaration         // those of onRollback whose id no other has
}

// index makes declarations findable by their ids, and gives those that live their order.
func (s *Set) index() {
	s.Live = slices.Concat(s.OnCreate, s.OnReconcile)
	s.byID = map[string]*Declaration{}
	for i, d := range s.Live {
		d.Order = i
		s.byID[d.ID] = d
		if d.Kinds.Has(kinds.Scaler) {
			s.Scalers = append(s.Scalers, d)
		}
	}
	if s.Hook != nil {
		s.Hook.Order = len(s.Live)
		s.byID[s.Hook.ID] = s.Hook
	}
	only := func(group []*Declaration) map[string]*Declaration {
		out := map[string]*Declaration{}
		for _, d := range group {
			if s.byID[d.ID] == nil {
				out[d.ID] = d
			}
		}
		return out
	}
	s.deletionOnly, s.rollbackOnly = only(s.OnDelete), only(s.OnRollback)
}

// Making are those that make the children of a resource that lives.
func (s *Set) Making() []*Declaration {
	if s.Hook == nil {
		return s.Live
	}
	return append(slices.Clone(s.Live), s.Hook)
}

// all are the declarations of all groups.
func (s *Set) all() []*Declaration {
	all := slices.Concat(s.Live, s.OnRollback, s.OnDelete)
	if s.Hook != nil {
		all = append(all, s.Hook)
	}
	return all
}

// Every gives the declarations of all groups, and the patches.
func (s *Set) Every() []*Declaration { return slices.Concat(s.all(), s.Patches) }

// Of gives the declaration that a child's id stands for; nil where there is none any more.
func (s *Set) Of(id string) *Declaration { return find(s.byID, id) }

// Named gives the declaration that templates know a child's id by; also one of onRollback or onDelete, while nothing else has its
// id.
func (s *Set) Named(id string) *Declaration {
	if d := s.Of(id); d != nil {
		return d
	}
	if d := find(s.rollbackOnly, id); d != nil {
		return d
	}
	return find(s.deletionOnly, id)
}

// OnlyOnDelete says whether a child's id is that of a declaration of onDelete, and of no other.
func (s *Set) OnlyOnDelete(id string) bool { return find(s.deletionOnly, id) != nil }

// find finds a declaration by the id of a child. Item keys may hold the mark themselves, so that every place where it stands may be the
// end of the declaration's id.
func find(byID map[string]*Declaration, id string) *Declaration {
	if d := byID[id]; d != nil && d.Loop == nil {
		return d
	}
	for at := strings.Index(id, KeyMark); at >= 0; {
		if d := byID[id[:at]]; d != nil && d.Loop != nil {
			return d
		}
		next := strings.Index(id[at+1:], KeyMark)
		if next < 0 {
			break
		}
		at += next + 1
	}
	return nil
}

// Kinds are the kinds that the declarations may make, in a fixed order.
func (s *Set) Kinds() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, d := range s.all() {
		for _, gvk := range d.Kinds {
			if !slices.Contains(out, gvk) {
				out = append(out, gvk)
			}
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// OnceIDs are the ids of the declarations of onCreate that run until a resource is Active.
func (s *Set) OnceIDs() []string {
	out := []string{} // what is known of none is nil
	for _, d := range s.OnCreate {
		if d.Once {
			out = append(out, d.ID)
		}
	}
	return out
}

// ReadBy gives the declarations of a resource that lives whose children paths lead to.
func (s *Set) ReadBy(paths []expr.Path) []*Declaration {
	var out []*Declaration
	children := childrenByName(s.Live)
	for name := range childNamesIn(paths) {
		out = append(out, children[name]...)
	}
	return out
}
