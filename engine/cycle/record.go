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

	// Run is what the plan read, waits for, wrote and has to tell; nil where no plan ran.
	Run *pipeline.Run
	// Status is what the resource shows after the cycle, and what it showed before.
	Status Status
	// Err is what failed while the plan ran, and Missing the right that was lacking; nil: nothing. Class says what may mend what
	// failed, then or when the status was written; empty: nothing is to mend.
	Err     *pipeline.StepError
	Class   pipeline.Class
	Missing *access.Right
	// Repeats says that the cycle asks again what was counted before, so that it counts only if it comes to something else.
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
	// Err says why it could not be written; nil: it was, or did not differ. Failure is that error as one of the cycle, which it is
	// where nothing else has failed; nil: it counts for nothing.
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

// failure is the error that the cycle counts by; nil: it has not failed. Nobody could read from a resource without a status how it
// fares; a rollback has not failed by that.
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
