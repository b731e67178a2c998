package expr

import (
	"math/bits"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// price says what a call costs, in the units of maxCost: an element that is read or made, or ten bytes. It stops counting above
// limit. It is asked before the call, because CEL counts a call when it is over, which is too late for one that takes all memory or
// does not end; and again afterwards, when the cost is added up.
type price func(args []ref.Val, limit int) int

// bytesOfUnit is how many bytes of text cost as much as an element.
const bytesOfUnit = 10

// prices are the functions that may do more than read the text that they are given.
func prices() map[string]price {
	table := map[string]price{
		operators.Equals: equalPrice, operators.NotEquals: equalPrice, operators.Add: addPrice,
		operators.In: inPrice, operators.OldIn: inPrice, "in": inPrice,
		"indexOf": indexOfPrice, "lastIndexOf": indexOfPrice, "replace": replacePrice, "split": splitPrice, "join": joinPrice, "format": formatPrice,
		fnMatches: searchPrice, fnFind: searchPrice, fnFindAll: searchAllPrice,
		"lists.range": rangePrice, "cel.@mapInsert": mapInsertPrice, "quantity": quantityPrice, "isQuantity": quantityPrice,
		"validate": func(args []ref.Val, _ int) int { return times(longPattern, textPrice(args)) },
	}
	for _, name := range []string{"sort", "@sortByAssociatedKeys"} {
		table[name] = func(args []ref.Val, limit int) int {
			return times(depthPrice(args, limit), bits.Len(uint(sizeOf(args[0]))))
		}
	}
	for _, name := range []string{"flatten", "reverse", "slice", "sum", "min", "max", "isSorted"} {
		table[name] = depthPrice
	}
	for _, name := range []string{"distinct", "sets.contains", "sets.equivalent", "sets.intersects"} {
		table[name] = pairsPrice
	}
	return table
}

// longPattern stands for the patterns of Kubernetes' formats.
const longPattern = 50

// priceOf is the price of any function: those that are not in the table read the text that they are given, and no more.
func priceOf(function string, args []ref.Val) int {
	if price, ok := celPrices()[function]; ok {
		return price(args, maxCost)
	}
	return textPrice(args)
}

// textPrice is for what is linear in the text that it is given.
func textPrice(args []ref.Val) int {
	cost := 1
	for _, arg := range args {
		cost += bytesOf(arg) / bytesOfUnit
	}
	return cost
}

// depthPrice is for what walks through all that it is given.
func depthPrice(args []ref.Val, limit int) int {
	cost := 0
	for _, arg := range args {
		cost += celWeight(arg, limit-cost, 0)
	}
	return cost
}

// pairsPrice is for what compares every element with every other.
func pairsPrice(args []ref.Val, limit int) int {
	a, b := args[0], args[len(args)-1]
	return times(max(sizeOf(a), sizeOf(b)), min(limit, celWeight(a, limit, 0)+celWeight(b, limit, 0)))
}

// equalPrice is the weight of the smaller one: that ends the comparison.
func equalPrice(args []ref.Val, limit int) int {
	return celWeight(args[1], celWeight(args[0], limit, 0), 0)
}

func addPrice(args []ref.Val, _ int) int {
	switch args[0].(type) {
	case traits.MutableLister: // what map and filter make grows where it is
		return elementPrice * sizeOf(args[1])
	case traits.Lister:
		return elementPrice * (sizeOf(args[0]) + sizeOf(args[1]))
	}
	return textPrice(args)
}

// elementPrice is what a new element costs.
const elementPrice = 2

func inPrice(args []ref.Val, limit int) int {
	if _, isMap := args[1].(traits.Mapper); isMap {
		return textPrice(args[:1])
	}
	return depthPrice(args[1:], limit)
}

// indexOfPrice: in a text, what is looked for may be compared at every place.
func indexOfPrice(args []ref.Val, limit int) int {
	if _, isText := args[0].(types.String); isText {
		return times(bytesOf(args[0]), bytesOf(args[1])+1) / bytesOfUnit
	}
	return depthPrice(args[:1], limit)
}

func replacePrice(args []ref.Val, _ int) int {
	text, old, replacement := textOf(args[0]), textOf(args[1]), textOf(args[2])
	return (times(strings.Count(text, old)+1, len(replacement)) + 2*len(text)) / bytesOfUnit
}

func splitPrice(args []ref.Val, _ int) int {
	return textPrice(args) + times(2*elementPrice, partsOf(textOf(args[0]), textOf(args[1])))
}

func joinPrice(args []ref.Val, limit int) int {
	separator := 0
	if len(args) > 1 {
		separator = bytesOf(args[1])
	}
	return depthPrice(args[:1], limit) + times(sizeOf(args[0]), separator)/bytesOfUnit
}

// formatPrice: a number in the format asks for so many digits.
func formatPrice(args []ref.Val, limit int) int {
	cost := depthPrice(args, limit)
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

func rangePrice(args []ref.Val, _ int) int {
	n, _ := args[0].(types.Int) // Of another type there is no such overload.
	return times(elementPrice, int(min(max(n, 0), maxCost)))
}

func mapInsertPrice(args []ref.Val, limit int) int {
	cost := textPrice(args[1:2]) + depthPrice(args[1:2], limit)
	if _, grows := args[0].(traits.MutableMapper); !grows {
		cost += times(elementPrice, sizeOf(args[0]))
	}
	return cost
}

// quantityPrice refuses what is no honest quantity: comparing 1e999999999 would take all memory.
func quantityPrice(args []ref.Val, limit int) int {
	const longest, exponent = 256, 2
	text := textOf(args[0])
	at := strings.LastIndexAny(text, "eE")
	if len(text) > longest || at >= 0 && len(strings.TrimLeft(text[at+1:], "+-0")) > exponent {
		return limit + 1
	}
	return textPrice(args)
}

func searchPrice(args []ref.Val, limit int) int {
	size := programSize(textOf(args[1]))
	if size > maxProgram {
		return limit + 1
	}
	return times(size, bytesOf(args[0])+bytesOfInstruction) / bytesOfUnit
}

// searchAllPrice: every match may have read the rest of the text.
func searchAllPrice(args []ref.Val, limit int) int {
	const short = 512
	return times(searchPrice(args, limit), bytesOf(args[0])/short+1)
}

// programSize is how many instructions a pattern compiles to.
func programSize(pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1 // the call says what is wrong
	}
	return patternSize(tree)
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

// celWeight counts the elements and the text of a value, as often as they stand there. It stops above limit.
func celWeight(v ref.Val, limit, depth int) int {
	if depth > maxNesting {
		return limit + 1
	}
	w := 1 + bytesOf(v)/bytesOfUnit
	switch v := v.(type) {
	case *types.Optional:
		if v.HasValue() {
			w += celWeight(v.GetValue(), limit-w, depth+1)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && w <= limit; {
			key := it.Next()
			w += celWeight(key, limit-w, depth+1) + celWeight(v.Get(key), limit-w, depth+1)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && w <= limit; {
			w += celWeight(it.Next(), limit-w, depth+1)
		}
	}
	return w
}
