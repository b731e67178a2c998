package engine

import (
	"context"
	"sync"
	"time"

	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/metrics"
)

// work reconciles until ctx ends, and waits for what is under way, whose context is work.
func (b *box) work(ctx, work context.Context) {
	b.begins(b.engine.config.Clock.Now())
	b.log.Info("Box started", "workers", b.pool.Workers())
	b.engine.config.Metrics.Ensure(b.name)
	b.engine.config.Metrics.Measure(b.name, b.load)
	b.engine.config.Notifier.BoxChanged(b.name)
	b.startQueue()
	b.hasBegun()
	b.pool.Run(ctx, work)
	b.begins(time.Time{})
	b.log.Info("Box stopped")
}

// load says how busy the box is.
func (b *box) load() metrics.Load {
	return metrics.Load{Queued: b.queue.Len(), Workers: b.pool.Workers(), Busy: b.pool.Busy(), Overdue: b.overdue.Count()}
}

// startQueue queues everything: until now nobody worked, and nothing was kept of what happened.
func (b *box) startQueue() {
	b.queue.Open()
	b.sweep()
	b.owners.FindBacklog(b.plan.Load().CRD, b.namespaces, b.lives)
	for key, after := range b.owners.Pending() {
		b.queue.Enqueue(after, key)
	}
}

// stuck notes why the box does not run, and tells.
func (b *box) stuck(err error) {
	b.fails(err)
	b.engine.config.Notifier.BoxChanged(b.name)
}

// standing is how far a box has come. It is safe for concurrent use.
type standing struct {
	mu      sync.Mutex
	started time.Time // when the workers started; zero: they do not run. Guarded by mu
	problem string    // why the box can't start. Guarded by mu
}

// begins notes when the workers have started; zero: they have ended.
func (s *standing) begins(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = at
}

// fails notes why the box can't start.
func (s *standing) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = err.Error()
}

func (s *standing) now() (started time.Time, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started, s.problem
}

func (s *standing) running() bool {
	started, _ := s.now()
	return !started.IsZero()
}

// report says how the box fares.
func (b *box) report() health.Report {
	plan := b.plan.Load()
	started, problem := b.now()
	r := health.Report{
		Phase: health.Starting, Message: "caches are filling", Snapshot: b.tracker.Snapshot(), Revision: plan.Revision,
		QueueDepth: clamp(b.queue.Len()), FailureThreshold: plan.Runtime.FailureThreshold, CRD: plan.CRD.Name,
		RollsBack: plan.Rollback != nil,
	}
	r.Dependencies, r.Awaits = b.observer.Dependencies(plan.DependsOn)
	switch {
	case problem != "":
		r.Phase, r.Message = health.Pending, problem
	case !started.IsZero():
		r.Phase, r.Message, r.StartedAt = health.Running, "", started
		r.Workers = clamp(b.pool.Workers())
		r.Stuck = b.overdue.Stuck(b.pool.Workers(), b.engine.config.ReconcileTimeout)
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

// sweep queues every resource behind fresh events.
func (b *box) sweep() {
	for _, key := range b.resources.Keys() {
		b.queue.EnqueueLow(0, key)
	}
}
