// Package operatorbox serves boxes: it finds the CRD of a box, compiles the box, has the engine run the plan, and shows on the box what
// came out. The steps are listed in order.go.
package operatorbox

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/release"
	"github.com/orkspace/orkestra/engine/revision"
)

// Ports are what the steps work with.
type Ports struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Engine runs the plans.
	Engine Engine
	// Reports is told what CRDHealth shows of boxes that do not run.
	Reports Reports
	// Rights says what the manager may do.
	Rights *access.Reviews
	// CRDs gives the CRDs of the boxes.
	CRDs *crds.Store
	// Compiler compiles the boxes.
	Compiler *Compiler
	// Claims says which box runs a CRD.
	Claims *Claims
	// Revisions keeps the specs that ran.
	Revisions *revision.Store
	// Plans compiles what ran before.
	Plans *revision.Plans
	// Boxes queues boxes that must be reconciled.
	Boxes Queue
	// Events is told what happens to a box. nil: there are no events.
	Events events.EventRecorder
	// Drain says whether everything is to be let go.
	Drain Drain
}

// Engine is what the steps use of an engine.Engine, where each method is documented.
type Engine interface {
	SubControllers
	Findings
	Process

	Release(ctx context.Context, box string, how release.Mode, cause release.Cause) ([]types.NamespacedName, error)
}

// SubControllers run one plan for each box.
type SubControllers interface {
	Ensure(plan *pipeline.Plan, options engine.Options) error
	Plan(box string) *pipeline.Plan
	Remove(box string)
}

// Findings are what the engine has found of boxes that run.
type Findings interface {
	Narrow(box string) bool
	Report(box string) (health.Report, bool)
	SnapshotRevisions(box string) []string
	Unused(box string) []schema.GroupVersionKind
}

// Process is this process among the managers.
type Process interface {
	Leading() bool
	Settling() time.Duration
}

// Reports is told how boxes stand, beside their sub-controllers.
type Reports interface {
	// Set notes how a box stands.
	Set(box string, report health.Report)
	// Forget drops what is known of a box.
	Forget(box string)
}

// Queue holds the boxes that are to be reconciled.
type Queue interface {
	// Mark adds a box: at once where it is urgent, otherwise within a second. It does not block.
	Mark(box string, urgent bool)
}

// Drain knows whether the installation is being drained.
type Drain interface {
	// Draining says whether this process is to let go of everything. It waits until that is known.
	Draining(ctx context.Context) (bool, error)
}
