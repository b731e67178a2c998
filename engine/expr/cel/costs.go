package cel

import (
	"math"
	"math/bits"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/orkspace/orkestra/engine/expr/budget"
)

// cost says what a call costs, in the units of budget.MaxCost: an element that is read or made, or ten bytes. It stops counting above
// limit. It is asked before the call, because CEL counts a call when it is over, which is too late for one that takes all memory or
// does not end.
type cost func(args []ref.Val, limit int) int

// lowerEstimates corrects what the libraries estimate of calls before they are evaluated. Where a number is not written out, they take the largest
// one there is, also as the least that the call costs, by which an expression is refused. The limit of the evaluation counts there.
func lowerEstimates() cel.EnvOption {
	estimate := func(sized func(args []checker.AstNode) checker.SizeEstimate) checker.FunctionEstimator {
		return func(_ checker.CostEstimator, _ *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
			size := sized(args)
			return &checker.CallEstimate{CostEstimate: checker.CostEstimate(size), ResultSize: &size}
		}
	}
	unknown := checker.SizeEstimate{Max: math.MaxUint64}
	nothing := estimate(func([]checker.AstNode) checker.SizeEstimate { return unknown })
	return cel.CostEstimatorOptions(
		checker.OverloadCostEstimate("list_slice", nothing), checker.OverloadCostEstimate("list_flatten_int", nothing),
		checker.OverloadCostEstimate("lists_range", estimate(func(args []checker.AstNode) checker.SizeEstimate {
			if args[0].Expr().Kind() != ast.LiteralKind {
				return unknown
			}
			n, _ := args[0].Expr().AsLiteral().(types.Int)
			return checker.FixedSizeEstimate(uint64(max(n, 0)))
		})),
	)
}

// bytesOfUnit is how many bytes of text cost as much as an element.
const bytesOfUnit = 10

// newCosts gives the costs of the functions that may do more than read the text that they are given.
func newCosts() map[string]cost {
	table := map[string]cost{
		operators.Equals: equalCost, operators.NotEquals: equalCost, operators.Add: addCost,
		operators.In: inCost, operators.OldIn: inCost, "in": inCost,
		"indexOf": indexOfCost, "lastIndexOf": indexOfCost, "replace": replaceCost, "split": splitCost, "join": joinCost, "format": formatCost,
		fnMatches: searchCost, fnFind: searchCost, fnFindAll: searchAllCost,
		"lists.range": rangeCost, fnMapInsert: mapInsertCost, "quantity": quantityCost, "isQuantity": quantityCost,
		fnOrdered:  orderCost,
		"validate": func(args []ref.Val, _ int) int { return budget.Times(longPattern, textCost(args)) },
	}
	for _, name := range []string{"sort", "@sortByAssociatedKeys"} {
		table[name] = func(args []ref.Val, limit int) int {
			return budget.Times(depthCost(args, limit), bits.Len(uint(sizeOf(args[0]))))
		}
	}
	for _, name := range []string{"flatten", "reverse", "slice", "sum", "min", "max", "isSorted"} {
		table[name] = depthCost
	}
	for _, name := range []string{"distinct", "sets.contains", "sets.equivalent", "sets.intersects"} {
		table[name] = pairsCost
	}
	return table
}

// longPattern stands for the patterns of Kubernetes' formats.
const longPattern = 50

// costOf is the cost of any function: those that are not in the table read the text that they are given, and no more.
func costOf(function string, args []ref.Val) int {
	if cost, ok := costs()[function]; ok {
		return cost(args, budget.MaxCost)
	}
	return textCost(args)
}

// textCost is for what is linear in the text that it is given.
func textCost(args []ref.Val) int {
	cost := 1
	for _, arg := range args {
		cost += bytesOf(arg) / bytesOfUnit
	}
	return cost
}

// depthCost is for what walks through all that it is given.
func depthCost(args []ref.Val, limit int) int {
	cost := 0
	for _, arg := range args {
		cost += weight(arg, limit-cost, 0)
	}
	return cost
}

// pairsCost is for what compares every element with every other.
func pairsCost(args []ref.Val, limit int) int {
	a, b := args[0], args[len(args)-1]
	return budget.Times(max(sizeOf(a), sizeOf(b)), min(limit, weight(a, limit, 0)+weight(b, limit, 0)))
}

// equalCost is the weight of the smaller one: that ends the comparison. How far weight goes beyond its limit depends on the order in which it
// walks a map, and counts for nothing.
func equalCost(args []ref.Val, limit int) int {
	first := weight(args[0], limit, 0)
	return min(first, weight(args[1], first, 0))
}

