package engine

// What an engine is configured with, the interfaces that it calls, and their defaults.

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/cycle"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/tracing"
	"github.com/orkspace/orkestra/engine/watch"
)

// EventSource is the name by which events about resources say who reports them.
const EventSource = "orkestra"

// Config is what an engine is made of.
type Config struct {
	// REST says where the API server is. Its QPS and Burst are those of each box; without a QPS there is no limit.
	REST *rest.Config
	// Mapper resolves kinds.
	Mapper meta.RESTMapper
	// Discover makes another mapper like that, which knows nothing yet. nil: what Mapper knows of kinds without a CRD is never forgotten.
	Discover func() (meta.RESTMapper, error)
	// Events sends events about resources. nil: none are sent.
	Events events.EventRecorder
	// Metrics records. nil: nothing is recorded.
	Metrics *metrics.Recorder
	// History remembers what reconciles did. nil: nobody does.
	History *history.History
	// Tracer makes a trace of each reconcile that it samples. nil: of none.
	Tracer *tracing.Tracer
	// Clock tells the time.
	Clock clock.WithTicker
	// Log is where the engine logs.
	Log logr.Logger
	// MaxConcurrentReconciles is the limit over all boxes. Default: 64.
	MaxConcurrentReconciles int
	// MemoryLimit is how many bytes the process may take. What the templates of all boxes make at the same time may take a quarter of
	// it, those of one box an eighth. Default: 1 GiB.
	MemoryLimit int64
	// ShutdownTimeout is how long a stopping box waits for its workers before it cancels them. Default: 30 s.
	ShutdownTimeout time.Duration
	// Rights says what the manager, and the accounts of boxes, may do. nil: nobody gets a right that was missing, and no account may read
	// what its box does not own.
	Rights *access.Reviews
	// QuietWatch is how long a watch may tell nothing, not even a bookmark, until all is listed again. Default: 5 min.
	QuietWatch time.Duration
	// Egress says what external calls may reach, of all boxes and of each. Default: what is public.
	Egress *external.Egress
	// ReconcileTimeout is the deadline of one reconcile. Default: 2 min.
	ReconcileTimeout time.Duration
	// Namespace is the manager's own. Snapshots of resources are written there.
	Namespace string
	// SnapshotKeys has the key that signs them. nil: none can be kept.
	SnapshotKeys *rollback.Keys
	// Code has the functions that are compiled in. Default: there are none.
	Code *hook.Registry
	// Plans are those of kept revisions. Default: none are kept.
	Plans Plans
	// Notifier hears what the engine has to tell. Default: nobody does.
	Notifier Notifier
}

// Notifier is called when something happens that others have to react to. It must not block: workers and informers call it.
type Notifier interface {
	cycle.Notifier
	// HealthChanged tells that the counts of a box, or of a CRD that another operator runs, have changed.
	HealthChanged(name string, urgent bool)
}

// Plans knows the kept revisions of boxes.
type Plans interface {
	cycle.Plans
	// FinalizersOf gives the finalizers that the kept revisions of a box name. It reads from the API server.
	FinalizersOf(ctx context.Context, box string) ([]string, error)
}

// noNotifier tells nobody.
type noNotifier struct{}

func (noNotifier) BoxChanged(string)          { /* nobody listens */ }
func (noNotifier) HealthChanged(string, bool) { /* nobody listens */ }
func (noNotifier) RightDenied(string)         { /* nobody listens */ }

// noPlans keeps no revisions.
type noPlans struct{}

func (noPlans) PlanOf(_ context.Context, box, revision, _ string) (*pipeline.Plan, error) {
	return nil, fmt.Errorf("revision %q of box %q: no revisions are kept here", revision, box)
}

func (noPlans) FinalizersOf(context.Context, string) ([]string, error) { return nil, nil }

func withDefaults(c Config) Config {
	if c.MaxConcurrentReconciles <= 0 {
		c.MaxConcurrentReconciles = 64
	}
	if c.MemoryLimit <= 0 {
		c.MemoryLimit = 1 << 30
	}
	if c.ShutdownTimeout <= 0 {
		c.ShutdownTimeout = 30 * time.Second
	}
	if c.ReconcileTimeout <= 0 {
		c.ReconcileTimeout = 2 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Plans == nil {
		c.Plans = noPlans{}
	}
	if c.Notifier == nil {
		c.Notifier = noNotifier{}
	}
	return c
}

// watch is what all informers of an engine share.
func (c *Config) watch(client discovery.Client, panicked func(p any, stack []byte)) watch.Config {
	return watch.Config{
		Client: client, Metadata: client.Metadata, Mapper: c.Mapper, Log: c.Log.WithName("watch"), Clock: c.Clock, Quiet: c.QuietWatch, Gauges: c.Metrics, Panicked: panicked,
	}
}

// writable has informers keep what somebody needs who writes objects back.
func writable(c watch.Config) watch.Config {
	c.Writable = true
	return c
}

// watchConfig is what the informer of the box's own resources is made of: it logs and counts panics under the name of the box.
func (b *box) watchConfig() watch.Config {
	config := b.engine.config.watch(b.engine.dynamic, b.panicked)
	config.Log, config.Writable = b.log.WithName("watch"), b.plan.Load().Constructor != nil
	return config
}
