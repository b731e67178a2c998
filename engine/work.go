package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/worker"
)

// work runs the workers until ctx ends, and returns when the reconciles that are under way have ended. Their context is work, which
// outlives ctx.
func (b *box) work(ctx, work context.Context) {
	b.setStarted(b.engine.config.Clock.Now())
	b.log.Info("Box started", "workers", b.pool.Workers())
	b.engine.config.Metrics.Ensure(b.name)
	b.engine.config.Metrics.Measure(b.name, b.load)
	b.engine.config.Metrics.MeasureAutoscale(b.name, b.scaler.Measured)
	b.engine.config.History.Measure(b.name, tuning{b}.sample)
	b.engine.config.Metrics.MeasureWaits(b.name, tuning{b}.waits)
	b.engine.config.Notifier.BoxChanged(b.name)
	b.startQueue()
	b.turn.Begun()
	b.working.Go(func() { b.guard(func() { b.release.Find(ctx, b.log, b.queue.Enqueue) }) })
	b.scaler.Start(ctx)
	defer b.scaler.Stop()
	b.pool.Run(ctx, work)
	b.setStarted(time.Time{})
	b.log.Info("Box stopped")
}

// startQueue opens the queue and puts every resource into it. A queue that is not open drops what is added, since on a follower it
// would only grow; so nothing is known of the events until now.
func (b *box) startQueue() {
	b.queue.Open()
	b.sweep()
	plan := b.plan.Load()
	b.owners.FindBacklog(plan.CRD, b.namespaces, b.lives)
	b.owners.FindForgotten(plan.CRD.Kind, rollback.Taken(b.inventory.Made(rollback.Kind), b.engine.config.Namespace), b.namespaces, b.lives)
	for key, after := range b.owners.Pending() {
		b.queue.Enqueue(after, key)
	}
}

// reportProblem notes why the box does not run, and has its status written.
func (b *box) reportProblem(err error) {
	b.setProblem("", err)
	b.engine.config.Notifier.BoxChanged(b.name)
}

// progress is how far a box has come. It is safe for concurrent use.
type progress struct {
	mu      sync.Mutex
	started time.Time // when the workers started; zero: they do not run. Guarded by mu
	problem problem   // why the box can't start. Guarded by mu
}

// problem is why a box can't start; the zero value: it can.
type problem struct{ reason, message string }

// setStarted notes when the workers have started; zero: they have ended.
func (p *progress) setStarted(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = at
}

// setProblem notes why the box can't start; nil: it can. The reason is one word, or empty.
func (p *progress) setProblem(reason string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = problem{reason: reason}
	if err != nil {
		p.problem.message = value.Readable(value.Loggable(err).Error()) // the status of the box does not cut it
	}
}

func (p *progress) startState() (time.Time, problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started, p.problem
}

func (p *progress) running() bool {
	started, _ := p.startState()
	return !started.IsZero()
}

// report says how the box fares.
func (b *box) report() health.Report {
	plan := b.plan.Load()
	started, problem := b.startState()
	r := health.Report{
		Phase: health.Starting, Message: cmp.Or(b.resources.Failing(), health.Filling), Snapshot: b.tracker.Snapshot(), Revision: plan.Revision,
		QueueDepth: clamp(b.queue.Len()), FailureThreshold: plan.Runtime.FailureThreshold, CRD: plan.CRD.Name,
		RollsBack: plan.Rollback != nil,
	}
	r.Unended = b.overdue.Keys()
	r.Dependencies, r.Awaits = b.observer.Dependencies(plan.DependsOn)
	switch {
	case problem.message != "":
		r.Phase, r.Reason, r.Message = health.Pending, problem.reason, problem.message
	case !started.IsZero():
		r.Phase, r.Message, r.StartedAt = health.Running, b.resources.Failing(), started
		r.Workers, r.Autoscale = clamp(b.pool.Workers()), b.scaler.Status()
		r.Stuck = b.overdue.Stuck(b.pool.Workers(), b.engine.config.ReconcileTimeout)
		r.Overdue = b.overdue.Some(b.pool.Workers(), b.engine.config.ReconcileTimeout)
	}
	if holding := b.owners.Held(true); len(holding) > 0 {
		r.Leaving = fmt.Sprintf("%d that left the selection are let go, the first is %s", len(holding), strings.TrimPrefix(holding[0].String(), "/"))
	}
	if plan.CleanupOnly {
		r.Phase, r.Message, r.Revision = health.Suspended, "only deletions are served", ""
	}
	return r
}

