package center

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// listLife is how long a list of the API server is shown before it is asked for again, and listTimeout how long one may take.
const listLife, listTimeout = 10 * time.Second, 10 * time.Second

// Kept keeps answers for some time, so that many pages ask once. It is safe for concurrent use.
type Kept[T any] struct {
	clock  clock.PassiveClock
	life   time.Duration
	most   int
	asking singleflight.Group // by name

	mu  sync.Mutex
	all map[string]kept[T] // guarded by mu
}

type kept[T any] struct {
	at    time.Time
	value T
	err   error
}

// NewKept keeps each answer for a time, and at most so many of them.
func NewKept[T any](clk clock.PassiveClock, life time.Duration, most int) *Kept[T] {
	return &Kept[T]{clock: clk, life: life, most: most, all: map[string]kept[T]{}}
}

// Get gives the answer of a name, asking where there is none, or an old one. Who asks at the same time waits for the same answer. An error is kept
// as well: what fails is not asked for more often than what does not.
func (k *Kept[T]) Get(ctx context.Context, name string, ask func(context.Context) (T, error)) (T, error) {
	if one, known := k.recall(name); known {
		return one.value, one.err
	}
	shared, _, _ := k.asking.Do(name, func() (any, error) {
		if one, known := k.recall(name); known {
			return one, nil // the call before this one has asked
		}
		// Others wait for this answer, too: it must not fail because the page that happens to ask is closed.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTimeout)
		defer cancel()
		one := kept[T]{at: k.clock.Now()}
		one.value, one.err = ask(bounded)
		k.note(name, one)
		return one, nil
	})
	one, _ := shared.(kept[T]) // the function above gives nothing else
	return one.value, one.err
}

func (k *Kept[T]) recall(name string) (kept[T], bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, found := k.all[name]
	return one, found && k.clock.Since(one.at) < k.life
}

// note keeps an answer. Where there are too many, those that are too old go, and if there are too many still, all: each is asked for anew.
func (k *Kept[T]) note(name string, one kept[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) >= k.most {
		for other, old := range k.all {
			if k.clock.Since(old.at) >= k.life {
				delete(k.all, other)
			}
		}
		if len(k.all) >= k.most {
			clear(k.all)
		}
	}
	k.all[name] = one
}
