package expr

import (
	"context"

	"github.com/orkspace/orkestra/engine/expr/cel"
)

// Predicate is a CEL expression that yields a bool, with the values that it reads. It is immutable and safe for concurrent use.
type Predicate struct {
	*cel.Predicate

	named []*Named
	paths []Path
	of    [][]Path // what each of Reads leads to
}

// CompileCEL checks a CEL expression against the scope's schemas. It sees the resource as self, and the other roots of the scope under
// their own names. It must yield a bool. Errors say what is wrong, with the position and the nearest valid name.
func (s *Scope) CompileCEL(text string) (*Predicate, error) {
	compiled, err := s.cel.Compile(text)
	if err != nil {
		return nil, err
	}
	names := s.names()
	paths, err := names.readByCEL(compiled.Reads())
	if err != nil {
		return nil, err
	}
	p := &Predicate{Predicate: compiled, named: names.in(paths), paths: names.closure(paths)}
	for _, path := range paths {
		p.of = append(p.of, names.closure([]Path{path}))
	}
	return p, nil
}

// Paths gives every path that the expression may read, also by the values that it reads. The caller must not change it.
func (p *Predicate) Paths() []Path { return p.paths }

// Behind gives what is read by the read of a number in Reads: its own path, and all that a value reads there.
func (p *Predicate) Behind(read int) []Path { return p.of[read] }

// Eval evaluates the expression. Errors are those of cel.Predicate.
func (p *Predicate) Eval(ctx context.Context, d Data) (bool, error) {
	g, err := give(ctx, p.named, d)
	if err != nil {
		return false, err
	}
	truth, err := p.Predicate.Eval(ctx, g.data)
	return truth, g.explain(err)
}

// Seen gives the data as the expression sees it: values stand below values.
func (p *Predicate) Seen(ctx context.Context, d Data) Data {
	g, err := give(ctx, p.named, d)
	if err != nil {
		return d // the evaluation has said it
	}
	return g.data
}
