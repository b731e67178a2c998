package worker

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// The shortest and the longest delay of a backoff: those of client-go's rate limiters.
const (
	firstDelay = 5 * time.Millisecond
	maxDelay   = 1000 * time.Second
	// longestUnreached is the longest delay while the API server can't be reached. It is back all at once, and the Retries of each box keep
	// what has failed meanwhile from being a load.
	longestUnreached = 5 * time.Second
)

// Backoff says when a resource is tried again that failed for a reason that may go away by itself: a transient error, or a panic. The
// zero value is that of a resource that has not failed.
type Backoff struct {
	failures int // in a row, since it last started with short delays
	restarts int // how often it has started so, without a success
}

// Next gives the time to the next attempt, and whether that is one at resync. A resource that has not been reconciled for resync
// starts again with short delays, but each such restart without a success doubles the first of them, so that many failing resources
// do not become a load.
func (b *Backoff) Next(resync time.Duration) (delay time.Duration, atResync bool) {
	delay = min(doubled(firstDelay, b.restarts), resync)
	delay = min(doubled(delay, b.failures), maxDelay)
	if delay < resync {
		b.failures++
		return delay, false
	}
	b.failures = 0
	b.restarts++
	return resync, true
}

// Unreached gives the time to the next attempt of a resource whose failure most likely has nothing to do with it: the API server could not be
// reached. The delays double as others do, up to five seconds, so that the resource is mended soon after the API server is back, however long that takes.
func (b *Backoff) Unreached(resync time.Duration) time.Duration {
	delay := min(doubled(firstDelay, b.failures), longestUnreached)
	if delay < longestUnreached {
		b.failures++
	}
	return min(delay, resync)
}

// Reset starts over: the resource succeeded.
func (b *Backoff) Reset() { *b = Backoff{} }

// doubled doubles d n times, up to maxDelay.
func doubled(d time.Duration, n int) time.Duration {
	for range n {
		if d >= maxDelay {
			return maxDelay
		}
		d *= 2
	}
	return d
}

const (
	// retryRate is how many requests per second the retries of one box may send, and retryBurst how many of them can be saved up, for
	// resources that fail now and then.
	retryRate, retryBurst = 10, 100
	// retryShare is the part of a box's requests that its retries may send where the manager has been given a rate.
	retryShare = 0.1
	// admittedNext is how many waiting retries begin when one succeeds. With two, their number doubles: when what thousands of
	// resources wait for is there, all are done after a few rounds, without waiting for the budget.
	admittedNext = 2
)

// Retries is the budget of requests for the retries of one box: reconciles of failing resources for no other reason than that time has
// passed. It keeps ten thousand failing resources from being a load. A retry may begin while the budget is not overdrawn; what it has
// sent is charged when it has failed, since nobody knows before what that will be. It is safe for concurrent use.
type Retries struct {
	clock       clock.PassiveClock
	rate, burst float64 // requests per second, and how many can be saved up

	mu   sync.Mutex
	left float64   // requests; below zero: the budget is overdrawn. Guarded by mu
	at   time.Time // when left was computed; guarded by mu
	cost float64   // requests of the last retry that failed, which estimates the next one; guarded by mu
	// waiting are the resources that were not admitted, with the time of their turn. The zero time: AdmitNext has admitted them, and
	// they begin whatever is left. Guarded by mu.
	waiting map[types.NamespacedName]time.Time
}

// NewRetries gives a budget of which nothing is used. With a QPS in config it is a tenth of that, or else 10 requests per second.
func NewRetries(config *rest.Config, clk clock.PassiveClock) *Retries {
	rate, burst := float64(retryRate), float64(retryBurst)
	if qps := float64(config.QPS); qps > 0 {
		rate, burst = qps*retryShare, max(1, qps)
	}
	return &Retries{clock: clk, rate: rate, burst: burst, left: burst, at: clk.Now(), cost: 1, waiting: map[types.NamespacedName]time.Time{}}
}

// Admit says how long a retry has to wait until it asks again; 0: it begins.
func (r *Retries) Admit(key types.NamespacedName) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refillLocked()
	turn, waits := r.waiting[key]
	others := len(r.waiting)
	if waits {
		others--
	}
	// Its turn is when the budget has grown by what the others that wait will send. It may be sooner than was computed before: some of
	// them have left, or the clock was set back.
	if soonest := r.at.Add(r.time(r.cost*float64(others) - r.left)); !waits || soonest.Before(turn) {
		turn = soonest
	}
	wait = max(turn.Sub(r.at), r.time(-r.left))
	if wait <= 0 || turn.IsZero() {
		delete(r.waiting, key)
		return 0
	}
	r.waiting[key] = turn
	return wait
}

// time is how long it takes the budget to grow by so many requests.
func (r *Retries) time(requests float64) time.Duration {
	return time.Duration(requests / r.rate * float64(time.Second))
}

// Charge takes from the budget what a retry has sent that failed.
func (r *Retries) Charge(requests int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refillLocked()
	r.left -= float64(requests)
	r.cost = max(1, float64(requests))
}

// AdmitNext is called when a retry has succeeded; that one is not charged. It admits some of the resources that wait, and gives them:
// what they all wait for may be there now. Which ones does not matter, so the order of the map will do.
func (r *Retries) AdmitNext() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next []types.NamespacedName
	for key, turn := range r.waiting {
		if len(next) == admittedNext {
			break
		}
		if !turn.IsZero() {
			next = append(next, key)
			r.waiting[key] = time.Time{}
		}
	}
	return next
}

// Forget says that a resource waits for no retry any more: it is gone, or has changed.
func (r *Retries) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, key)
}

// refillLocked adds what the rate gives for the time since it was last called. A clock that was set back adds nothing, and counts
// from there.
func (r *Retries) refillLocked() {
	now := r.clock.Now()
	r.left = min(r.burst, r.left+max(0, now.Sub(r.at).Seconds())*r.rate)
	r.at = now
}
