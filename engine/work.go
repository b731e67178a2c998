package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/metrics"
)

// work runs the workers until ctx ends, and waits for them.
func (b *box) work(ctx, work context.Context) {
	spawn := func(n int) {
		b.working.Go(func() { b.guard(func() { b.runWorkers(ctx, work, n) }) })
	}
	b.mu.Lock()
	b.started = b.engine.config.Clock.Now()
	b.workers = b.plan.Load().Runtime.Workers
	b.addWorker = spawn
	n := b.workers
	b.mu.Unlock()
	b.log.Info("Box started", "workers", n)
	b.engine.config.Metrics.Ensure(b.name)
	b.engine.config.Metrics.Measure(b.name, b.load)
	b.engine.config.Changed(b.name)
	b.startQueue()
	b.hasBegun()
	b.runWorkers(ctx, work, n)
	b.mu.Lock()
	b.started = time.Time{}
	b.addWorker = nil
	b.mu.Unlock()
	b.log.Info("Box stopped")
}

// load says how busy the box is.
func (b *box) load() metrics.Load {
	return metrics.Load{Queued: b.queue.Len(), Workers: b.plan.Load().Runtime.Workers, Busy: b.queue.inUse(), Overdue: b.overdue.count()}
}

// startQueue queues everything: until now nobody worked, and nothing was kept of what happened.
func (b *box) startQueue() {
	b.queue.idle.Store(false)
	b.sweep()
	for _, key := range b.vanished.keys() {
		b.queue.Add(reconcile.Request{NamespacedName: key})
	}
	b.findRemains()
}

// growTo adds workers to a running box. Fewer are had by permits: goroutines that wait cost next to nothing.
func (b *box) growTo(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.addWorker == nil || n <= b.workers {
		return
	}
	b.addWorker(n - b.workers)
	b.workers = n
}

// runWorkers runs one controller object with n workers on the box's queue.
func (b *box) runWorkers(ctx, work context.Context, n int) {
	c, err := controller.NewUnmanaged("box", controller.Options{
		// The metrics of controller-runtime can't be deleted per box, so all boxes share one name, and have series of our own.
		SkipNameValidation:      new(true),
		MaxConcurrentReconciles: n,
		Reconciler: reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			b.safely(req.NamespacedName, func() { b.look(work, req.NamespacedName) })
			return reconcile.Result{}, nil
		}),
		NewQueue: func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return b.queue
		},
		Logger: b.log.V(1),
	})
	if err != nil {
		b.stuck(fmt.Errorf("making workers: %w", err))
		return
	}
	if err := c.Start(ctx); err != nil {
		b.stuck(fmt.Errorf("running workers: %w", err))
	}
}

// stuck notes why the box does not run, and tells.
func (b *box) stuck(err error) {
	b.mu.Lock()
	b.problem = err.Error()
	b.mu.Unlock()
	b.engine.config.Changed(b.name)
}

func (b *box) running() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.started.IsZero()
}

// report says how the box fares.
func (b *box) report() health.Report {
	plan := b.plan.Load()
	b.mu.Lock()
	started, problem := b.started, b.problem
	b.mu.Unlock()
	r := health.Report{
		Phase: health.Starting, Message: "caches are filling", Snapshot: b.tracker.Snapshot(), Revision: plan.Revision,
		QueueDepth: clamp(b.queue.Len()), FailureThreshold: plan.Runtime.FailureThreshold, CRD: plan.CRD.Name,
		RollsBack: plan.Rollback != nil,
	}
	r.Dependencies, r.Awaits = b.dependencies(plan)
	switch {
	case problem != "":
		r.Phase, r.Message = health.Pending, problem
	case !started.IsZero():
		r.Phase, r.Message, r.StartedAt = health.Running, "", started
		r.Workers = clamp(plan.Runtime.Workers)
		r.Stuck = b.stuckOn(plan.Runtime.Workers)
	}
	if plan.CleanupOnly {
		r.Phase, r.Message, r.Revision = health.Suspended, "only deletions are served", ""
	}
	return r
}

func clamp(n int) int32 {
	const most = 1<<31 - 1
	return int32(min(n, most)) //nolint:gosec // bounded on the line above
}

// queueOwner queues the resource with that UID.
func (b *box) queueOwner(uid types.UID) {
	if obj, ok := b.resources.ByUID(uid); ok {
		b.queue.Add(requestOf(obj))
	}
}

// sweep queues every resource behind fresh events.
func (b *box) sweep() {
	for _, key := range b.resources.Keys() {
		b.queue.low(0, reconcile.Request{NamespacedName: key})
	}
}
