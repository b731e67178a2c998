package functions

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

func listFuncs() []row {
	return []row{
		{fnList, argValues, "A list of the values.", `list 1 "a"`, `[1,"a"]`, func(values ...any) []any { return values }, nils | light, "tuple"},
		{"first", argList, "The first element.", `first (list 1 2)`, "1", func(l []any) any { return at(l, 0) }, light | counted, "mustFirst"},
		{"last", argList, "The last element.", `last (list 1 2)`, "2", func(l []any) any { return at(l, len(l)-1) }, light | counted, "mustLast"},
		{"rest", argList, "All but the first element.", `rest (list 1 2 3)`, "[2,3]", func(l []any) []any { return l[min(1, len(l)):] }, light | counted, "mustRest"},
		{"initial", argList, "All but the last element.", `initial (list 1 2)`, "[1]", func(l []any) []any { return l[:max(len(l)-1, 0)] }, light | counted, "mustInitial"},
		{"append", "LIST VALUE", "LIST and one more element.", `append (list 1) 2`, "[1,2]",
			func(l []any, v any) []any { return slices.Concat(l, []any{v}) }, light, "push mustAppend mustPush"},
		{"prepend", "LIST VALUE", "LIST after one more element.", `prepend (list 1) 2`, "[2,1]",
			func(l []any, v any) []any { return slices.Concat([]any{v}, l) }, light, "mustPrepend"},
		{"concat", "LIST…", "The lists as one.", `concat (list 1) (list 2 3)`, "[1,2,3]", concat, light | counted, ""},
		{"reverse", argList, "LIST from its end.", `reverse (list 1 2)`, "[2,1]",
			func(l []any) []any { l = slices.Clone(l); slices.Reverse(l); return l }, light, "mustReverse"},
		{"slice", "LIST START END", "The elements from START up to END; also bytes of text. Both may be left out. The list may also come last.", `slice (list 1 2 3) 1`, "[2,3]",
			sliced, light | counted, "mustSlice"},
		{"chunk", "SIZE LIST", "LIST as lists of at most SIZE elements.", `chunk 2 (list 1 2 3)`, "[[1,2],[3]]", chunk, light | counted, "mustChunk"},
		{"collect", "PATH LIST", "What the elements of LIST have at PATH. Those that have nothing there are left out.",
			`collect "a.b" (list (dict "a" (dict "b" 1)) (dict "a" (dict "b" 4)))`, "[1,4]", collect, light | counted, ""},
		{"uniq", argList, "LIST without repeated elements.", `uniq (list 3 3 4)`, "[3,4]", uniq, 0, "mustUniq"},
		{"compact", argList, "LIST without empty elements.", `compact (list 1 "" 2)`, "[1,2]", func(l []any) []any { return slices.DeleteFunc(slices.Clone(l), isEmpty) }, 0, "mustCompact"},
		{"flatten", argList, "LIST with the elements of its lists.", `flatten (list 1 (list 2 (list 3)))`, "[1,2,3]",
			func(limits *budget.Budget, l []any) ([]any, error) { return flattenDepth(limits, budget.MaxNesting, l) }, counted, ""},
		{"flattenDepth", "DEPTH LIST", "The same, DEPTH lists deep.", `flattenDepth 1 (list 1 (list 2 (list 3)))`, "[1,2,[3]]", flattenDepth, counted, ""},
		{"has", "VALUE LIST", "Whether VALUE is in LIST.", `has 1 (list 1 2)`, "true", has, 0, "mustHas"},
		{"without", "LIST VALUE…", "LIST without these values.", `without (list 1 2 3) 2`, "[1,3]",
			without, 0, "mustWithout"},
		{"sortAlpha", argList, "The elements as sorted texts.", `sortAlpha (list "b" "a")`, `["a","b"]`,
			sortAlpha, 0, ""},
		{"toStrings", argList, "The elements as texts.", `toStrings (list 1 true)`, `["1","true"]`, toStrings, counted, "strSlice"},
		{"splitList", "SEPARATOR TEXT", "The parts of TEXT.", `splitList "," "a,b"`, `["a","b"]`, splitList, counted, ""},
		{"until", "COUNT", "The numbers from 0 up to COUNT.", `until 3`, "[0,1,2]",
			func(n int) ([]any, error) { return span(0, n, map[bool]int{false: 1, true: -1}[n < 0]) }, 0, ""},
		{"untilStep", "START END STEP", "The numbers from START up to END.", `untilStep 0 10 4`, "[0,4,8]", span, 0, ""},
		{"seq", "START STEP END", "The numbers up to and with END, as text. START and STEP may be left out.", `seq 1 2 5`, "1 3 5", seq, 0, ""},
		{"len", argValue, "The number of elements, keys or bytes.", `len .spec.hosts`, "2", length, light | counted, ""},
		{Index, "VALUE KEY…", "The element of a list or map, and so on inside it.", `index .spec.hosts 0`, "a.example.com", index, light | counted, ""},
	}
}

