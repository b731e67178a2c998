// Package engine runs plans: for each box one informer, one queue and one pool of workers, started, swapped and stopped at
// run time. Boxes share the informers of children, which are read-only, and limits over the whole process (reconciles, requests,
// memory), of which one box never gets more than half.
//
// The engine schedules reconciles, wraps each of them so that nothing it does can harm another, and passes results on:
// to the resource's status, to the health tracker, to metrics and events. It knows nothing of OperatorBox objects, and
// nothing of what the stages of a plan do.
package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/cycle"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/lifecycle"
	"github.com/orkspace/orkestra/engine/look"
	"github.com/orkspace/orkestra/engine/monitor"
	"github.com/orkspace/orkestra/engine/observe"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/release"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/worker"
)

// RequestTimeout bounds every write, so that the last write of an old leader ends before its lease does.
const RequestTimeout = 4 * time.Second

// maxInFlight is how many requests may be under way at the same time, over all boxes. A box may have half of them.
const maxInFlight = 128

// Engine runs boxes. It is safe for concurrent use.
type Engine struct {
	config       Config
	dynamic      discovery.Client
	children     *watch.Children
	observed     *watch.Observed
	writable     *watch.Observed // what the code of constructors lists
	comparer     *drift.Comparer
	kinds        *discovery.Kinds
	dependencies observe.Dependencies
	calls        *cycle.Calls
	requests     flowcontrol.RateLimiter // the cap over all boxes
	slots        chan struct{}           // one per reconcile that may run, over all boxes
	memory       *budget.Pool            // what the templates of all boxes may make at the same time
	turns        *lifecycle.Turns
	connections
	*lifecycle.Leadership
	shared

	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // the life of the engine: boxes outlive the calls that start them
	closed bool
	boxes  map[string]*box // guarded by mu
}

// shared are the parts of the engine that the reconcilers use as well.
type shared struct {
	mapper   *discovery.Mapper
	monitors *monitor.Monitors
	caches   *look.Caches
}

// New gives an engine that starts nothing until Start.
func New(config Config) (*Engine, error) {
	config = withDefaults(config)
	watching := rest.CopyConfig(config.REST)
	// No client-side rate: lists and watches are few and long, and a list that waits behind writes would delay the start of a box.
	// What writes has limits of its own, see newBox.
	watching.QPS = -1
	watching.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting(next, config.Metrics, "") })
	dyn, err := discovery.NewClient(watching)
	if err != nil {
		return nil, err
	}
	writing, err := rest.TransportFor(config.REST)
	if err != nil {
		return nil, fmt.Errorf("making a transport: %w", err)
	}
	leadership := lifecycle.NewLeadership(config.Clock)
	e := &Engine{
		config: config, dynamic: dyn,
		requests:    worker.SharedRateLimiter(config.REST),
		connections: connections{http: writing, inFlight: make(chan struct{}, maxInFlight)},
		slots:       make(chan struct{}, config.MaxConcurrentReconciles),
		memory:      budget.NewPool(config.MemoryLimit/4, nil),
		Leadership:  leadership,
		turns:       lifecycle.NewTurns(leadership),
		boxes:       map[string]*box{},
	}
	config.Metrics.MeasurePlaces(func() int { return len(e.slots) })
	e.mapper = discovery.NewMapper(config.Mapper, config.Clock, config.Discover, e.kindsChanged)
	e.config.Mapper = e.mapper
	e.calls = cycle.NewCalls(config.Egress, config.Clock, config.Metrics)
	e.kinds = discovery.NewKinds(dyn, e.mapper)
	e.comparer = drift.NewComparer(e.kinds.Schema)
	e.children = watch.NewChildren(e.config.watch(e.dynamic, e.panicked), e.childChanged)
	e.observed = watch.NewObserved(e.config.watch(e.dynamic, e.panicked), e.observedChanged)
	e.writable = watch.NewObserved(writable(e.config.watch(e.dynamic, e.panicked)), func(kind schema.GroupVersionKind, old, obj *unstructured.Unstructured) {
		codeChanged(e.all(), kind, old, obj)
	})
	e.caches = look.New(e.children, e.observed, e.writable)
	e.monitors = monitor.New(monitor.Config{
		Informers: e.observed, Clock: config.Clock, Log: config.Log, Timeout: RequestTimeout, Changed: config.Notifier.HealthChanged, Panicked: e.panicked,
	})
	return e, nil
}

