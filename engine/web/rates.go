package web

import (
	"sync"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/orkspace/orkestra/engine/web/person"
)

const (
	// rateEach and burstEach are how many questions somebody may ask per second, and at once. A page asks at most eight per second; somebody may
	// have some open.
	rateEach, burstEach = 100, 300
	// rateShared and burstShared are those of all who have not said who they are.
	rateShared, burstShared = 300, 900
	// maxRates is of how many people the rate is known; of who has not asked for the longest time it is forgotten.
	maxRates = 1000
)

// rate is how often something may be done.
type rate struct {
	each  float32 // per second
	burst int     // at once
}

// rates bounds how often people ask, each by themselves. It is safe for concurrent use.
type rates struct {
	clock clock.PassiveClock
	// each is that of somebody, and shared that of all who have not said who they are.
	each, shared rate

	mu    sync.Mutex
	known *lru.Cache // flowcontrol.PassiveRateLimiter by person; guarded by mu, so that each person gets one
}

func newRates(c clock.PassiveClock, each, shared rate) *rates {
	return &rates{clock: c, each: each, shared: shared, known: lru.New(maxRates)}
}

// accept says whether somebody may ask now.
func (r *rates) accept(who person.Person) bool {
	return r.of(who).TryAccept()
}

func (r *rates) of(who person.Person) flowcontrol.PassiveRateLimiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := who.Key()
	if known, found := r.known.Get(key); found {
		if limit, ok := known.(flowcontrol.PassiveRateLimiter); ok {
			return limit
		}
	}
	most := r.each
	if who.Shared {
		most = r.shared
	}
	limit := flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(most.each, most.burst, r.clock)
	r.known.Add(key, limit)
	return limit
}
