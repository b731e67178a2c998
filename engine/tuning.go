package engine

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/autoscale"
	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/metrics"
)

// tuning is a box as autoscale sees it: what it takes of the process is measured and changed while it runs.
type tuning struct{ *box }

// Load implements autoscale.Box.
func (t tuning) Load() autoscale.Load {
	busy, had := t.pool.Used()
	return autoscale.Load{
		Queued: t.queue.Len(), Workers: t.pool.Workers(), Resources: int(t.tracker.Snapshot().Resources.Total), Busy: busy, Had: had,
	}
}

// SetLimits implements autoscale.Box. Reconciles that are under way are finished, and no key is lost. A resync that is shorter has every
// resource reconciled, behind fresh events: they wait for the time of the longer one.
func (t tuning) SetLimits(limits autoscale.Limits) {
	t.pool.SetWorkers(limits.Workers)
	t.queue.SetBound(limits.QueueDepth)
	for {
		plan := t.plan.Load()
		if plan.Runtime.Resync == limits.Resync {
			return
		}
		tuned := *plan // a copy: reconciles that are under way read the old one
		tuned.Runtime.Resync = limits.Resync
		if !t.plan.CompareAndSwap(plan, &tuned) {
			continue
		}
		if limits.Resync < plan.Runtime.Resync {
			t.sweep()
		}
		return
	}
}

// Scaled implements autoscale.Box.
func (t tuning) Scaled(change autoscale.Change) {
	config := t.engine.config
	if problem := change.State.Problem; problem != change.Before.Problem && problem != "" {
		t.log.Info("Autoscale can't look", "problem", problem)
	}
	config.Notifier.HealthChanged(t.name, true)
	if change.State.Active == change.Before.Active {
		return
	}
	reason := v1alpha1.ReasonAutoscaleEnded
	if change.State.Active {
		reason = v1alpha1.ReasonAutoscaled
	}
	t.log.Info("Limits changed", "reason", reason, "change", change.String())
	if config.Events != nil {
		about := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: t.name, UID: t.plan.Load().UID}}
		config.Events.Eventf(about, nil, corev1.EventTypeNormal, reason, "Autoscale", "%s", change)
	}
}

// Panicked implements autoscale.Box.
func (t tuning) Panicked(value any, stack []byte) { t.panicked(value, stack) }

// sample is what is remembered of the box each minute.
func (t tuning) sample() history.Sample {
	counts := t.tracker.Snapshot().Resources
	return history.Sample{Total: counts.Total, Ready: counts.Ready, Waiting: counts.Waiting, Failing: counts.Failing, Queue: clamp(t.queue.Len())}
}

// sweep queues every resource, behind fresh events: there may be thousands, and somebody waits for what was just edited.
func (b *box) sweep() {
	for _, key := range b.resources.Keys() {
		if obj, there := b.resources.Get(key); there {
			expect(b.plan.Load(), b.queue, b.tracker, obj)
		}
		b.queue.EnqueueLow(0, key)
	}
}

// load is what the gauges of the box show.
func (b *box) load() metrics.Load {
	return metrics.Load{Queued: b.queue.Len(), Oldest: b.queue.Oldest(), Workers: b.pool.Workers(), Busy: b.pool.Busy(), Overdue: b.overdue.Count()}
}

// waits are how long the resources of each namespace have waited, the longest first; ok is false where namespaces take no turns.
func (t tuning) waits() (all []metrics.Wait, ok bool) {
	if !t.plan.Load().Runtime.Fair {
		return nil, false
	}
	for _, w := range t.queue.Waits() {
		all = append(all, metrics.Wait(w))
	}
	return all, true
}
