package cel

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	bindings "github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/value"
)

// maxLoops bounds how many loops an expression may have: each may make its list as many times longer as it likes.
const maxLoops = 16

var costs = sync.OnceValue(newCosts)

// rootMeter is where an evaluation keeps its meter. No expression can name it.
const rootMeter = "@meter"

// meter adds up what one evaluation costs. CEL's own tracker of costs takes quadratic time: it keeps the result of every step of a loop,
// and searches all of them at every step.
type meter struct{ cost int }

// charge ends the evaluation where the cost is over the limit, by the panic with which CEL's own interpreter does that. An error would not
// end it: to && and || an error is one more value, and loops go on.
func charge(frame *interpreter.ExecutionFrame, cost int) {
	v, _ := frame.ResolveName(rootMeter)
	m, ok := v.(*meter)
	if !ok {
		return // there is no meter while CEL folds constants, and nothing to charge
	}
	if m.cost += cost; m.cost > budget.MaxCost || cost < 0 {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "over the cost limit"})
	}
}

// functions are the functions of CEL as expressions call them.
type functions struct {
	bindings map[string]map[string]*bindings.Overload // by function, then by overload
}

func newFunctions(env *cel.Env) (*functions, error) {
	l := &functions{bindings: map[string]map[string]*bindings.Overload{}}
	for name, fn := range env.Functions() {
		overloads, err := fn.Bindings()
		if err != nil {
			return nil, fmt.Errorf("reading CEL's function %q: %w", name, err)
		}
		l.bindings[name] = make(map[string]*bindings.Overload, len(overloads))
		for _, o := range overloads {
			l.bindings[name][o.Operator] = o
		}
	}
	return l, nil
}

// decorator makes what one expression does be counted: its calls, each by its cost, and its loops, by the size of their body.
func (l *functions) decorator(expression ast.Expr) interpreter.InterpretableDecoratorV2 {
	steps := map[int64]int{}
	ast.PreOrderVisit(expression, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			loop := e.AsComprehension()
			steps[loop.LoopStep().ID()] = sizeOfExpression(loop.LoopStep()) + sizeOfExpression(loop.LoopCondition())
		}
	}))
	return func(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if call, ok := node.(interpreter.InterpretableCall); ok {
			if run := l.runner(call); run != nil {
				node = &meteredCall{InterpretableV2: node, function: call.Function(), args: call.Args(), run: run}
			}
		}
		if cost, ok := steps[node.ID()]; ok {
			node = &meteredStep{InterpretableV2: node, cost: cost}
		}
		return node, nil
	}
}

func sizeOfExpression(e ast.Expr) int {
	size := 0
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(ast.Expr) { size++ }))
	return size
}

// runner gives what a call does with its arguments; nil for what is no function of a library, or takes errors for arguments.
func (l *functions) runner(call interpreter.InterpretableCall) func(args []ref.Val) ref.Val {
	switch call.Function() {
	case operators.Equals:
		return func(args []ref.Val) ref.Val { return types.Equal(args[0], args[1]) }
	case operators.NotEquals:
		return func(args []ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }
	}
	o := l.bindings[call.Function()][call.OverloadID()]
	if o == nil {
		o = l.bindings[call.Function()][call.Function()]
	}
	if o == nil || o.NonStrict {
		return nil
	}
	run := runOverload(o)
	if search := constantSearch(call); search != nil {
		return search
	}
	switch call.Function() {
	case operators.Add:
		return func(args []ref.Val) ref.Val {
			if sum := concatenated(args[0], args[1]); sum != nil {
				return sum
			}
			return run(args)
		}
	case fnMapInsert:
		if len(call.Args()) == entriesInserted {
			return func(args []ref.Val) ref.Val { return run([]ref.Val{args[0], ordered(args[1])}) }
		}
	}
	return run
}

// fnMapInsert is what transformMap and transformMapEntry call. With entriesInserted arguments, it adds a map to another, and fails where both have
// a key: which one it names must not depend on chance.
const (
	fnMapInsert     = "cel.@mapInsert"
	entriesInserted = 2
)

