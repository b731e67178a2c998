package engine

import (
	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
)

// inherit has a new sub-controller go on with what the former one of its box knew of the same resources: how they fare, and how
// often each of those has failed that fail. Another version of the CRD, or another set of namespaces, is no reason to ask
// again at once for what has failed for an hour. former has stopped; nil: there was none.
func (b *box) inherit(former *box) {
	if former == nil || !b.engine.Leading() {
		return // what the process that leads has written is newer
	}
	was, plan := former.plan.Load(), b.plan.Load()
	if was.UID != plan.UID || was.CRD.UID != plan.CRD.UID {
		return
	}
	b.cycles.Inherit(former.cycles)
	known := former.known.Load()
	if known == nil {
		known = &v1alpha1.CRDHealthStatus{}
	}
	report := former.report()
	last := health.Status(*known, 0, report, b.engine.config.Clock.Now())
	if good := report.Snapshot.GoodRevision; good != "" {
		last.LastKnownGood = &v1alpha1.KnownGood{Revision: good}
	}
	b.known.Store(&last)
	b.tracker.Restore(last)
}
