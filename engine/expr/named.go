package expr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr/cel"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// Named is a value that templates and CEL read by its name: .values.want. It is immutable and safe for concurrent use.
type Named struct {
	name   string
	tree   *Value          // nil: it is an expression
	cel    *cel.Expression // nil: it is a tree
	reads  []*Named        // the values that it reads itself
	paths  []Path          // all that it reads, and what the values that it reads do
	schema *roots.Schema   // of what it gives
}

// NameTree compiles a value that is a tree of templates. It may read the names that the scope has.
func (s *Scope) NameTree(name string, v any, at *field.Path) (*Named, field.ErrorList) {
	tree, errs := s.CompileValue(v, at)
	if len(errs) > 0 {
		return nil, errs
	}
	if tree.template != nil {
		tree.template.tells = true
	}
	return &Named{name: name, tree: tree, reads: tree.named, paths: tree.Paths(), schema: tree.schema(s)}, nil
}

// NameCEL compiles a value that is a CEL expression of any type that JSON has.
func (s *Scope) NameCEL(name, text string) (*Named, error) {
	e, err := s.cel.CompileExpression(text)
	if err != nil {
		return nil, err
	}
	names := s.names()
	paths, err := names.readByCEL(e.Reads())
	if err != nil {
		return nil, err
	}
	return &Named{name: name, cel: e, reads: names.in(paths), paths: names.closure(paths), schema: e.Schema()}, nil
}

// Unknown stands for a value that does not compile, so that those who read it are not wrong as well. It can't be evaluated.
func Unknown(name string) *Named {
	return &Named{name: name, tree: &Value{}, schema: roots.Unchecked()}
}

// WithNamed adds values, and takes those away that stand in without, each with the reason why it can't be read.
func (s *Scope) WithNamed(all []*Named, without map[string]string) *Scope {
	node := &roots.Schema{Type: value.TypeObject, Properties: make(map[string]roots.Schema, len(all)+len(without))}
	named := make(map[string]*Named, len(all))
	for _, n := range all {
		named[n.name] = n
		node.Properties[n.name] = *n.schema
	}
	for name, reason := range without {
		node.Properties[name] = *roots.Hidden(reason)
	}
	c := s.with(s.roots.With(roots.Values, node))
	c.named = named
	return c
}

// names are the values of a scope, in the place of that scope.
type names struct {
	named map[string]*Named
	roots *roots.Set
}

func (s *Scope) names() names { return names{named: s.named, roots: s.roots} }

