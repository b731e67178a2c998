package cycle

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/cleanup"
	"github.com/orkspace/orkestra/engine/contention"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/inventory"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/observe"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
	"github.com/orkspace/orkestra/engine/provision"
	"github.com/orkspace/orkestra/engine/release"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/tracing"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/worker"
)

// Plans gives plans of kept revisions.
type Plans interface {
	// PlanOf gives the plan of a kept revision of a box, compiled against the box's CRD as it is now. It reads from the API
	// server unless the plan was asked for before. Errors say which revision of which box, and why it can't be had. hash is
	// that of the whole content; empty: it is not known.
	PlanOf(ctx context.Context, box, revision, hash string) (*pipeline.Plan, error)
}

// Notifier hears what a cycle has to tell. It must not block.
type Notifier interface {
	// BoxChanged tells that something has changed that the box's own reconciler depends on.
	BoxChanged(box string)
	// RightDenied tells that the API server has confirmed that a right is missing on which a box relies.
	RightDenied(box string)
}

// Rights says which rights there are.
type Rights interface {
	// Granted says whether a right is there now. While the API server can't be asked, it is not.
	Granted(ctx context.Context, want access.Right) bool
	// Lost notes that a right is missing, and says whether it was believed to be there.
	Lost(missing access.Right) bool
}

// Config is what the cycles of one box are made of.
type Config struct {
	// Box is the name of the box.
	Box string
	// Plan gives the plan that the box runs now.
	Plan func() *pipeline.Plan
	// Namespaces are those that are watched; nil: all.
	Namespaces []string
	// Resources of the box.
	Resources *watch.Resources
	// Inventory of its children.
	Inventory *inventory.Inventory
	// Owners that went.
	Owners *cleanup.Owners
	// Releaser lets go of resources.
	Releaser *release.Releaser
	// Client writes the status of resources, and Writer their children and marks.
	Client *apply.Client
	Writer *apply.Writer
	// Constructed is the reconciler that takes the place of the plan; nil: there is none.
	Constructed reconcile.Reconciler
	// Code is the client of code of the user's own; nil: there is none.
	Code client.Client
	// Patcher sets fields of objects that others own.
	Patcher apply.Patcher
	// PatchOf says in words which patch of any box's resources has a field manager; empty: none.
	PatchOf func(manager string) string
	// Snapshots of the resources.
	Snapshots *rollback.Store
	// Plans of kept revisions.
	Plans Plans
	// FormerFinalizers gives the finalizers that the kept revisions of the box name.
	FormerFinalizers apply.FormerFinalizers
	// Children of all boxes, for those that find out who else writes a child.
	Children contention.Cache
	// Kinds resolves kinds, and ForgetSchemas has their schemas learned anew.
	Kinds         pipeline.Kinds
	ForgetSchemas func(kinds []schema.GroupVersionKind)
	// Caller calls HTTP services and providers. A cycle leaves its slot to others meanwhile.
	Caller Callers
	// Tokens are sent to providers.
	Tokens provision.Tokens
	// Observer reads what the box does not own.
	Observer *observe.Observer
	// Rights of as whom the box acts.
	Rights Rights
	// Notifier hears what is to tell.
	Notifier Notifier
	// Tracker counts the health of the box. Known is what another process last wrote of it; nil: nothing.
	Tracker *health.Tracker
	Known   func() *v1alpha1.CRDHealthStatus
	// Queue of the box, the Slots of its reconciles, those that are Overdue, and the budget of Retries.
	Queue   *worker.Queue
	Slots   worker.Places
	Overdue *worker.Overdue
	Retries *worker.Retries
	// Memory is what the templates of the box may make at the same time.
	Memory *budget.Pool
	// Timeout of one cycle.
	Timeout time.Duration
	// Clock tells the time.
	Clock clock.PassiveClock
	// Log is where the cycles log.
	Log logr.Logger
	// Metrics records. nil: nothing is recorded.
	Metrics *metrics.Recorder
	// History remembers what the cycles did. nil: nobody does.
	History *history.History
	// Tracer makes a trace of each cycle that it samples. nil: of none.
	Tracer *tracing.Tracer
	// Measured is told of each reconcile that was not skipped: how long it took, and whether it failed. nil: nobody is.
	Measured func(took time.Duration, failed bool)
	// Events sends events about resources, and BoxEvents those about the box. nil: none are sent.
	Events, BoxEvents events.EventRecorder
}

// Reconciler runs the cycles of one box. It is safe for concurrent use, but for two cycles of one resource.
type Reconciler struct {
	Config

	states  states
	woken   woken
	waiters waiters
	// swept says that all failing resources were queued when the box degraded, so that it is not done for each further failure.
	swept atomic.Bool
}

// New gives a reconciler that knows nothing of its resources.
func New(config Config) *Reconciler {
	return &Reconciler{Config: config}
}

