package budget

import (
	"regexp/syntax"

	"github.com/orkspace/orkestra/engine/value"
)

// Weight says how much a value costs to walk through or to write. It stops counting above limit, so that lists which hold
// one another many times over are cheap to refuse. Deep elements count more, because indentation makes them longer, and so do
// numbers, which may have many digits. A negative weight says that the value is nested too deeply.
func Weight(v any, limit int) int { return weight(v, limit, 0) }

// LiteralWeight is what Literal is to count for a value.
func LiteralWeight(v any) int { return Weight(v, maxRendered) }

func weight(v any, limit, depth int) int {
	const digits = 8
	if depth > MaxNesting {
		return -1
	}
	w := 1 + depth
	add := func(key string, element any) bool {
		e := weight(element, limit-w, depth+1)
		if e < 0 {
			w = -1
			return false
		}
		w += len(key) + e
		return w <= limit
	}
	switch v := v.(type) {
	case string:
		return w + len(v)
	case int64, float64:
		return w + digits
	case []any:
		for _, element := range v {
			if !add("", element) {
				return w
			}
		}
	case map[string]any:
		for key, element := range v {
			if !add(key, element) {
				return w
			}
		}
	}
	return w
}

// Copy copies a value that belongs to no evaluation. Only its nesting is limited.
func Copy(v any) (any, error) { return copier{}.value(v, 0) }

// Copy copies a value into new memory, which is counted.
func (b *Budget) Copy(v any) (any, error) { return copier{memory: b}.value(v, 0) }

// CopyOut copies a value that the evaluation gives: its weight is output as well.
func (b *Budget) CopyOut(v any) (any, error) { return copier{memory: b, output: b}.value(v, 0) }

// copier copies values, so that the copy shares nothing with the data. Both budgets may be nil.
type copier struct {
	memory *Budget // of what the copy takes
	output *Budget // of its weight
}

func (c copier) value(v any, depth int) (any, error) {
	if depth > MaxNesting {
		return nil, Over(Nesting)
	}
	switch v := v.(type) {
	case string:
		return v, c.output.Output(len(v))
	case []any:
		return c.list(v, depth)
	case map[string]any:
		return c.object(v, depth)
	default:
		return value.FromGo(v)
	}
}

func (c copier) list(list []any, depth int) (any, error) {
	if err := c.output.Output(len(list)); err != nil {
		return nil, err
	}
	if err := c.memory.AllocateList(len(list)); err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i := range list {
		var err error
		if out[i], err = c.value(list[i], depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c copier) object(m map[string]any, depth int) (any, error) {
	if err := c.memory.AllocateMap(len(m)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(m))
	for key, element := range m {
		if err := c.output.Output(len(key) + 1); err != nil {
			return nil, err
		}
		var err error
		if out[key], err = c.value(element, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// PatternSize is how many instructions a pattern compiles to, or a few more.
func PatternSize(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)
	if tree.Op == syntax.OpCharClass {
		size = 1 + len(tree.Rune)/16
	}
	for _, part := range tree.Sub {
		size += PatternSize(part)
	}
	if tree.Op == syntax.OpRepeat {
		size = Times(size, max(tree.Min, tree.Max, 1)+1)
	}
	return size
}

// Search counts compiling a pattern of a template, and searching one text with it: RE2 takes time for the product of the two.
func (b *Budget) Search(pattern *syntax.Regexp, text string) error {
	size := PatternSize(pattern)
	switch {
	case size > MaxInstructions:
		return Over(Pattern)
	case len(text) > maxSearch/size:
		return Over(Search)
	}
	if err := b.Allocate(Times(BytesOfInstruction, size)); err != nil {
		return err
	}
	return b.Work(Times(size, len(text)+BytesOfInstruction))
}
