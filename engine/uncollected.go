package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// collectDelay is how long the garbage collector has for the children of a resource that is gone. It mostly takes a second.
const collectDelay = time.Minute

// uncollected are resources that were deleted, and whose children are the garbage collector's to take. It misses those of an owner
// that was deleted and made again under its name while its watch was broken: what it lists then looks like a change of one object,
// and nothing ever has it look at the children again.
type uncollected struct {
	mu  sync.Mutex
	all map[types.NamespacedName][]leftover // guarded by mu
}

// leftover is the nameplate of a resource that is gone.
type leftover struct {
	owner *unstructured.Unstructured
	due   time.Time
}

// note takes in a resource that is gone. One that was not deleted as it should be has vanished: see there.
func (u *uncollected) note(obj *unstructured.Unstructured, due time.Time) {
	if obj.GetDeletionTimestamp() == nil {
		return
	}
	u.add(nameplate(obj.GroupVersionKind(), keyOf(obj), obj.GetUID()), due)
}

// nameplate is a resource of which nothing is known but its kind, name and UID.
func nameplate(kind schema.GroupVersionKind, key types.NamespacedName, uid types.UID) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	obj.SetUID(uid)
	return obj
}

func (u *uncollected) add(owner *unstructured.Unstructured, due time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[types.NamespacedName][]leftover{}
	}
	u.all[keyOf(owner)] = append(u.all[keyOf(owner)], leftover{owner: owner, due: due})
}

// due takes out the resources of a name whose time is over, and says how long the next one has; zero: there is none. A clock that
// was set back counts as time that is over: looking early does no harm.
func (u *uncollected) due(key types.NamespacedName, now time.Time) (over []*unstructured.Unstructured, next time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.all[key]) == 0 {
		return nil, 0
	}
	u.all[key] = slices.DeleteFunc(u.all[key], func(l leftover) bool {
		left := l.due.Sub(now)
		if left <= 0 || left > collectDelay {
			over = append(over, l.owner)
			return true
		}
		if next == 0 || left < next {
			next = left
		}
		return false
	})
	if len(u.all[key]) == 0 {
		delete(u.all, key)
	}
	return over, next
}

// findRemains notes the owners that children name and that are not there when the box starts: a former process may have ended before
// their time was over. It reads caches only.
func (b *box) findRemains() {
	crd := b.plan.Load().CRD
	due := b.engine.config.Clock.Now().Add(collectDelay)
	seen := map[types.UID]bool{}
	for _, kind := range b.Kinds() {
		for _, child := range b.engine.children.MadeBy(kind, b.name) {
			ref := metav1.GetControllerOfNoCopy(child)
			if ref == nil || seen[ref.UID] || !strings.HasPrefix(ref.APIVersion, crd.Kind.Group+"/") || ref.Kind != crd.Kind.Kind {
				continue
			}
			seen[ref.UID] = true
			key := types.NamespacedName{Name: ref.Name}
			if crd.Namespaced {
				key.Namespace = child.GetNamespace()
			}
			watched := !crd.Namespaced || b.namespaces == nil || slices.Contains(b.namespaces, child.GetNamespace())
			if _, there := b.resources.ByUID(ref.UID); there || !watched {
				continue
			}
			b.remains.add(nameplate(crd.Kind, key, ref.UID), due)
			b.queue.EnqueueLow(collectDelay, key)
		}
	}
}

// collect deletes the children that the garbage collector has left behind. Mostly there are none, and nothing is sent. Each look at a
// name asks, since it may have used up the one that was queued for this.
func (b *box) collect(ctx context.Context, key types.NamespacedName) {
	over, next := b.remains.due(key, b.engine.config.Clock.Now())
	for _, owner := range over {
		if err := b.collectOf(ctx, owner); err != nil {
			log.FromContext(ctx).Error(err, "Children that the garbage collector has left could not be deleted", "uid", owner.GetUID())
			b.remains.add(owner, b.engine.config.Clock.Now().Add(collectDelay))
			next = collectDelay
		}
	}
	if next > 0 {
		b.queue.EnqueueLow(next, key)
	}
}

// collectOf deletes the children that still name an owner that is gone. Those of a resource whose children were to be left name it no
// more: the garbage collector takes the reference off before the owner goes. Where they are does not matter: the garbage collector would
// delete whatever names an owner that is gone.
func (b *box) collectOf(ctx context.Context, owner *unstructured.Unstructured) error {
	var left []*unstructured.Unstructured
	for _, kind := range b.Kinds() {
		for _, child := range b.wroteFor(kind, owner.GetUID()) {
			names := slices.ContainsFunc(child.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
			if names && len(child.GetOwnerReferences()) == 1 && child.GetDeletionTimestamp() == nil {
				left = append(left, child)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	if gone, err := b.writer.Gone(ctx, owner); err != nil || !gone {
		return err // what a list did not show may still be there; its deletion is on the way, and is an event again
	}
	for _, child := range left {
		if err := b.writer.Delete(ctx, child); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted a child that the garbage collector has left behind", "child", child.GetKind()+"/"+child.GetName(), "uid", owner.GetUID())
	}
	return nil
}
