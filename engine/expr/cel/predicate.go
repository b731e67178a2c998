package cel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// maxMacros bounds the macros that write their target twice: a chain of them doubles an expression with each link, or more.
const maxMacros = 5

// Predicate is a compiled CEL expression that yields a bool. It is immutable and safe for concurrent use.
type Predicate struct {
	text    string
	program cel.Program
	vars    []string // the variables that the program reads
	env     *Env
	reads   []Read
	needs   []value.Path
	own     bool // it reads nothing but the resource and the box
}

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
	if err := e.prepare(); err != nil {
		return nil, err
	}
	if n := strings.Count(text, "optMap") + strings.Count(text, "optFlatMap"); n > maxMacros {
		return nil, fmt.Errorf("it has %d calls of optMap and optFlatMap; at most %d are allowed", n, maxMacros)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	ast, issues := e.cel.Parse(text)
	if issues.Err() == nil {
		if err := checkShape(ast.NativeRep().Expr()); err != nil {
			return nil, err
		}
		ast, issues = e.cel.Check(ast)
	}
	if issues.Err() != nil {
		return nil, e.types.translate(text, issues)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("yields %s, where true or false is wanted", typeText(out.String()))
	}
	// Where the schema does not bound a list, the upper estimate is no help: the limit of the evaluation counts there.
	if cost, err := e.cel.EstimateCost(ast, &library.CostEstimator{}); err == nil && cost.Min > budget.MaxCost {
		return nil, budget.Over(budget.Cost)
	}
	p := &Predicate{text: text, env: e}
	program, err := e.cel.Program(ast, cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecoratorV2(e.base.functions.decorator(ast.NativeRep().Expr())), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, errors.New(typeText(err.Error()))
	}
	p.program = program
	r := newReader(e.roots)
	r.visit(ast.NativeRep().Expr())
	p.reads, p.vars, p.needs = r.reads, slices.Sorted(maps.Keys(r.used)), r.needs(ast.NativeRep().Expr())
	p.own = !slices.ContainsFunc(p.vars, func(root string) bool { return root != rootSelf && root != roots.Box })
	return p, nil
}

// String gives the expression as written.
func (p *Predicate) String() string { return p.text }

// Reads gives every place that the expression reads, as deep as its names are constant, in the order in which they are written. A place
// stands for all that is below it. The caller must not change it.
func (p *Predicate) Reads() []Read { return p.reads }

// Needs gives the paths without which the expression can't be true, as far as that can be told. The caller must not change it.
func (p *Predicate) Needs() []value.Path { return p.needs }

// Eval evaluates the expression. Errors are permanent (roots.AbsentError where something is read that is not there,
// budget.ExceededError, and what CEL fails with), except those of ctx itself, which are handed on.
func (p *Predicate) Eval(ctx context.Context, d map[string]any) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	vars := make(map[string]any, len(p.vars)+1)
	vars[rootMeter] = &meter{}
	for _, root := range p.vars {
		vars[root] = p.env.types.value(root, d)
	}
	limited, cancel := context.WithTimeout(ctx, budget.MaxCELTime)
	defer cancel()
	out, _, err := p.program.ContextEval(limited, vars)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = budget.Over(budget.CELTime)
	}
	if err != nil {
		return false, p.failed(ctx, d, err)
	}
	if truth, ok := out.Value().(bool); ok {
		return truth, nil
	}
	return false, fmt.Errorf("evaluating cel %q: it yields %s, where true or false is wanted", value.Shorten(p.text), out.Type().TypeName())
}
