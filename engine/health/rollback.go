package health

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// rolledBack counts the resources of a box that are rolled back.
type rolledBack struct {
	count  int32
	since  time.Time // when the first of them was
	reason string    // of that one
}

// SetRolledBack notes why a resource is rolled back; with an empty reason it is not. It counts neither as a success nor as a failure.
func (t *Tracker) SetRolledBack(name types.NamespacedName, reason string) {
	t.change(func() notice {
		r := t.resources[name]
		if r == nil && reason == "" {
			return quiet
		}
		return t.get(name).setRolledBackLocked(t, reason)
	})
}

// setRolledBackLocked notes whether the resource is rolled back, and why. The lock is that of the tracker.
func (r *resource) setRolledBackLocked(t *Tracker, reason string) notice {
	was := r.rolledBack
	r.rolledBack = reason != ""
	switch {
	case was == r.rolledBack:
		return quiet
	case was:
		t.back.count--
	default:
		t.back.count++
		// Before the first reconcile of a resource, its mark is one that a former process has counted: the time that was restored stays.
		if t.back.count == 1 && (t.back.since.IsZero() || r.observed) {
			t.back.since, t.back.reason = t.clock.Now(), reason
		}
	}
	if t.back.count == 0 {
		t.back = rolledBack{}
	}
	return urgent
}

// restoreRollback takes over since when and why resources are rolled back. How many are is counted by their marks.
func (t *Tracker) restoreRollback(s *v1alpha1.RollbackStatus) {
	t.back = rolledBack{}
	if s != nil && s.Active {
		t.back.since, t.back.reason = timeOf(s.Since), s.Reason
	}
}

// status is what CRDHealth shows.
func (b rolledBack) status() v1alpha1.RollbackStatus {
	if b.count == 0 {
		return v1alpha1.RollbackStatus{}
	}
	return v1alpha1.RollbackStatus{Active: true, Count: b.count, Since: stamp(b.since), Reason: b.reason}
}

// Degraded says whether the failures in a row have reached the threshold.
func (t *Tracker) Degraded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.degradedLocked()
}

// InFailure gives the resources whose last reconcile failed.
func (t *Tracker) InFailure() []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []types.NamespacedName
	for name, r := range t.resources {
		if r.failures > 0 {
			names = append(names, name)
		}
	}
	return names
}

// rollbackOf is what a status shows; nil for a box without rollback.
func rollbackOf(old *v1alpha1.RollbackStatus, r Report) *v1alpha1.RollbackStatus {
	switch {
	case !r.RollsBack:
		return nil
	case r.Phase != Running && r.Snapshot.blank():
		return old.DeepCopy()
	default:
		return &r.Snapshot.Rollback
	}
}
