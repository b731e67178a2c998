package engine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// failingShare is the part of a box's requests that looks at failing resources may use that only time asked for.
	failingShare = 0.1
	// unlimited is what a box without a limit of its own is taken to have: what orkestra manager gives by default.
	unlimited = 100
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
	// waiting are those who were not admitted, with the time from which they are, and queue their order, in which some may have
	// left; guarded by mu.
	waiting map[types.NamespacedName]time.Time
	queue   []types.NamespacedName
}

func newShare(config *rest.Config, clk clock.PassiveClock) *share {
	qps, _ := limitsOf(config)
	if qps < 0 {
		qps = unlimited
	}
	return &share{
		clock: clk, rate: float64(qps) * failingShare, most: max(1, float64(qps)), tokens: max(1, float64(qps)), at: clk.Now(), cost: 1,
		waiting: map[types.NamespacedName]time.Time{},
	}
}

// admit says how long a look has to wait until it asks again; 0: it is admitted. Who has to wait has a time of his own from then
// on, so that nobody who comes later takes it from him.
func (s *share) admit(key types.NamespacedName) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill()
	if turn, waits := s.waiting[key]; waits {
		if wait := turn.Sub(s.at); wait > 0 {
			return wait
		}
		s.drop(key)
		return 0
	}
	s.tokens -= s.cost
	if s.tokens >= 0 {
		return 0
	}
	wait := max(time.Millisecond, time.Duration(-s.tokens/s.rate*float64(time.Second)))
	s.waiting[key] = s.at.Add(wait)
	s.queue = append(s.queue, key)
	return wait
}

// spent charges a look that was admitted, and failed, for the requests that it has sent. The next ones are taken to cost as much.
func (s *share) spent(requests int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill()
	s.tokens = min(s.most, s.tokens+s.cost-float64(requests))
	s.cost = max(1, float64(requests))
}

// back takes the payment for a look back that succeeded, and lets the one go that has waited longest; ok is false where none
// waits.
func (s *share) back() (next types.NamespacedName, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill()
	s.tokens = min(s.most, s.tokens+s.cost)
	for len(s.queue) > 0 {
		next, s.queue = s.queue[0], s.queue[1:]
		if turn, waits := s.waiting[next]; waits && turn.After(s.at) {
			s.waiting[next] = s.at
			return next, true
		}
	}
	return types.NamespacedName{}, false
}

// forget lets go of one that does not wait any more.
func (s *share) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waits := s.waiting[key]; waits {
		s.tokens = min(s.most, s.tokens+s.cost)
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

// refill needs the lock.
func (s *share) refill() {
	now := s.clock.Now()
	s.tokens = min(s.most, s.tokens+max(0, now.Sub(s.at).Seconds())*s.rate)
	s.at = now
}