// in gives the values that paths lead to, sorted by their names. A path to all of them leads to those that may be read.
func (s names) in(paths []Path) []*Named {
	if len(s.named) == 0 {
		return nil
	}
	found := map[string]*Named{}
	for _, p := range paths {
		for name, n := range s.named {
			switch {
			case p[0] != roots.Values, len(p) > 1 && p[1] != name:
			case len(p) > 1 || s.mayRead(n) == nil:
				found[name] = n
			}
		}
	}
	out := make([]*Named, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out
}

// closure adds what the values read that paths lead to: who reads a value reads all of that.
func (s names) closure(paths []Path) []Path {
	named := s.in(paths)
	if len(named) == 0 {
		return paths
	}
	all := map[string]Path{}
	for _, p := range paths {
		all[p.String()] = p
	}
	for _, n := range named {
		for _, p := range n.paths {
			all[p.String()] = p
		}
	}
	return sortedPaths(all)
}

// needed are needs with those of the values that are among them.
func (s names) needed(needs map[string]Path) []Path {
	all := maps.Clone(needs)
	for _, n := range s.in(sortedPaths(needs)) {
		if n.tree == nil {
			continue
		}
		for _, p := range n.tree.Needs() {
			all[p.String()] = p
		}
	}
	return sortedPaths(all)
}

// mayRead says why a value can't be read in this place: because something that it reads can't.
func (s names) mayRead(n *Named) error {
	for _, p := range n.paths {
		if _, err := s.roots.At(p.Known()); err != nil {
			return fmt.Errorf("%s.%s: %w", roots.Values, n.name, err)
		}
	}
	return nil
}

// check says what is wrong with reading a path below values.
func (s names) check(p Path) error {
	if p[0] != roots.Values {
		return nil
	}
	if len(p) == 1 {
		return errors.New("values: read one of them, by its name: .values.<name>")
	}
	if n := s.named[p[1]]; n != nil {
		return s.mayRead(n)
	}
	return nil
}

// readByCEL gives the paths of an expression, where it may read them.
func (s names) readByCEL(reads []cel.Read) ([]Path, error) {
	paths := make([]Path, 0, len(reads))
	for _, read := range reads {
		if err := s.check(read.Path); err != nil {
			return nil, err
		}
		paths = append(paths, read.Path)
	}
	return paths, nil
}

// eval gives the value for data that holds a Memo, or none.
func (n *Named) eval(ctx context.Context, d Data) (any, error) {
	if n.tree != nil {
		return n.tree.Eval(ctx, d)
	}
	g, err := give(ctx, n.reads, d)
	if err != nil {
		return nil, err
	}
	v, err := n.cel.Eval(ctx, g.data)
	return v, g.explain(err)
}

// Memo keeps the values of one cycle, each for the state of what it reads. It is safe for concurrent use, and of no use for another resource.
type Memo struct {
	mu    sync.Mutex
	known map[memoKey]memoEntry
}

// NewMemo gives one that knows no value yet.
func NewMemo() *Memo { return &Memo{known: map[memoKey]memoEntry{}} }

// changing are the roots whose content changes while a cycle runs. They are replaced then, and never changed.
var changing = [...]string{roots.Children, roots.Cross, roots.External, roots.Providers}

// memoKey is a value, and by their addresses the maps that it has read.
type memoKey struct {
	name string
	seen [len(changing)]uintptr
}

// memoEntry is what a value gave. It holds the maps of its key, so that no other map gets their addresses.
type memoEntry struct {
	value any
	err   error
	seen  [len(changing)]any
}

func (m *Memo) of(ctx context.Context, n *Named, d Data) (any, error) {
	key, entry := memoKey{name: n.name}, memoEntry{}
	for i, root := range changing {
		if slices.ContainsFunc(n.paths, func(p Path) bool { return p[0] == root }) && d[root] != nil {
			entry.seen[i], key.seen[i] = d[root], reflect.ValueOf(d[root]).Pointer()
		}
	}
	m.mu.Lock()
	known, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return known.value, known.err
	}
	entry.value, entry.err = n.eval(ctx, d)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // which is no answer
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[key] = entry
	return entry.value, entry.err
}

// given is the data of one evaluation, in which values stand below values in place of the memo. Those that are absent are not there.
type given struct {
	data   Data
	values []*Named
	absent map[string]*roots.AbsentError // why values are absent, by their names
}

// give evaluates values for what reads them. An error of a value is the error of who reads it.
func give(ctx context.Context, values []*Named, d Data) (given, error) {
	held, has := d[roots.Values]
	if len(values) == 0 && !has {
		return given{data: d}, nil
	}
	memo, ok := held.(*Memo)
	below := make(map[string]any, len(values))
	g := given{data: maps.Clone(d), values: values, absent: map[string]*roots.AbsentError{}}
	if !ok { // nobody keeps values for longer than this evaluation
		memo, d = NewMemo(), maps.Clone(d)
		d[roots.Values] = memo
	}
	g.data[roots.Values] = below
	for _, n := range values {
		v, err := memo.of(ctx, n, d)
		if absent, ok := errors.AsType[*roots.AbsentError](err); ok {
			g.absent[n.name] = absent
			continue
		}
		if err != nil {
			return given{}, fmt.Errorf("%s.%s: %w", roots.Values, n.name, err)
		}
		below[n.name] = v
	}
	return g, nil
}

// explain has the error of a value that is absent say what the value has read in vain.
func (g given) explain(err error) error {
	if err == nil || len(g.values) == 0 {
		return err
	}
	absent, ok := errors.AsType[*roots.AbsentError](err)
	if !ok || len(absent.Path) < 2 || absent.Path[0] != roots.Values {
		return err
	}
	for _, n := range g.values {
		if n.name == absent.Path[1] {
			absent.Reads = n.paths
		}
	}
	if cause := g.absent[absent.Path[1]]; cause != nil {
		absent.Become(cause)
	}
	return err
}
