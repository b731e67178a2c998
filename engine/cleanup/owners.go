// Package cleanup deletes the children of owners that went without the stage deletion, which holds a resource by a finalizer until
// its children are gone.
//
// There are two such cases. An owner is lost where the API server removed it although it had our finalizer: that happens when the
// deletion was under way as the first finalizer was added. And children stay in the backlog of the garbage collector where it missed
// that their owner was deleted, because another one was created under the same name while its watch was broken: its relist then looks
// like an update of one object. In both cases the owner is remembered here, and each cycle at its name deletes its children until
// nothing is left.
package cleanup

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
)

const (
	// lostInterval is the time between two tries to clean up after a lost owner.
	lostInterval = time.Second
	// backlogDelay is how long the garbage collector has for the children of an owner that is gone. It mostly takes a second.
	backlogDelay = time.Minute
	// otherCleansUp is how long a follower remembers lost owners. By then the leader has cleaned up after them, or a new leader has
	// taken over with what it remembers itself.
	otherCleansUp = time.Minute
)

// Inventory is what there is of the children of a box.
type Inventory interface {
	// Kinds are all kinds that the box watches, in a fixed order.
	Kinds() []schema.GroupVersionKind
	// Owned gives the children of a resource that the box may have made for it.
	Owned(kind schema.GroupVersionKind, resource *unstructured.Unstructured) []*unstructured.Unstructured
	// WrittenFor gives all objects that are labeled as children of a resource and were applied by Orkestra, in any namespace.
	WrittenFor(kind schema.GroupVersionKind, resource types.UID) []*unstructured.Unstructured
	// Made goes over the children of a kind that the box has.
	Made(kind schema.GroupVersionKind) iter.Seq[*unstructured.Unstructured]
}

