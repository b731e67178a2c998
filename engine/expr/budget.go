package expr

import (
	"context"
)

// budget is what one evaluation may still use. A tree of templates shares one, and every function charges it.
type budget struct {
	// expired gives the error of the caller's context, or a BudgetError when our own time is up.
	expired    func() error
	output     int
	iterations int
	memory     int
	work       int
	checked    int // the work at which time was checked last

	cycle *cycle // of the reconcile; nil: none
	taken int64  // of the cycle's pool
}

// newBudget starts an evaluation. Its second result ends it.
//
// Time is counted in slices, each of which begins when a check finds that the last one is over. A process that gets no
// processor for a while loses one slice by it; a single timer would take that for a template that never ends.
func newBudget(ctx context.Context) (*budget, func()) {
	stop, slices := func() {}, 0
	var over func() error // of the current slice; there is none before the first check, which reading a single path never makes
	b := &budget{cycle: cycleOf(ctx)}
	b.expired = func() error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case over != nil && over() == nil:
			return nil
		case slices == maxSlices:
			return overBudget(limitTime)
		}
		stop()
		slice, cancel := context.WithTimeout(ctx, maxTime/maxSlices)
		over, stop = slice.Err, cancel
		slices++
		return nil
	}
	return b, func() {
		stop()
		if b.taken > 0 {
			b.cycle.pool.give(b.taken)
		}
	}
}

func (b *budget) check() error { return b.expired() }

// iterate counts a range body or a template call.
func (b *budget) iterate() error {
	b.iterations++
	if b.iterations > maxIterations {
		return overBudget(limitIterations)
	}
	return b.check()
}

// spend counts bytes of output, and the weight of values. Without a budget there is no limit.
func (b *budget) spend(n int) error {
	if b == nil {
		return nil
	}
	b.output += n
	if b.output > maxOutput {
		return overBudget(limitOutput)
	}
	return b.cycle.render(n)
}

// allocate counts bytes of memory, before they are taken where they may be many. What is freed meanwhile is not given back: which
// values are still used is not known. Without a budget there is no limit.
func (b *budget) allocate(n int) error {
	if b == nil {
		return nil
	}
	if n < 0 || n > maxMemory-b.memory {
		return overBudget(limitMemory)
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

// do counts work, before it is done. The time is checked every now and then.
func (b *budget) do(n int) error {
	const often = 1 << 16
	if n < 0 || n > maxWork-b.work {
		return overBudget(limitWork)
	}
	b.work += n
	if b.work-b.checked < often {
		return nil
	}
	b.checked = b.work
	return b.check()
}

// What values take in memory, roughly: an element has an interface and often what it points to.
const (
	bytesOfElement = 32
	bytesOfEntry   = 80
	bytesOfMap     = 320
)

// allocateList counts a new list, whose elements are counted elsewhere.
func (b *budget) allocateList(elements int) error {
	return b.allocate(times(bytesOfElement/2, elements) + bytesOfElement)
}

// allocateMap counts a new map.
func (b *budget) allocateMap(entries int) error {
	return b.allocate(times(bytesOfEntry, entries) + bytesOfMap)
}

// times multiplies, and gives a number above every limit where the product is too large.
func times(a, b int) int {
	const far = 1 << 40
	if b > 0 && a > far/b {
		return far
	}
	return a * b
}

// weigh refuses values that are too big to be walked through, and counts the walk.
func (b *budget) weigh(v any) error {
	_, err := b.weighed(v, maxOutput)
	return err
}

// weighed gives the weight of a value that may weigh so much.
func (b *budget) weighed(v any, limit int) (int, error) {
	w := weight(v, limit, 0)
	switch {
	case w < 0:
		return 0, overBudget(limitNesting)
	case w > limit:
		return 0, overBudget(limitOutput)
	}
	return w, b.do(w)
}

// copy copies a value into new memory.
func (b *budget) copy(v any) (any, error) { return copyJSON(v, copying{memory: b}, 0) }
