package cycle

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// A box with a constructor: the reconciler of its code is asked in place of a plan. All that it writes it writes itself, and what comes of it is a
// record as ever.

// Wake notes that something has changed that belongs to a resource, and has it reconciled.
func (r *Reconciler) Wake(key types.NamespacedName) {
	r.woken.note(key)
	r.Queue.Enqueue(0, key)
}

// woken are the resources of which something has changed since their reconciler was asked. The zero value is empty. It is safe for concurrent use.
type woken struct {
	mu  sync.Mutex
	all map[types.NamespacedName]bool // guarded by mu
}

func (w *woken) note(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[types.NamespacedName]bool{}
	}
	w.all[key] = true
}

func (w *woken) has(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[key]
}

// forget is called before the reconciler reads: what changes from then on wakes the resource again.
func (w *woken) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, key)
}

// asking is a cycle of a box with a constructor. It is a type of its own so that what such a cycle does is not among the methods of all.
type asking struct{ *cycle }

// gather finds out whether anything has changed for the reconciler. What it reads is not known, but for what belongs to the resource. So
// one that has succeeded is asked whenever the queue gives the resource: something has happened, or the time has come.
func (c asking) gather(f *Facts) {
	last := &c.st.last
	f.SeenUnchanged = !last.at.IsZero() && last.version == c.stored.GetResourceVersion() && !c.woken.has(c.record.Key)
	f.Unchanged = f.SeenUnchanged && f.Class != "" && (f.Class != pipeline.Permanent || !f.ResyncOver)
}

// maxConflicts is how many answers in a row may be conflicts until one counts as a failure.
const maxConflicts = 5

// handOver asks the reconciler, once the dependencies of the box are met. A resource that has come so far once goes on whatever they are.
func (c asking) handOver(ctx context.Context) error {
	run := c.record.Run
	run.Marks.Active = run.Deleting || c.st.handed || len(c.stored.GetFinalizers()) > 0
	if err := c.record.Plan.Execute(ctx, run); err != nil || run.AwaitsDependency {
		return err
	}
	result, err := c.ask(ctx)
	run.Ports.Ended(pipeline.StepConstructor)
	if apierrors.IsConflict(err) && !errors.Is(err, reconcile.TerminalError(nil)) && c.st.conflicts < maxConflicts {
		// It has read what was written meanwhile, mostly by itself. The event of that is on the way.
		c.st.conflicts++
		c.st.again = true
		run.Wait("", v1alpha1.ReasonRetrying, pipeline.StepConstructor+": "+err.Error())
		return nil
	}
	c.st.conflicts = 0
	if err != nil {
		return err
	}
	run.Marks.Active, c.st.handed = true, true
	c.st.again = result.Requeue && result.RequeueAfter == 0 //nolint:staticcheck // reconcilers of others say it
	if result.RequeueAfter > 0 {
		run.Inputs.ExpireAt(c.Clock.Now().Add(result.RequeueAfter))
	}
	return nil
}

// ask asks the reconciler.
func (c asking) ask(ctx context.Context) (reconcile.Result, error) {
	c.woken.forget(c.record.Key)
	var result reconcile.Result
	err := stage.Contain(func() (err error) {
		result, err = c.Constructed.Reconcile(ctx, reconcile.Request{NamespacedName: c.record.Key})
		return err
	})
	if errors.Is(err, reconcile.TerminalError(nil)) {
		err = pipeline.NewPermanent(v1alpha1.ReasonReconcileError, err)
	}
	if err == nil {
		return result, nil
	}
	step := pipeline.Classify(pipeline.StepConstructor, err)
	if errors.As(err, new(*pipeline.WithheldError)) {
		step.Class, step.Reason = pipeline.Permission, v1alpha1.ReasonForbidden
	}
	return result, step
}

// tellGone has the reconciler see that a resource is gone, as it would see it elsewhere: it may remember something of it. Nothing is left that could
// be tried again.
func (c asking) tellGone(ctx context.Context) {
	if c.record.Plan.Constructor == nil || c.Constructed == nil || c.stored != nil {
		return
	}
	c.woken.forget(c.record.Key)
	err := c.within(ctx, func(ctx context.Context) error {
		_, err := c.ask(ctx)
		return err
	})
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(value.Loggable(err), "The reconciler failed for a resource that is gone")
	}
}

// handsOver says whether a resource carries marks of a plan in whose place the reconciler is now. They go first: nobody else would take them off.
func handsOver(f *Facts, plan *pipeline.Plan) bool {
	return plan.Constructor != nil && f.Held && f.Selected
}

// servedByCode says whether the reconciler has to do with a resource that is being deleted. Without the account of the box it could only be asked as
// the manager, and is not.
func servedByCode(f *Facts, plan *pipeline.Plan) bool {
	return plan.Constructor != nil && plan.AccountProblem.Reason == "" && f.Deleting && f.Selected
}
