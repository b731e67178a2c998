// Package roots says what an expression may read: the roots of the data, their schemas, and the error for what is absent. Templates and
// CEL share it, so that both check a path alike and report it in the same words.
package roots

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// The roots. The first five are fields of the resource.
const (
	APIVersion = "apiVersion"
	Kind       = "kind"
	Metadata   = "metadata"
	Spec       = "spec"
	Status     = "status"
	Box        = "box"
	Children   = "children"
	Cross      = "cross"
	External   = "external"
	Providers  = "providers" // what was made outside of the cluster
	Values     = "values"    // what the box has given names to
	Item       = "item"      // in a forEach, as are the next two
	Index      = "index"
	Key        = "key"
	Previous   = "previous" // in onRollback
	Object     = "object"   // in readyWhen of a declaration
)

// The fields of metadata that have names of their own in templates.
const (
	Labels      = "labels"
	Annotations = "annotations"
)

// OfResource says whether a root is a field of the resource.
func OfResource(root string) bool {
	switch root {
	case APIVersion, Kind, Metadata, Spec, Status:
		return true
	}
	return false
}

// Set says which roots there are in one place, and what is known of them. It is immutable; the With methods give changed copies.
type Set struct {
	schemas map[string]*Schema // a nil schema: what is there is unchecked
	hidden  map[string]bool    // roots that exist, but not in this place
	about   string             // what may be read, for those who read something else; empty: what a resource has
}

// NewSetOf gives the roots of a place that knows no resource. about says of any other name what may be read there.
func NewSetOf(schemas map[string]*Schema, about string) *Set {
	return &Set{schemas: schemas, about: about}
}

// NewSet gives the roots of a resource whose CRD has the schema crd (the root of openAPIV3Schema), or an unknown schema when crd is nil:
// apiVersion, kind, metadata, spec, status, box and children.
func NewSet(crd *Schema) *Set {
	s := &Set{schemas: rootSchemas()}
	s.schemas[Children] = nil
	for _, root := range []string{Spec, Status} {
		s.schemas[root] = nil
		if crd == nil || IsOpen(crd) {
			continue
		}
		if node, ok := crd.Properties[root]; ok {
			s.schemas[root] = &node
			continue
		}
		// Nothing can be stored there, so that every field below is a mistake.
		s.schemas[root] = &Schema{Type: value.TypeObject}
	}
	return s
}

func (s *Set) clone() *Set {
	return &Set{schemas: maps.Clone(s.schemas), hidden: maps.Clone(s.hidden), about: s.about}
}

// WithUnchecked adds roots whose content is unchecked. Of those that are there already, the schema stays. One that was taken away is back.
func (s *Set) WithUnchecked(names ...string) *Set {
	c := s.clone()
	for _, name := range names {
		if _, ok := c.schemas[name]; !ok {
			c.schemas[name] = nil
		}
		delete(c.hidden, name)
	}
	return c
}

// With adds a root, or replaces what is known of one. The schema is shared and must not change any more. A root that was taken away is back.
func (s *Set) With(name string, node *Schema) *Set {
	c := s.clone()
	c.schemas[name] = node
	delete(c.hidden, name)
	return c
}

// WithNames says what there is below a root. Any other name there is a mistake.
func (s *Set) WithNames(root string, names map[string]*Schema) *Set {
	node := &Schema{Type: value.TypeObject, Properties: make(map[string]Schema, len(names))}
	for name, below := range names {
		if below == nil {
			below = Unchecked()
		}
		node.Properties[name] = *below
	}
	return s.With(root, node)
}

// WithHidden takes roots away: reading one is an error that says so.
func (s *Set) WithHidden(names ...string) *Set {
	c := s.clone()
	if c.hidden == nil {
		c.hidden = map[string]bool{}
	}
	for _, name := range names {
		c.hidden[name] = true
	}
	return c
}

// Without drops roots: a place knows nothing of them.
func (s *Set) Without(names ...string) *Set {
	c := s.clone()
	for _, name := range names {
		delete(c.schemas, name)
	}
	return c
}

// Schema gives what is known of a root, and says whether there is such a root, also where it is hidden.
func (s *Set) Schema(root string) (*Schema, bool) {
	node, ok := s.schemas[root]
	return node, ok
}

// Hides says whether a root exists that may not be read in this place.
func (s *Set) Hides(root string) bool { return s.hidden[root] }

// Reads says whether a root may be read.
func (s *Set) Reads(root string) bool {
	_, ok := s.schemas[root]
	return ok && !s.hidden[root]
}

// Names gives the roots that may be read, sorted.
func (s *Set) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.schemas)), s.Hides)
}

// At gives the schema of a path, or nil where nothing is known of what is there. The error of a path that the schema
// rules out names the nearest valid field.
func (s *Set) At(path value.Path) (*Schema, error) {
	if len(path) == 0 {
		return nil, errors.New("a path is empty")
	}
	if err := s.Check(path[0]); err != nil {
		return nil, err
	}
	node := s.schemas[path[0]]
	for i, segment := range path[1:] {
		next, err := Descend(node, path[:i+1], segment)
		if err != nil {
			return nil, err
		}
		node = next
	}
	return node, nil
}

// Check says what is wrong with the name of a root: nothing, or why it may not be read here, or what may have been meant.
func (s *Set) Check(name string) error {
	if s.hidden[name] {
		return fmt.Errorf("%s is not available here: this step runs before it is read", name)
	}
	if _, ok := s.schemas[name]; ok {
		return nil
	}
	if s.about != "" {
		return fmt.Errorf(".%s: %s%s", value.Shorten(name), s.about, suggest.DidYouMean(name, s.Names()))
	}
	if why := elsewhere[name]; why != "" {
		return fmt.Errorf(".%s: %s", name, why)
	}
	return fmt.Errorf(".%s: no such name in a template%s", value.Shorten(name), suggest.DidYouMean(name, s.Names()))
}

// Elsewhere says whether a name is a root in other places, or in the templates of Helm.
func Elsewhere(name string) bool { return elsewhere[name] != "" }

// Why a name is not there that is there in other places, or in the templates of Helm.
const (
	onlyForEach  = "there is one only inside a forEach"
	onlyHelm     = "no such name in a template: that is Helm's; "
	onlyResource = onlyHelm + "a template reads the resource alone"
)

var elsewhere = map[string]string{
	Values: "this box has no values", Item: onlyForEach, Index: onlyForEach, Key: onlyForEach, Previous: "there is one only inside onRollback",
	"Values": onlyHelm + "what a resource says is below .spec", "Release": onlyHelm + "a resource's name and namespace are below .metadata",
	"Chart": onlyResource, "Capabilities": onlyResource, "Files": onlyResource,
}
