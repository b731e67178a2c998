package children

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/items"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// appliedSet is what the declarations of a cycle stand for. Everything else of this resource and box is pruned.
type appliedSet struct {
	rendered map[childKey]string // the id that rendered an object
	places   map[childKey]string // and what messages call it
	held     map[string]bool     // ids that did not render this time, and whose children stay
	objects  map[string]childKey // what each id rendered
	unmade   map[string]bool     // ids whose object is made when what has its name is gone; what they have made before stays until then
	// heldDeclarations are held as held ids are, with all of their instances: it is not known of which instance a child is.
	heldDeclarations map[*declare.Declaration]bool
	asked            map[*declare.Declaration]bool // declarations that have said all that they stand for this time
	expanded         map[*declare.Declaration]bool // declarations whose instances are known this time
	instances        map[string]bool               // and the ids of those instances
	shut             map[string]bool               // namespaces that no longer let the resource in, and into which declarations lead
	complete         bool                          // all declarations were asked: what is not covered is about to be pruned
}

// superseded says whether the declaration of a child has rendered another object in this cycle, as when its name has changed. Until the
// child is pruned, there are two objects of one declaration.
func (s appliedSet) superseded(child *unstructured.Unstructured) bool {
	now, ok := s.objects[IDOf(child)]
	return ok && now != keyOf(child)
}

func newAppliedSet() appliedSet {
	return appliedSet{
		rendered: map[childKey]string{}, places: map[childKey]string{}, objects: map[string]childKey{},
		held: map[string]bool{}, unmade: map[string]bool{}, heldDeclarations: map[*declare.Declaration]bool{},
		asked: map[*declare.Declaration]bool{}, expanded: map[*declare.Declaration]bool{}, instances: map[string]bool{}, shut: map[string]bool{},
	}
}

// add notes a rendered object. Two that are the same are a mistake.
func (s appliedSet) add(obj *unstructured.Unstructured, in Instance) error {
	key := keyOf(obj)
	if other, taken := s.places[key]; taken {
		return stage.NewPermanent(v1alpha1.ReasonDuplicateChild,
			fmt.Errorf("%q and %q both render %s %q; give one of them another name", other, in.Place(), obj.GetKind(), obj.GetName()))
	}
	if len(s.rendered) >= items.Max {
		return stage.NewPermanent(v1alpha1.ReasonBudgetExceeded, fmt.Errorf("a resource may have at most %d children, and %q is one more", items.Max, in.Place()))
	}
	s.rendered[key], s.places[key], s.objects[in.ID] = in.ID, in.Place(), key
	return nil
}

// setInstances notes which instances a declaration has. Marks of Jobs whose item is gone are dropped by that.
func (s appliedSet) setInstances(d *declare.Declaration, instances []Instance) {
	s.expanded[d] = true
	for _, in := range instances {
		s.instances[in.ID] = true
	}
}

// hold notes that an instance, or a declaration with all of its instances, does not act this time, and that its children stay.
func (s appliedSet) hold(in Instance) {
	if in.ForAll() || in.nameless {
		s.heldDeclarations[in.Declaration] = true
		return
	}
	s.held[in.ID] = true
}

// holdUnwritten holds what was rendered and could not be written: what it has made before stays.
func (s appliedSet) holdUnwritten(writes []*pending) {
	for _, w := range writes {
		if w.err != nil || w.outcome.Object == nil {
			s.hold(w.in)
		}
	}
}

// covers says whether a declaration stands for a living child.
func (c *Cycle) covers(child *unstructured.Unstructured) bool {
	id := IDOf(child)
	return c.applied.held[id] || c.applied.unmade[id] || c.applied.rendered[keyOf(child)] == id && id != "" || c.applied.heldDeclarations[c.Declared.Of(id)]
}

// mayBeMeant says whether a declaration may stand for a child that none covers: it was not rendered, and might give the child another id; or it was
// rendered, and not written.
func (s appliedSet) mayBeMeant(child *unstructured.Unstructured, declared *declare.Set) bool {
	own := declared.Of(IDOf(child))
	for _, d := range declared.Making() {
		if !s.asked[d] && (d == own || d.Kinds.Has(child.GroupVersionKind().GroupKind())) {
			return true
		}
	}
	_, rendered := s.rendered[keyOf(child)]
	return rendered
}

// namespaces are those into which declarations lead.
func (s appliedSet) namespaces() []string {
	out := slices.Collect(maps.Keys(s.shut))
	for key := range s.rendered {
		out = append(out, key.namespace)
	}
	return out
}