// Reader reads resources from the API server, past every cache.
type Reader interface {
	// Gone asks the API server, past every cache, whether a resource no longer exists.
	Gone(ctx context.Context, resource *unstructured.Unstructured) (bool, error)
	// Metadata reads that of a resource from the API server, past every cache; nil: it no longer exists.
	Metadata(ctx context.Context, resource *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Read reads a resource from the API server, past every cache; nil: it no longer exists.
	Read(ctx context.Context, resource *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// Writer deletes children, and reads the resources that they belong to. apply.Writer does.
type Writer interface {
	// Delete deletes a child, unless it changed since it was read.
	Delete(ctx context.Context, child *unstructured.Unstructured) error
	// Orphan takes labels and owner references off a child and leaves it.
	Orphan(ctx context.Context, owner apply.Owner, child *unstructured.Unstructured) error
	Reader
	// ResolveUnconfirmed finds the children of an owner of which it is not known whether they were made.
	ResolveUnconfirmed(ctx context.Context, owner types.UID) error
}

// Snapshots are what is kept of resources to go back to. rollback.Store does.
type Snapshots interface {
	// Keeps says whether there are some of a resource.
	Keeps(resource types.UID) bool
	// Forget deletes those of a resource.
	Forget(ctx context.Context, resource types.UID) error
}

// Owners are the resources of one box that are gone, and whose children it has to delete. It is safe for concurrent use.
type Owners struct {
	// Box that made the children.
	Box string
	// Inventory of the box.
	Inventory Inventory
	// Snapshots of the resources of the box. They lie in the manager's namespace, where no garbage collector finds them.
	Snapshots Snapshots
	// Writer deletes.
	Writer Writer
	// Clock tells the time.
	Clock clock.PassiveClock
	// Plan gives the plan that the box runs.
	Plan func() *pipeline.Plan
	// Changed is called when what Held gives has changed; nil: nobody asks.
	Changed Listener

	mu  sync.Mutex
	all map[types.NamespacedName][]*owner // guarded by mu, and so are the times of each
	// names of those that have left, by UID; guarded by mu.
	names map[types.UID]types.NamespacedName
}

// owner is one resource that is gone.
type owner struct {
	// resource is its last state where it was lost; else an owner stub.
	resource *unstructured.Unstructured
	// lost says that our finalizer held it. Otherwise its children are in the backlog of the garbage collector.
	lost bool
	// left says that it is an object of others that the watch shows no more: it is gone, or not selected any more. marked says that it carries
	// marks of the box, so that it is let go by a cycle of its own (see Leaving), and held that our finalizer is among them.
	left, marked, held bool
	// due is when its children are deleted or looked for next. delay is how far away that was when it was set: if more than that is
	// left, the clock has been set back.
	due   time.Time
	delay time.Duration
	// kept says that there are snapshots of it, which are deleted at once. found says that no event told of its end, so that the API
	// server is asked before.
	kept, found bool
	since       time.Time // when it was remembered
}

// Lost remembers a resource that is gone, by its last state, if it had our finalizer and no deletion time. With a deletion time, the
// stage deletion has taken care of it; without our finalizer, it was let go.
//
// An object of others is not lost because its watch says so: it may have left the selection (see Left).
func (o *Owners) Lost(resource *unstructured.Unstructured) {
	if !o.Plan().CRD.OfOthers && resource.GetDeletionTimestamp() == nil && slices.Contains(resource.GetFinalizers(), v1alpha1.Finalizer) {
		o.add(&owner{resource: resource, lost: true})
	}
}

// Deleted remembers a resource that is gone after it was deleted. Its snapshots are deleted at once. The garbage collector deletes its
// children; after backlogDelay we see whether it did.
//
// An object of others may be there, and not be selected any more: its watch shows that as its end.
func (o *Owners) Deleted(resource *unstructured.Unstructured) {
	if o.Plan().CRD.OfOthers {
		o.Left(resource)
		return
	}
	one := &owner{resource: stub(resource.GroupVersionKind(), client.ObjectKeyFromObject(resource), resource.GetUID()), delay: backlogDelay}
	if one.kept = o.Snapshots.Keeps(resource.GetUID()); one.kept {
		one.delay = 0
	}
	if one.kept || resource.GetDeletionTimestamp() != nil {
		o.add(one)
	}
}

// Left remembers an object of others that is not shown any more, or not selected. Whether it is gone, or is there and not selected, is asked
// before anything is deleted.
func (o *Owners) Left(resource *unstructured.Unstructured) {
	one := &owner{
		resource: stub(o.Plan().CRD.Kind, client.ObjectKeyFromObject(resource), resource.GetUID()), left: true, marked: o.Plan().Holds(resource),
		kept: o.Snapshots.Keeps(resource.GetUID()),
	}
	one.held = one.marked && resource.GetDeletionTimestamp() == nil && slices.Contains(resource.GetFinalizers(), v1alpha1.Finalizer)
	o.add(one)
}

// stub is an owner of which nothing is known but its kind, name and UID.
func stub(kind schema.GroupVersionKind, key types.NamespacedName, uid types.UID) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	obj.SetUID(uid)
	return obj
}

func (o *Owners) add(one *owner) {
	one.since = o.Clock.Now()
	one.due = one.since.Add(one.delay)
	defer o.Changed.tell(one.held)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all, o.names = map[types.NamespacedName][]*owner{}, map[types.UID]types.NamespacedName{}
	}
	key := client.ObjectKeyFromObject(one.resource)
	if one.left {
		o.names[one.resource.GetUID()] = key
	}
	if at := slices.IndexFunc(o.all[key], func(known *owner) bool {
		return known.left && one.left && known.resource.GetUID() == one.resource.GetUID()
	}); at >= 0 {
		known := o.all[key][at]
		known.marked, known.held, known.kept, known.due = known.marked || one.marked, known.held || one.held, known.kept || one.kept, one.due
		return
	}
	o.all[key] = append(o.all[key], one)
}

// Expire forgets lost owners that another process has cleaned up after by now. One that does not lead calls it.
func (o *Owners) Expire() {
	now := o.Clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.all {
		o.keepLocked(key, func(one *owner) bool { return !now.After(one.since.Add(otherCleansUp)) })
	}
}

// keepLocked drops those owners of a name that are not to be kept.
func (o *Owners) keepLocked(key types.NamespacedName, keep func(*owner) bool) {
	o.all[key] = slices.DeleteFunc(o.all[key], func(one *owner) bool {
		if keep(one) {
			return false
		}
		delete(o.names, one.resource.GetUID())
		return true
	})
	if len(o.all[key]) == 0 {
		delete(o.all, key)
	}
}

// Pending are the names at which CleanUp has something to do, and after which time.
func (o *Owners) Pending() map[types.NamespacedName]time.Duration {
	o.mu.Lock()
	names := slices.Collect(maps.Keys(o.all))
	o.mu.Unlock()
	pending := make(map[types.NamespacedName]time.Duration, len(names))
	for _, key := range names {
		if next, ok := o.next(key); ok {
			pending[key] = next
		}
	}
	return pending
}

// dueOf gives the owners of a name whose time has come. A clock that was set back counts as time that is over: looking early
// does no harm.
func (o *Owners) dueOf(key types.NamespacedName) (due []*owner) {
	now := o.Clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.all[key] {
		if one.left && one.marked {
			continue // a cycle lets it go
		}
		if left := one.due.Sub(now); left <= 0 || left > one.delay {
			due = append(due, one)
		}
	}
	return due
}

// postpone sets when an owner is tried again.
func (o *Owners) postpone(one *owner) {
	now := o.Clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	one.delay = backlogDelay
	if one.lost {
		one.delay = lostInterval
	}
	one.due = now.Add(one.delay)
}

// done ends the clean-up after an owner.
func (o *Owners) done(done *owner) {
	defer o.Changed.tell(done.held)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keepLocked(client.ObjectKeyFromObject(done.resource), func(one *owner) bool { return one != done })
}

// next is the time until the next owner of a name is due; ok is false where there is none.
func (o *Owners) next(key types.NamespacedName) (next time.Duration, ok bool) {
	now := o.Clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, one := range o.all[key] {
		if left := max(0, one.due.Sub(now)); i == 0 || left < next {
			next = left
		}
	}
	return next, len(o.all[key]) > 0
}

// CleanUp deletes the children of the owners of a name that are due, and says after which time it must be called again; zero: nothing
// is left. Mostly there is nothing, and no request is sent. Every cycle at the name calls it: the queue holds a key once, so that a
// cycle for another reason takes the place of the one that was queued for this.
func (o *Owners) CleanUp(ctx context.Context, key types.NamespacedName) time.Duration {
	for _, one := range o.dueOf(key) {
		if o.cleanUp(ctx, one) {
			o.done(one)
		} else {
			o.postpone(one)
		}
	}
	next, ok := o.next(key)
	if !ok {
		return 0
	}
	return max(next, time.Nanosecond) // zero would mean that nothing is left
}

// cleanUp deletes the children of one owner, and says whether none is left.
func (o *Owners) cleanUp(ctx context.Context, one *owner) bool {
	logger := log.FromContext(ctx).WithValues("uid", one.resource.GetUID())
	if one.kept && !one.left {
		if err := o.forget(ctx, one); err != nil {
			logger.Error(err, "Snapshots of a resource that is gone could not be deleted")
			return false
		}
		one.kept = false
		return false // its children are looked for later
	}
	if one.left {
		return o.leave(ctx, one)
	}
	if !one.lost {
		if err := o.collect(ctx, one.resource); err != nil {
			logger.Error(err, "Children that the garbage collector has left could not be deleted")
			return false
		}
		return true
	}
	// A child whose creation was never answered may exist although no cache shows it.
	err := o.Writer.ResolveUnconfirmed(ctx, one.resource.GetUID())
	left := false
	if err == nil {
		left, err = o.DeleteChildren(ctx, one.resource)
	}
	if _, refused := errors.AsType[*apply.RefusedError](err); refused && !left {
		logger.Info("Children that outlive a resource which vanished stay as they are", "reason", err.Error())
		return true
	}
	if err != nil {
		logger.Error(err, "Children of a resource that vanished could not be deleted")
	}
	if err != nil || left {
		return false
	}
	logger.Info("Cleaned up after a resource that vanished although it was held")
	return true
}