// cycle is one reconcile of one resource, under way.
type cycle struct {
	*Reconciler

	stored *unstructured.Unstructured // as the cycle began with it; nil: it is gone
	st     *state
	slot   *worker.Slot
	record *Record
	laps   laps // of the plan that runs

	leavingSince time.Time // since when an object of others is not selected; zero: it is
}

// Reconcile runs one cycle of a resource: it gathers the facts, decides, acts, and reports what came of it. What the process
// did not finish, because it stops or no longer leads, is neither a success nor a failure, and not reported.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) {
	c := &cycle{Reconciler: r, slot: worker.NewSlot(r.Slots), record: &Record{Key: key}}
	if !c.slot.Take(ctx) {
		return // the process stops
	}
	defer c.slot.Leave()
	ctx, giveBack := budget.WithCycle(ctx, r.Memory)
	defer giveBack()
	c.record.Plan = r.Plan()
	ctx, span := r.Tracer.Reconcile(ctx, r.Box, c.record.Plan.CRD.Kind.GroupKind(), key)
	defer func() { c.record.endTrace(span, &c.laps) }()
	ctx = log.IntoContext(ctx, span.Named(r.Log.WithValues("resource", klog.KRef(key.Namespace, key.Name))))
	if c.record.Plan.CleanupOnly {
		// The box's own reconciler may wait for the last resource to be let go, and this one may be it.
		defer r.Notifier.BoxChanged(r.Box)
	}
	stored, found := r.Resources.Get(key)
	leaving, since := r.Owners.Leaving(ctx, key, stored)
	// A former resource of this name may have left children behind. That does not depend on what there is now under the name.
	if next := r.Owners.CleanUp(ctx, key); next > 0 {
		r.Queue.Enqueue(next, key) // behind all fresh events it would never have its turn in a box that always has some, and the next one beside it
	}
	c.record.Began = r.Clock.Now()
	if leaving != nil {
		letGo(ctx, c, leaving, since)
		return
	}
	if found {
		c.stored, c.st, c.record.Resource = stored, r.states.of(key, stored.GetUID()), stored
	}
	c.record.Decision = Decide(c.gather(ctx))
	if c.act(ctx) {
		c.record.Took = r.Clock.Since(c.record.Began)
		reporting{c}.report(ctx)
	}
}

// Seen is called with every version of a resource that the informer shows: some things are in one version only, see noteOrphan.
func (r *Reconciler) Seen(resource *unstructured.Unstructured) { r.states.noteOrphan(resource) }

// NameOfPatch says in words which patch of a resource of the box has a field manager; empty: none.
func (r *Reconciler) NameOfPatch(manager string) string {
	for _, key := range r.Resources.Keys() {
		if obj, there := r.Resources.Get(key); there && r.Plan().Selection.Selects(obj) {
			if name := patches.Named(obj, r.Box, manager); name != "" {
				return name
			}
		}
	}
	return ""
}

// Forget drops what is known of a resource that went while this process does not lead, so that no cycle does it.
func (r *Reconciler) Forget(key types.NamespacedName) {
	r.states.forget(key)
	r.waiters.note(key, false)
}

// Inherit has the cycles go on with the backoff of a former sub-controller of the same box, which has ended.
func (r *Reconciler) Inherit(former *Reconciler) { r.states.inherit(&former.states) }

// TakeOver counts a resource as its own status shows it, so that a restart neither heals nor breaks anything.
func (r *Reconciler) TakeOver(resource *unstructured.Unstructured) {
	if r.Plan().CRD.OfOthers || r.Plan().Constructor != nil {
		return // its status does not say how it fared; its first cycle does
	}
	if conditionOf(resource, v1alpha1.ConditionReady).Status == "" {
		return // nobody has looked at it
	}
	ready, waiting, failing := healthShownBy(resource)
	r.Tracker.Seed(client.ObjectKeyFromObject(resource), ready, waiting, failing)
	r.Tracker.SetRolledBack(client.ObjectKeyFromObject(resource), rollback.MarkOf(resource).Why())
}

// AfterPanic counts a cycle that panicked outside of the stages, which are guarded by themselves, and queues the next one.
// It is logged with its stack each time: nothing else logs it.
func (r *Reconciler) AfterPanic(key types.NamespacedName, value any, stack []byte) {
	p := &pipeline.PanicError{Value: value, Stack: stack}
	r.Metrics.Panicked(r.Box)
	logPanic(r.Log.WithValues("resource", klog.KRef(key.Namespace, key.Name)), p)
	plan := r.Plan()
	stored, found := r.Resources.Get(key)
	if !found { // there is no backoff without a state; resync keeps a panic that repeats from being a load
		r.Queue.Enqueue(plan.Runtime.Resync, key)
		return
	}
	r.Tracker.Observe(health.Observation{
		Resource: key, Counts: true, Failed: true, Reason: v1alpha1.ReasonReconcileError, Step: stepReconcile,
		Message: p.Error(), Revision: plan.Revision,
	})
	st := r.states.of(key, stored.GetUID())
	// Without inputs nothing counts as unchanged: what the cycle has noted before it panicked may be half of it.
	st.last.inputs, st.last.class = nil, pipeline.Panic
	delay, _ := st.retry.backoff.Next(plan.Runtime.Resync)
	st.retry.wait(r.Clock.Now(), delay)
	r.Queue.Enqueue(delay, key)
}

