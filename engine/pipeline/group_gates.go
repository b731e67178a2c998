package pipeline

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/when"
)

// awaitsChild says whether a declaration can't be rendered because a child, or a field of one, is not there yet. That is a wait
// for this declaration alone: what it waits for may be made by the next.
func (r *Run) awaitsChild(ctx context.Context, in instance, err error) bool {
	if r.Probing && meta.IsNoMatchError(err) {
		return true // an earlier child of this cycle may install the kind
	}
	absent, ok := errors.AsType[*roots.AbsentError](err)
	if !ok || len(absent.Path) == 0 || absent.Path[0] != compile.RootChildren {
		return false
	}
	r.stands.hold(in)
	r.postpone(ctx, in)
	if !in.Optional {
		r.Wait(in.id, v1alpha1.ReasonWaitingForGate, fmt.Sprintf("%s: %s is not there yet", r.label(ctx, in), absent.Path))
		r.notActive = r.notActive || in.Phase == declare.OnCreate
	}
	return true
}

// open asks the gate of an instance, and does what a false one asks for.
func (r *Run) open(ctx context.Context, in instance) (bool, error) {
	res, err := r.ask(ctx, in)
	if err == nil && !res.Open {
		r.closed(ctx, in, res)
	}
	return res.Open, err
}

// ask evaluates the gate of an instance.
func (r *Run) ask(ctx context.Context, in instance) (when.Result, error) {
	res, err := in.Gate.Eval(ctx, in.data(r), r.Now)
	if err != nil {
		return when.Result{}, stage.Evaluating("when", v1alpha1.ReasonConditionError, err)
	}
	r.ReconcileAt(res.NextFlip)
	return res, nil
}

// closed does what a false gate asks for (design: semantics.md, "Gates"). A child that is neither held nor rendered is
// pruned at the end of a cycle without error: that is how whenFalse: Delete deletes.
func (r *Run) closed(ctx context.Context, d instance, res when.Result) {
	existing := r.children.find(d)
	keep := d.KeepsOn(res)
	if keep || len(existing) == 0 && !d.nameless {
		r.stands.hold(d)
	}
	r.postpone(ctx, d)
	if res.Choice || d.Optional {
		return
	}
	message := res.Message()
	if len(existing) > 0 && keep {
		message += fmt.Sprintf("; %s %q is left as it is", existing[0].GetKind(), r.ChildName(existing[0]))
	}
	r.Wait(d.id, v1alpha1.ReasonWaitingForGate, fmt.Sprintf("%s: %s", r.label(ctx, d), message))
	r.notActive = r.notActive || d.Phase == declare.OnCreate
}
