package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/cleanup"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/inventory"
	"github.com/orkspace/orkestra/engine/observe"
	"github.com/orkspace/orkestra/engine/pipeline"
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
	pool      *worker.Pool
	retries   *worker.Retries
	tracker   *health.Tracker
	known     atomic.Pointer[v1alpha1.CRDHealthStatus] // what another process last wrote; nil: nothing
	client    *apply.Client
	writer    *apply.Writer
	states    states
	inventory *inventory.Inventory
	owners    *cleanup.Owners
	snapshots *rollback.Store
	memory    *budget.Pool  // what its templates may make at the same time
	slots     worker.Places // of reconciles
	overdue   *worker.Overdue
	wentBack  atomic.Bool // the resources in failure have been queued since the box is degraded
	observer  *observe.Observer
	// namespaces are those that are watched; nil: all. They hold the plan's, and those that a former plan has marked resources in.
	namespaces []string

	cancel  context.CancelFunc // ends everything of the box
	quit    context.CancelFunc // ends the workers' contexts: their current reconcile is canceled
	working sync.WaitGroup     // the goroutines of the box
	turn    chan struct{}      // closed when a box that waits for leadership may start
	begun   chan struct{}      // closed when the workers run, or never will
	begin   sync.Once          // closes begun
	waits   bool               // for its turn; guarded by the engine's lock

	mu      sync.Mutex
	started time.Time // when the workers started; zero: they do not run. Guarded by mu
	problem string    // why the box can't start; guarded by mu
}

func newBox(e *Engine, plan *pipeline.Plan, options Options) (*box, error) {
	b := &box{
		engine: e, name: plan.Box, log: e.config.Log.WithValues("box", plan.Box),
		turn: make(chan struct{}), begun: make(chan struct{}),
	}
	writing := rest.CopyConfig(e.config.REST)
	writing.RateLimiter = worker.NewRateLimiter(writing, e.requests)
	through := &http.Client{Transport: worker.NewTransport(e.http, worker.NewPlaces(e.inFlight), RequestTimeout)}
	client, err := apply.NewClient(writing, through, discovery.MapperOf(plan.CRD, e.config.Mapper))
	if err != nil {
		return nil, fmt.Errorf("making the client of box %q: %w", plan.Box, err)
	}
	b.client = client
	b.memory = budget.NewPool(e.config.MemoryLimit/8, e.memory)
	b.writer = apply.NewWriter(client, e.children, e.comparer)
	b.snapshots = b.snapshotStore()
	b.plan.Store(plan)
	b.inventory = inventory.New(b.name, b.plan.Load, e.children, e.kinds, RequestTimeout)
	b.inventory.Set(plan, options.ManagedKinds)
	b.owners = &cleanup.Owners{Box: b.name, Inventory: b.inventory, Writer: b.writer, Clock: e.config.Clock}
	b.observer = observe.New(b.name, observe.Sources{Objects: e.observed, Boxes: e, Dependencies: &e.dependencies, Timeout: RequestTimeout})
	b.queue = worker.NewQueue()
	b.pool = worker.NewPool(b.queue, plan.Runtime.Workers, func(ctx context.Context, key types.NamespacedName) {
		b.safely(key, func() { b.look(ctx, key) })
	}, b.panicked)
	b.slots = worker.NewPlaces(e.slots)
	b.overdue = worker.NewOverdue(func() { e.config.Changed(b.name) })
	b.retries = worker.NewRetries(writing, e.config.Clock)
	b.tracker = health.NewTracker(e.config.Clock, plan.Runtime.FailureThreshold, b.healthChanged)
	if options.Health != nil {
		b.known.Store(options.Health)
		b.tracker.Restore(*options.Health)
	}
	b.writer.Lives = b.lives
	b.namespaces = options.Namespaces
	b.resources = watch.NewResources(b.watchConfig(), plan.CRD.Resource, b.namespaces, b.events())
	return b, nil
}

// healthChanged passes changed counts on.
func (b *box) healthChanged(urgent bool) {
	known := b.tracker.Snapshot()
	b.engine.config.Metrics.SetResources(b.name, known.Resources)
	b.engine.config.Metrics.SetRolledBack(b.name, known.Rollback.Count)
	b.engine.config.HealthChanged(b.name, urgent)
}

// serves says whether the running box can take a plan without a restart.
func (b *box) serves(plan *pipeline.Plan, options Options) bool {
	old := b.plan.Load()
	return old.CRD.UID == plan.CRD.UID && old.CRD.Resource == plan.CRD.Resource && old.UID == plan.UID &&
		slices.Equal(b.namespaces, options.Namespaces)
}

