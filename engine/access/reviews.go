package access

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/identity"
)

const (
	// RetryInterval is how long a refusal is believed: what lacks a right asks for it again after that time.
	RetryInterval = 15 * time.Second
	// ReadLife is how long the grant of a right to read is believed. What was read under it is withdrawn within this time.
	ReadLife = time.Minute
	// grantLife is how long any other grant is believed.
	grantLife = 10 * time.Minute
	// reviewTimeout bounds one review.
	reviewTimeout = 4 * time.Second
	// sweepAt is how many answers are kept before those are dropped that nobody believes any more.
	sweepAt = 4096
	// maxAnswers is how many answers are kept before those about objects by name are dropped, whose names templates may give: a thousand
	// boxes with a hundred rights each. What is dropped is asked for anew.
	maxAnswers = 100_000
)

// Creator sends a review, and fills in its answer. A client.Client is one.
type Creator interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
}

// Reviews asks the API server what the manager and accounts may do, and keeps the answers for all boxes. It is safe for concurrent use.
type Reviews struct {
	client Creator
	clock  clock.PassiveClock
	denied chan struct{}      // has something in it when a right was refused since it was last read
	missed chan struct{}      // has something in it when a right was lost since it was last read
	asking singleflight.Group // by question: boxes that start together, and resources that wait, ask for the same ones

	mu      sync.Mutex
	granted map[question]time.Time // when the API server last said so; guarded by mu
	refused map[question]refusal   // guarded by mu
	sweep   int                    // how many answers there are before they are swept; guarded by mu
}

// refusal is when the API server refused a right, or did not answer.
type refusal struct {
	at       time.Time
	answered bool
}

// question is what a review asks: whether somebody has a right.
type question struct {
	account identity.Account
	box     string // for which an account acts; empty for the manager
	right   Right
}

// key is one text for each question, for singleflight.
func (q question) key() string {
	return fmt.Sprintf("%s %s %s %s %s", q.account.UID, q.account, q.box, q.right.Namespace, q.right)
}

// NewReviews gives a store without answers.
func NewReviews(c Creator, clk clock.PassiveClock) *Reviews {
	return &Reviews{client: c, clock: clk, denied: make(chan struct{}, 1), missed: make(chan struct{}, 1), granted: map[question]time.Time{}, refused: map[question]refusal{}, sweep: sweepAt}
}

// Of gives the rights of an account that acts for a box; those of the manager for the zero account. A nil *Reviews believes every denial.
func (r *Reviews) Of(account identity.Account, box string) Holder {
	if account.IsManager() {
		box = ""
	}
	return Holder{reviews: r, account: account, box: box}
}

// ask gives what is known, or else what the API server says now: one answer for all who ask the same meanwhile.
func (r *Reviews) ask(ctx context.Context, want question, remembered func() (known, allowed bool)) (bool, error) {
	if known, allowed := remembered(); known {
		return allowed, nil
	}
	answer, err, _ := r.asking.Do(want.key(), func() (any, error) {
		if known, allowed := remembered(); known {
			return allowed, nil // the call before this one has asked
		}
		// Others wait for this answer, too: it must not fail because the reconcile that happens to ask is canceled.
		allowed, err := r.review(context.WithoutCancel(ctx), want)
		r.note(want, allowed, err == nil)
		return allowed, err
	})
	return answer == true, err
}

// believesGrant says whether a grant is known that is younger than its life, and when it was given.
func (r *Reviews) believesGrant(want question, life time.Duration) (at time.Time, believed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.granted[want]
	return at, ok && r.clock.Since(at) < life
}

// believesRefusal says whether a refusal is known that is young enough.
func (r *Reviews) believesRefusal(want question) (known refusal, believed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.refused[want]
	return known, ok && r.clock.Since(known.at) < RetryInterval
}

// note keeps an answer. A refusal does not delete the grant before it: lost does, and says by that whether somebody relied on it.
func (r *Reviews) note(want question, allowed, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropOld()
	if allowed {
		r.granted[want] = r.clock.Now()
		delete(r.refused, want)
		return
	}
	r.refused[want] = refusal{at: r.clock.Now(), answered: answered}
	if answered {
		tell(r.denied)
	}
}

// tell puts something into a channel, unless nobody has read yet what is in it.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Denied tells that a right was refused: somebody waits for it. It is for one reader.
func (r *Reviews) Denied() <-chan struct{} { return r.denied }

// Lost tells that a right was refused that was believed to be there. It is for one reader.
func (r *Reviews) Lost() <-chan struct{} { return r.missed }

// DropRefusals has all that was refused asked for anew, because rights may have changed, and says whether there was any.
func (r *Reviews) DropRefusals() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waited := len(r.refused) > 0
	clear(r.refused)
	return waited
}

// dropOld drops the answers that nobody believes any more, once there are many: names that templates give come and go. Where too many are
// left, it drops some of those, whichever they are. The caller holds the lock.
func (r *Reviews) dropOld() {
	if len(r.granted)+len(r.refused) < r.sweep {
		return
	}
	for want, at := range r.granted {
		if r.clock.Since(at) >= grantLife {
			delete(r.granted, want)
		}
	}
	for want, known := range r.refused {
		if r.clock.Since(known.at) >= RetryInterval {
			delete(r.refused, want)
		}
	}
	const growth = 2 // so that a sweep is paid for by as many answers as it looks at
	dropSome(r.granted, maxAnswers/growth-len(r.refused))
	dropSome(r.refused, maxAnswers/growth)
	r.sweep = max(sweepAt, growth*(len(r.granted)+len(r.refused)))
}

// dropSome leaves at most so many answers, as long as it finds some about objects by name. All others are as many as boxes have rules, and are
// what lost goes by: were they dropped, a box would not be told of a right that it loses, because another asks for many names.
func dropSome[T any](answers map[question]T, most int) {
	for want := range answers {
		if len(answers) <= most {
			return
		}
		if want.right.Name != "" {
			delete(answers, want)
		}
	}
}

// lost drops the grants that a missing right concerns, and says whether there were any.
func (r *Reviews) lost(missing question) (believed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for known := range r.granted {
		if known.account == missing.account && known.box == missing.box && known.right.concerns(missing.right) {
			delete(r.granted, known)
			believed = true
		}
	}
	if believed {
		tell(r.missed)
	}
	return believed
}
