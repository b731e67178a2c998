// Package operatorbox serves boxes: it finds the CRD of a box, compiles the box, has the engine run the plan, and shows on the box what
// came out. The steps are listed in order.go.
package operatorbox

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers/accounts"
	"github.com/orkspace/orkestra/controllers/admission"
	"github.com/orkspace/orkestra/controllers/claims"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/identity"
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
	// Rights says what the manager, and the accounts of boxes, may do.
	Rights *access.Reviews
	// Accounts knows the accounts as which boxes may act.
	Accounts accounts.Known
	// AccountRequired says that no box may act as the manager.
	AccountRequired bool
	// As gives a client whose requests are made for a box as an account.
	As func(account identity.Account, box string) (client.Client, error)
	// CRDs gives the CRDs of the boxes.
	CRDs *crds.Store
	// Compiler compiles the boxes.
	Compiler *compiler.Compiler
	// Claims says which box runs a CRD.
	Claims *claims.Store
	// Revisions keeps the specs that ran.
	Revisions *revision.Store
	// Plans compiles what ran before.
	Plans *revision.Plans
	// Admission has the API server enforce the rules of boxes that ask for it.
	Admission *admission.Enforcer
	// Boxes queues boxes that must be reconciled.
	Boxes Queue
	// Events is told what happens to a box. nil: there are no events.
	Events events.EventRecorder
	// Drain says whether everything is to be let go.
	Drain Drain
	// Policies knows the admission policies that the manager relies on. nil: it relies on none.
	Policies Policies
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
	Remove(box string) error
}

// Findings are what the engine has found of boxes that run.
type Findings interface {
	Report(box string) (health.Report, bool)
	SnapshotRevisions(box string) (revisions []string, known bool)
	Unneeded(box string) (kinds []schema.GroupVersionKind, namespaces bool)
	Withheld(box string) []access.Right
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

// Policies knows whether the admission policies are in force that the manager relies on.
type Policies interface {
	// Shown is the condition that boxes show; nil: none, because the manager relies on no policies. known is false while it is not known: boxes
	// then show what they did.
	Shown() (condition *metav1.Condition, known bool)
}

// Drain knows whether the installation is being drained.
type Drain interface {
	// Draining says whether this process is to let go of everything. It waits until that is known.
	Draining(ctx context.Context) (bool, error)
}
