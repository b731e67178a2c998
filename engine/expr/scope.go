// Package expr compiles the templates of a box and evaluates them against a resource.
//
// A template is Go's text/template with three changes, made by rewriting its tree once when it is compiled: a single
// expression keeps its own value instead of becoming text, a field that is not there is an error unless the place where it
// is read says that it may be absent, and every evaluation has limits. What is compiled is immutable and safe for
// concurrent use.
//
// The package has no side effects. It may not read the clock, the environment, files, the network or a source of
// randomness: the same template and the same data give the same result. It knows nothing of clients or of stages.
package expr

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Scope says what a template may read. It is immutable; the With methods give changed copies.
type Scope struct {
	roots  map[string]*schema // a nil schema: what is there is unchecked
	hidden map[string]bool    // roots that exist, but not in this place
	random *random            // what the random functions draw from; nil where they are not allowed
	cel    *lazyCEL           // what CEL expressions share; each scope has its own, and makes it when it has one
}

func (s *Scope) clone() *Scope {
	return &Scope{roots: maps.Clone(s.roots), hidden: maps.Clone(s.hidden), random: s.random, cel: &lazyCEL{}}
}

// NewScope gives the scope of a resource whose CRD has the schema crd (the root of openAPIV3Schema), or an unknown schema
// when crd is nil; paths below spec and status are then unchecked. Its roots are apiVersion, kind, metadata, spec, status,
// box and children.
func NewScope(crd *apiextensionsv1.JSONSchemaProps) *Scope {
	s := &Scope{roots: rootSchemas(), cel: &lazyCEL{}}
	s.roots[rootChildren] = nil
	for _, root := range []string{rootSpec, rootStatus} {
		s.roots[root] = nil
		if crd == nil || isOpen(crd) {
			continue
		}
		if node, ok := crd.Properties[root]; ok {
			s.roots[root] = &node
			continue
		}
		// Nothing can be stored there, so that every field below is a mistake.
		s.roots[root] = &schema{Type: typeObject}
	}
	return s
}

// WithRoots adds roots whose content is unchecked, such as item and key inside a forEach. A root that was taken away is
// back again.
func (s *Scope) WithRoots(names ...string) *Scope {
	c := s.clone()
	for _, name := range names {
		if _, ok := c.roots[name]; !ok {
			c.roots[name] = nil
		}
		delete(c.hidden, name)
	}
	return c
}

// WithNames says what there is below a root: children, cross or external, which it adds where the scope has none. Any other name
// there is a mistake. A nil schema: what is below the name is unchecked.
func (s *Scope) WithNames(root string, names map[string]*apiextensionsv1.JSONSchemaProps) *Scope {
	node := &schema{Type: typeObject, Properties: make(map[string]schema, len(names))}
	for name, below := range names {
		if below == nil {
			below = unchecked()
		}
		node.Properties[name] = *below
	}
	return s.WithRoot(root, node)
}

// WithRoot adds a root, or replaces what is known of one: item gets the schema of the list's elements by it. A nil schema: what is
// there is unchecked. The schema is shared and must not change any more. A root that was taken away is back again.
func (s *Scope) WithRoot(name string, schema *apiextensionsv1.JSONSchemaProps) *Scope {
	c := s.clone()
	c.roots[name] = schema
	delete(c.hidden, name)
	return c
}

// WithChildren is WithNames for children of which nothing else is known.
func (s *Scope) WithChildren(names ...string) *Scope {
	below := make(map[string]*apiextensionsv1.JSONSchemaProps, len(names))
	for _, name := range names {
		below[name] = nil
	}
	return s.WithNames(rootChildren, below)
}

// WithRandom allows the random functions. source gives the randomness, and now the time at which certificates begin; both must be
// safe for concurrent use. Without it, calling such a function is an error that says where they are allowed.
func (s *Scope) WithRandom(source io.Reader, now func() time.Time) *Scope {
	c := s.clone()
	c.random = &random{source: source, now: now}
	return c
}

