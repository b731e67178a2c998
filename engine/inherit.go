package engine

import (
	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
)

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
