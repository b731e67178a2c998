package crdhealth

import (
	"sync"
	"time"

	"github.com/orkspace/orkestra/engine/health"
)

// Engine is what reports use of an engine.Engine, where each method is documented.
type Engine interface {
	Closing() bool
	Report(box string) (health.Report, bool)
	Settling() time.Duration
}

// Claims says since when boxes hold their CRDs.
type Claims interface {
	// Since says when a box claimed its CRD; zero: it holds none.
	Since(box string) time.Time
}

// Reports puts together what CRDHealth shows of a box: what the engine says of its sub-controller, and what the OperatorBox
// reconciler says of boxes that do not run. It is safe for concurrent use.
type Reports struct {
	// Engine is asked for boxes that run.
	Engine Engine
	// Claims says since when a box holds its CRD.
	Claims Claims
	// Changed is told when a report changes. It must not block.
	Changed func(box string, urgent bool)

	mu  sync.Mutex
	all map[string]health.Report // guarded by mu
}

// Set notes what the OperatorBox reconciler says of a box.
func (r *Reports) Set(box string, report health.Report) {
	r.mu.Lock()
	if r.all == nil {
		r.all = map[string]health.Report{}
	}
	old, known := r.all[box]
	r.all[box] = report
	r.mu.Unlock()
	if !known || old.Phase != report.Phase || old.Reason != report.Reason || old.Message != report.Message || old.CRD != report.CRD {
		r.Changed(box, true)
	}
}

// Forget drops what is known of a box.
func (r *Reports) Forget(box string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, box)
}

// HealthReport implements HealthReporter. Nothing is known of a box while one of its sub-controllers has stopped and the next has not
// started.
func (r *Reports) HealthReport(box string) (health.Report, bool) {
	r.mu.Lock()
	beside, known := r.all[box] // what the reconciler says, beside what the engine says
	r.mu.Unlock()
	if !known {
		return health.Report{}, false
	}
	report, runs := r.Engine.Report(box)
	switch {
	case !runs && beside.Phase == "":
		// The sub-controller was stopped, and either another is about to start, or the reconciler is about to say why none does.
		return health.Report{}, false
	case !runs:
		beside.ClaimedAt = r.Claims.Since(box)
		return beside, true
	}
	report.CRD, report.ClaimedAt = beside.CRD, r.Claims.Since(box)
	if beside.Reason != "" {
		report.Reason, report.Message = beside.Reason, beside.Message
		// A plan that runs goes on while the spec has a mistake, so the phase stays Running. Otherwise the reconciler knows better.
		if report.Phase != health.Running {
			report.Phase = beside.Phase
		}
	}
	return report, true
}

// Closing implements HealthReporter.
func (r *Reports) Closing() bool { return r.Engine.Closing() }

// Settling implements HealthReporter.
func (r *Reports) Settling() time.Duration { return r.Engine.Settling() }
