package cleanup

// Objects of others that are not selected any more: what was made for them goes, and so do the marks on them.

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/engine/apply"
)

// leave deletes the children of an object of others that is not selected any more, and says whether nothing is left to do. The API server is
// asked for the object first: one that is gone is the garbage collector's, and one that is selected again keeps its children. A box that is
// suspended deletes nothing; it looks again when it goes on.
func (o *Owners) leave(ctx context.Context, one *owner) bool {
	logger := log.FromContext(ctx).WithValues("uid", one.resource.GetUID())
	if o.Plan().CleanupOnly {
		return true
	}
	err := o.Writer.ResolveUnconfirmed(ctx, one.resource.GetUID())
	if err == nil && !one.kept && !o.HasChildren(one.resource) {
		return true
	}
	var live *unstructured.Unstructured
	if err == nil {
		live, err = o.Writer.Metadata(ctx, one.resource)
	}
	switch {
	case err != nil:
		logger.Error(err, "An object that left the selection could not be read")
		return false
	case live == nil || live.GetUID() != one.resource.GetUID():
		o.change(one, vanished)
		return false
	case o.Plan().Selection.Selects(live):
		return true // it is back, and its event is on the way
	}
	if err := forgetSnapshots(ctx, o.Snapshots, one); err != nil {
		logger.Error(err, "Snapshots of an object that left the selection could not be deleted")
		return false
	}
	left, err := o.DeleteChildren(ctx, one.resource)
	if _, refused := errors.AsType[*apply.RefusedError](err); refused && !left {
		logger.Info("Children of an object that left the selection stay as they are", "reason", err.Error())
		return true
	}
	if err != nil {
		logger.Error(err, "Children of an object that left the selection could not be deleted")
	}
	return err == nil && !left
}

// change notes what has become of an owner, and has it looked at without delay.
func (o *Owners) change(one *owner, what func(one *owner)) {
	defer o.Changed.tell(one.held)
	o.mu.Lock()
	defer o.mu.Unlock()
	what(one)
	one.due = o.Clock.Now()
}

// vanished turns an object that left the selection into one that is gone: the garbage collector has its time, and what our finalizer held is
// cleaned up after as for a resource that was lost.
func vanished(one *owner) { one.left, one.lost, one.found = false, one.held, false }

// unmarked says that an object that left the selection has no marks any more. Its children, if it has any, go as those of any object that left.
func unmarked(one *owner) { one.marked, one.held = false, false }

// forgetSnapshots deletes those of an object that is not selected any more.
func forgetSnapshots(ctx context.Context, snapshots Snapshots, one *owner) error {
	if !one.kept {
		return nil
	}
	if err := snapshots.Forget(ctx, one.resource.GetUID()); err != nil {
		return err
	}
	one.kept = false
	return nil
}

// Leaving gives an object of others that carries marks of the box and is not selected any more, as the API server has it, and since when that is
// known; nil: there is none of that name. A cycle lets it go, and calls Let when that is done. shown is what the watch shows under the name; nil:
// nothing.
func (o *Owners) Leaving(ctx context.Context, key types.NamespacedName, shown *unstructured.Unstructured) (live *unstructured.Unstructured, since time.Time) {
	for _, one := range o.leaving(key) {
		logger := log.FromContext(ctx).WithValues("uid", one.resource.GetUID())
		if shown != nil && shown.GetUID() == one.resource.GetUID() && o.Plan().Selection.Selects(shown) {
			o.done(one)
			continue
		}
		o.postpone(one)
		live, err := o.Writer.Read(ctx, one.resource)
		switch {
		case err != nil:
			logger.Error(err, "An object that left the selection could not be read")
		case live == nil || live.GetUID() != one.resource.GetUID():
			o.change(one, vanished)
		case o.Plan().Selection.Selects(live):
			o.done(one) // it is back, and its event is on the way
		case !o.Plan().Holds(live):
			o.change(one, unmarked)
		default:
			if err := forgetSnapshots(ctx, o.Snapshots, one); err != nil {
				logger.Error(err, "Snapshots of an object that left the selection could not be deleted")
				continue
			}
			return live, one.since
		}
	}
	return nil, time.Time{}
}

// leaving gives the objects of a name that a cycle has to let go.
func (o *Owners) leaving(key types.NamespacedName) (all []*owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.all[key] {
		if one.left && one.marked {
			all = append(all, one)
		}
	}
	return all
}

// Let says that an object that left the selection carries no marks any more, and has no children.
func (o *Owners) Let(resource *unstructured.Unstructured) {
	for _, one := range o.leaving(client.ObjectKeyFromObject(resource)) {
		if one.resource.GetUID() == resource.GetUID() {
			o.done(one)
		}
	}
}

// ByUID gives the name of an object of others that left the selection and is not let go yet.
func (o *Owners) ByUID(uid types.UID) (key types.NamespacedName, found bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key, found = o.names[uid]
	return key, found
}

// Held gives the names of the objects that have left the selection and carry marks of the box still, sorted; finalizer: those alone that our finalizer holds.
func (o *Owners) Held(finalizer bool) []types.NamespacedName {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []types.NamespacedName
	for key, all := range o.all {
		if slices.ContainsFunc(all, func(one *owner) bool { return one.left && (one.held || one.marked && !finalizer) }) {
			names = append(names, key)
		}
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return names
}

// Listener is told that something has changed; nil: nobody listens.
type Listener func()

// tell says that an object which our finalizer holds is one that has left, or is none any more.
func (l Listener) tell(held bool) {
	if held && l != nil {
		l()
	}
}
