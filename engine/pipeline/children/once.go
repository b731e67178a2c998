package children

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
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
	if err := c.applied.refuseMadeOnce(ctx, c, in, live); err != nil {
		return nil, false, err
	}
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

// refuseMadeOnce refuses to let an instance write, or take, what another declaration has made once and still stands for. What was drawn for that
// would be lost: at once, or when the instance lets go of it. live is what has the name of the instance; nil: nothing has.
func (s appliedSet) refuseMadeOnce(ctx context.Context, c *Cycle, in Instance, live *unstructured.Unstructured) error {
	if live == nil || IDOf(live) == in.ID || s.places[keyOf(live)] != "" {
		return nil // of two that have rendered it, add says so
	}
	renders, keeps := c.Living.madeOnce(ctx, live)
	switch {
	case keeps:
		return stage.NewPermanent(v1alpha1.ReasonDuplicateChild, fmt.Errorf("%q renders %s %q, which %q has made once and keeps; give %q another name",
			in.Place(), live.GetKind(), live.GetName(), IDOf(live), in.Place()))
	case renders:
		return stage.NewPermanent(v1alpha1.ReasonDuplicateChild, fmt.Errorf("%q renders %s %q, which %q has made once; give one of them another name",
			in.Place(), live.GetKind(), live.GetName(), IDOf(live)))
	default:
		return nil
	}
}

// madeOnce says whether the declaration that has made a living child once still stands for it: renders it, or keeps it as it is. Its turn may come
// later, so it is asked here what it is going to do. What can't be told is kept. Both are false where it is not in the box any more, where its gate
// or its loop leaves the child to be deleted, and where it renders another object now.
func (l *Living) madeOnce(ctx context.Context, live *unstructured.Unstructured) (renders, keeps bool) {
	c := l.cycle
	d := c.Declared.Of(IDOf(live))
	if d == nil || !d.Once {
		return false, false
	}
	if d.Phase == declare.OnCreate && c.Marks.Active || c.Outside.Lacks(d.Outside) {
		return false, true
	}
	acts := func(in Instance) (acts, keeps bool) {
		res, err := in.Ask(ctx, c)
		return err == nil && res.Open, err != nil || in.KeepsOn(res)
	}
	if !d.GateReadsItem {
		if acts, keeps := acts(InstanceOf(d)); !acts {
			return false, keeps
		}
	}
	instances, err := c.Instances(ctx, d)
	if err != nil {
		return false, true
	}
	for _, in := range instances {
		if keeps = keeps || in.nameless; in.ID != IDOf(live) {
			continue
		}
		if d.GateReadsItem {
			if acts, keeps := acts(in); !acts {
				return false, keeps
			}
		}
		same, err := in.Identity(ctx, c)
		return err == nil && keyOf(same) == keyOf(live), err != nil
	}
	return false, keeps
}

// writeOwnership leaves a child alone that is made once, but for what says whose it is.
func (c *Cycle) writeOwnership(ctx context.Context, w *pending) (apply.Outcome, error) {
	if w.live.GetDeletionTimestamp() != nil {
		return apply.Outcome{Action: apply.Terminating, Object: w.live}, nil
	}
	return c.Ports.Applier.Keep(ctx, c.Owner, w.child, w.live)
}
