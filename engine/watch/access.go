package watch

import (
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// access says whether the API server refuses to list and watch a kind, so that those who wait for the informer need not wait for ever.
// It is safe for concurrent use.
type access struct {
	mu      sync.Mutex
	blocked chan struct{} // closed while it refuses; guarded by mu
	refusal error         // why it does; nil: it does not; guarded by mu
}

// refuses gives a channel that is closed while the API server refuses to read the kind.
func (a *access) refuses() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.blocked
}

// refused gives why the API server refuses to read the kind: ErrNotServed where it does not know it. nil: it does not refuse.
func (a *access) refused() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refusal
}

// answered notes how the API server answered, after how many tries. One 403 or 404 is no refusal yet: both pass by themselves where a
// right or a CRD is new. Other errors change nothing.
func (a *access) answered(err error, tries int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	refusal := a.refusal
	switch {
	case err == nil:
		refusal = nil
	case apierrors.IsNotFound(err) && tries >= unservedTries:
		refusal = ErrNotServed
	case apierrors.IsForbidden(err) && tries >= forbiddenTries:
		refusal = err
	}
	switch {
	case a.refusal == nil && refusal != nil:
		close(a.blocked)
	case a.refusal != nil && refusal == nil:
		a.blocked = make(chan struct{})
	}
	a.refusal = refusal
}
