package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/cycle"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/worker"
)

// look looks at one resource: it decides whether there is anything to do, does it, and queues the next look.
func (b *box) look(ctx context.Context, key types.NamespacedName) {
	place := worker.NewSlot(b.slots)
	if !place.Take(ctx) {
		return
	}
	defer place.Leave()
	ctx, giveBack := budget.WithCycle(ctx, b.memory)
	defer giveBack()
	ctx = log.IntoContext(ctx, b.log.WithValues("resource", klog.KRef(key.Namespace, key.Name)))
	stored, found := b.resources.Get(key)
	if b.plan.Load().CleanupOnly {
		// Whoever waits for resources to be let go is told of each of them.
		defer b.engine.config.Changed(b.name)
	}
	if next := b.owners.CleanUp(ctx, key); next > 0 {
		b.queue.EnqueueLow(next, key)
	}
	if !found {
		b.states.forget(key)
		b.retries.Forget(key)
		b.tracker.Forget(key)
		b.observer.Forget(key)
		b.left()
		return
	}
	b.act(ctx, b.plan.Load(), stored, b.states.of(key, stored.GetUID()), place)
}

// act decides what a cycle does with a resource, and does it.
func (b *box) act(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state, place *worker.Slot) {
	key := keyOf(stored)
	decision := cycle.Decide(b.gather(ctx, plan, stored, st))
	if decision.Action == cycle.Await {
		return
	}
	st.doubt(stored)
	if decision.Action != cycle.Retry {
		b.retries.Forget(key)
	}
	switch decision.Action {
	case cycle.Await, cycle.Ignore:
	case cycle.Forget:
		b.tracker.Forget(key)
		b.observer.Forget(key)
		b.left()
	case cycle.Release:
		b.letGo(ctx, plan, stored, st)
	case cycle.ShowPaused:
		b.showPaused(ctx, plan, stored, st)
	case cycle.Delay:
		b.queue.EnqueueLow(decision.After, key)
	case cycle.Skip:
		b.engine.config.Metrics.Reconciled(b.name, metrics.ResultSkipped, 0)
		b.await(plan, key, st)
	case cycle.RollBack:
		b.goBack(ctx, plan, stored, st, place)
	case cycle.KeepRolledBack:
		b.stayBack(ctx, plan, stored, st, place)
	case cycle.Retry:
		b.retry(ctx, plan, stored, st, place)
	case cycle.Reconcile:
		b.reconcile(ctx, plan, stored, st, place)
	}
}

// retry reconciles a resource that fails and that only time asked for, as far as the budget of retries goes.
func (b *box) retry(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state, place *worker.Slot) {
	key := keyOf(stored)
	if wait := b.retries.Admit(key); wait > 0 {
		b.engine.config.Metrics.Reconciled(b.name, metrics.ResultSkipped, 0)
		b.queue.EnqueueLow(min(wait, b.resync(plan)), key)
		return
	}
	ctx, sent := worker.CountRequests(ctx)
	b.reconcile(ctx, plan, stored, st, place)
	if st.class != "" {
		b.retries.Charge(sent.Load())
		return
	}
	b.queue.EnqueueLow(0, b.retries.AdmitNext()...)
}

// marked says whether a resource carries Orkestra's finalizer.
func marked(obj *unstructured.Unstructured) bool {
	return slices.Contains(obj.GetFinalizers(), v1alpha1.Finalizer)
}

// paused says whether everything but deletion is stopped for a resource.
func paused(obj *unstructured.Unstructured) bool {
	return obj.GetDeletionTimestamp() == nil && obj.GetAnnotations()[v1alpha1.AnnotationPaused] == v1alpha1.True
}

// letGo takes the marks off a resource that left the box's selection. Its children stay.
func (b *box) letGo(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state) {
	key := keyOf(stored)
	b.tracker.Forget(key)
	b.observer.Forget(key)
	answer, err := b.bid(ctx, stored, farewellNotSelected(b.name))
	if err == nil {
		st.written = answer.GetResourceVersion()
		err = b.unmark(ctx, answer, plan)
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Resource could not be released")
		delay, _ := st.backoff.Next(plan.Runtime.Resync)
		b.again(key, st, delay)
		return
	}
	*st = state{uid: st.uid, released: true}
	log.FromContext(ctx).Info("Resource released: it left the selection")
}

