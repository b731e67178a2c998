package cel

import (
	"slices"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// reader finds what an expression reads.
type reader struct {
	roots *roots.Set
	vars  map[string]bool // the variables of the scope
	bound map[string]int  // the variables of the macros around a place, which hide those
	used  map[string]bool // variables of the scope that are read
	reads []Read
}

func newReader(set *roots.Set) *reader {
	r := &reader{roots: set, vars: map[string]bool{}, bound: map[string]int{}, used: map[string]bool{}}
	for _, name := range variables(set) {
		r.vars[name] = true
	}
	return r
}

// visit notes what is read at and below a place in the tree.
func (r *reader) visit(e ast.Expr) {
	if c := r.chain(e); c != nil {
		r.record(c)
		for _, index := range c.rest {
			r.visit(index)
		}
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		r.visit(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			r.visit(call.Target())
		}
		for _, arg := range call.Args() {
			r.visit(arg)
		}
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.visit(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.visit(entry.AsMapEntry().Key())
			r.visit(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.visit(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		r.comprehension(e.AsComprehension())
	default: // literals, and variables of macros
	}
}

func (r *reader) comprehension(c ast.ComprehensionExpr) {
	r.visit(c.IterRange())
	r.visit(c.AccuInit())
	names := []string{c.IterVar(), c.IterVar2(), c.AccuVar()}
	for _, name := range names {
		r.bound[name]++
	}
	r.visit(c.LoopCondition())
	r.visit(c.LoopStep())
	for _, name := range names[:2] {
		r.bound[name]--
	}
	r.visit(c.Result())
	r.bound[names[2]]--
}

// chain is a path from a variable of the scope to a place, as far as its names are constant.
type chain struct {
	path value.Path
	// must is how many of the first segments have to be there, or the evaluation fails.
	must int
	// optional: what comes behind may be absent.
	optional bool
	// rest are the expressions that say the other names.
	rest []ast.Expr
}

// add goes one segment further.
func (c *chain) add(segment string, optional bool) {
	c.optional = c.optional || optional
	if slices.Contains(c.path, value.AnyElement) {
		return // below a name that only the data knows, a path can't be told
	}
	c.path = c.path.With(segment)
	if !c.optional && segment != value.AnyElement {
		c.must = len(c.path)
	}
}

// chain gives the chain that an expression is, or nil.
func (r *reader) chain(e ast.Expr) *chain {
	switch e.Kind() {
	case ast.IdentKind:
		if name := e.AsIdent(); r.vars[name] && r.bound[name] == 0 {
			return &chain{path: value.Path{name}, must: 1}
		}
	case ast.SelectKind:
		if c := r.chain(e.AsSelect().Operand()); c != nil {
			c.add(r.plain(c.path, e.AsSelect().FieldName()), e.AsSelect().IsTestOnly())
			return c
		}
	case ast.CallKind:
		return r.indexed(e.AsCall())
	default:
	}
	return nil
}

// indexed gives the chain of an index or an optional field.
func (r *reader) indexed(call ast.CallExpr) *chain {
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
	default:
		return nil
	}
	c := r.chain(call.Args()[0])
	if c == nil {
		return nil
	}
	segment, constant := segmentOf(call.Args()[1])
	if !constant {
		segment, c.rest = value.AnyElement, append(c.rest, call.Args()[1])
	}
	c.add(segment, call.FunctionName() != operators.Index)
	return c
}

// plain gives the name of a field that may be escaped.
func (r *reader) plain(at value.Path, name string) string {
	plain, escaped := unescape(name)
	if !escaped {
		return name
	}
	if _, err := r.roots.At(dataPath(at.With(name))); err == nil {
		return name
	}
	return plain
}

// segmentOf gives the segment of a constant index.
func segmentOf(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	switch v := e.AsLiteral().(type) {
	case types.String:
		return string(v), true
	case types.Int:
		return strconv.FormatInt(int64(v), 10), v >= 0
	}
	return "", false
}

// record adds a place. All of self is each of its fields.
func (r *reader) record(c *chain) {
	path := c.path.Known()
	r.used[path[0]] = true
	switch {
	case path[0] != rootSelf:
		r.add(Read{Text: path.String(), Path: path, must: c.must})
	case len(path) > 1:
		r.add(Read{Text: path.String(), Path: path[1:], must: c.must - 1})
	default:
		for _, root := range r.roots.Names() {
			if roots.OfResource(root) {
				r.add(Read{Text: path.With(root).String(), Path: value.Path{root}})
			}
		}
	}
}

func (r *reader) add(read Read) {
	for i := range r.reads {
		if known := &r.reads[i]; known.Text == read.Text {
			known.must = max(known.must, read.must)
			return
		}
	}
	r.reads = append(r.reads, read)
}

// needs gives the paths that must be there for an expression to be true: those that its terms, of which all must hold, compare or test.
func (r *reader) needs(e ast.Expr) []value.Path {
	if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
		return r.needed(e)
	}
	if e.Kind() != ast.CallKind {
		return r.needed(e)
	}
	call := e.AsCall()
	var out []value.Path
	switch call.FunctionName() {
	case operators.LogicalAnd:
		for _, term := range call.Args() {
			out = append(out, r.needs(term)...)
		}
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		for _, side := range call.Args() {
			out = append(out, r.needed(side)...)
		}
	}
	return out
}

// needed gives the path of a plain chain of names.
func (r *reader) needed(e ast.Expr) []value.Path {
	c := r.chain(e)
	test := e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly()
	if c == nil || c.optional && !test {
		return nil
	}
	if path := dataPath(c.path.Known()); len(path) > 0 {
		return []value.Path{path}
	}
	return nil
}
