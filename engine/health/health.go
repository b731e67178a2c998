// Package health counts the reconciles of a box and computes the status of its CRDHealth. It takes a clock, starts no goroutine, knows no
// client and writes nothing. Why a box is in its phase is reported by the engine.
package health

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Phase is where a box's sub-controller is, as the engine knows it.
type Phase string

// The phases of a sub-controller.
const (
	// Pending: the box waits for its CRD, a valid spec, or a right.
	Pending Phase = "Pending"
	// Starting: caches are filling.
	Starting Phase = "Starting"
	// Running: the workers run.
	Running Phase = "Running"
	// Suspended: the box asks for no work but deletions.
	Suspended Phase = "Suspended"
	// Stopped: the CRD is gone, or another box runs it.
	Stopped Phase = "Stopped"
)

// Filling is the message of a box that starts, where nothing keeps it from that.
const Filling = "caches are filling"

// Observation is the outcome of one reconcile of one resource.
type Observation struct {
	// Resource that was reconciled.
	Resource types.NamespacedName
	// Ready says that its conditions are Ready and not Reconciling.
	Ready bool
	// Waiting says that its conditions are Reconciling.
	Waiting bool
	// Counts says that the reconcile evaluated the pipeline. Otherwise it is neither a success nor a failure, and only Ready
	// and Waiting are noted.
	Counts bool
	// Back says that the resource is rolled back: it is not what its spec says, so it fails, though no reconcile of it was counted.
	Back bool
	// Failed says that the reconcile failed, whatever the class of the error. Without Counts it makes nothing fail: it is a failure that was counted
	// before, or in a former process.
	Failed bool
	// LeftBehind counts children of former boxes. It is read of a success only: no other cycle has gone through all children.
	LeftBehind int32
	// Step of the pipeline that failed.
	Step string
	// Reason and Message say why the resource is not Ready; of a failed reconcile, the message is the error. They are read of what
	// fails only. The message is cut to 256 characters.
	Reason, Message string
	// Revision names the plan that was evaluated. Empty: unknown; then any success counts for the plan that runs.
	Revision string
}

// Snapshot is what a Tracker knows at one moment. It shares nothing with the Tracker.
type Snapshot struct {
	// Resources counts the resources.
	Resources v1alpha1.ResourceCounts
	// ConsecutiveFailures counts failed reconciles in a row over the whole box.
	ConsecutiveFailures int64
	// SuccessCount and FailureCount count reconciles since the CRDHealth object was made.
	SuccessCount, FailureCount int64
	// Degraded says that the failures in a row have reached the threshold, and that there are resources.
	Degraded bool
	// LastReconcile is the time of the last reconcile that counted, LastSuccess that of the last success. Zero: none yet.
	LastReconcile, LastSuccess time.Time
	// LastFailure is the last failure; nil: none yet.
	LastFailure *v1alpha1.Failure
	// Failing lists at most ten resources: most failures in a row first, then the oldest, then by namespace and name.
	Failing []v1alpha1.FailingResource
	// GoodRevision names the plan of the last success that told its plan; empty: unknown.
	GoodRevision string
	// Rollback says which resources are rolled back.
	Rollback v1alpha1.RollbackStatus
}

// Report is all that CRDHealth shows of a box. The engine makes it.
type Report struct {
	// Phase of the sub-controller.
	Phase Phase
	// Reason and Message say why the box is in this phase, or what else is wrong with it. Both may be empty.
	Reason, Message string
	// Snapshot of the box's Tracker.
	Snapshot Snapshot
	// Workers is the number of workers, QueueDepth that of the resources that wait for one.
	Workers, QueueDepth int32
	// Autoscale says which limits are replaced; nil: none are.
	Autoscale *v1alpha1.AutoscaleStatus
	// Revision names the plan that runs; empty: none.
	Revision string
	// FailureThreshold is the number of failures in a row that makes the box Degraded.
	FailureThreshold int32
	// StartedAt is when the workers of this process started, ClaimedAt when the box claimed its CRD in it. Zero: they have not, it has not.
	StartedAt, ClaimedAt time.Time
	// Dependencies of the box, and whether they are met.
	Dependencies []v1alpha1.DependencyStatus
	// Awaits says what the first dependency lacks that is not met; empty: all are met.
	Awaits string
	// Leaving says how many objects of others the box holds that it does not select any more, and names one; empty: none.
	Leaving string
	// Stuck says why nothing of a running box is reconciled; empty: it is.
	Stuck string
	// Overdue names resources whose reconciles are past their deadline and do not end, while the box goes on with its other workers; empty: there are
	// none.
	Overdue string
	// Unended are the resources whose reconciles are past their deadline and do not end, sorted, also of a box that is stuck or does not stop.
	Unended []types.NamespacedName
	// Monitored says that another operator runs the CRD: its resources are checked, and nothing else.
	Monitored bool
	// RollsBack says that the box has rollback.
	RollsBack bool
	// CRD is the CRD's name; empty: not known yet.
	CRD string
}

// State gives the state of a box from the phase of its sub-controller. Only a running box is Healthy or Degraded; a phase
// that is not known is Pending.
func State(p Phase, degraded bool) v1alpha1.HealthState {
	switch p {
	case Starting:
		return v1alpha1.HealthStarting
	case Running:
		if degraded {
			return v1alpha1.HealthDegraded
		}
		return v1alpha1.HealthHealthy
	case Suspended:
		return v1alpha1.HealthSuspended
	case Stopped:
		return v1alpha1.HealthStopped
	default:
		return v1alpha1.HealthPending
	}
}

// blank says that the tracker has neither been restored nor seen anything.
func (s Snapshot) blank() bool {
	return s.SuccessCount == 0 && s.FailureCount == 0 && s.ConsecutiveFailures == 0 && len(s.Failing) == 0 &&
		s.LastReconcile.IsZero() && s.Resources == v1alpha1.ResourceCounts{}
}
