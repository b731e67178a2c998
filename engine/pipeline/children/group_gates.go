package children

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/when"
)

// awaits says whether a declaration can't be rendered because a child, an object of cross, or a field of one, is not there yet. That is a
// wait for this declaration alone: a child that it waits for may be made by the next, and others fill in fields when they like.
func (in Instance) awaits(ctx context.Context, c *Cycle, err error) bool {
	if c.Probing && meta.IsNoMatchError(err) {
		return true // an earlier child of this cycle may install the kind
	}
	reason, why, lacks := Lacks(ctx, c, err)
	if !lacks {
		return false
	}
	c.applied.hold(in)
	c.rolling.cannotBeMade(in)
	c.Jobs.postpone(ctx, in)
	if !in.Optional {
		c.Wait(in.ID, reason, in.Label(ctx, c)+": "+why)
		c.Incomplete = c.Incomplete || in.Phase == declare.OnCreate
	}
	return true
}

// isShutOut says whether an instance can't be made because a namespace no longer lets the resource in. It stops alone: its children there
// stay as they are, and everything else goes on, also what is pruned.
func (in Instance) isShutOut(ctx context.Context, c *Cycle, err error) bool {
	refusal, ok := errors.AsType[*stage.UnreachableError](err)
	if !ok || !refusal.Withdrawn {
		return false
	}
	c.applied.hold(in)
	c.rolling.cannotBeMade(in)
	c.applied.shut[refusal.Namespace] = true
	c.Wait(in.ID, v1alpha1.ReasonNamespaceWithdrawn, fmt.Sprintf("%s: %s; what is there stays as it is", in.Label(ctx, c), refusal))
	c.Incomplete = c.Incomplete || in.Phase == declare.OnCreate
	return true
}

// leavesAlone says whether a child that is made once must not be written because its namespace no longer lets the resource in. Nothing waits
// for that, since nothing is declared of it any more.
func (c *Cycle) leavesAlone(ctx context.Context, child *unstructured.Unstructured) (bool, error) {
	err := c.MayWrite(ctx, child)
	if refusal, ok := errors.AsType[*stage.UnreachableError](err); ok {
		c.Notes = append(c.Notes, fmt.Sprintf("%s; it stays as it is", refusal))
		return true, nil
	}
	return false, err
}

// open asks the gate of an instance, and does what a false one asks for.
func (in Instance) open(ctx context.Context, c *Cycle) (bool, error) {
	res, err := in.Ask(ctx, c)
	if err == nil && !res.Open {
		in.closed(ctx, c, res)
	}
	return res.Open, err
}

// Ask evaluates the gate of an instance.
func (in Instance) Ask(ctx context.Context, c *Cycle) (when.Result, error) {
	res, err := in.Gate.Eval(ctx, in.Data(c), c.Now)
	if err != nil {
		return when.Result{}, stage.Evaluating("when", v1alpha1.ReasonConditionError, err)
	}
	c.ReconcileAt(res.NextFlip)
	return res, nil
}

// closed does what a false gate asks for: it keeps the children, or leaves them to prune. A child that is neither held nor rendered is
// pruned at the end of a cycle without error: that is how whenFalse: Delete deletes.
func (in Instance) closed(ctx context.Context, c *Cycle, res when.Result) {
	existing := c.Living.Find(in)
	keep := in.KeepsOn(res)
	if keep || len(existing) == 0 && !in.nameless {
		c.applied.hold(in)
	}
	c.Jobs.postpone(ctx, in)
	if res.Choice || in.Optional {
		return
	}
	c.rolling.cannotBeMade(in)
	if !keep {
		existing = nil
	}
	waits(ctx, c, in, WhyClosed(ctx, c, res), existing)
}

// waits shows what an instance waits for, and which child is left as it is, if any.
func waits(ctx context.Context, c *Cycle, in Instance, why string, left []*unstructured.Unstructured) {
	if len(left) > 0 {
		why += fmt.Sprintf("; %s %q is left as it is", left[0].GetKind(), c.ChildName(left[0]))
	}
	c.Wait(in.ID, v1alpha1.ReasonWaitingForGate, fmt.Sprintf("%s: %s", in.Label(ctx, c), why))
	c.Incomplete = c.Incomplete || in.Phase == declare.OnCreate
}

// Unmet gives the first condition of an instance's readyWhen that its object does not meet; "" when all are met, or there are none.
func (in Instance) Unmet(ctx context.Context, c *Cycle, child *unstructured.Unstructured) (string, error) {
	if in.ReadyWhen == nil {
		return "", nil
	}
	data := c.Data(in.ReadyWhen.UsesChildren)
	if in.item != nil {
		in.item.Give(in.Loop, data)
	}
	data[compile.RootObject] = kinds.View(child)
	res, err := in.ReadyWhen.Gate.Eval(ctx, data, c.Now)
	if err != nil {
		return "", stage.Evaluating("readyWhen", v1alpha1.ReasonConditionError, err)
	}
	c.ReconcileAt(res.NextFlip)
	return res.Message(), nil
}

// Lacks says whether an error means that a child, an object of cross, or a field of one, is not there: what reads it waits. reason is that of the
// wait, and why says what is not there.
func Lacks(ctx context.Context, c *Cycle, err error) (reason, why string, lacks bool) {
	absent, ok := errors.AsType[*roots.AbsentError](err)
	switch {
	case ok && absent.Below(compile.RootChildren):
		reason = v1alpha1.ReasonWaitingForGate
	case ok && absent.Below(compile.RootProviders):
		reason = v1alpha1.ReasonWaitingForProvider
	case ok && absent.Below(compile.RootCross):
		reason = v1alpha1.ReasonWaitingForCross
	default:
		return "", "", false
	}
	why = absent.Place() + " is not there yet"
	if off := switchedOff(ctx, c, []expr.Path{absent.Path}); off != "" {
		why = absent.Place() + " is not there: " + off
	}
	return reason, why, true
}

// WhyClosed says why a gate is closed. If it waits for a child whose declaration is switched off, it says that as well.
func WhyClosed(ctx context.Context, c *Cycle, res when.Result) string {
	if len(res.Unmet) > 0 && res.Unmet[0].Absent {
		if off := switchedOff(ctx, c, res.Unmet[0].Reads()); off != "" {
			return res.Message() + "; " + off
		}
	}
	return res.Message()
}

// switchedOff says which declaration is switched off, so that a child is not made that one of the paths leads to; "" where they are all there, or
// may be. An item with a gate of its own is not looked for: each reader would go over all of them.
func switchedOff(ctx context.Context, c *Cycle, paths []expr.Path) string {
	for _, path := range paths {
		if len(path) > 1 && path[0] == compile.RootChildren {
			if off := notMade(ctx, c, path[1]); off != "" {
				return off
			}
		}
	}
	return ""
}

// notMade is switchedOff for what templates know by a name.
func notMade(ctx context.Context, c *Cycle, name string) (off string) {
	for _, d := range c.Declared.Live {
		if d.ID != name && !slices.Contains(d.Kinds.ChildNames(), name) {
			continue
		}
		in := InstanceOf(d)
		if d.GateReadsItem || len(c.Living.Find(in)) > 0 {
			return ""
		}
		res, err := in.Ask(ctx, c)
		if err != nil || !res.Choice {
			return ""
		}
		off = cmp.Or(off, fmt.Sprintf("%s is switched off: %s", in.Label(ctx, c), res.Message()))
	}
	return off
}