func at(list []any, i int) any {
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

func concat(limits *budget.Budget, lists ...any) ([]any, error) {
	all := make([][]any, 0, len(lists))
	elements := 0
	for _, l := range lists {
		l, ok := l.([]any)
		if !ok {
			return nil, badArgument("an argument is no list")
		}
		all = append(all, l)
		elements += len(l)
	}
	if err := limits.AllocateList(elements); err != nil {
		return nil, err
	}
	return slices.Concat(all...), nil
}

func without(limits *budget.Budget, list []any, omit ...any) ([]any, error) {
	if err := limits.Work(budget.Times(budget.Weight(list, budget.MaxOutput), len(omit))); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool { return has(v, omit) }), nil
}

func sortAlpha(limits *budget.Budget, v any) ([]string, error) {
	texts, err := toStrings(limits, v)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, text := range texts {
		size += len(text) + 1
	}
	if err := limits.Work(budget.Times(size, bits.Len(uint(len(texts))))); err != nil {
		return nil, err
	}
	slices.Sort(texts)
	return texts, nil
}

func splitList(limits *budget.Budget, sep, text string) ([]string, error) {
	if err := allocateParts(limits, budget.Parts(text, sep)); err != nil {
		return nil, err
	}
	return strings.Split(text, sep), nil
}

// allocateParts counts a list of texts that are parts of another one.
func allocateParts(limits *budget.Budget, n int) error {
	return limits.Allocate(budget.Times(2*budget.BytesOfElement, n) + budget.BytesOfElement)
}

// sliced takes the list, or the text, before its bounds or behind them, as where it is piped in.
func sliced(args ...any) (any, error) {
	v, rest := args[0], args[1:]
	if n, whole := value.Whole(v); whole && len(rest) > 0 {
		v, rest = rest[len(rest)-1], append([]any{n}, rest[:len(rest)-1]...)
	}
	bounds := make([]int, 0, len(rest))
	for i, bound := range rest {
		n, whole := value.Whole(bound)
		if !whole {
			return nil, badArgument("argument %d must be a whole number, not a %s; use toInt", i+len(args)-len(rest)+1, value.TemplateType(bound))
		}
		bounds = append(bounds, int(n))
	}
	n, err := length(v)
	if err != nil {
		return nil, err
	}
	start, end := 0, n
	switch len(bounds) {
	case 0:
	case 1:
		start = bounds[0]
	case 2:
		start, end = bounds[0], bounds[1]
	default:
		return nil, badArgument("there are more than two bounds")
	}
	if start < 0 || end > n || start > end {
		return nil, badArgument("the bounds are outside the value, whose length is %d", n)
	}
	switch v := v.(type) {
	case string:
		return v[start:end], nil
	case []any:
		return v[start:end], nil
	}
	return nil, badArgument("a %s cannot be sliced", value.TemplateType(v))
}

func collect(limits *budget.Budget, path string, list []any) ([]any, error) {
	p, err := value.ParsePath(path)
	if err != nil {
		return nil, badArgument("%s", err)
	}
	if err := limits.AllocateList(len(list)); err != nil {
		return nil, err
	}
	if err := limits.Work(budget.Times(len(list), len(p))); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(list))
	for _, element := range list {
		if v, _ := value.Walk(element, p, len(p)); v != nil {
			out = append(out, v)
		}
	}
	return out, nil
}

func chunk(limits *budget.Budget, size int, list []any) ([]any, error) {
	if size < 1 {
		return nil, badArgument("a size is less than 1")
	}
	if err := allocateParts(limits, len(list)/size+1); err != nil {
		return nil, err
	}
	out := []any{}
	for c := range slices.Chunk(list, size) {
		out = append(out, c)
	}
	return out, nil
}