// constantSearch is a search for a pattern that is a constant: it is compiled once.
func constantSearch(call interpreter.InterpretableCall) func(args []ref.Val) ref.Val {
	if !isSearch(call.Function()) {
		return nil
	}
	constant, ok := call.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return nil
	}
	pattern, err := regexp.Compile(textOf(constant.Value()))
	if err != nil {
		return nil // the call says what is wrong
	}
	return func(args []ref.Val) ref.Val {
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		switch call.Function() {
		case fnMatches:
			return types.Bool(pattern.MatchString(string(text)))
		case fnFind:
			return types.String(pattern.FindString(string(text)))
		}
		most := types.IntNegOne
		if len(args) > 2 {
			if most, ok = args[2].(types.Int); !ok {
				return types.MaybeNoSuchOverloadErr(args[2])
			}
		}
		return types.NewStringList(types.DefaultTypeAdapter, pattern.FindAllString(string(text), int(most)))
	}
}

// The functions of CEL that search with a pattern, which is their second argument.
const (
	fnMatches = "matches"
	fnFind    = "find"
	fnFindAll = "findAll"
)

func isSearch(function string) bool {
	return function == fnMatches || function == fnFind || function == fnFindAll
}

func runOverload(o *bindings.Overload) func(args []ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		switch {
		case o.OperandTrait != 0 && !args[0].Type().HasTrait(o.OperandTrait):
		case o.Unary != nil && len(args) == 1:
			return o.Unary(args[0])
		case o.Binary != nil && len(args) == 2:
			return o.Binary(args[0], args[1])
		case o.Function != nil:
			return o.Function(args...)
		}
		return types.MaybeNoSuchOverloadErr(args[0])
	}
}

// concatenated puts two lists together; nil where they are something else. CEL's own sum of lists only refers to both, so that a sum
// of sums can have more elements than could ever be counted.
func concatenated(a, b ref.Val) ref.Val {
	first, ok := a.(traits.Lister)
	if _, grows := a.(traits.MutableLister); !ok || grows {
		return nil
	}
	second, ok := b.(traits.Lister)
	if !ok {
		return nil
	}
	all := make([]ref.Val, 0, sizeOf(first)+sizeOf(second))
	for _, list := range []traits.Lister{first, second} {
		for it := list.Iterator(); it.HasNext() == types.True; {
			all = append(all, it.Next())
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

// meteredCall is a call that is charged before it is made.
type meteredCall struct {
	interpreter.InterpretableV2

	function string
	args     []interpreter.InterpretableV2
	run      func(args []ref.Val) ref.Val
}

// Exec implements interpreter.InterpretableV2.
func (c *meteredCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(c.args))
	for i, arg := range c.args {
		if args[i] = arg.Exec(frame); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
		args[i] = plain(args[i])
	}
	charge(frame, costOf(c.function, args))
	return types.LabelErrNode(c.ID(), placed(c.run(args)))
}

// Eval implements interpreter.Interpretable.
func (c *meteredCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// meteredStep is the body of a loop.
type meteredStep struct {
	interpreter.InterpretableV2

	cost int
}

// Exec implements interpreter.InterpretableV2.
func (s *meteredStep) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	charge(frame, s.cost)
	return s.InterpretableV2.Exec(frame)
}

// Eval implements interpreter.Interpretable.
func (s *meteredStep) Eval(vars interpreter.Activation) ref.Val {
	return s.Exec(interpreter.AsFrame(vars))
}

// checkShape refuses an expression that has too many loops, or patterns that would compile to too much.
func checkShape(expression ast.Expr) error {
	loops, bad := 0, ""
	ast.PreOrderVisit(expression, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			loops++
		case ast.CallKind:
			for _, arg := range e.AsCall().Args() {
				if pattern, ok := patternOf(e.AsCall().FunctionName(), arg); ok && programSize(pattern) > budget.MaxInstructions {
					bad = pattern
				}
			}
		default:
		}
	}))
	switch {
	case loops > maxLoops:
		return fmt.Errorf("it has %d loops (all, exists, exists_one, map, filter and the like); at most %d are allowed", loops, maxLoops)
	case bad != "":
		return fmt.Errorf("the pattern %q is too large; write fewer repetitions", value.Shorten(bad))
	}
	return nil
}

// patternOf gives an argument that is a pattern, where it is a constant.
func patternOf(function string, arg ast.Expr) (string, bool) {
	if !isSearch(function) || arg.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := arg.AsLiteral().(types.String)
	return string(text), ok
}
