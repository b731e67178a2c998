// Package monitor checks the resources of CRDs that other operators run, and says how they fare. It writes nothing.
package monitor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// ErrNotStarted says that nothing is monitored yet, or any more; the caller tries again.
var ErrNotStarted = errors.New("monitors do not run")

// MonitoredCRD is a CRD that another operator runs, and whose resources are checked.
type MonitoredCRD struct {
	// Name of the CRDHealth that shows it.
	Name string
	// CRD in the version whose resources are checked.
	CRD stage.CRD
	// Check is what a resource must meet.
	Check *Check
	// Revision names the check: with another one, every resource is checked again.
	Revision string
	// Health is what was last written. It is read when the monitor begins.
	Health v1alpha1.CRDHealthStatus
}

// Informers read the resources. What they give is shared memory: read only. watch.Observed is one.
type Informers interface {
	Acquire(ctx context.Context, user string, kinds ...schema.GroupVersionKind) error
	Release(user string, kinds ...schema.GroupVersionKind)
	Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured
	Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured
}

// Config is what monitors are made of.
type Config struct {
	// Informers of the resources.
	Informers Informers
	// Clock tells the time.
	Clock clock.WithTicker
	// Log takes panics of checks.
	Log logr.Logger
	// Timeout is how long one try to watch a kind may take.
	Timeout time.Duration
	// Changed is told when there is something new to report. It must not block.
	Changed func(name string, urgent bool)
	// Panicked is told of panics that end a monitor.
	Panicked func(value any, stack []byte)
}

// Monitors are the CRDs of other operators whose resources are checked, by the names of their CRDHealths. They are safe for concurrent use, but
// for one name at a time.
type Monitors struct {
	config Config

	mu  sync.Mutex
	ctx context.Context     //nolint:containedctx // the life of the monitors, which outlive the calls that start them; nil: they do not run
	all map[string]*monitor // guarded by mu
}

// New gives monitors of nothing.
func New(config Config) *Monitors { return &Monitors{config: config, all: map[string]*monitor{}} }

// Run lets Track start monitors until ctx ends, and returns when the last monitor has stopped.
func (m *Monitors) Run(ctx context.Context) {
	m.mu.Lock()
	m.ctx = ctx
	m.mu.Unlock()
	<-ctx.Done()
	m.mu.Lock()
	all := m.all
	m.ctx, m.all = nil, map[string]*monitor{}
	m.mu.Unlock()
	for _, one := range all {
		one.stop()
	}
}

// Track checks the resources of another operator's CRD until Untrack. It is idempotent; another check is applied to all
// resources, and another kind begins anew. It does not wait: Changed is told when there is something to report.
func (m *Monitors) Track(is MonitoredCRD) error {
	if one := m.of(is.Name); one != nil && one.serves(is) {
		one.change(is)
		return nil
	}
	m.Untrack(is.Name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx == nil {
		return ErrNotStarted
	}
	one := newMonitor(m.config, is)
	m.all[is.Name] = one
	one.start(m.ctx)
	return nil
}

// Untrack ends Track, and returns when nothing is left of it.
func (m *Monitors) Untrack(name string) {
	m.mu.Lock()
	one := m.all[name]
	delete(m.all, name)
	m.mu.Unlock()
	if one != nil {
		one.stop()
	}
}

// Report says how the resources of another operator's CRD fare; ok is false where they are not checked.
func (m *Monitors) Report(name string) (report health.Report, ok bool) {
	one := m.of(name)
	if one == nil {
		return health.Report{}, false
	}
	return one.report(), true
}

// Changed queues objects that have changed for a check, where their kind is monitored.
func (m *Monitors) Changed(kind schema.GroupVersionKind, objects ...*unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.all {
		if one.kind == kind {
			one.enqueue(objects...)
		}
	}
}

func (m *Monitors) of(name string) *monitor {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[name]
}
