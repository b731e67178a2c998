package children

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/apply"
)

// alreadyMade looks for what an instance that acts once has made already. found says that there is nothing to make; w is then the living
// child, or nil where it is a Job that has completed and is gone. Only the name is rendered: all else would be drawn and
// evaluated for nothing, and may not even be possible any more.
func (c *Cycle) alreadyMade(ctx context.Context, in Instance) (w *pending, found bool, err error) {
	same, err := in.Identity(ctx, c)
	if err != nil {
		return nil, false, err
	}
	live := c.Living.at(keyOf(same))
	switch {
	case live != nil && apply.ManagedByUs(live):
		if alone, err := c.leavesAlone(ctx, live); err != nil || alone {
			return nil, alone, cmp.Or(err, c.applied.add(same, in))
		}
		w = &pending{in: in, child: in.Child(same), live: live}
	case live == nil && in.IsJob() && jobNameOf(DoneMarks(c.Stored)[in.ID]) == c.ChildName(same):
	default:
		return nil, false, nil
	}
	if w != nil && in.IsJob() {
		if err := c.Jobs.finishKept(ctx, in, live); err != nil {
			return nil, false, err
		}
	}
	return w, true, c.applied.add(same, in)
}

// Identity is the object of an instance, with nothing but its kind and its name.
func (in Instance) Identity(ctx context.Context, c *Cycle) (*unstructured.Unstructured, error) {
	in, err := Known(ctx, c, in)
	if err != nil {
		return nil, err
	}
	data := in.Data(c)
	same := &unstructured.Unstructured{Object: map[string]any{}}
	same.SetGroupVersionKind(in.GVK)
	name, err := in.objectName(ctx, c, data)
	if err != nil {
		return nil, err
	}
	namespace, err := in.ObjectNamespace(ctx, c, data) // whether it lets the resource in is asked before anything is written there
	if err != nil {
		return nil, err
	}
	same.SetNamespace(namespace)
	same.SetName(name)
	return same, nil
}

// writeOwnership leaves a child alone that is made once, but for what says whose it is.
func (c *Cycle) writeOwnership(ctx context.Context, w *pending) (apply.Outcome, error) {
	if w.live.GetDeletionTimestamp() != nil {
		return apply.Outcome{Action: apply.Terminating, Object: w.live}, nil
	}
	return c.Ports.Applier.Keep(ctx, c.Owner, w.child, w.live)
}
