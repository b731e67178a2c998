package worker

import (
	"context"
	"sync"
)

// Places are a semaphore of one box in front of one of all boxes: they bound how many do something at the same time. The box's own
// place is taken first, so that a busy box waits for itself, and does not fill the line for the shared places.
type Places struct {
	own, shared chan struct{}
}

// NewPlaces gives one box its part of shared places: half of them, at least one, so that no box can take them all.
func NewPlaces(shared chan struct{}) Places {
	return Places{own: make(chan struct{}, max(1, cap(shared)/2)), shared: shared}
}

// Take waits for a place. It fails only where ctx ends first.
func (p Places) Take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.own <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case p.shared <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-p.own
		return ctx.Err()
	}
}

// Leave gives a place back.
func (p Places) Leave() {
	<-p.shared
	<-p.own
}

// Slot is the right of one reconcile to run: it holds one of the places that all boxes share, and can give it back and take it again
// while the reconcile goes on. It is used by one goroutine, but for lapse, which the timer of its deadline calls.
type Slot struct {
	places Places

	mu     sync.Mutex
	held   bool // guarded by mu
	lapsed bool // guarded by mu
}

// NewSlot gives a slot that is not held yet.
func NewSlot(places Places) *Slot { return &Slot{places: places} }

// Take waits for the slot, unless it is held, and says whether it is held then. It says false only where ctx ended first, or the
// reconcile is past its deadline.
func (s *Slot) Take(ctx context.Context) bool {
	if s.Held() {
		return true
	}
	if s.places.Take(ctx) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The deadline may have passed while Take waited for a place. Nobody would give that back.
	if s.held = !s.lapsed; !s.held {
		s.places.Leave()
	}
	return s.held
}

// Held says whether the slot is held.
func (s *Slot) Held() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Leave gives the slot back, if it is held.
func (s *Slot) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		s.places.Leave()
		s.held = false
	}
}

// Most is how many reconciles of the box may run at the same time.
func (s *Slot) Most() int { return cap(s.places.own) }

// lapse takes the slot from a reconcile that is past its deadline, and keeps it from taking another until it goes on.
func (s *Slot) lapse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		s.places.Leave()
	}
	s.held, s.lapsed = false, true
}

// resume lets a reconcile that was past its deadline take a slot again: what hung in it has ended.
func (s *Slot) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapsed = false
}
