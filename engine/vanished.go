package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// vanished are resources that are gone although our finalizer held them, and that nobody has cleaned up after: the API server
// removes an object whose deletion was under way when its first finalizer was added. The garbage collector takes the children
// that name their owner; those in other namespaces, and those of a box with onDelete, would stay for ever.
type vanished struct {
	mu  sync.Mutex
	all map[types.NamespacedName][]leftover // guarded by mu
}

// otherCleansUp is how long a process that does not lead remembers what vanished: the one that leads has cleaned up by then, or another
// leads.
const otherCleansUp = time.Minute

// note takes in the last state of a resource that is gone. One that was deleted as it should be had a deletion time, and was
// cleaned up; one without our finalizer was let go.
func (v *vanished) note(obj *unstructured.Unstructured, due time.Time) {
	if obj.GetDeletionTimestamp() != nil || !marked(obj) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[types.NamespacedName][]leftover{}
	}
	v.all[keyOf(obj)] = append(v.all[keyOf(obj)], leftover{owner: obj, due: due})
}

// keys gives the names of what vanished.
func (v *vanished) keys() []types.NamespacedName {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.all))
}

// expire forgets what another process has cleaned up after by now.
func (v *vanished) expire(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, all := range v.all {
		v.keep(key, slices.DeleteFunc(all, func(l leftover) bool { return now.After(l.due) }))
	}
}

// keep needs the lock.
func (v *vanished) keep(key types.NamespacedName, left []leftover) {
	v.all[key] = left
	if len(left) == 0 {
		delete(v.all, key)
	}
}

// of gives the resources of a name that vanished, and that are still to be cleaned up after.
func (v *vanished) of(key types.NamespacedName) []*unstructured.Unstructured {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []*unstructured.Unstructured
	for _, l := range v.all[key] {
		all = append(all, l.owner)
	}
	return all
}

// done ends the clean-up after one of them.
func (v *vanished) done(key types.NamespacedName, uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.keep(key, slices.DeleteFunc(v.all[key], func(l leftover) bool { return l.owner.GetUID() == uid }))
}

// gone takes in that a resource is no more.
func (b *box) gone(obj *unstructured.Unstructured) {
	b.vanished.note(obj, b.engine.config.Clock.Now().Add(otherCleansUp))
	b.missed(obj)
}

// missed takes in that a resource is no more whose end nobody has seen. It was held when it was last seen, but may have been let go
// since, and its children are to stay then. So it is not taken for one that vanished: what would be deleted could not be brought back.
func (b *box) missed(obj *unstructured.Unstructured) {
	now := b.engine.config.Clock.Now()
	if !b.queue.IsOpen() {
		// What another process that leads has not come to is found when this one takes over.
		if !b.engine.Leading() {
			b.vanished.expire(now)
		}
		b.states.forget(keyOf(obj))
		return
	}
	b.remains.note(obj, now.Add(collectDelay))
	b.queue.Enqueue(0, keyOf(obj))
}

// tidyInterval is the time between two looks at what a resource that vanished has left.
const tidyInterval = time.Second

// tidy deletes the children of resources of a name that vanished, but for those that are to outlive their resource. It says
// whether it must be called again.
func (b *box) tidy(ctx context.Context, key types.NamespacedName) (again bool) {
	for _, gone := range b.vanished.of(key) {
		err := b.writer.ResolveUnconfirmed(ctx, gone.GetUID())
		left := false
		if err == nil {
			left, err = b.deleteChildren(ctx, gone)
		}
		if err != nil {
			log.FromContext(ctx).Error(err, "Children of a resource that vanished could not be deleted")
		}
		if err != nil || left {
			again = true
			continue
		}
		log.FromContext(ctx).Info("Cleaned up after a resource that vanished although it was held", "uid", gone.GetUID())
		b.vanished.done(key, gone.GetUID())
	}
	return again
}
