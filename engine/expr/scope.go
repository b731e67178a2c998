// Package expr compiles the templates of a box and evaluates them against a resource.
//
// A template is Go's text/template with three changes, made by rewriting its tree once when it is compiled: a single
// expression keeps its own value instead of becoming text, a field that is not there is an error unless the place where it
// is read says that it may be absent, and every evaluation has limits. What is compiled is immutable and safe for
// concurrent use.
//
// The package has no side effects. It may not read the clock, the environment, files, the network or a source of
// randomness other than the one that a scope is given: the same template and the same data give the same result. It knows
// nothing of clients or of stages.
package expr

import (
	"io"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/expr/cel"
	"github.com/orkspace/orkestra/engine/expr/random"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// Data holds the values of the roots: spec, metadata, children and so on. Values are what encoding/json makes, with int64
// for whole numbers. Templates never change them.
type Data = map[string]any

// Path names a value below a root.
type Path = value.Path

// Scope says what an expression may read, and where it may draw from. It is immutable; the With methods give changed copies.
type Scope struct {
	roots   *roots.Set
	random  *random.Source // nil where nothing may be drawn
	undrawn string         // why nothing may be drawn; empty: it may be in other declarations
	cel     *cel.Env       // of the same roots
	named   map[string]*Named
}

// with gives the scope with other roots.
func (s *Scope) with(set *roots.Set) *Scope {
	return &Scope{roots: set, random: s.random, undrawn: s.undrawn, cel: cel.NewEnv(set), named: s.named}
}

// NewScope gives the scope of a resource whose CRD has the schema crd (the root of openAPIV3Schema), or an unknown schema
// when crd is nil; paths below spec and status are then unchecked. Its roots are apiVersion, kind, metadata, spec, status,
// box and children.
func NewScope(crd *roots.Schema) *Scope { return (&Scope{}).with(roots.NewSet(crd)) }

// NewScopeOf gives the scope of a place that knows no resource, with the roots that it has. about says of any other name what may be
// read there.
func NewScopeOf(schemas map[string]*roots.Schema, about string) *Scope {
	return (&Scope{}).with(roots.NewSetOf(schemas, about))
}

// WithRoots adds roots whose content is unchecked, such as item and key inside a forEach. A root that was taken away is
// back again.
func (s *Scope) WithRoots(names ...string) *Scope {
	return s.with(s.roots.WithUnchecked(names...))
}

// WithNames says what there is below a root: children, cross or external, which it adds where the scope has none. Any other name
// there is a mistake. A nil schema: what is below the name is unchecked.
func (s *Scope) WithNames(root string, names map[string]*roots.Schema) *Scope {
	return s.with(s.roots.WithNames(root, names))
}

// WithRoot adds a root, or replaces what is known of one: item gets the schema of the list's elements by it. A nil schema: what is
// there is unchecked. The schema is shared and must not change any more. A root that was taken away is back again.
func (s *Scope) WithRoot(name string, schema *roots.Schema) *Scope {
	return s.with(s.roots.With(name, schema))
}

// WithChildren is WithNames for children of which nothing else is known.
func (s *Scope) WithChildren(names ...string) *Scope {
	below := make(map[string]*roots.Schema, len(names))
	for _, name := range names {
		below[name] = nil
	}
	return s.WithNames(roots.Children, below)
}

// WithRandom allows the random functions. source gives the randomness, and now the time at which certificates begin; both must be
// safe for concurrent use. Without it, calling such a function is an error that says where they are allowed.
func (s *Scope) WithRandom(source io.Reader, now func() time.Time) *Scope {
	c := s.with(s.roots)
	c.random = &random.Source{Reader: source, Now: now}
	return c
}

// WithoutRandom refuses the random functions also where a child is made once, and says why.
func (s *Scope) WithoutRandom(why string) *Scope {
	c := *s
	c.random, c.undrawn = nil, why
	return &c
}

// WithoutRoots takes roots away: reading one is an error that says so.
func (s *Scope) WithoutRoots(names ...string) *Scope {
	return s.with(s.roots.WithHidden(names...))
}

// WithoutBox gives the scope of a resource that no box serves: it has no children, and knows no box.
func (s *Scope) WithoutBox() *Scope {
	return s.with(s.roots.Without(roots.Children, roots.Box))
}

// SchemaAt gives the schema of a path, or nil where nothing is known of what is there. The error of a path that the schema
// rules out names the nearest valid field.
func (s *Scope) SchemaAt(path Path) (*roots.Schema, error) { return s.roots.At(path) }

// origin is where a value comes from, as far as that can be known without running the template.
type origin struct {
	known bool
	path  Path // empty: all the data
	// folds: below here a capital first letter may stand for a small one (below .Spec and .Status).
	folds bool
	// sure counts the first segments whose spelling is known. Of the others only the data can tell whether the first letter is small.
	sure int
}

// inputs is the part of the path that is certainly read, whatever the data is.
func (o origin) inputs() Path {
	return o.path[:o.sure].Known()
}

// resolve gives the origin of fields read from a value, replaces shortcuts, and checks the path.
func (s *Scope) resolve(from origin, fields []string) (origin, error) {
	if !from.known {
		return from, nil
	}
	if len(from.path) == 0 {
		if _, ok := s.roots.Schema(fields[0]); ok {
			from.path = Path{fields[0]}
		} else if from.path, ok = shortcut(fields[0]); !ok {
			return from, s.roots.Check(fields[0])
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
			spelling, settled = roots.Fold(node, segment)
		}
		if node, err = roots.Descend(node, from.path, spelling); err != nil {
			return from, err
		}
		if settled && from.sure == len(from.path) {
			from.sure++
		}
		from.path = from.path.With(spelling)
	}
	return from, s.names().check(from.path)
}

// shortcut gives the path that a capitalized root stands for.
func shortcut(name string) (Path, bool) {
	switch name {
	case "Name", "Namespace", "Labels", "Annotations":
		return Path{roots.Metadata, strings.ToLower(name)}, true
	case "Spec", "Status":
		return Path{strings.ToLower(name)}, true
	}
	return nil, false
}
