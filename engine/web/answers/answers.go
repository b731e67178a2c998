// Package answers keeps what an API server has said for some time, so that many pages ask it once.
package answers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// Kept keeps the answers to questions. It is safe for concurrent use.
type Kept[K comparable, V any] struct {
	clock   clock.PassiveClock
	most    int
	timeout time.Duration
	asking  singleflight.Group // by question: many pages ask the same at once

	mu  sync.Mutex
	all map[K]answer[V] // guarded by mu
}

// answer is believed until a time.
type answer[V any] struct {
	value V
	err   error
	until time.Time
}

// New keeps so many answers at most, and lets no question take longer than a time.
func New[K comparable, V any](clk clock.PassiveClock, most int, timeout time.Duration) *Kept[K, V] {
	return &Kept[K, V]{clock: clk, most: most, timeout: timeout, all: map[K]answer[V]{}}
}

// Get gives the answer to a question: the one that is believed, or else what ask gives now. Who asks the same meanwhile waits for the same answer. ask
// says for how long its answer is believed from when it was asked, also where that is an error; 0: it is not kept.
func (k *Kept[K, V]) Get(ctx context.Context, of K, ask func(context.Context) (V, time.Duration, error)) (V, error) {
	if one, known := k.recall(of); known {
		return one.value, one.err
	}
	shared, _, _ := k.asking.Do(fmt.Sprintf("%#v", of), func() (any, error) {
		if one, known := k.recall(of); known {
			return one, nil // the call before this one has asked
		}
		// Others wait for this answer, too: it must not fail because the page that happens to ask is closed.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.timeout)
		defer cancel()
		var one answer[V]
		var life time.Duration
		asked := k.clock.Now()
		one.value, life, one.err = ask(bounded)
		one.until = asked.Add(life)
		k.note(of, one)
		return one, nil
	})
	one, _ := shared.(answer[V]) // the function above gives nothing else
	return one.value, one.err
}

// believed says whether an answer is young enough.
func (k *Kept[K, V]) believed(one answer[V]) bool { return k.clock.Now().Before(one.until) }

func (k *Kept[K, V]) recall(of K) (answer[V], bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, found := k.all[of]
	return one, found && k.believed(one)
}

// note keeps an answer. Where there are too many, those that nobody believes any more go, and if they are too many still, all: each is asked for anew.
func (k *Kept[K, V]) note(of K, one answer[V]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.believed(one) {
		return
	}
	if len(k.all) >= k.most {
		for other, old := range k.all {
			if !k.believed(old) {
				delete(k.all, other)
			}
		}
		if len(k.all) >= k.most {
			clear(k.all)
		}
	}
	k.all[of] = one
}