// Start runs the engine until ctx ends, then stops every box and waits for it. It implements manager.Runnable and runs on
// every replica: followers keep informers warm and write nothing.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	if e.ctx != nil {
		e.mu.Unlock()
		return errors.New("starting the engine: it was started before")
	}
	e.ctx = ctx
	e.mu.Unlock()

	// Workers decide by the caches of children what to write and to delete. So the informers end after the last worker, and not with ctx.
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	var informers sync.WaitGroup
	var errs [3]error
	informers.Go(func() { worker.Guard(func() { errs[0] = e.children.Run(watching) }, e.panicked) })
	informers.Go(func() { worker.Guard(func() { errs[1] = e.observed.Run(watching) }, e.panicked) })
	informers.Go(func() { worker.Guard(func() { errs[2] = e.writable.Run(watching) }, e.panicked) })
	e.monitors.Run(ctx) // blocks until ctx ends
	e.mu.Lock()
	e.closed = true // Ensure starts no box from here on
	boxes := e.boxes
	e.boxes = map[string]*box{}
	e.mu.Unlock()
	e.stopAll(boxes)
	for _, b := range boxes {
		b.ending.Wait() // however long that takes: the process bounds it, and ends what does not come back
	}
	unwatch()
	informers.Wait()
	return errors.Join(errs[:]...)
}

// Mapper knows how the API server serves kinds. It has to be told of CRDs.
func (s *shared) Mapper() *discovery.Mapper { return s.mapper }

// Monitors are the CRDs of other operators that are monitored while the engine runs.
func (s *shared) Monitors() *monitor.Monitors { return s.monitors }

// Caches show what the boxes that run have in their informers.
func (s *shared) Caches() *look.Caches { return s.caches }

// NeedLeaderElection implements manager.LeaderElectionRunnable. It is false because followers fill their caches, too: a new leader
// begins to work at once. The workers wait for Lead.
func (*Engine) NeedLeaderElection() bool { return false }

// Closing says whether this process is stopping. Its boxes end one by one then, and report that they do not run, which is no news
// about their health: the status that was written last is kept. Ask for Closing after the report, so that a report which was made
// while the process stopped is recognized.
func (e *Engine) Closing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ctx != nil && e.ctx.Err() != nil
}

// Options are what a box needs besides its plan.
type Options struct {
	// ManagedKinds are kinds that the box has made children of before, and that must still be watched.
	ManagedKinds []schema.GroupVersionKind
	// Namespaces are those in which resources are watched, sorted; nil: all. Besides those that the plan selects, they are
	// those in which a former plan may have marked resources: see Unneeded.
	Namespaces []string
	// Health is what the process that leads last wrote of the box's health. It is read until this process leads.
	Health *v1alpha1.CRDHealthStatus
}

// inWaves gives boxes in the order in which they are started: after those that they depend on.
func inWaves(boxes map[string]*box) [][]*box {
	return lifecycle.InWaves(boxes, func(b *box) []string {
		var names []string
		for _, d := range b.plan.Load().DependsOn {
			names = append(names, d.Name)
		}
		return names
	})
}

// Lead starts the workers of all boxes, now and in future. Call it once this process leads. Boxes whose caches are full already are
// started after those that they depend on; the others as soon as their caches are full.
func (e *Engine) Lead() {
	e.turns.Lead(func() [][]*lifecycle.Turn {
		e.mu.Lock()
		defer e.mu.Unlock()
		var turns [][]*lifecycle.Turn
		for _, wave := range inWaves(e.boxes) {
			var of []*lifecycle.Turn
			for _, b := range wave {
				of = append(of, b.turn)
			}
			turns = append(turns, of)
		}
		return turns
	})
}

// stopAll stops boxes, each before those that it depends on. All of them together have the shutdown timeout.
func (e *Engine) stopAll(boxes map[string]*box) {
	lifecycle.Stopping[*box]{
		Clock: e.config.Clock, Timeout: e.config.ShutdownTimeout,
		Finish: func(b *box) { b.cancel() },
		Stop:   func(b *box, over <-chan time.Time) { _ = b.stop(over) }, // it is in the log, and Start waits for it
	}.Backwards(inWaves(boxes))
}

// Ensure makes a box run a plan. It is idempotent: a box that runs gets the new plan without a restart; one whose CRD,
// version or namespaces changed is stopped and started. It does not wait for caches: BoxChanged tells when they are full. It gives a StuckError
// where the box that runs does not stop.
func (e *Engine) Ensure(plan *pipeline.Plan, options Options) error {
	e.mu.Lock()
	former := e.boxes[plan.Box]
	ready := e.ctx != nil && !e.closed
	e.mu.Unlock()
	if !ready {
		return ErrNotStarted
	}
	if former != nil && !former.ending.Begun() && serves(former.plan.Load(), plan) && slices.Equal(former.namespaces, options.Namespaces) {
		former.swap(plan, options)
		return nil
	}
	if former != nil {
		// It is waited for: two sub-controllers of one box would write the same children.
		if err := e.Remove(plan.Box); err != nil {
			return err
		}
	}
	b, err := newBox(e, plan, options)
	if err != nil {
		return err
	}
	b.inherit(former)
	e.mu.Lock()
	if e.closed { // meanwhile: nobody would stop this box
		e.mu.Unlock()
		b.queue.ShutDown()
		b.clients.stop()
		return ErrNotStarted
	}
	e.boxes[plan.Box] = b
	e.caches.Add(plan.Box, &look.Box{Plan: b.plan.Load, Resources: b.resources})
	b.start(e.ctx)
	e.mu.Unlock()
	e.boxChanged(plan.Box)
	return nil
}