// act does what was decided. It says whether there is something to report.
func (c *cycle) act(ctx context.Context) bool {
	decision := &c.record.Decision
	// Await leaves the unconfirmed write for the next cycle: the cache does not show what could confirm it.
	if decision.Action != Await && c.st != nil {
		c.st.resolveUnconfirmed(c.stored)
	}
	if decision.Action != Await && decision.Action != Retry {
		c.Retries.Forget(c.record.Key) // it does not wait for its turn any more
	}
	switch decision.Action {
	case Await, Ignore:
		return false
	case Forget:
		c.forget()
		asking{c}.tellGone(ctx)
	case Release:
		c.release(ctx)
	case ShowPaused:
		c.showPaused(ctx)
	case Delay:
		c.record.Next = &Next{After: decision.After, Low: true}
	case Skip:
		c.record.Next = c.st.requeueUnchanged(c.record.Plan, c.Clock.Now())
	case RollBack:
		return c.rollBack(ctx)
	case KeepRolledBack:
		return c.keepRolledBack(ctx)
	case Retry:
		return c.retry(ctx)
	case Reconcile:
		return c.execute(ctx)
	}
	return true
}

// retry reconciles a failing resource whose backoff is over, if the box's budget of retries admits it. Otherwise it waits in the queue
// and asks again.
func (c *cycle) retry(ctx context.Context) bool {
	if wait := c.Retries.Admit(c.record.Key); wait > 0 {
		c.Metrics.BudgetExceeded(c.Box, metrics.BudgetRetries)
		c.record.Decision = Decision{Action: Skip, Why: "the box's budget of retries is used up"}
		c.record.Next = &Next{After: min(wait, jittered(c.record.Plan, c.Clock.Now())), Low: true}
		return true
	}
	if !c.execute(ctx) {
		return false
	}
	if c.record.Class != "" {
		c.Retries.Charge(c.record.Requests)
	} else {
		c.Queue.EnqueueLow(0, c.Retries.AdmitNext()...)
	}
	return true
}

// letGo lets go of an object of others that left the selection: what its deletion would do to what was made for it is done, and then the marks on
// it come off.
func letGo(ctx context.Context, c *cycle, live *unstructured.Unstructured, since time.Time) {
	c.stored, c.st, c.record.Resource = live, c.states.of(c.record.Key, live.GetUID()), live
	c.leavingSince = since
	c.record.Decision = Decision{Action: Release, Why: "the object left the selection"}
	if !c.execute(ctx) {
		return
	}
	c.record.Took = c.Clock.Since(c.record.Began)
	reporting{c}.report(ctx)
	if !c.record.Run.Released {
		return
	}
	c.Owners.Let(live)
	c.forget()
	if _, shown := c.Resources.Get(c.record.Key); shown {
		*c.st = state{uid: live.GetUID(), released: true}
	} else {
		c.states.forget(c.record.Key)
	}
	c.Notifier.BoxChanged(c.Box) // it may wait for this one
	log.FromContext(ctx).Info("Object released: it left the selection")
}

// forget drops what is known of a resource that is gone, or that is not the box's.
func (c *cycle) forget() {
	key := c.record.Key
	c.Tracker.Forget(key)
	c.Observer.Forget(key)
	c.waiters.note(key, false)
	if c.stored == nil { // one that is only not selected may come back
		c.states.forget(key)
		c.History.Drop(c.Box, key)
	}
	if release.Wide(c.record.Plan, c.Namespaces) {
		c.Notifier.BoxChanged(c.Box) // it may wait for the last resource outside of its selection
	}
}

// release takes the marks off a resource that left the box's selection. Its children stay.
func (c *cycle) release(ctx context.Context) {
	c.Tracker.Forget(c.record.Key)
	c.Observer.Forget(c.record.Key)
	c.waiters.note(c.record.Key, false)
	if c.record.Plan.CRD.OfOthers { // what was made for it goes, once the API server has said that it is not selected
		*c.st = state{uid: c.st.uid, released: true}
		c.Owners.Left(c.stored)
		if next := c.Owners.CleanUp(ctx, c.record.Key); next > 0 {
			c.record.Next = &Next{After: next}
		}
		return
	}
	answer, err := c.Releaser.Release(ctx, c.stored, release.NotSelected(c.Box))
	if answer != nil { // also with an error: the status may have been written
		c.st.own.version = answer.GetResourceVersion()
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Resource could not be released")
		c.record.Next = c.st.requeueBackoff(c.record.Plan, c.Clock.Now())
		return
	}
	*c.st = state{uid: c.st.uid, released: true}
	log.FromContext(ctx).Info("Resource released", "reason", c.record.Decision.Why)
}
