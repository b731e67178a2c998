package expr

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	bindings "github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// price says how much a call will do, in bytes that it writes or elements that it compares. It stops counting above limit.
type price func(args []ref.Val, limit int) int

// maxWork is what one call may do. CEL counts a call when it is over, which is too late for one that fills the memory.
const maxWork = 10 * maxCost

// prices are the functions whose work is more than a small multiple of what they are given.
func prices() map[string]price {
	pairs := func(args []ref.Val, _ int) int { return multiply(sizeOf(args[0]), sizeOf(args[len(args)-1])) }
	all := func(args []ref.Val, limit int) int { return celWeight(args[0], limit, 0) }
	return map[string]price{
		"replace": replacePrice, "join": joinPrice, "flatten": all, "distinct": pairs,
		"format":        func(args []ref.Val, limit int) int { return celWeight(args[len(args)-1], limit, 0) },
		"sets.contains": pairs, "sets.equivalent": pairs, "sets.intersects": pairs,
	}
}

// guard gives the options that make calls fail which would do too much.
func guard(base *cel.Env) ([]cel.EnvOption, error) {
	var options []cel.EnvOption
	for name, price := range prices() {
		fn := base.Functions()[name]
		if fn == nil {
			return nil, fmt.Errorf("CEL has no function %q to guard", name)
		}
		impls, err := fn.Bindings()
		if err != nil {
			return nil, err
		}
		byID := map[string]*bindings.Overload{}
		for _, b := range impls {
			byID[b.Operator] = b
		}
		var overloads []cel.FunctionOpt
		for _, o := range fn.OverloadDecls() {
			if b := byID[o.ID()]; b != nil {
				overloads = append(overloads, guarded(o, b, price))
			}
		}
		options = append(options, cel.Function(name, overloads...))
	}
	return options, nil
}

// guarded declares an overload again, with a binding that asks the price first.
func guarded(o *decls.OverloadDecl, b *bindings.Overload, price price) cel.FunctionOpt {
	declare := cel.Overload
	if o.IsMemberFunction() {
		declare = cel.MemberOverload
	}
	tooMuch := func(args ...ref.Val) bool { return price(args, maxWork) > maxWork }
	refused := types.WrapErr(overBudget(limitCost))
	var binding cel.OverloadOpt
	switch {
	case b.Unary != nil:
		binding = cel.UnaryBinding(func(v ref.Val) ref.Val {
			if tooMuch(v) {
				return refused
			}
			return b.Unary(v)
		})
	case b.Binary != nil:
		binding = cel.BinaryBinding(func(lhs, rhs ref.Val) ref.Val {
			if tooMuch(lhs, rhs) {
				return refused
			}
			return b.Binary(lhs, rhs)
		})
	default:
		binding = cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			if tooMuch(args...) {
				return refused
			}
			return b.Function(args...)
		})
	}
	return declare(o.ID(), o.ArgTypes(), o.ResultType(), binding)
}

func replacePrice(args []ref.Val, _ int) int {
	text, old, replacement := textOf(args[0]), textOf(args[1]), textOf(args[2])
	return multiply(strings.Count(text, old), len(replacement)) + len(text)
}

func joinPrice(args []ref.Val, limit int) int {
	separator := 0
	if len(args) > 1 {
		separator = len(textOf(args[1]))
	}
	return celWeight(args[0], limit, 0) + multiply(sizeOf(args[0]), separator)
}

func textOf(v ref.Val) string {
	s, _ := v.(types.String) // Of another type there is no such overload.
	return string(s)
}

func sizeOf(v ref.Val) int {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return int(n)
		}
	}
	return 0
}

// multiply gives a number above every limit where the product is.
func multiply(a, b int) int {
	if b > 0 && a > maxWork/b {
		return maxWork + 1
	}
	return a * b
}

// celWeight counts the elements and the text of a value, as often as they stand there. It stops above limit.
func celWeight(v ref.Val, limit, depth int) int {
	if depth > maxNesting {
		return limit + 1
	}
	switch v := v.(type) {
	case types.String:
		return 1 + len(v)
	case traits.Mapper:
		w := 1
		for it := v.Iterator(); it.HasNext() == types.True && w <= limit; {
			key := it.Next()
			w += celWeight(key, limit-w, depth+1) + celWeight(v.Get(key), limit-w, depth+1)
		}
		return w
	case traits.Lister:
		w := 1
		for it := v.Iterator(); it.HasNext() == types.True && w <= limit; {
			w += celWeight(it.Next(), limit-w, depth+1)
		}
		return w
	}
	return 1
}
