package expr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// The limits of one CEL expression.
const (
	// maxCost is what one evaluation may cost, in the units of the API server: about a tenth of a second.
	maxCost = celconfig.PerCallLimit
	// maxCELTime ends an evaluation that the cost does not. It is generous: a busy machine must not make it fail.
	maxCELTime = 5 * time.Second
	// maxMacros bounds the macros that write their target twice: a chain of them doubles an expression with each link, or more.
	maxMacros = 5
)

// rootSelf is the variable that holds the resource: apiVersion, kind, metadata, spec and status.
const rootSelf = "self"

// Predicate is a compiled CEL expression that yields a bool. It is immutable and safe for concurrent use.
type Predicate struct {
	text    string
	program cel.Program
	roots   []string // the variables that the program reads
	scope   *celScope
	reads   []Read
	needs   []Path
	own     bool // it reads nothing but the resource and the box
}

// Read is a place in the data that an expression reads.
type Read struct {
	// Text is the place as CEL writes it: self.spec.min.
	Text string
	// Path is the same place in the template context: spec.min.
	Path Path

	must int // how many segments of Path have to be there
}

// celScope is what the CEL expressions of one scope share. Its fields but the mutex never change after it is made.
type celScope struct {
	mu    sync.Mutex // guards the provider while an expression is compiled
	env   *cel.Env
	base  *celBase
	types *celTypes
}

// celBase is what all expressions share. It takes a few milliseconds to make, so that only boxes with CEL pay.
type celBase struct {
	env     *cel.Env
	library *celLibrary
}

// newCELBase gives the environment of Kubernetes 1.36, without what asks an authorizer. The versions of the libraries are fixed, so
// that an expression which compiles today also does after an update.
var newCELBase = sync.OnceValues(func() (*celBase, error) {
	env, err := cel.NewEnv(
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), cel.EnableIdentifierEscapeSyntax(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals()),
		library.URLs(), library.Regex(), library.Lists(library.ListsVersion(0)), library.Quantity(), library.IP(), library.CIDR(),
		library.Format(), library.SemverLib(library.SemverVersion(1)),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.TwoVarComprehensions(), ext.Lists(ext.ListsVersion(3)),
	)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	functions, err := newCELLibrary(env)
	return &celBase{env: env, library: functions}, err
})

// CompileCEL checks a CEL expression against the scope's schemas. It sees the resource as self, and the other roots of the scope under
// their own names. It must yield a bool. Errors say what is wrong, with the position and the nearest valid name.
func (s *Scope) CompileCEL(text string) (*Predicate, error) {
	c, err := s.celScope()
	if err != nil {
		return nil, err
	}
	if n := strings.Count(text, "optMap") + strings.Count(text, "optFlatMap"); n > maxMacros {
		return nil, fmt.Errorf("it has %d calls of optMap and optFlatMap; at most %d are allowed", n, maxMacros)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ast, issues := c.env.Parse(text)
	if issues.Err() == nil {
		if err := checkShape(ast.NativeRep().Expr()); err != nil {
			return nil, err
		}
		ast, issues = c.env.Check(ast)
	}
	if issues.Err() != nil {
		return nil, c.types.translate(s, text, issues)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("yields %s, where true or false is wanted", typeText(out.String()))
	}
	// Where the schema does not bound a list, the upper estimate is no help: the limit of the evaluation counts there.
	if cost, err := c.env.EstimateCost(ast, &library.CostEstimator{}); err == nil && cost.Min > maxCost {
		return nil, overBudget(limitCost)
	}
	p := &Predicate{text: text, scope: c}
	p.program, err = c.env.Program(ast, cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecoratorV2(c.base.library.decorator(ast.NativeRep().Expr())), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, errors.New(typeText(err.Error()))
	}
	r := newCELReader(s)
	r.visit(ast.NativeRep().Expr())
	p.reads, p.roots, p.needs = r.reads, slices.Sorted(maps.Keys(r.used)), r.needs(ast.NativeRep().Expr())
	p.own = !slices.ContainsFunc(p.roots, func(root string) bool { return root != rootSelf && root != rootBox })
	return p, nil
}

// celScope makes what the scope's expressions share, at the first of them.
func (s *Scope) celScope() (*celScope, error) {
	return s.cel.get(func() (*celScope, error) {
		base, err := newCELBase()
		if err != nil {
			return nil, err
		}
		types := newCELTypes(s, base.env.CELTypeProvider())
		options := []cel.EnvOption{cel.CustomTypeProvider(types)}
		for _, name := range s.variables() {
			options = append(options, cel.Variable(name, types.root(name)))
		}
		env, err := base.env.Extend(options...)
		if err != nil {
			return nil, fmt.Errorf("preparing CEL: %w", err)
		}
		return &celScope{env: env, base: base, types: types}, nil
	})
}

// variables are the names that an expression may begin with.
func (s *Scope) variables() []string {
	names := []string{rootSelf}
	for _, name := range s.visible() {
		if !ofResource(name) && name != rootSelf {
			names = append(names, name)
		}
	}
	return names
}

// ofResource says whether a root is a field of self.
func ofResource(root string) bool {
	switch root {
	case rootAPIVersion, rootKind, rootMetadata, rootSpec, rootStatus:
		return true
	}
	return false
}

// lazyCEL holds what the expressions of a scope share. A copy of a scope has one of its own.
type lazyCEL struct {
	once  sync.Once
	scope *celScope
	err   error
}

func (l *lazyCEL) get(build func() (*celScope, error)) (*celScope, error) {
	l.once.Do(func() { l.scope, l.err = build() })
	return l.scope, l.err
}

// String gives the expression as written.
func (p *Predicate) String() string { return p.text }

// Reads gives every place that the expression reads, as deep as its names are constant, in the order in which they are written. A place
// stands for all that is below it. The caller must not change it.
func (p *Predicate) Reads() []Read { return p.reads }

// Needs gives the paths without which the expression can't be true, as far as that can be told. The caller must not change it.
func (p *Predicate) Needs() []Path { return p.needs }

// Eval evaluates the expression. Errors are permanent (AbsentError where something is read that is not there, BudgetError, and what
// CEL fails with), except those of ctx itself, which are handed on.
func (p *Predicate) Eval(ctx context.Context, d Data) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	vars := make(map[string]any, len(p.roots)+1)
	vars[rootMeter] = &meter{}
	for _, root := range p.roots {
		vars[root] = p.scope.types.value(root, d)
	}
	limited, cancel := context.WithTimeout(ctx, maxCELTime)
	defer cancel()
	out, _, err := p.program.ContextEval(limited, vars)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = overBudget(limitCELTime)
	}
	if err != nil {
		return false, p.failed(ctx, d, err)
	}
	if truth, ok := out.Value().(bool); ok {
		return truth, nil
	}
	return false, fmt.Errorf("evaluating cel %q: it yields %s, where true or false is wanted", shorten(p.text), out.Type().TypeName())
}
