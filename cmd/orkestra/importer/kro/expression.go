package kro

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

// parser reads CEL as kro does, without its functions: what they are is not needed to read them.
var parser = sync.OnceValues(func() (*cel.Env, error) {
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.EnableIdentifierEscapeSyntax(), cel.EnableMacroCallTracking(), ext.TwoVarComprehensions())
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	return env, nil
})

// expression is a parsed expression of kro.
type expression struct {
	text string
	// names are the variables that it reads.
	names []string
	// path is what it reads, where it reads one field and nothing else: names that templates can say.
	path []string
	// optional says that the path may lead nowhere.
	optional bool
	// yieldsOptional says that the value of the whole may be none.
	yieldsOptional bool

	at     []mention
	bound  []string // the variables of its own loops
	calls  []string // functions that belong to a name, such as random.seededString
	global []string // functions without a target
}

// mention is a place where a name stands: in runes of the text. An empty name is the call of omit().
type mention struct {
	name        string
	start, stop int
}

// plainName is a field that stands in the path of a template.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parse reads an expression.
func parse(text string) (*expression, error) {
	env, err := parser()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, errors.New("the expression is empty")
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("not CEL: %s", firstOf(issues))
	}
	e := &expression{text: text}
	w := &walk{e: e, info: parsed.NativeRep().SourceInfo(), runes: []rune(text)}
	root := parsed.NativeRep().Expr()
	w.visit(root, nil)
	if w.err != nil {
		return nil, w.err
	}
	slices.Sort(e.names)
	e.names = slices.Compact(e.names)
	e.path, e.optional = pathOf(root)
	e.yieldsOptional = givesOptional(root)
	return e, nil
}

// firstOf is the first thing that is wrong with an expression, in one line.
func firstOf(issues *cel.Issues) string {
	first := issues.Errors()[0]
	return fmt.Sprintf("column %d: %s", first.Location.Column()+1, strings.Join(strings.Fields(first.Message), " "))
}

// walk finds the names in an expression.
type walk struct {
	e     *expression
	info  *ast.SourceInfo
	runes []rune
	err   error
}

func (w *walk) visit(x ast.Expr, bound []string) {
	switch x.Kind() {
	case ast.IdentKind:
		w.ident(x, bound)
	case ast.SelectKind:
		w.visit(x.AsSelect().Operand(), bound)
	case ast.CallKind:
		w.call(x, bound)
	case ast.ListKind:
		for _, item := range x.AsList().Elements() {
			w.visit(item, bound)
		}
	case ast.MapKind:
		for _, entry := range x.AsMap().Entries() {
			w.visit(entry.AsMapEntry().Key(), bound)
			w.visit(entry.AsMapEntry().Value(), bound)
		}
	case ast.StructKind:
		w.err = errors.New("it makes an object of a Go type, which neither kro nor Orkestra has")
	case ast.ComprehensionKind:
		c := x.AsComprehension()
		w.visit(c.IterRange(), bound)
		w.visit(c.AccuInit(), bound)
		w.e.bound = append(w.e.bound, c.IterVar(), c.IterVar2())
		inside := append(slices.Clone(bound), c.IterVar(), c.IterVar2(), c.AccuVar())
		w.visit(c.LoopCondition(), inside)
		w.visit(c.LoopStep(), inside)
		w.visit(c.Result(), inside)
	default: // literals read nothing
	}
}

func (w *walk) ident(x ast.Expr, bound []string) {
	name := x.AsIdent()
	if slices.Contains(bound, name) {
		return
	}
	w.e.names = append(w.e.names, name)
	w.mention(name, x.ID(), len([]rune(name)), name)
}

func (w *walk) call(x ast.Expr, bound []string) {
	call := x.AsCall()
	if call.IsMemberFunction() {
		target := call.Target()
		if target.Kind() == ast.IdentKind && !slices.Contains(bound, target.AsIdent()) {
			w.e.calls = append(w.e.calls, target.AsIdent()+"."+call.FunctionName())
		}
		w.visit(target, bound)
	} else {
		w.e.global = append(w.e.global, call.FunctionName())
	}
	for _, arg := range call.Args() {
		w.visit(arg, bound)
	}
	if call.FunctionName() == omit && len(call.Args()) == 0 {
		w.omitted(x)
	}
}

// mention notes where a name stands. Macros show what they are written with more than once.
func (w *walk) mention(name string, id int64, length int, written string) {
	r, ok := w.info.GetOffsetRange(id)
	start := int(r.Start)
	if !ok || start < 0 || start+length > len(w.runes) || string(w.runes[start:start+length]) != written {
		w.err = fmt.Errorf("the name %s is not found where it should be: write it without a leading dot", written)
		return
	}
	m := mention{name: name, start: start, stop: start + length}
	if !slices.Contains(w.e.at, m) {
		w.e.at = append(w.e.at, m)
	}
}

// omit is kro's function for a field that is left out.
const omit = "omit"

// omitted notes where a call of omit stands, to its closing bracket. The place of a call is that of its bracket.
func (w *walk) omitted(x ast.Expr) {
	r, ok := w.info.GetOffsetRange(x.ID())
	open := int(r.Start)
	start := open - len(omit)
	if ok && start >= 0 && string(w.runes[start:open]) == omit {
		if stop := slices.Index(w.runes[open:], ')'); stop > 0 {
			w.e.at = append(w.e.at, mention{start: start, stop: open + stop + 1})
			return
		}
	}
	w.err = errors.New("omit() is to be written without spaces")
}

// pathOf gives the names of an expression that is a path; nil: it is none.
func pathOf(x ast.Expr) (path []string, optional bool) {
	switch x.Kind() {
	case ast.IdentKind:
		return []string{x.AsIdent()}, false
	case ast.SelectKind:
		s := x.AsSelect()
		if s.IsTestOnly() {
			return nil, false
		}
		path, optional = pathOf(s.Operand())
		return with(path, s.FieldName()), optional
	case ast.CallKind:
		call := x.AsCall()
		if call.FunctionName() != operators.OptSelect {
			return nil, false
		}
		path, _ = pathOf(call.Args()[0])
		name, _ := call.Args()[1].AsLiteral().(types.String)
		return with(path, string(name)), true
	default:
		return nil, false
	}
}

func with(path []string, name string) []string {
	if path == nil || !plainName.MatchString(name) {
		return nil
	}
	return append(path, name)
}

// givesOptional says whether the value of an expression may be none.
func givesOptional(x ast.Expr) bool {
	switch x.Kind() {
	case ast.SelectKind:
		return !x.AsSelect().IsTestOnly() && givesOptional(x.AsSelect().Operand())
	case ast.CallKind:
		call := x.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect, operators.OptIndex:
			return true
		case operators.Index:
			return givesOptional(call.Args()[0])
		}
	default: // it is a value
	}
	return false
}

// null is a value that is left out wherever it stands.
const null = "dyn(null)"

// rewrite writes the expression with other names: what name gives for each of them. None is what it yields where it reads something optional that
// is not there.
func (e *expression) rewrite(none string, name func(string) string) string {
	runes := []rune(e.text)
	places := slices.Clone(e.at)
	slices.SortFunc(places, func(a, b mention) int { return cmp.Compare(b.start, a.start) })
	for _, m := range places {
		text := null
		if m.name != "" {
			text = name(m.name)
		}
		runes = slices.Concat(runes[:m.start], []rune(text), runes[m.stop:])
	}
	if e.yieldsOptional {
		return "(" + string(runes) + ").orValue(" + none + ")"
	}
	return string(runes)
}
