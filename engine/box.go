package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/autoscale"
	"github.com/orkspace/orkestra/engine/cleanup"
	"github.com/orkspace/orkestra/engine/cycle"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/inventory"
	"github.com/orkspace/orkestra/engine/lifecycle"
	"github.com/orkspace/orkestra/engine/observe"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/release"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/worker"
)

// box is the sub-controller of one OperatorBox. Two of one name never run at the same time.
type box struct {
	engine    *Engine
	name      string
	log       logr.Logger
	plan      atomic.Pointer[pipeline.Plan]
	resources *watch.Resources
	queue     *worker.Queue
	tracker   *health.Tracker
	known     atomic.Pointer[v1alpha1.CRDHealthStatus] // what another process last wrote; nil: nothing
	inventory *inventory.Inventory
	owners    *cleanup.Owners
	overdue   *worker.Overdue
	cycles    *cycle.Reconciler
	release   release.Everything
	observer  *observe.Observer
	rights    access.Holder // of as whom the box acts
	// namespaces are those that are watched; nil: all. They hold the plan's, and those that a former plan has marked resources in.
	namespaces []string

	clients clients
	capacity
	life
	progress
}

// capacity is what a box works with.
type capacity struct {
	pool   *worker.Pool
	scaler *autoscale.Runner // sets the limits of pool and queue
}

// life is what starts a box, and what ends it.
type life struct {
	cancel  context.CancelFunc // ends everything of the box
	quit    context.CancelFunc // ends the workers' contexts: their current reconcile is canceled
	working sync.WaitGroup     // the goroutines of the box
	turn    *lifecycle.Turn    // to begin, where the process does not lead yet
	ending  *lifecycle.Ending
}

func newBox(e *Engine, plan *pipeline.Plan, options Options) (*box, error) {
	b := &box{
		engine: e, name: plan.Box, log: e.config.Log.WithValues("box", plan.Box),
		life: life{turn: lifecycle.NewTurn(), ending: lifecycle.NewEnding()},
	}
	// Each box has a client of its own, so that its rate and its requests in flight are counted for it alone. The connections behind
	// it are shared.
	writing := rest.CopyConfig(e.config.REST)
	writing.RateLimiter = worker.NewRateLimiter(writing, e.requests)
	clients, err := e.clients(e.config, plan, writing)
	if err != nil {
		return nil, fmt.Errorf("making the clients of box %q: %w", plan.Box, err)
	}
	client := clients.account
	b.clients = clients
	writer := apply.NewWriter(client, e.children, e.comparer)
	writer.Lives = b.lives
	former := func(ctx context.Context) ([]string, error) { return e.config.Plans.FinalizersOf(ctx, plan.Box) }
	// Snapshots are ControllerRevisions, whose informer is among those of children: reading one costs no request.
	snapshots := &rollback.Store{Client: clients.manager, Cache: e.children, Namespace: e.config.Namespace, Keys: e.config.SnapshotKeys, Ours: watch.OursByFields}
	b.plan.Store(plan)
	b.inventory = inventory.New(b.name, b.plan.Load, e.children, e.kinds, RequestTimeout)
	b.inventory.Set(plan, options.ManagedKinds)
	b.owners = &cleanup.Owners{Box: b.name, Inventory: b.inventory, Snapshots: snapshots, Writer: writer, Clock: e.config.Clock, Plan: b.plan.Load, Changed: func() { e.config.Notifier.BoxChanged(b.name) }}
	b.rights = e.config.Rights.Of(plan.Account, plan.Box)
	b.observer = observe.New(b.name, observe.Sources{Objects: e.observed, Boxes: kindsOf{e}, Dependencies: &e.dependencies, Rights: b.rights, Mapper: discovery.MapperOf(plan.CRD, e.config.Mapper), Timeout: RequestTimeout})
	b.queue = worker.NewQueue(b.passes)
	b.queue.Tell(func(wait time.Duration) { e.config.Metrics.Waited(b.name, wait) })
	b.pool = worker.NewPool(b.queue, plan.Runtime.Workers, func(ctx context.Context, key types.NamespacedName) { b.cycles.Reconcile(ctx, key) }, b.afterPanic)
	b.overdue = worker.NewOverdue(func() { e.config.Notifier.BoxChanged(b.name) })
	b.tracker = health.NewTracker(e.config.Clock, plan.Runtime.FailureThreshold, b.healthChanged)
	if options.Health != nil {
		b.known.Store(options.Health)
		b.tracker.Restore(*options.Health)
	}
	b.namespaces = options.Namespaces
	b.resources = watch.NewResources(b.watchConfig(), plan.CRD.Resource, b.namespaces, watch.Selected(plan.Watched()), e.caches.Events(b.name, b.events()))
	b.release = release.Everything{
		Releaser: &release.Releaser{Box: b.name, Plan: b.plan.Load, Client: client, Writer: writer, FormerFinalizers: former, Clock: e.config.Clock},
		Finder:   &release.Finder{Namespaces: b.namespaces, Marker: apply.NewMarker(clients.manager), Lives: b.lives, Changed: func() { e.config.Notifier.BoxChanged(b.name) }}, Cache: b.resources, Inventory: b.inventory, Owners: b.owners, Patcher: writer.Patcher(),
	}
	if b.clients.constructed, err = newCode(b, writing); err != nil {
		clients.stop()
		return nil, err
	}
	b.queue.SetFair(plan.Runtime.Fair)
	b.scaler = autoscale.NewRunner(tuning{b}, e.config.Clock)
	b.scaler.Follow(plan.Runtime.Autoscale, plan.Runtime.Limits())
	b.cycles = cycle.New(b.cycleConfig(writing, client, writer, snapshots))
	b.release.Provided = b.cycles
	return b, nil
}

