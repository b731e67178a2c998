package children

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// appliedSet is what the declarations of a cycle stand for. Everything else of this resource and box is pruned.
type appliedSet struct {
	rendered map[childKey]string           // the id that rendered an object
	places   map[childKey]string           // and what messages call it
	held     map[string]bool               // ids that did not render this time, and whose children stay
	loops    map[*declare.Declaration]bool // declarations of which no item was rendered this time, and whose children stay
	expanded map[*declare.Declaration]bool // declarations whose items are known this time
	met      map[string]bool               // ids of the instances of those
	objects  map[string]childKey           // what each id rendered
	complete bool                          // all declarations were asked: what is not covered is about to be pruned
}

// age is 1 for a child whose declaration has rendered another object in this cycle, as when its name has changed, and 0 for all others. It
// sorts the old object behind the new one.
func (s appliedSet) age(child *unstructured.Unstructured) int {
	if now, ok := s.objects[IDOf(child)]; ok && now != keyOf(child) {
		return 1
	}
	return 0
}

func newAppliedSet() appliedSet {
	return appliedSet{rendered: map[childKey]string{}, places: map[childKey]string{}, held: map[string]bool{}, loops: map[*declare.Declaration]bool{},
		expanded: map[*declare.Declaration]bool{}, met: map[string]bool{}, objects: map[string]childKey{}}
}

// add notes a rendered object. Two that are the same are a mistake.
func (s appliedSet) add(obj *unstructured.Unstructured, in Instance) error {
	key := keyOf(obj)
	if other, taken := s.places[key]; taken {
		return stage.NewPermanent(v1alpha1.ReasonDuplicateChild,
			fmt.Errorf("%q and %q both render %s %q; give one of them another name", other, in.Place(), obj.GetKind(), obj.GetName()))
	}
	if len(s.rendered) >= maxChildren {
		return stage.NewPermanent(v1alpha1.ReasonBudgetExceeded, fmt.Errorf("a resource may have at most %d children, and %q is one more", maxChildren, in.Place()))
	}
	s.rendered[key], s.places[key], s.objects[in.ID] = in.ID, in.Place(), key
	return nil
}

// meet notes the instances of a declaration.
func (s appliedSet) meet(d *declare.Declaration, instances []Instance) {
	s.expanded[d] = true
	for _, in := range instances {
		s.met[in.ID] = true
	}
}

// hold notes that an instance, or a declaration as a whole, does not act this time, and that its children stay.
func (s appliedSet) hold(in Instance) {
	if in.ForAll() || in.nameless {
		s.loops[in.Declaration] = true
		return
	}
	s.held[in.ID] = true
}

// covers says whether a declaration stands for a living child.
func (c *Cycle) covers(child *unstructured.Unstructured) bool {
	id := IDOf(child)
	return c.applied.held[id] || c.applied.rendered[keyOf(child)] == id && id != "" || c.applied.loops[c.Declared.Of(id)]
}

// namespaces are those of what was rendered.
func (s appliedSet) namespaces() []string {
	var out []string
	for key := range s.rendered {
		out = append(out, key.namespace)
	}
	return out
}