// inherit gives a new sub-controller the health and the backoff of the resources from the one that it replaces. Another version of
// the CRD, or another set of namespaces, is no reason to retry at once what has failed for an hour. former has stopped; nil: there
// was none.
func (b *box) inherit(former *box) {
	if former == nil || !b.engine.Leading() {
		return // a follower counts nothing: what the leader has written to CRDHealth is newer, and comes with Options.Health
	}
	was, plan := former.plan.Load(), b.plan.Load()
	if was.UID != plan.UID || was.CRD.UID != plan.CRD.UID {
		return // another box of this name, or another CRD: its resources are others
	}
	b.cycles.Inherit(former.cycles)
	known := former.known.Load()
	if known == nil {
		known = &v1alpha1.CRDHealthStatus{}
	}
	report := former.report()
	// This is the status that CRDHealth would have got next. The tracker takes it as after a restart of the process.
	last := health.Status(*known, 0, report, b.engine.config.Clock.Now())
	if good := report.Snapshot.GoodRevision; good != "" {
		last.LastKnownGood = &v1alpha1.KnownGood{Revision: good}
	}
	b.known.Store(&last)
	b.tracker.Restore(last)
}

// Judge counts the resources that a box selects, and those of them that a test finds to break a rule. Deleted ones are not asked. ok is
// false until the box works: its cache may not be full.
func (e *Engine) Judge(name string, breaks func(*unstructured.Unstructured) bool) (total, breaking int32, ok bool) {
	b := e.box(name)
	if b == nil || !b.running() {
		return 0, 0, false
	}
	plan := b.plan.Load()
	for _, key := range b.resources.Keys() {
		obj, there := b.resources.Get(key)
		if !there || obj.GetDeletionTimestamp() != nil || !plan.Selection.Selects(obj) {
			continue
		}
		total++
		if breaks(obj) {
			breaking++
		}
	}
	return total, breaking, true
}

// patchOf says in words which patch of the resources of all boxes has a field manager; empty: none.
func (e *Engine) patchOf(manager string) (name string) {
	for _, b := range e.all() {
		name = cmp.Or(name, b.cycles.NameOfPatch(manager))
	}
	return name
}

// clamp makes a count an int32, as API types have it.
func clamp(n int) int32 {
	const most = 1<<31 - 1
	return int32(min(n, most)) //nolint:gosec // bounded on the line above
}

// A panic on a goroutine that does not recover ends the process, and with it every box. So each goroutine of the engine runs under
// worker.Guard with one of the handlers below; engine/watch and engine/pipeline guard their own.

// panicked handles a panic in what all boxes share: it is logged and counted under no box.
func (e *Engine) panicked(p any, stack []byte) {
	e.config.Metrics.Panicked("")
	e.config.Log.Error(value.Loggable(fmt.Errorf("panic: %v", p)), "Panic was caught", "stack", string(stack))
}

// guard runs f and turns a panic into a logged, counted problem of this box alone.
func (b *box) guard(f func()) {
	worker.Guard(f, func(p any, stack []byte) {
		b.panicked(p, stack)
		b.reportProblem(fmt.Errorf("panic: %v", p))
	})
}

// panicked handles a panic of this box: it is logged and counted under its name.
func (b *box) panicked(p any, stack []byte) {
	b.engine.config.Metrics.Panicked(b.name)
	b.log.Error(value.Loggable(fmt.Errorf("panic: %v", p)), "Panic was caught", "stack", string(stack))
}