// cycleConfig is what the cycles of the box are made of.
func (b *box) cycleConfig(writing *rest.Config, client *apply.Client, writer *apply.Writer, snapshots *rollback.Store) cycle.Config {
	e := b.engine
	var code reconcile.Reconciler
	if b.clients.constructed != nil {
		code = b.clients.constructed
	}
	return cycle.Config{
		Box: b.name, Plan: b.plan.Load, Namespaces: b.namespaces, Resources: b.resources, Inventory: b.inventory, Owners: b.owners,
		Releaser: b.release.Releaser, Client: client, Constructed: code, Code: b.clients.code, Writer: writer, Patcher: writer.Patcher(), PatchOf: e.patchOf, Snapshots: snapshots, Plans: e.config.Plans, FormerFinalizers: b.release.FormerFinalizers,
		Children: e.children, Kinds: e.kinds, ForgetSchemas: e.kinds.Forget,
		Caller: e.calls, Tokens: b.clients.tokens,
		Observer: b.observer, Rights: b.rights, Notifier: e.config.Notifier, Tracker: b.tracker, Known: b.known.Load,
		Queue: b.queue, Slots: worker.NewPlaces(e.slots), Overdue: b.overdue, Retries: worker.NewRetries(writing, e.config.Clock),
		Memory: budget.NewPool(e.config.MemoryLimit/8, e.memory), Timeout: e.config.ReconcileTimeout,
		Clock: e.config.Clock, Log: b.log, Metrics: e.config.Metrics, History: e.config.History, Tracer: e.config.Tracer, Events: b.clients.events, BoxEvents: e.config.Events, Measured: b.scaler.Reconciled,
	}
}

// afterPanic handles a panic of a cycle outside of the stages, which are guarded by themselves: it is an error of this resource alone, too.
func (b *box) afterPanic(key types.NamespacedName, p any, stack []byte) {
	worker.Guard(func() { b.cycles.AfterPanic(key, p, stack) }, b.panicked)
}

// healthChanged passes changed counts on.
func (b *box) healthChanged(urgent bool) {
	known := b.tracker.Snapshot()
	b.engine.config.Metrics.SetResources(b.name, known.Resources)
	b.engine.config.Metrics.SetRolledBack(b.name, known.Rollback.Count)
	b.engine.config.Notifier.HealthChanged(b.name, urgent)
}

// serves says whether a box that runs one plan can take another without a restart: it watches the same CRD, as the same account, for the same
// reconciler of a constructor.
func serves(old, plan *pipeline.Plan) bool {
	return old.WatchesSame(plan) && old.Account == plan.Account && old.AccountProblem == plan.AccountProblem && old.CRD.UID == plan.CRD.UID && old.CRD.Resource == plan.CRD.Resource && old.UID == plan.UID && old.Constructor.Same(plan.Constructor)
}