func addCost(args []ref.Val, _ int) int {
	switch args[0].(type) {
	case traits.MutableLister: // what map and filter make grows where it is
		return elementCost * sizeOf(args[1])
	case traits.Lister:
		return elementCost * (sizeOf(args[0]) + sizeOf(args[1]))
	}
	return textCost(args)
}

// elementCost is what a new element costs.
const elementCost = 2

func inCost(args []ref.Val, limit int) int {
	if _, isMap := args[1].(traits.Mapper); isMap {
		return textCost(args[:1])
	}
	return depthCost(args[1:], limit)
}

// indexOfCost: in a text, what is looked for may be compared at every place.
func indexOfCost(args []ref.Val, limit int) int {
	if _, isText := args[0].(types.String); isText {
		return budget.Times(bytesOf(args[0]), bytesOf(args[1])+1) / bytesOfUnit
	}
	return depthCost(args[:1], limit)
}

func replaceCost(args []ref.Val, _ int) int {
	text, old, replacement := textOf(args[0]), textOf(args[1]), textOf(args[2])
	return (budget.Times(strings.Count(text, old)+1, len(replacement)) + 2*len(text)) / bytesOfUnit
}

func splitCost(args []ref.Val, _ int) int {
	return textCost(args) + budget.Times(2*elementCost, budget.Parts(textOf(args[0]), textOf(args[1])))
}

func joinCost(args []ref.Val, limit int) int {
	separator := 0
	if len(args) > 1 {
		separator = bytesOf(args[1])
	}
	return depthCost(args[:1], limit) + budget.Times(sizeOf(args[0]), separator)/bytesOfUnit
}

// formatCost: a number in the format asks for so many digits.
func formatCost(args []ref.Val, limit int) int {
	cost := depthCost(args, limit)
	digits := 0
	for _, c := range textOf(args[0]) {
		if c < '0' || c > '9' {
			digits = 0
			continue
		}
		digits = min(10*digits+int(c-'0'), limit*bytesOfUnit)
		cost += digits / bytesOfUnit
	}
	return cost
}

func rangeCost(args []ref.Val, _ int) int {
	n, _ := args[0].(types.Int) // Of another type there is no such overload.
	return budget.Times(elementCost, int(min(max(n, 0), budget.MaxCost)))
}

func mapInsertCost(args []ref.Val, limit int) int {
	cost := textCost(args[1:2]) + depthCost(args[1:2], limit) + orderCost(args[1:2], limit)
	if _, grows := args[0].(traits.MutableMapper); !grows {
		cost += budget.Times(elementCost, sizeOf(args[0]))
	}
	return cost
}

// quantityCost refuses quantities with a large exponent: comparing 1e999999999 would take all memory.
func quantityCost(args []ref.Val, limit int) int {
	const longest, exponent = 256, 2
	text := textOf(args[0])
	at := strings.LastIndexAny(text, "eE")
	if len(text) > longest || at >= 0 && len(strings.TrimLeft(text[at+1:], "+-0")) > exponent {
		return limit + 1
	}
	return textCost(args)
}

func searchCost(args []ref.Val, limit int) int {
	size := programSize(textOf(args[1]))
	if size > budget.MaxInstructions {
		return limit + 1
	}
	return budget.Times(size, bytesOf(args[0])+budget.BytesOfInstruction) / bytesOfUnit
}

// searchAllCost: every match may have read the rest of the text.
func searchAllCost(args []ref.Val, limit int) int {
	const short = 512
	return budget.Times(searchCost(args, limit), bytesOf(args[0])/short+1)
}

// programSize is how many instructions a pattern compiles to.
func programSize(pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1 // the call says what is wrong
	}
	return budget.PatternSize(tree)
}

func textOf(v ref.Val) string {
	s, _ := v.(types.String) // Of another type there is no such overload.
	return string(s)
}

// bytesOf is the length of a text in bytes: CEL's own size counts characters.
func bytesOf(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// sizeOf is the number of elements.
func sizeOf(v ref.Val) int {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return int(n)
		}
	}
	return 0
}

// weight counts the elements and the text of a value, as often as they stand there. It stops above limit.
func weight(v ref.Val, limit, depth int) int {
	if depth > budget.MaxNesting {
		return limit + 1
	}
	w := 1 + bytesOf(v)/bytesOfUnit
	switch v := v.(type) {
	case *types.Optional:
		if v.HasValue() {
			w += weight(v.GetValue(), limit-w, depth+1)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && w <= limit; {
			key := it.Next()
			w += weight(key, limit-w, depth+1) + weight(v.Get(key), limit-w, depth+1)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && w <= limit; {
			w += weight(it.Next(), limit-w, depth+1)
		}
	}
	return w
}
