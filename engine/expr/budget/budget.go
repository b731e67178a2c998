// Package budget says what evaluations may take: one of them, all of one reconcile, all of a box, and all of the process. Templates and the functions
// that they call charge a Budget before they do what costs; CEL has limits of its own, which are named here as well.
//
// What an evaluation may take does not depend on the machine: output, memory, work and iterations are counted. The limit of time is a
// backstop for what is not counted.
package budget

import (
	"context"
	"strings"
)

// Budget is what one evaluation may still use. All the templates of a tree share one, and every function charges it. It is for one goroutine.
// A nil Budget has no limits on output and memory.
type Budget struct {
	// expired gives the error of the caller's context, or an ExceededError when our own time is up.
	expired    func() error
	output     int
	iterations int
	memory     int
	work       int
	checked    int // the work at which time was checked last

	cycle *cycle // of the reconcile; nil: none
	taken int64  // of the cycle's pool
}

// New starts an evaluation. Its second result ends it, and has to be called.
//
// Time is counted in slices, each of which begins when a check finds that the last one is over. A process that gets no CPU for a while
// loses one slice by that; with a single timer, a harmless template would fail.
func New(ctx context.Context) (*Budget, func()) {
	stop, slices := func() {}, 0
	var over func() error // of the current slice; there is none before the first check, which reading a single path never makes
	b := Until(func() error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case over != nil && over() == nil:
			return nil
		case slices == maxSlices:
			return Over(Time)
		}
		stop()
		slice, cancel := context.WithTimeout(ctx, maxTime/maxSlices)
		over, stop = slice.Err, cancel
		slices++
		return nil
	})
	b.cycle = cycleOf(ctx)
	return b, func() {
		stop()
		if b.taken > 0 {
			b.cycle.pool.give(b.taken)
		}
	}
}

// Until gives a budget whose time is up when expired gives an error. It belongs to no reconcile.
func Until(expired func() error) *Budget { return &Budget{expired: expired} }

// Used is what was charged.
func (b *Budget) Used() (memory, work int) { return b.memory, b.work }

// Check gives the error of a time that is up: the caller's, or our own.
func (b *Budget) Check() error { return b.expired() }

// Iterate counts a range body or a template call.
func (b *Budget) Iterate() error {
	b.iterations++
	if b.iterations > MaxIterations {
		return Over(Iterations)
	}
	return b.Check()
}

// Output counts bytes of text that the evaluation gives, and the weight of values.
func (b *Budget) Output(n int) error {
	if b == nil {
		return nil
	}
	b.output += n
	if b.output > MaxOutput {
		return Over(Output)
	}
	return b.cycle.render(n)
}

// Literal counts what an evaluation gives that was not computed: it is no output of a template, but part of what the reconcile holds.
func (b *Budget) Literal(n int) error { return b.cycle.render(n) }

// Allocate counts bytes of memory, before they are taken where they may be many. What is freed meanwhile is not given back: which
// values are still used is not known.
func (b *Budget) Allocate(n int) error {
	if b == nil {
		return nil
	}
	if n < 0 || n > MaxMemory-b.memory {
		return Over(Memory)
	}
	b.memory += n
	for b.cycle != nil && int64(b.memory)-b.taken > poolPiece {
		if err := b.cycle.pool.take(poolPiece); err != nil {
			return err
		}
		b.taken += poolPiece
	}
	return nil
}

// Work counts bytes and elements that are walked through, before that is done. The time is checked every now and then.
func (b *Budget) Work(n int) error {
	const often = 1 << 16
	if n < 0 || n > MaxWork-b.work {
		return Over(Work)
	}
	b.work += n
	if b.work-b.checked < often {
		return nil
	}
	b.checked = b.work
	return b.Check()
}

// What values take in memory, roughly: an element has an interface and often what it points to.
const (
	BytesOfElement = 32
	BytesOfEntry   = 80
	BytesOfMap     = 320
)

// AllocateList counts a new list, whose elements are counted elsewhere.
func (b *Budget) AllocateList(elements int) error {
	return b.Allocate(Times(BytesOfElement/2, elements) + BytesOfElement)
}

// AllocateMap counts a new map, whose values are counted elsewhere.
func (b *Budget) AllocateMap(entries int) error {
	return b.Allocate(Times(BytesOfEntry, entries) + BytesOfMap)
}

// Times multiplies, and gives a number above every limit where the product is too large.
func Times(a, b int) int {
	const far = 1 << 40
	if b > 0 && a > far/b {
		return far
	}
	return a * b
}

// Parts is how many parts a separator splits a text into.
func Parts(text, separator string) int {
	if separator == "" {
		return len(text)
	}
	return strings.Count(text, separator) + 1
}

// Weigh refuses values that are too big to be walked through, and counts the walk.
func (b *Budget) Weigh(v any) error {
	_, err := b.WeighUpTo(v, MaxOutput)
	return err
}

// WeighUpTo gives the weight of a value that may weigh no more than limit, and counts the walk through it.
func (b *Budget) WeighUpTo(v any, limit int) (int, error) {
	w := Weight(v, limit)
	switch {
	case w < 0:
		return 0, Over(Nesting)
	case w > limit:
		return 0, Over(Output)
	}
	return w, b.Work(w)
}
