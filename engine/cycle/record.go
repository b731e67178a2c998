package cycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// Record is everything that one cycle read, decided and did. It is complete when it is handed on: logs, events, metrics,
// health and the next reconcile are made of it, and nothing adds to it afterwards.
type Record struct {
	// Key of the resource.
	Key types.NamespacedName
	// Resource as the cycle left it; nil: it is gone.
	Resource *unstructured.Unstructured
	// Plan that ran.
	Plan *pipeline.Plan
	// Decision says what was done, and why.
	Decision Decision
	// Began is when the cycle began, and Took how long it lasted.
	Began time.Time
	Took  time.Duration
	// Requests that were sent to the API server.
	Requests int64
	// Unreached says that one of them has not reached it.
	Unreached bool

	// Run is what the plan read, waits for, wrote and has to tell; nil where no plan ran.
	Run *pipeline.Run
	// Status is what the resource shows after the cycle, and what it showed before.
	Status Status
	// Err is what failed while the plan ran, and Missing the right that was lacking; nil: nothing. Class is that of Err, or else of
	// the error of writing the status; it decides when to retry. Empty: nothing failed.
	Err     *pipeline.StepError
	Class   pipeline.Class
	Missing *access.Right
	// Repeats says that the cycle came to what health has counted already, so that it counts neither as a success nor as a failure.
	Repeats bool
	// Back is what the resource was rolled back from and to, where the plan of a snapshot ran; nil: the box's plan ran.
	Back *Back
	// Next is when the resource is reconciled again if nothing happens; nil: only an event asks for it.
	Next *Next
}

// Status is what a resource shows.
type Status struct {
	// Before is the condition Ready before the cycle.
	Before metav1.Condition
	// After is what the cycle came to; only its conditions where no plan ran.
	After status.Result
	// Err says why it could not be written; nil: it was written, or did not differ. Failure is the same error as health counts it,
	// where nothing else in the cycle has failed; nil: it is not counted.
	Err     error
	Failure *pipeline.StepError
}

// Next is a reconcile that is queued.
type Next struct {
	// After is how long it waits.
	After time.Duration
	// Low says that it stands behind what events ask for.
	Low bool
}

// failure is the error that health counts for the cycle; nil: it has not failed. A status that could not be written is a failure, too,
// since the resource does not show its state to anybody; but not of a rollback, whose children are as they should be.
func (r *Record) failure() *pipeline.StepError {
	if r.Err == nil && r.Back == nil {
		return r.Status.Failure
	}
	return r.Err
}

// ran says whether a plan ran to an end: the cycle counts for metrics and health.
func (r *Record) ran() bool { return r.Run != nil }

// result names what the cycle came to, for metrics; empty: it does not count.
func (r *Record) result() string {
	switch {
	case r.Decision.Action == Skip:
		return metrics.ResultSkipped
	case !r.ran():
		return ""
	case r.Class != "":
		return string(r.Class)
	case len(r.Run.Waits) > 0:
		return metrics.ResultWaiting
	default:
		return metrics.ResultSuccess
	}
}
