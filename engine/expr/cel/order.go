package cel

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/orkspace/orkestra/engine/expr/budget"
)

// fnOrdered gives what a loop walks: a map with its keys in order, all else as it is. No expression can name it.
const fnOrdered = "@ordered"

// declareOrdered makes the function known.
func declareOrdered() cel.EnvOption {
	return cel.Function(fnOrdered, cel.Overload(fnOrdered, []*cel.Type{cel.DynType}, cel.DynType, cel.UnaryBinding(ordered)))
}

// orderLoops makes every loop of a checked expression walk the keys of a map in order. CEL walks a map of Go, whose order is another one
// each time: a list that is made of it would be another one in each cycle. What is known to be a list is left as it is.
func orderLoops(checked *ast.AST) {
	factory, next := ast.NewExprFactory(), ast.MaxID(checked)
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		loop := e.AsComprehension()
		over := loop.IterRange()
		if checked.GetType(over.ID()).Kind() == types.ListKind {
			return
		}
		next++
		checked.SetType(next, types.DynType)
		checked.SetReference(next, ast.NewFunctionReference(fnOrdered))
		e.SetKindCase(factory.NewComprehensionTwoVar(e.ID(), factory.NewCall(next, fnOrdered, over), loop.IterVar(), loop.IterVar2(),
			loop.AccuVar(), loop.AccuInit(), loop.LoopCondition(), loop.LoopStep(), loop.Result()))
	}))
}

func ordered(v ref.Val) ref.Val {
	if m, isMap := v.(traits.Mapper); isMap {
		return orderedMap{m}
	}
	return v
}

// orderedMap is a map that is walked in the order of its keys: false and true, then numbers, then texts as their bytes, which is the order of
// templates. It has no Fold, so that CEL walks its Iterator where it wants keys and values.
type orderedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m orderedMap) Iterator() traits.Iterator {
	keys := make([]ref.Val, 0, sizeOf(m.Mapper))
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

// compareKeys orders the keys of a map, also such as are of several types.
func compareKeys(a, b ref.Val) int {
	text, isText := a.(types.String)
	if other, both := b.(types.String); isText && both {
		return cmp.Compare(text, other) // as nearly all keys are; and the general way allocates
	}
	if order := cmp.Compare(rankOf(a), rankOf(b)); order != 0 {
		return order
	}
	if c, ok := a.(traits.Comparer); ok {
		if order, ok := c.Compare(b).(types.Int); ok && order != types.IntZero {
			return int(order)
		}
	}
	// 1 and 1u are two keys of a map that is written out; and nothing else compares a list.
	return cmp.Or(cmp.Compare(a.Type().TypeName(), b.Type().TypeName()), cmp.Compare(types.Format(a), types.Format(b)))
}

func rankOf(key ref.Val) int {
	switch key.(type) {
	case types.Bool:
		return 0
	case types.Int, types.Uint, types.Double:
		return 1
	case types.String:
		return 2
	}
	return 3
}

// orderCost is that of sorting the keys.
func orderCost(args []ref.Val, limit int) int {
	m, isMap := args[0].(traits.Mapper)
	if !isMap {
		return 1
	}
	cost := 1
	for it := m.Iterator(); it.HasNext() == types.True && cost <= limit; {
		cost += weight(it.Next(), limit-cost, 0)
	}
	return budget.Times(cost, bits.Len(uint(sizeOf(m))))
}
