package cel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// maxMacros bounds the macros that write their target twice: a chain of them doubles an expression with each link, or more.
const maxMacros = 5

// Expression is a compiled CEL expression. It is immutable and safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
	vars    []string // the variables that the program reads
	env     *Env
	reads   []Read
	needs   []value.Path
	names   []string // the names and texts that it is written with
	own     bool     // it reads nothing but the resource and the box
	output  *cel.Type
}

// Predicate is an expression that yields a bool.
type Predicate struct{ Expression }

// Read is a place in the data that an expression reads.
type Read struct {
	// Text is the place as CEL writes it: self.spec.min.
	Text string
	// Path is the same place in the template context: spec.min.
	Path value.Path

	must int // the first segments of Path that have to be there, or the evaluation fails
}

// Compile checks an expression against the schemas. It sees the resource as self, and the other roots under
// their own names. It must yield a bool. Errors say what is wrong, with the position and the nearest valid name.
func (e *Env) Compile(text string) (*Predicate, error) {
	compiled, err := e.compile(text, false)
	if err != nil {
		return nil, err
	}
	if out := compiled.output; !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("yields %s, where true or false is wanted", typeText(out.String()))
	}
	return &Predicate{*compiled}, nil
}

// CompileExpression is Compile for an expression that may yield anything that JSON can hold.
func (e *Env) CompileExpression(text string) (*Expression, error) {
	compiled, err := e.compile(text, true)
	if err != nil {
		return nil, err
	}
	if !hasJSON(compiled.output) {
		return nil, fmt.Errorf("yields %s, which is no value of JSON: make a text or a number of it", typeText(compiled.output.String()))
	}
	return compiled, nil
}

// compile checks an expression; mixed allows it lists and maps of several types.
func (e *Env) compile(text string, mixed bool) (*Expression, error) {
	if err := e.prepare(); err != nil {
		return nil, err
	}
	env := e.cel
	if mixed {
		env = e.mixed
	}
	if n := strings.Count(text, "optMap") + strings.Count(text, "optFlatMap"); n > maxMacros {
		return nil, fmt.Errorf("it has %d calls of optMap and optFlatMap; at most %d are allowed", n, maxMacros)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	ast, issues := env.Parse(text)
	if issues.Err() == nil {
		if err := checkShape(ast.NativeRep().Expr()); err != nil {
			return nil, err
		}
		ast, issues = env.Check(ast)
	}
	if issues.Err() != nil {
		return nil, e.types.translate(text, issues)
	}
	// Where the schema does not bound a list, the upper estimate is no help: the limit of the evaluation counts there.
	if cost, err := env.EstimateCost(ast, &library.CostEstimator{}); err == nil && cost.Min > budget.MaxCost {
		return nil, budget.Over(budget.Cost)
	}
	p := &Expression{text: text, env: e, output: ast.OutputType(), names: namesIn(ast.NativeRep().Expr())}
	r := newReader(e.roots)
	r.visit(ast.NativeRep().Expr())
	p.reads, p.vars, p.needs = r.reads, slices.Sorted(maps.Keys(r.used)), r.needs(ast.NativeRep().Expr())
	p.own = !slices.ContainsFunc(p.vars, func(root string) bool { return root != rootSelf && root != roots.Box })
	orderLoops(ast.NativeRep())
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecoratorV2(e.base.functions.decorator(ast.NativeRep().Expr())), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, errors.New(typeText(err.Error()))
	}
	p.program = program
	return p, nil
}

// String gives the expression as written.
func (p *Expression) String() string { return p.text }

// Reads gives every place that the expression reads, as deep as its names are constant, in the order in which they are written. A place
// stands for all that is below it. The caller must not change it.
func (p *Expression) Reads() []Read { return p.reads }

// Needs gives the paths without which the expression can't be true, as far as that can be told. The caller must not change it.
func (p *Expression) Needs() []value.Path { return p.needs }

// Eval evaluates the predicate. Errors are those of Expression.Eval.
func (p *Predicate) Eval(ctx context.Context, d map[string]any) (bool, error) {
	out, err := p.eval(ctx, d)
	if err != nil {
		return false, err
	}
	if truth, ok := out.Value().(bool); ok {
		return truth, nil
	}
	return false, fmt.Errorf("evaluating cel %q: it yields %s, where true or false is wanted", value.Shorten(p.text), out.Type().TypeName())
}

// Eval evaluates the expression, and gives what encoding/json makes, with int64 for whole numbers; nil for null, and for an optional value
// that is not there. The caller must not change it. Errors are permanent (roots.AbsentError where something is read that is not there,
// budget.ExceededError, and what CEL fails with), except those of ctx itself, which are handed on.
func (p *Expression) Eval(ctx context.Context, d map[string]any) (any, error) {
	out, err := p.eval(ctx, d)
	if err != nil {
		return nil, err
	}
	b, done := budget.New(ctx)
	defer done()
	v, err := writer{b}.value(out, 0)
	if err != nil {
		return nil, fmt.Errorf("evaluating cel %q: %w", value.Shorten(p.text), err)
	}
	return v, nil
}

func (p *Expression) eval(ctx context.Context, d map[string]any) (ref.Val, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	out, err := p.run(ctx, func(root string) any { return p.env.types.value(root, d) })
	if err != nil {
		return nil, p.failed(ctx, d, err)
	}
	return out, nil
}

// run evaluates the program on the values of its variables.
func (p *Expression) run(ctx context.Context, valueOf func(root string) any) (ref.Val, error) {
	vars := make(map[string]any, len(p.vars)+1)
	vars[rootMeter] = &meter{}
	for _, root := range p.vars {
		vars[root] = valueOf(root)
	}
	limited, cancel := context.WithTimeout(ctx, budget.MaxCELTime)
	defer cancel()
	out, _, err := p.program.ContextEval(limited, vars)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = budget.Over(budget.CELTime)
	}
	return out, err //nolint:wrapcheck // failed says what it means
}
