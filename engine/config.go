package engine

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
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// Config is what an engine is made of.
type Config struct {
	// REST says where the API server is. Its QPS and Burst are those of each box; without a QPS there is no limit.
	REST *rest.Config
	// Mapper resolves kinds.
	Mapper meta.RESTMapper
	// Events sends events about resources. nil: none are sent.
	Events events.EventRecorder
	// Metrics records. nil: nothing is recorded.
	Metrics *metrics.Recorder
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
	// Denied is told when the API server has confirmed that the manager lacks a right that a box needs. It must not block.
	// Default: nobody is told.
	Denied func(box string, missing access.Right)
	// Rights says whether a right that was missing is there now. nil: the manager never gets one that it lacked.
	Rights *access.Reviews
	// QuietWatch is how long a watch may tell nothing, not even a bookmark, until all is listed again. Default: 5 min.
	QuietWatch time.Duration
	// Guard decides what external calls may reach. Default: what is public.
	Guard *external.Guard
	// ReconcileTimeout is the deadline of one reconcile. Default: 2 min.
	ReconcileTimeout time.Duration
	// Namespace is the manager's own: what is kept of cluster-scoped objects lives there.
	Namespace string
	// PlanOf gives the plan of a kept revision of a box, compiled against the box's CRD as it is now. It reads from the API
	// server unless the plan was asked for before. Errors say which revision of which box, and why it can't be had. Default: it
	// fails, since no revisions are kept. hash is that of the whole content, where it is known.
	PlanOf func(ctx context.Context, box, revision, hash string) (*pipeline.Plan, error)
	// FinalizersOf gives the finalizers that the kept revisions of a box name. It reads from the API server. Default: there are none.
	FinalizersOf func(ctx context.Context, box string) ([]string, error)
	// Changed is told when a box's sub-controller has started or stopped. It must not block.
	Changed func(box string)
	// HealthChanged is told when a box's counts have changed. It must not block.
	HealthChanged func(box string, urgent bool)
}

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
	if c.Guard == nil {
		c.Guard = &external.Guard{}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Denied == nil {
		c.Denied = func(string, access.Right) {}
	}
	if c.PlanOf == nil {
		c.PlanOf = func(_ context.Context, box, revision, _ string) (*pipeline.Plan, error) {
			return nil, fmt.Errorf("revision %q of box %q: no revisions are kept here", revision, box)
		}
	}
	if c.FinalizersOf == nil {
		c.FinalizersOf = func(context.Context, string) ([]string, error) { return nil, nil }
	}
	if c.Changed == nil {
		c.Changed = func(string) {}
	}
	if c.HealthChanged == nil {
		c.HealthChanged = func(string, bool) {}
	}
	return c
}
