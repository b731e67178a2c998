package engine

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// Foreign is a CRD that another operator runs, and whose resources are looked at.
type Foreign struct {
	// Name of the CRDHealth that shows it.
	Name string
	// CRD in the version that is looked at.
	CRD pipeline.CRD
	// Check is what a resource must meet.
	Check *pipeline.HealthCheck
	// Revision names the check: with another one, every resource is looked at again.
	Revision string
	// Health is what was last written. It is read when the looking begins.
	Health v1alpha1.CRDHealthStatus
}

// foreigners are the CRDs of other operators that are looked at, by the names of their CRDHealths.
type foreigners struct {
	mu  sync.Mutex
	all map[string]*foreigner // guarded by mu
}

// Track looks at the resources of another operator's CRD until Untrack. It is idempotent; another check is applied to all
// resources, and another kind begins anew. It does not wait: HealthChanged tells when there is something to report.
func (e *Engine) Track(is Foreign) error {
	e.mu.Lock()
	ctx, ready := e.ctx, e.ctx != nil && !e.closed
	e.mu.Unlock()
	if !ready {
		return ErrNotStarted
	}
	e.foreigners.mu.Lock()
	known := e.foreigners.all[is.Name]
	e.foreigners.mu.Unlock()
	if known != nil && known.serves(is) {
		known.change(is)
		return nil
	}
	e.Untrack(is.Name)
	f := newForeigner(e, is)
	e.foreigners.mu.Lock()
	defer e.foreigners.mu.Unlock()
	if e.foreigners.all == nil {
		e.foreigners.all = map[string]*foreigner{}
	}
	e.foreigners.all[is.Name] = f
	f.start(ctx)
	return nil
}

// Untrack ends Track, and returns when nothing is left of it.
func (e *Engine) Untrack(name string) {
	e.foreigners.mu.Lock()
	f := e.foreigners.all[name]
	delete(e.foreigners.all, name)
	e.foreigners.mu.Unlock()
	if f != nil {
		f.stop()
	}
}

// untrackAll ends with the engine.
func (e *Engine) untrackAll() {
	e.foreigners.mu.Lock()
	all := e.foreigners.all
	e.foreigners.all = nil
	e.foreigners.mu.Unlock()
	for _, f := range all {
		f.stop()
	}
}

// Tracked says how the resources of another operator's CRD fare; ok is false where they are not looked at.
func (e *Engine) Tracked(name string) (report health.Report, ok bool) {
	e.foreigners.mu.Lock()
	f := e.foreigners.all[name]
	e.foreigners.mu.Unlock()
	if f == nil {
		return health.Report{}, false
	}
	return f.report(), true
}

// foreignChanged queues a resource of another operator that changed.
func (e *Engine) foreignChanged(kind schema.GroupVersionKind, objects ...*unstructured.Unstructured) {
	e.foreigners.mu.Lock()
	defer e.foreigners.mu.Unlock()
	for _, f := range e.foreigners.all {
		if f.kind != kind {
			continue
		}
		for _, obj := range objects {
			if obj != nil {
				f.queue.Add(keyOf(obj))
			}
		}
	}
}
