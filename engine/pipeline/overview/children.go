package overview

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// leftAlone is what becomes of a child while its declaration may not act.
const leftAlone = "it is left as it is"

// children adds an instance whose children stay as they are while it may not act. What becomes of them is not known while the gate is not.
func (o *overview) children(ctx context.Context, in children.Instance, gate Gate, state State, reason string) {
	fate := leftAlone
	if state == StateUnknown {
		fate = ""
	}
	o.add(ctx, in, gate, state, reason, fate)
}

// add adds an instance with each child that it has; where it has none, with a state and a reason. What closes a gate is the reason of
// a child that is well, with what becomes of the child.
func (o *overview) add(ctx context.Context, in children.Instance, gate Gate, state State, reason, fate string) {
	s := Status{Declaration: in.Label(ctx, o.c), Group: string(in.Phase), Path: in.Where, Kind: in.GVK, State: state, Reason: reason, Gate: gate}
	if in.Patch != nil {
		s.Patch, s.Kept = in.ID, fate == leftAlone // what is noted says whether it stands
		o.out = append(o.out, s)
		return
	}
	if why := o.unreadable(in.Declaration); why != "" {
		s.State, s.Reason = StateUnknown, why
	}
	all := o.c.Living.Find(in)
	if len(all) == 0 {
		o.out = append(o.out, s)
		return
	}
	for _, child := range all {
		o.shown[child] = true
		s.Child, s.Name, s.Kind = child, o.c.ChildName(child), child.GroupVersionKind()
		s.State, s.Reason = o.stateOf(ctx, in.Declaration, child)
		if s.Reason == "" && !gate.Open {
			s.Reason = strings.TrimSuffix(reason+"; "+fate, "; ")
		}
		o.out = append(o.out, s)
	}
}

// stateOf says how a child is.
func (o *overview) stateOf(ctx context.Context, d *declare.Declaration, child *unstructured.Unstructured) (State, string) {
	of, why, err := o.c.Living.StateOf(ctx, d, child, o.items)
	switch {
	case err != nil:
		return StateError, stage.OneLine(err.Error())
	case child.GetDeletionTimestamp() != nil:
		return StateTerminating, why
	case of == stage.ChildFailed && why != "":
		return StateFailed, why
	case why != "":
		return StateProgressing, why
	case settle.IsJob(child):
		return StateCompleted, ""
	default:
		return StateReady, ""
	}
}

// coded adds a child that a hook has made. Whether it would declare it now is known to the hook alone.
func (o *overview) coded(ctx context.Context, d *declare.Declaration, child *unstructured.Unstructured) {
	s := Status{
		Declaration: children.IDOf(child), Group: stage.StepHook, Path: d.Where, Kind: child.GroupVersionKind(), Name: o.c.ChildName(child), Child: child,
		Gate: Gate{Open: true, Known: true},
	}
	s.State, s.Reason = o.stateOf(ctx, d, child)
	o.out = append(o.out, s)
}

// stray adds a child that no declaration stands for: that of a declaration or an item that is gone, or of a resource that is being deleted.
func (o *overview) stray(ctx context.Context, child *unstructured.Unstructured, going bool) {
	s := Status{
		Declaration: children.IDOf(child), Kind: child.GroupVersionKind(), Name: o.c.ChildName(child), Child: child, State: StateUndeclared, Gate: Gate{Known: true},
	}
	d := o.c.Declared.Named(children.IDOf(child))
	if d != nil { // the id of an item may hold templates
		s.Declaration = children.InstanceOf(d).Label(ctx, o.c) + strings.TrimPrefix(children.IDOf(child), d.ID)
		s.Group, s.Path = string(d.Phase), d.Where
	}
	box := child.GetLabels()[v1alpha1.LabelBox]
	switch {
	case child.GetDeletionTimestamp() != nil:
		s.State, s.Reason = StateTerminating, strings.TrimPrefix(settle.HeldBy(child), "; ")
	case !going && o.c.Declared.Of(children.IDOf(child)) != nil:
		s.Reason = "no item of " + d.Loop.Written() + " stands for it"
	case d != nil:
		s.State, s.Reason = o.stateOf(ctx, d, child)
	case box != o.c.Plan.Box:
		s.Reason = fmt.Sprintf("made by the box %q, and kept", box)
	default:
		s.Reason = "no declaration stands for it"
	}
	o.out = append(o.out, s)
}
