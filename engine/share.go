package engine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
)

const (
	// retryRate is how many requests per second looks at failing resources may use that only time asked for; retryBurst is how many
	// of them can be saved up, for a few that fail now and then.
	retryRate, retryBurst = 10, 100
	// failingShare is the part of a box's requests that these looks may use where the manager has been given a rate.
	failingShare = 0.1
)

// share is a bucket of requests for those who try again. Nobody waits in it: who is not admitted comes back later. It is safe
// for concurrent use.
type share struct {
	clock clock.PassiveClock
	rate  float64 // requests per second
	most  float64 // that can be saved up, for a few that fail now and then

	mu     sync.Mutex
	tokens float64   // negative: what has been promised; guarded by mu
	at     time.Time // of tokens; guarded by mu
	cost   float64   // what a look is taken to cost; guarded by mu
	// waiting are those who were not admitted, and queue their order, in which some may have left; guarded by mu.
	waiting map[types.NamespacedName]promise
	queue   []types.NamespacedName
	// first are those who were let go before their turn, and have not been looked at since; guarded by mu.
	first map[types.NamespacedName]bool
}

// promise is what one who waits has been promised.
type promise struct {
	turn  time.Time // from which it is admitted
	price float64   // that it has paid
}

func newShare(config *rest.Config, clk clock.PassiveClock) *share {
	rate, most := float64(retryRate), float64(retryBurst)
	if qps := float64(config.QPS); qps > 0 {
		rate, most = qps*failingShare, max(1, qps)
	}
	return &share{
		clock: clk, rate: rate, most: most, tokens: most, at: clk.Now(), cost: 1,
		waiting: map[types.NamespacedName]promise{}, first: map[types.NamespacedName]bool{},
	}
}

// admit says how long a look has to wait until it asks again; 0: it is admitted, for a price that spent or back is told. Who has
// to wait has a time of his own from then on, so that nobody who comes later takes it from him.
func (s *share) admit(key types.NamespacedName) (wait time.Duration, price float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill()
	if p, waits := s.waiting[key]; waits {
		if wait := p.turn.Sub(s.at); wait > 0 {
			return wait, 0
		}
		s.drop(key)
		delete(s.first, key)
		return 0, p.price
	}
	s.tokens -= s.cost
	if s.tokens >= 0 {
		return 0, s.cost
	}
	wait = max(time.Millisecond, time.Duration(-s.tokens/s.rate*float64(time.Second)))
	s.waiting[key] = promise{turn: s.at.Add(wait), price: s.cost}
	s.queue = append(s.queue, key)
	return wait, 0
}

// spent charges a look that was admitted for a price, and failed, for the requests that it has sent. The next ones are taken to
// cost as much.
func (s *share) spent(price float64, requests int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill()
	s.tokens = min(s.most, s.tokens+price-float64(requests))
	s.cost = max(1, float64(requests))
}

// back gives the price of a look back that succeeded, and lets the one go that has waited longest; ok is false where none waits.
func (s *share) back(price float64) (next types.NamespacedName, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill()
	s.tokens = min(s.most, s.tokens+price)
	return s.letGo()
}

// passOn lets the next one go where a look has ended for which its turn came early, and which was none of those that are admitted:
// something had changed, or it was not due. Otherwise all who come after it would wait for their own turn.
func (s *share) passOn(key types.NamespacedName) (next types.NamespacedName, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.first[key] {
		return types.NamespacedName{}, false
	}
	delete(s.first, key)
	s.refill()
	return s.letGo()
}

// letGo needs the lock.
func (s *share) letGo() (next types.NamespacedName, ok bool) {
	for len(s.queue) > 0 {
		next, s.queue = s.queue[0], s.queue[1:]
		if p, waits := s.waiting[next]; waits && p.turn.After(s.at) {
			s.waiting[next] = promise{turn: s.at, price: p.price}
			s.first[next] = true
			return next, true
		}
	}
	return types.NamespacedName{}, false
}

// forget lets go of one that does not wait any more.
func (s *share) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, waits := s.waiting[key]; waits {
		s.tokens = min(s.most, s.tokens+p.price)
		s.drop(key)
	}
}

// drop needs the lock. It leaves no more in the queue than twice what waits.
func (s *share) drop(key types.NamespacedName) {
	delete(s.waiting, key)
	switch {
	case len(s.waiting) == 0:
		s.queue = nil
	case len(s.queue) > 2*len(s.waiting):
		kept := make([]types.NamespacedName, 0, len(s.waiting))
		seen := make(map[types.NamespacedName]bool, len(s.waiting))
		for _, k := range s.queue {
			if _, waits := s.waiting[k]; waits && !seen[k] {
				seen[k] = true
				kept = append(kept, k)
			}
		}
		s.queue = kept
	}
}

// refill needs the lock. A clock that was set back keeps nobody waiting for longer than he was told.
func (s *share) refill() {
	now := s.clock.Now()
	passed := now.Sub(s.at)
	if passed < 0 {
		for key, p := range s.waiting {
			s.waiting[key] = promise{turn: p.turn.Add(passed), price: p.price}
		}
	}
	s.tokens = min(s.most, s.tokens+max(0, passed.Seconds())*s.rate)
	s.at = now
}

// heldBack says whether a cycle has to wait that only time asked for, at a resource that fails, and queues it again. Those cycles
// share a part of the box's requests, so that ten thousand resources that fail are no load.
func (b *box) heldBack(plan *pipeline.Plan, key types.NamespacedName, st *state) bool {
	wait, price := b.share.admit(key)
	if st.price = price; wait == 0 {
		return false
	}
	b.engine.config.Metrics.Reconciled(b.name, metrics.ResultSkipped, 0)
	b.queue.EnqueueLow(min(wait, b.resync(plan)), key)
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
		b.queue.EnqueueLow(0, next)
	}
}
