package engine

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// fullSpeed is how many boxes may use up their own limits of requests at the same time: the cap of the process over all boxes
// is this many times the limit of one.
const fullSpeed = 5

// limiter holds the requests of one box back where the manager has been given a rate: first by the box's own limit, then by the
// cap that all boxes share. Who has used up his own has not asked for what is shared yet, so that a busy box can't take all of it.
// It counts for the look that sends. By default there is no rate: the API server's own priority and fairness says who waits, and
// what bounds a box is how many of its requests may be in flight.
type limiter struct {
	flowcontrol.RateLimiter // of the box

	shared flowcontrol.RateLimiter
}

// newLimiter gives the limiter of one box.
func newLimiter(config *rest.Config, shared flowcontrol.RateLimiter) limiter {
	return limiter{RateLimiter: bucket(config, 1), shared: shared}
}

// bucket gives a limiter of times the requests that a configuration allows; one that always agrees where it sets no limit.
func bucket(config *rest.Config, times int) flowcontrol.RateLimiter {
	if config.QPS <= 0 {
		return flowcontrol.NewFakeAlwaysRateLimiter()
	}
	burst := config.Burst
	if burst <= 0 {
		burst = max(rest.DefaultBurst, int(config.QPS))
	}
	return flowcontrol.NewTokenBucketRateLimiter(config.QPS*float32(times), burst*times)
}

// Wait implements flowcontrol.RateLimiter.
func (l limiter) Wait(ctx context.Context) error {
	if n, ok := ctx.Value(sentKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
	if err := l.RateLimiter.Wait(ctx); err != nil {
		return err
	}
	return l.shared.Wait(ctx)
}

// TryAccept implements flowcontrol.RateLimiter.
func (l limiter) TryAccept() bool { return l.RateLimiter.TryAccept() && l.shared.TryAccept() }

// Accept implements flowcontrol.RateLimiter.
func (l limiter) Accept() {
	l.RateLimiter.Accept()
	l.shared.Accept()
}

// sentKey is the key of the counter of a look's requests in its context.
type sentKey struct{}

// countSent gives a context in which the requests of a look are counted.
func countSent(ctx context.Context) (counted context.Context, sent *atomic.Int64) {
	sent = new(atomic.Int64)
	return context.WithValue(ctx, sentKey{}, sent), sent
}

// heldBack says whether a cycle has to wait that only time asked for, at a resource that fails, and queues it again. Those cycles
// share a part of the box's requests, so that ten thousand resources that fail are no load.
func (b *box) heldBack(plan *pipeline.Plan, key types.NamespacedName, st *state) bool {
	wait, price := b.share.admit(key)
	if st.price = price; wait == 0 {
		return false
	}
	b.engine.config.Metrics.Reconciled(b.name, metrics.ResultSkipped, 0)
	b.queue.low(min(wait, b.resync(plan)), reconcile.Request{NamespacedName: key})
	return true
}

// settle pays for a look that was admitted. One that succeeded costs nothing, and lets the next one go: when what all of them
// waited for is there, they are done as fast as the box can.
func (b *box) settle(st *state, sent int64) {
	if st.price == 0 {
		return
	}
	price := st.price
	st.price = 0
	if st.class != "" {
		b.share.spent(price, sent)
		return
	}
	b.letNext(b.share.back(price))
}

// letNext queues one that was let go before its turn.
func (b *box) letNext(next types.NamespacedName, ok bool) {
	if ok {
		b.queue.low(0, reconcile.Request{NamespacedName: next})
	}
}
