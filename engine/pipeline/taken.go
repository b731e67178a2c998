package pipeline

import (
	"context"
	"errors"
	"slices"
)

// errNotTaken ends the cycle of a resource that was gone before anything was made for it.
var errNotTaken = errors.New("the resource was deleted while Orkestra took hold of it: nothing is made for it")

// confirm makes sure that a resource is still there of which this cycle has taken hold, before the first children are made that
// nobody but us deletes with it. The API server removes an object whose deletion was under way when its first finalizer was added;
// should this process end before it hears of that, the next one would never know that there was such a resource. It costs a
// request once in the life of a resource, and none where all children name their owner: those are the garbage collector's.
func (r *Run) confirm(ctx context.Context, writes []*pending) error {
	ours := func(w *pending) bool { return w.live == nil && !r.owner.References(w.child) }
	if !r.taken || !slices.ContainsFunc(writes, ours) {
		return nil
	}
	gone, err := r.Ports.Marker.Gone(ctx, r.Stored)
	if err != nil {
		return err
	}
	if gone {
		return errNotTaken
	}
	r.taken = false
	return nil
}
