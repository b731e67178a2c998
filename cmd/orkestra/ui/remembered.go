package ui

import (
	"sync"
	"time"
)

// remembered keeps an answer for some time, so that many pages ask once.
type remembered[T any] struct {
	life time.Duration

	mu    sync.Mutex
	at    time.Time // guarded by mu
	value T         // guarded by mu
	err   error     // guarded by mu
}

func newRemembered[T any](life time.Duration) *remembered[T] { return &remembered[T]{life: life} }

// get gives the answer, asking where it is not there or too old. Who asks at the same time waits for the same answer.
func (r *remembered[T]) get(ask func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) > r.life {
		r.value, r.err = ask()
		r.at = time.Now()
	}
	return r.value, r.err
}