// swap replaces the plan. Informer, queue, cache and backoff go on; every resource is looked at once, behind fresh events.
func (b *box) swap(plan *pipeline.Plan, options Options) {
	old := b.plan.Load()
	b.inventory.Set(plan, options.ManagedKinds)
	b.observer.Retain(plan.ObservedKinds, plan.CrossBoxes)
	if options.Health != nil && !b.engine.Leading() {
		b.known.Store(options.Health)
	}
	same := old.Revision == plan.Revision && old.RevisionHash == plan.RevisionHash && old.CRD.Same(plan.CRD) && old.CleanupOnly == plan.CleanupOnly
	if same {
		return
	}
	b.plan.Store(plan)
	b.tracker.SetThreshold(plan.Runtime.FailureThreshold)
	b.pool.SetWorkers(plan.Runtime.Workers)
	b.sweep()
	b.engine.config.Changed(b.name)
}

// lives says whether the resource with a UID is there.
func (b *box) lives(uid types.UID) bool {
	_, lives := b.resources.ByUID(uid)
	return lives
}

// start starts the box's goroutines on the engine's context, whose end does not stop them: the engine stops one box after the other.
func (b *box) start(parent context.Context) {
	parent = context.WithoutCancel(parent)
	ctx, cancel := context.WithCancel(parent)
	// What is under way when the box is told to stop is finished: stop gives it time, and then cancels it.
	work, quit := context.WithCancel(parent)
	b.cancel, b.quit = cancel, quit
	b.resources.Start(ctx)
	b.working.Go(func() {
		defer quit()
		defer b.hasBegun()
		b.guard(func() { b.run(ctx, work) })
	})
}

// run fills the caches, waits for leadership, and works until ctx ends. Reconciles run on work, which outlives ctx until
// the workers are done or out of time.
func (b *box) run(ctx, work context.Context) {
	if err := b.warmUp(ctx); err != nil {
		if ctx.Err() == nil {
			b.log.Error(err, "Box did not start")
			b.stuck(err)
		}
		return
	}
	b.engine.config.Changed(b.name)
	if !b.awaitTurn(ctx) {
		return
	}
	b.takeOver()
	b.work(ctx, work)
}

// warmUp fills the caches. A child kind that is not installed does not hold the box back: it is asked for again when a
// resource needs it.
func (b *box) warmUp(ctx context.Context) error {
	b.inventory.Fill(log.IntoContext(ctx, b.log))
	for _, kind := range b.plan.Load().ObservedKinds {
		// What is not there, or may not be read, is an error of the resource that needs it.
		if err := b.observer.Observe(ctx, kind); err != nil {
			b.log.V(1).Info("Kind can't be observed yet", "gvk", kind.String(), "reason", err.Error())
		}
	}
	return b.resources.WaitForSync(ctx)
}

// takeOver begins with what the last process knew, and counts the resources as their own status shows them, so that a
// restart neither heals nor breaks anything. Until now another process may have led and counted.
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
			ready, waiting, failing := shows(obj)
			b.tracker.Seed(key, ready, waiting, failing)
			b.seedRolledBack(key, obj)
		}
	}
}

// stop ends the box and waits for all of it: first the workers, until their time is over, then everything else.
func (b *box) stop(over <-chan time.Time) {
	b.cancel()
	done := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-done:
		case <-over:
			b.log.Info("Workers are canceled: they did not finish in time")
			b.quit()
		}
	})
	b.working.Wait()
	close(done)
	waiting.Wait()
	b.quit()
	b.queue.ShutDown()
	b.resources.Stop()
	b.inventory.Release()
	b.observer.Release()
}

// events queue resources as they change.
func (b *box) events() watch.ResourceEvents {
	return watch.ResourceEvents{
		Add: func(obj *unstructured.Unstructured, initial bool) {
			b.states.note(obj)
			if initial {
				b.queue.EnqueueLow(0, keyOf(obj))
				return
			}
			b.queue.Enqueue(0, keyOf(obj))
		},
		Update: func(_, obj *unstructured.Unstructured) {
			b.states.note(obj)
			b.queue.Enqueue(0, keyOf(obj))
		},
		Delete: func(obj *unstructured.Unstructured) {
			b.owners.Lost(obj)
			b.missed(obj)
		},
		Missed: b.missed,
	}
}

// missed takes in that a resource is no more whose end nobody has seen. It was held when it was last seen, but may have been
// let go since, and its children are to stay then. So it is not taken for one that was lost: what would be deleted could not be
// brought back.
func (b *box) missed(obj *unstructured.Unstructured) {
	if !b.queue.IsOpen() {
		// What another process that leads has not come to is found when this one takes over.
		if !b.engine.Leading() {
			b.owners.Expire()
		}
		b.states.forget(keyOf(obj))
		return
	}
	b.owners.Deleted(obj)
	b.queue.Enqueue(0, keyOf(obj))
}

func keyOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
