package budget

import (
	"errors"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// What is taken from a pool is taken from the one above as well, and a refusal leaves nothing behind.
func TestPool(t *testing.T) {
	g := NewWithT(t)
	process := NewPool(100, nil)
	first, second := NewPool(80, process), NewPool(80, process)
	g.Expect(first.take(60)).To(Succeed())
	g.Expect([]int64{first.Used(), second.Used(), process.Used()}).To(Equal([]int64{60, 0, 60}))
	err := first.take(30)
	full, ok := errors.AsType[*PoolError](err)
	g.Expect(ok).To(BeTrue())
	g.Expect(full.Limit).To(BeEquivalentTo(80))
	full, ok = errors.AsType[*PoolError](second.take(50))
	g.Expect(ok).To(BeTrue(), "it has room, but the process has none")
	g.Expect(full.Limit).To(BeEquivalentTo(100))
	g.Expect([]int64{first.Used(), second.Used(), process.Used()}).To(Equal([]int64{60, 0, 60}))
	first.give(60)
	g.Expect(second.take(80)).To(Succeed())
	second.give(80)
	g.Expect([]int64{first.Used(), second.Used(), process.Used()}).To(Equal([]int64{0, 0, 0}))
}

func TestPool_none(t *testing.T) {
	g := NewWithT(t)
	var none *Pool
	g.Expect(none.take(1 << 60)).To(Succeed())
	none.give(1 << 60)
}

func TestPoolError(t *testing.T) {
	for limit, want := range map[int64]string{512 << 10: "(512 KiB)", 64 << 20: "(64 MiB)"} {
		NewWithT(t).Expect((&PoolError{Limit: limit}).Error()).To(ContainSubstring(want))
	}
}

// An evaluation takes from the pool in pieces, nothing while it is small, and gives all of it back when it ends.
func TestBudget_takesFromThePool(t *testing.T) {
	g := NewWithT(t)
	pool := NewPool(1<<20, nil)
	ctx, giveBack := WithCycle(t.Context(), pool)
	b, done := New(ctx)
	g.Expect(b.Allocate(poolPiece)).To(Succeed())
	g.Expect(pool.Used()).To(BeZero(), "a small one takes nothing")
	g.Expect(b.Allocate(1)).To(Succeed())
	g.Expect(pool.Used()).To(BeEquivalentTo(poolPiece))
	g.Expect(b.Allocate(2 * poolPiece)).To(Succeed())
	g.Expect(pool.Used()).To(BeEquivalentTo(3 * poolPiece))
	g.Expect(errors.As(b.Allocate(4*poolPiece), new(*PoolError))).To(BeTrue())
	done()
	g.Expect(pool.Used()).To(BeZero())
	giveBack()
	g.Expect(pool.Used()).To(BeZero())
}

// What the evaluations of a reconcile give together is held until it ends.
func TestCycle_rendered(t *testing.T) {
	g := NewWithT(t)
	pool := NewPool(1<<30, nil)
	ctx, giveBack := WithCycle(t.Context(), pool)
	for range 8 {
		b, done := New(ctx)
		g.Expect(b.Output(MaxOutput - poolPiece)).To(Succeed())
		g.Expect(b.Literal(poolPiece)).To(Succeed())
		done()
	}
	g.Expect(pool.Used()).To(BeEquivalentTo(maxRendered - poolPiece))
	b, done := New(ctx)
	defer done()
	exceeded(g, b.Output(1), Rendered)
	exceeded(g, b.Literal(1), Rendered)
	giveBack()
	g.Expect(pool.Used()).To(BeZero())
}

// Without a cycle nothing is counted together; a cycle in a cycle counts by itself, from the same pool.
func TestWithCycle(t *testing.T) {
	g := NewWithT(t)
	for range 20 {
		b, done := New(t.Context())
		g.Expect(b.Output(MaxOutput)).To(Succeed())
		done()
	}
	pool := NewPool(1<<30, nil)
	outer, giveOuter := WithCycle(t.Context(), pool)
	inner, giveInner := WithCycle(outer, nil)
	b, done := New(inner)
	g.Expect(b.Literal(maxRendered)).To(Succeed())
	g.Expect(pool.Used()).To(BeNumerically(">", 0))
	other, otherDone := New(outer)
	g.Expect(other.Literal(maxRendered)).To(Succeed(), "the inner one's output is not the outer one's")
	otherDone()
	done()
	giveInner()
	giveOuter()
	g.Expect(pool.Used()).To(BeZero())
}

// Pools are shared by all workers.
func TestPool_concurrent(t *testing.T) {
	g := NewWithT(t)
	process := NewPool(1<<40, nil)
	box := NewPool(1<<40, process)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				ctx, giveBack := WithCycle(t.Context(), box)
				b, done := New(ctx)
				if err := errors.Join(b.Allocate(1<<20), b.Output(1<<19)); err != nil {
					t.Error(err)
				}
				done()
				giveBack()
			}
		})
	}
	all.Wait()
	g.Expect([]int64{box.Used(), process.Used()}).To(Equal([]int64{0, 0}))
}

// Every limit is named with its size; where the limit alone does not say what to do, the error does.
func TestOver(t *testing.T) {
	for limit, want := range map[Limit]string{
		Output:     "over the output limit of a template (1 MiB)",
		Memory:     "over the memory limit of a template (16 MiB)",
		Work:       "over the work limit of a template (100000000 bytes and elements)",
		Iterations: "over the iterations limit of a template (10000)",
		Depth:      "over the depth limit of a template (32 template calls inside one another)",
		Nesting:    "over the nesting limit of a template (100 levels)",
		Time:       "over the time limit of a template (1s)",
		Pattern:    "over the pattern limit of a template (16384 instructions): repeat less, since {1,900} counts 900 times",
		Search:     "over the search limit of a template (instructions of the pattern times bytes of the text: 4194304): search in less text, or by a pattern that repeats less",
		Rendered:   "over the limit of what the templates of one resource may give in one reconcile (8 MiB)",
		Cost:       "over the cost limit of a CEL expression (1000000 units)",
		CELTime:    "over the time limit of a CEL expression (5s)",
	} {
		NewWithT(t).Expect(Over(limit).Error()).To(Equal(want))
	}
}