// swap replaces the plan. Informer, queue, cache and backoff go on; every resource is reconciled once, behind fresh events.
func (b *box) swap(plan *pipeline.Plan, options Options) {
	old := b.plan.Load()
	// The managed kinds may have changed although the plan is the same: a kind whose last child is gone need not be watched.
	b.inventory.Set(plan, options.ManagedKinds)
	b.observer.Retain(plan.Retained(), plan.CrossBoxes)
	if options.Health != nil && !b.engine.Leading() {
		b.known.Store(options.Health)
	}
	same := old.Revision == plan.Revision && old.RevisionHash == plan.RevisionHash && old.CRD.Same(plan.CRD) && old.CleanupOnly == plan.CleanupOnly && old.SameElders(plan.Elders)
	if same {
		return
	}
	b.plan.Store(plan)
	b.tracker.SetThreshold(plan.Runtime.FailureThreshold)
	b.queue.SetFair(plan.Runtime.Fair)
	b.scaler.Follow(plan.Runtime.Autoscale, plan.Runtime.Limits())
	if old.CleanupOnly && plan.CRD.OfOthers && b.queue.IsOpen() {
		b.startQueue() // what was made for objects that have left meanwhile is deleted now
	} else {
		b.sweep()
	}
	b.engine.config.Notifier.BoxChanged(b.name)
}

// lives says whether the resource with a UID is there.
func (b *box) lives(uid types.UID) bool {
	_, lives := b.resources.Key(uid)
	return lives
}

// start starts the box's goroutines. They have the values of the engine's context but do not end with it: the engine stops its boxes
// in the order of their dependencies (stopAll).
func (b *box) start(parent context.Context) {
	parent = context.WithoutCancel(parent)
	ctx, cancel := context.WithCancel(parent)
	// What is under way when the box is told to stop is finished: stop gives it time, and then cancels it.
	work, quit := context.WithCancel(parent)
	b.cancel, b.quit = cancel, quit
	b.resources.Start(ctx)
	b.working.Go(func() {
		defer quit()
		defer b.turn.Begun()
		b.guard(func() { b.run(ctx, work) })
	})
}

// run fills the caches, waits for leadership, and works until ctx ends. Reconciles run on work, which outlives ctx until
// the workers are done or out of time.
func (b *box) run(ctx, work context.Context) {
	if err := b.warmUp(ctx); err != nil {
		if ctx.Err() == nil {
			b.log.Error(err, "Box did not start")
			b.reportProblem(err)
		}
		return
	}
	b.engine.config.Notifier.BoxChanged(b.name)
	if !b.engine.turns.Await(ctx, b.turn) {
		return
	}
	if !construct(ctx, b) {
		return
	}
	b.takeOver()
	b.work(ctx, work)
}

// warmUp fills the caches. A child kind that is not installed does not hold the box back: it is asked for again when a
// resource needs it.
func (b *box) warmUp(ctx context.Context) error {
	b.inventory.Fill(log.IntoContext(ctx, b.log))
	plan := b.plan.Load()
	for _, kind := range plan.ObservedKinds {
		if !plan.Account.IsManager() && kind != pipeline.NamespaceKind {
			continue // it is watched once a review has said that the account may read something of it
		}
		// A kind that is not installed, or may not be read, does not stop the box: the resource that needs it fails.
		if err := b.observer.Observe(ctx, kind); err != nil {
			b.log.V(1).Info("Kind can't be observed yet", "gvk", kind.String(), "reason", err.Error())
		}
	}
	if b.clients.constructed != nil {
		b.clients.constructed.Fill(log.IntoContext(ctx, b.log))
	}
	return b.resources.WaitForSync(ctx)
}

// takeOver gives the tracker what the former leader last wrote to CRDHealth, and counts each resource as its own status shows it:
// a restart or a change of leader must not make a box look better or worse. It runs late, when this process begins to lead, since
// another one may have led and counted until now.
func (b *box) takeOver() {
	if known := b.known.Load(); known != nil {
		b.tracker.Restore(*known)
	}
	b.tracker.Retain(func(name types.NamespacedName) bool {
		_, ok := b.resources.Get(name)
		return ok
	})
	plan := b.plan.Load()
	for _, key := range b.resources.Keys() {
		if obj, ok := b.resources.Get(key); ok && plan.Selection.Selects(obj) {
			b.cycles.TakeOver(obj)
		}
	}
}

