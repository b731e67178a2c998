package budget

import (
	"context"
	"fmt"
	"sync/atomic"
)

// poolPiece is how much evaluations take from a pool at once: its counter is shared by all workers. A reconcile whose evaluations are
// smaller takes nothing, so that resources of usual size are reconciled even when others have used up the pool.
const poolPiece = 256 << 10

// Pool is the memory that the evaluations of several reconciles may hold at the same time. It is safe for concurrent use.
type Pool struct {
	limit int64
	above *Pool // what is taken here is taken there as well
	used  atomic.Int64
}

// NewPool gives a pool of that many bytes, which are part of another one unless above is nil.
func NewPool(limit int64, above *Pool) *Pool { return &Pool{limit: limit, above: above} }

// Used is how many bytes are taken.
func (p *Pool) Used() int64 { return p.used.Load() }

func (p *Pool) take(n int64) error {
	if p == nil {
		return nil
	}
	if p.used.Add(n) > p.limit {
		p.used.Add(-n)
		return &PoolError{Limit: p.limit}
	}
	if err := p.above.take(n); err != nil {
		p.used.Add(-n)
		return err
	}
	return nil
}

func (p *Pool) give(n int64) {
	for ; p != nil; p = p.above {
		p.used.Add(-n)
	}
}

// PoolError says that other evaluations hold all the memory of a pool. Unlike an ExceededError it may pass: trying again later helps.
type PoolError struct {
	// Limit of the pool, in bytes.
	Limit int64
}

// Error names the limit.
func (e *PoolError) Error() string {
	return fmt.Sprintf("what templates of all resources make at the same time is over its share of the manager's memory (%s); this one is tried again", bytesText(e.Limit))
}

// cycle counts what the evaluations of one reconcile give.
type cycle struct {
	pool     *Pool
	rendered atomic.Int64
	taken    atomic.Int64 // of the pool
}

type cycleKey struct{}

// WithCycle gives a context for the evaluations of one reconcile: the size of all their results is limited, and taken from the pool until
// the second result is called. A nil pool means that of the context, or none.
func WithCycle(ctx context.Context, pool *Pool) (context.Context, func()) {
	if outer := cycleOf(ctx); pool == nil && outer != nil {
		pool = outer.pool
	}
	c := &cycle{pool: pool}
	return context.WithValue(ctx, cycleKey{}, c), func() { pool.give(c.taken.Load()) }
}

func cycleOf(ctx context.Context) *cycle {
	c, _ := ctx.Value(cycleKey{}).(*cycle) // nil: the evaluation belongs to no reconcile
	return c
}

// render counts bytes that an evaluation gives.
func (c *cycle) render(n int) error {
	if c == nil || n == 0 {
		return nil
	}
	total := c.rendered.Add(int64(n))
	if total > maxRendered {
		return Over(Rendered)
	}
	for taken := c.taken.Load(); total-taken > poolPiece; taken = c.taken.Load() {
		if err := c.pool.take(poolPiece); err != nil {
			return err
		}
		c.taken.Add(poolPiece)
	}
	return nil
}