func uniq(limits *budget.Budget, list []any) ([]any, error) {
	if err := limits.Allocate(budget.Times(budget.BytesOfEntry, len(list)) + budget.Weight(list, budget.MaxOutput)); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	out := []any{}
	for _, v := range list {
		key, err := value.Print(v)
		if err != nil {
			return nil, badArgument("%v", err)
		}
		if key = value.TemplateType(v) + key; !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out, nil
}

func flattenDepth(limits *budget.Budget, depth int, list []any) ([]any, error) {
	if err := limits.Allocate(budget.Times(budget.BytesOfElement, budget.Weight(list, budget.MaxOutput))); err != nil {
		return nil, err
	}
	return flattenInto(nil, depth, list), nil
}

func flattenInto(out []any, depth int, list []any) []any {
	for _, v := range list {
		if inner, ok := v.([]any); ok && depth > 0 {
			out = flattenInto(out, depth-1, inner)
		} else {
			out = append(out, v)
		}
	}
	return out
}

func has(v any, list []any) bool {
	return slices.ContainsFunc(list, func(element any) bool { return value.Same(v, element) })
}

func toStrings(limits *budget.Budget, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if err := limits.Allocate(budget.Times(2*budget.BytesOfElement, len(list)) + budget.Weight(list, budget.MaxOutput)); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(list))
	for _, v := range withoutNil(list) {
		text, err := value.Print(v)
		if err != nil {
			return nil, badArgument("%v", err)
		}
		out = append(out, text)
	}
	return out, nil
}

// span lists the numbers from start up to end, which is not among them. It refuses ranges that are too long, or whose ends
// are so large that counting would overflow.
func span(start, end, step int) ([]any, error) {
	const far = 1 << 53
	if max(start, end, step) > far || min(start, end, step) < -far {
		return nil, badArgument("a number is too large")
	}
	out := []any{}
	for n := start; step > 0 && n < end || step < 0 && n > end; n += step {
		if len(out) == budget.MaxIterations {
			return nil, budget.Over(budget.Iterations)
		}
		out = append(out, int64(n))
	}
	return out, nil
}

func seq(bounds ...int) (string, error) {
	start, step := 1, 1
	var end int
	switch len(bounds) {
	case 1:
		end = bounds[0]
	case 2:
		start, end = bounds[0], bounds[1]
	case 3:
		start, step, end = bounds[0], bounds[1], bounds[2]
	default:
		return "", badArgument("there must be 1 to 3 numbers")
	}
	if len(bounds) < 3 && end < start {
		step = -1
	}
	past := end + 1
	if step < 0 {
		past = end - 1
	}
	numbers, err := span(start, past, step)
	if err != nil {
		return "", err
	}
	return joinText(" ", numbers)
}

func length(v any) (int, error) {
	switch v := v.(type) {
	case string:
		return len(v), nil
	case []any:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	}
	return 0, badArgument("a %s has no length", value.TemplateType(v))
}

// index reads one key after the other. What is not there is absent, like a field.
func index(limits *budget.Budget, v any, keys ...any) (any, error) {
	path, err := pathOf(limits, keys)
	if err != nil {
		return nil, err
	}
	found, _ := value.Walk(v, path, len(path))
	if found == nil {
		return nil, ErrNoElement
	}
	return found, nil
}

// pathOf gives keys as a path. They may be anything that can be written.
func pathOf(limits *budget.Budget, keys []any) (value.Path, error) {
	path := make(value.Path, len(keys))
	for i, key := range keys {
		text, err := argumentText(limits, key)
		if err != nil {
			return nil, err
		}
		path[i] = text
	}
	return path, nil
}

// argumentText gives an argument as text, whose memory is counted.
func argumentText(limits *budget.Budget, v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	if err := limits.Weigh(v); err != nil {
		return "", err
	}
	text, err := value.Print(v)
	if err != nil {
		return "", badArgument("%v", err)
	}
	return text, limits.Allocate(len(text))
}

// ErrNoElement is what index fails with where there is no such element. It does not name the keys: they may come from anywhere.
var ErrNoElement = &roots.AbsentError{What: "the element that index asks for"}
