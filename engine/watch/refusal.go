package watch

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// isBlocked gives what is closed while the API server refuses to read the kind.
func (i *informer) isBlocked() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.blocked
}

// refused gives why the API server refuses to read the kind: ErrNotServed where it does not know it. nil: it does not refuse.
func (i *informer) refused() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.refusal
}

// answered notes how the API server answered, after how many tries.
func (i *informer) answered(err error, tries int) {
	refusal := i.refused()
	switch {
	case err == nil:
		refusal = nil
	case apierrors.IsNotFound(err) && tries >= unservedTries:
		refusal = ErrNotServed
	case apierrors.IsForbidden(err) && tries >= forbiddenTries:
		refusal = err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.refusal == nil && refusal != nil:
		close(i.blocked)
	case i.refusal != nil && refusal == nil:
		i.blocked = make(chan struct{})
	}
	i.refusal = refusal
}