// all gives every box that is not being stopped.
func (e *Engine) all() []*box {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(e.boxes)), func(b *box) bool { return b.ending.Begun() })
}

// Remove stops a box and waits until its workers, informer and goroutines are gone. Nothing in the cluster changes. It gives a StuckError
// where that takes longer than the shutdown timeout, and a little more for what is canceled then; a box that is stuck already is not waited
// for again. The box goes on to stop, and BoxChanged tells when it has: the caller calls it, or Ensure, again then.
func (e *Engine) Remove(name string) error {
	e.mu.Lock()
	b := e.boxes[name]
	e.mu.Unlock()
	if b == nil {
		return nil
	}
	if err := b.stop(e.config.Clock.After(e.config.ShutdownTimeout)); err != nil {
		return err
	}
	e.mu.Lock()
	last := e.boxes[name] == b
	if last {
		delete(e.boxes, name)
		e.caches.Drop(name)
	}
	e.mu.Unlock()
	if last {
		e.calls.Forget(name)
		e.config.Metrics.Forget(name)
		e.config.History.Forget(name)
		e.boxChanged(name)
	}
	return nil
}

// Plan gives the plan that a box runs; nil when it does not run.
func (e *Engine) Plan(name string) *pipeline.Plan {
	if b := e.box(name); b != nil {
		return b.plan.Load()
	}
	return nil
}

// Release lets go of all resources of a box: it writes to each why, and takes Orkestra's marks off. It gives those that are left,
// sorted; the caller calls it again after each BoxChanged until there are none.
func (e *Engine) Release(ctx context.Context, name string, how release.Mode, cause release.Cause) (left []types.NamespacedName, err error) {
	b := e.box(name)
	if b == nil {
		return nil, nil
	}
	return b.release.All(ctx, how, cause)
}

// SnapshotRevisions names the revisions of a box that its resources would go back to, or are kept at, sorted. known is false where the box
// does not run yet, or any more: nobody has seen all of its resources then.
func (e *Engine) SnapshotRevisions(name string) (revisions []string, known bool) {
	b := e.box(name)
	if b == nil || !b.running() {
		return nil, false
	}
	return b.cycles.SnapshotRevisions(), true
}

// Unneeded says what a box need not watch any more: kinds that its plan does not make, and of which neither the box nor a former one has
// left a child; and whether it can be restarted with the namespaces of its plan alone, because in none of the others that it watches a
// resource is left that carries Orkestra's marks.
func (e *Engine) Unneeded(name string) (kinds []schema.GroupVersionKind, namespaces bool) {
	b := e.box(name)
	if b == nil || !b.running() {
		return nil, false
	}
	return b.inventory.Unused(b.resources), release.Narrow(b.plan.Load(), b.namespaces, b.resources)
}

// Withheld gives the rights to read that a box lacks, as its resources found out when they read: what a template decides is not known
// before. They are sorted.
func (e *Engine) Withheld(name string) []access.Right {
	b := e.box(name)
	if b == nil {
		return nil
	}
	return b.observer.Withheld()
}

// Report says how a box fares; ok is false when it does not run.
func (e *Engine) Report(name string) (report health.Report, ok bool) {
	b := e.box(name)
	if b == nil {
		return health.Report{}, false
	}
	return b.report(), true
}

// box gives a box; nil where it does not run, or is being stopped.
func (e *Engine) box(name string) *box {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.boxes[name]; b != nil && !b.ending.Begun() {
		return b
	}
	return nil
}

// childChanged queues the owner of a child that changed. name is the box that the child's label names. If that box does not run,
// another box may have taken over its resources, so the owner is searched in all of them.
func (e *Engine) childChanged(owner types.UID, name string, kind schema.GroupVersionKind) {
	var others []*box
	if b := e.box(name); b == nil {
		others = e.all()
	} else if b.inventory.Counts(kind) {
		others = []*box{b}
	}
	for _, other := range others {
		if key, ok := other.resources.Key(owner); ok {
			other.queue.Enqueue(0, key)
			e.caches.Changed(other.name, key)
		} else if key, left := other.owners.ByUID(owner); left {
			other.queue.Enqueue(0, key) // it is let go when what onDelete has made is done, and its children are gone
		}
	}
}