// reconcile runs one cycle and passes its result on. It gives its place up while an external call is under way.
func (b *box) reconcile(ctx context.Context, plan *pipeline.Plan, stored *unstructured.Unstructured, st *state, place *worker.Slot) {
	clk := b.engine.config.Clock
	began := clk.Now()
	st.released = false
	st.repeats = b.repeats(plan, stored, st)
	reading := b.observer.For(keyOf(stored))
	st.writes.Begin(stored, began)
	ports := pipeline.Ports{
		Inventory: b.inventory, Applier: st.writes.Applier(b.writer, b.engine.children, stored, began, plan.Runtime.Resync),
		LoopGuard: &st.writes, Marker: b.writer, Kinds: b.engine.kinds,
		Observer: reading, Caller: outside{next: b.engine.calls, slot: place},
		Former: b.formerFinalizers,
	}
	ports.DryRun = b.dryRun(plan, stored, st)
	run := plan.NewRun(stored, began, ports)
	run.Orphan = b.states.orphan(keyOf(stored), stored.GetUID())
	run.Succeeded = b.succeeded(plan, stored)
	err := b.inventory.Refill(ctx)
	if err == nil && stored.GetDeletionTimestamp() != nil {
		err = b.writer.ResolveUnconfirmed(ctx, stored.GetUID())
	}
	if err == nil {
		err = b.execute(ctx, plan, run, place)
	}
	reading.End(run.Active())
	// A call that ran into the deadline, or panicked, has left the place to others.
	if !place.Take(ctx) || ctx.Err() != nil {
		// The process stops, or no longer leads: what was not finished is neither a success nor a failure.
		return
	}
	if v := run.Stored.GetResourceVersion(); v != stored.GetResourceVersion() {
		st.written = v
	}
	b.finish(ctx, run, st, err)
	b.engine.config.Metrics.Reconciled(b.name, resultOf(run, st), clk.Since(began))
}

// execute runs the plan under a deadline. A panic is an error of this resource alone.
func (b *box) execute(ctx context.Context, plan *pipeline.Plan, run *pipeline.Run, place *worker.Slot) error {
	return b.within(ctx, keyOf(run.Stored), place, func(ctx context.Context) error { return plan.Execute(ctx, run) })
}

// within runs a part of a cycle under a deadline. A panic is an error of this resource alone.
func (b *box) within(ctx context.Context, key types.NamespacedName, place *worker.Slot, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.engine.config.ReconcileTimeout)
	defer cancel()
	defer b.overdue.Watch(ctx, key, place)()
	defer func() {
		if p := recover(); p != nil {
			b.panicked(p, debug.Stack())
			err = &pipeline.StepError{Step: stepReconcile, Class: pipeline.Panic, Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	err = f(ctx)
	if p, ok := errors.AsType[*pipeline.PanicError](err); ok {
		b.panicked(p.Value, p.Stack)
	}
	return b.named(ctx, err)
}

// again queues the next look at a resource. Looks that no event asked for stand behind those that one did.
func (b *box) again(key types.NamespacedName, st *state, after time.Duration) {
	if expires := st.inputs.Expires(); !expires.IsZero() {
		after = min(after, max(0, expires.Sub(b.engine.config.Clock.Now())))
	}
	b.queue.EnqueueLow(after, key)
}

// await queues the next look at a resource that need not be evaluated now.
func (b *box) await(plan *pipeline.Plan, key types.NamespacedName, st *state) {
	switch st.class {
	case pipeline.Transient, pipeline.Panic:
		// An event used up the look that the backoff had queued.
		b.soon(key, st.due.Sub(b.engine.config.Clock.Now()))
	case pipeline.Permission:
		b.again(key, st, min(access.RetryInterval, plan.Runtime.Resync))
	default:
		b.again(key, st, b.resync(plan))
	}
}

// soon queues a resource at the priority of an event.
func (b *box) soon(key types.NamespacedName, after time.Duration) {
	b.queue.Enqueue(after, key)
}

// resync is the time to the next look, spread so that resources made together do not come back together.
func (b *box) resync(plan *pipeline.Plan) time.Duration {
	const spread = 0.1
	return wait.Jitter(resyncFloor(plan.Runtime.Resync), spread)
}

// resyncFloor is the shortest time between two looks that nothing but time asked for.
func resyncFloor(resync time.Duration) time.Duration { return resync * 9 / 10 }