// WithoutRoots takes roots away: reading one is an error that says so.
func (s *Scope) WithoutRoots(names ...string) *Scope {
	c := s.clone()
	if c.hidden == nil {
		c.hidden = map[string]bool{}
	}
	for _, name := range names {
		c.hidden[name] = true
	}
	return c
}

// WithoutBox gives the scope of a resource that no box serves: it has no children, and knows no box.
func (s *Scope) WithoutBox() *Scope {
	c := s.clone()
	delete(c.roots, rootChildren)
	delete(c.roots, rootBox)
	return c
}

// SchemaAt gives the schema of a path, or nil where nothing is known of what is there. The error of a path that the schema
// rules out names the nearest valid field.
func (s *Scope) SchemaAt(path Path) (*apiextensionsv1.JSONSchemaProps, error) {
	if len(path) == 0 {
		return nil, errors.New("a path is empty")
	}
	if err := s.checkRoot(path[0]); err != nil {
		return nil, err
	}
	node := s.roots[path[0]]
	for i, segment := range path[1:] {
		next, err := descend(node, path[:i+1], segment)
		if err != nil {
			return nil, err
		}
		node = next
	}
	return node, nil
}

func (s *Scope) checkRoot(name string) error {
	if s.hidden[name] {
		return fmt.Errorf("%s is not available here: this step runs before it is read", name)
	}
	if _, ok := s.roots[name]; ok {
		return nil
	}
	if why := absentRoots[name]; why != "" {
		return fmt.Errorf(".%s: %s", name, why)
	}
	return fmt.Errorf(".%s: no such name in a template%s", shorten(name), didYouMean(name, s.visible()))
}

// Why a name is not there that is there in other places, or in the templates of Helm.
const (
	onlyForEach  = "there is one only inside a forEach"
	onlyHelm     = "no such name in a template: that is Helm's; "
	onlyResource = onlyHelm + "a template reads the resource alone"
)

var absentRoots = map[string]string{
	rootItem: onlyForEach, rootIndex: onlyForEach, rootKey: onlyForEach, rootPrevious: "there is one only inside onRollback",
	"Values": onlyHelm + "what a resource says is below .spec", "Release": onlyHelm + "a resource's name and namespace are below .metadata",
	"Chart": onlyResource, "Capabilities": onlyResource, "Files": onlyResource,
}

func (s *Scope) visible() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.roots)), func(name string) bool { return s.hidden[name] })
}

// origin is where a value comes from, as far as that can be known without running the template.
type origin struct {
	known bool
	path  Path // empty: all the data
	// folds: below here a capital first letter may stand for a small one (below .Spec and .Status).
	folds bool
	// sure counts the segments whose spelling is settled; of the others only the value itself can tell.
	sure int
}

// inputs is the part of the path that certainly is what gets read.
func (o origin) inputs() Path {
	return o.path[:o.sure].known()
}

// resolve gives the origin of fields read from a value, replaces shortcuts, and checks the path.
func (s *Scope) resolve(from origin, fields []string) (origin, error) {
	if !from.known {
		return from, nil
	}
	if len(from.path) == 0 {
		if _, ok := s.roots[fields[0]]; ok {
			from.path = Path{fields[0]}
		} else if from.path, ok = shortcut(fields[0]); !ok {
			return from, s.checkRoot(fields[0])
		} else {
			from.folds = len(from.path) == 1
		}
		from.sure, fields = len(from.path), fields[1:]
	}
	node, err := s.SchemaAt(from.path)
	if err != nil {
		return from, err
	}
	for _, segment := range fields {
		spelling, settled := segment, true
		if from.folds {
			spelling, settled = fold(node, segment)
		}
		if node, err = descend(node, from.path, spelling); err != nil {
			return from, err
		}
		if settled && from.sure == len(from.path) {
			from.sure++
		}
		from.path = from.path.with(spelling)
	}
	return from, nil
}

// shortcut gives the path that a capitalized root stands for.
func shortcut(name string) (Path, bool) {
	switch name {
	case "Name", "Namespace", "Labels", "Annotations":
		return Path{rootMetadata, strings.ToLower(name)}, true
	case "Spec", "Status":
		return Path{strings.ToLower(name)}, true
	}
	return nil, false
}