// stop ends the box and waits for all of it: first the workers, until their time is over, then everything else. It gives up where they do
// not end even then, since code of users can't be ended. The end goes on beside it; BoxChanged tells when it has come.
func (b *box) stop(over <-chan time.Time) error {
	stuck := func() error { return newStuckError(b.plan.Load(), b.overdue, b.running()) }
	release := func() {
		b.quit()
		b.queue.ShutDown()
		b.resources.Stop()
		b.inventory.Release()
		b.observer.Release()
		if b.clients.constructed != nil {
			b.clients.constructed.Release()
		}
		b.clients.stop()
	}
	b.ending.Begin(lifecycle.Steps{
		Clock: b.engine.config.Clock, Finish: b.cancel, Wait: b.working.Wait, Over: over,
		Cancel: func() {
			b.log.Info("Workers are canceled: they did not finish in time")
			b.quit()
		},
		Late:    func() { b.log.Error(stuck(), "Box does not stop") },
		Release: func() { worker.Guard(release, b.panicked) },
		Told:    func() { b.engine.config.Notifier.BoxChanged(b.name) },
	})
	if b.ending.Await() {
		return nil
	}
	return stuck()
}

// events queue resources as they change.
func (b *box) events() watch.ResourceEvents {
	return watch.ResourceEvents{
		Add: func(obj *unstructured.Unstructured, initial bool) {
			b.cycles.Seen(obj)
			expect(b.plan.Load(), b.queue, b.tracker, obj)
			if initial {
				b.queue.EnqueueLow(0, client.ObjectKeyFromObject(obj))
				return
			}
			b.queue.Enqueue(0, client.ObjectKeyFromObject(obj))
		},
		Update: func(obj *unstructured.Unstructured) {
			b.cycles.Seen(obj)
			expect(b.plan.Load(), b.queue, b.tracker, obj)
			b.queue.Enqueue(0, client.ObjectKeyFromObject(obj))
		},
		Delete: func(obj *unstructured.Unstructured) {
			b.owners.Lost(obj)
			b.missed(obj)
		},
		Missed: b.missed, Troubled: func() { b.engine.config.Notifier.BoxChanged(b.name) },
	}
}

// expect counts a resource from when it is queued, if the workers run.
func expect(plan *pipeline.Plan, queue *worker.Queue, tracker *health.Tracker, obj *unstructured.Unstructured) {
	switch {
	case !queue.IsOpen(), plan.CleanupOnly:
	case !plan.Selection.Selects(obj):
		tracker.Left(client.ObjectKeyFromObject(obj))
	case obj.GetDeletionTimestamp() == nil: // else there may be nothing to do
		tracker.Expect(client.ObjectKeyFromObject(obj))
	}
}

// missed handles a resource that is gone. Where only a relist showed that, and no delete event, our last state of it may be old: the
// finalizer on it may have been taken off since, on purpose, so that its children stay. So only Delete treats it as a lost owner: a
// child that is deleted by mistake does not come back.
func (b *box) missed(obj *unstructured.Unstructured) {
	if !b.queue.IsOpen() { // the workers do not run yet
		// The process that leads cleans up. What it does not come to is found by startQueue if this process takes over.
		if !b.engine.Leading() {
			b.owners.Expire()
		}
		b.cycles.Forget(client.ObjectKeyFromObject(obj))
		return
	}
	b.owners.Deleted(obj)
	b.tracker.Left(client.ObjectKeyFromObject(obj))
	b.queue.Enqueue(0, client.ObjectKeyFromObject(obj))
}

// passes says whether a key need not wait outside of the queue: its resource is being deleted or gone, or it fails and somebody has
// changed it. Whatever has queued the key, that is read from the cache.
func (b *box) passes(key types.NamespacedName) bool {
	resource, found := b.resources.Get(key)
	return !found || cycle.Urgent(b.plan.Load(), resource)
}
