// Package metrics holds every series that Orkestra exports. It only counts what it is told: it decides nothing, reads no
// clock and knows no client. No series may carry the name of a resource: there can be a million of them.
package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Results of a reconcile: success, the class of the error, or skipped.
const (
	ResultSuccess    = "success"    // the pipeline was evaluated, without an error
	ResultTransient  = "transient"  // a retry may mend it
	ResultPermanent  = "permanent"  // an input must change
	ResultRefused    = "refused"    // the API server refuses it
	ResultWaiting    = "waiting"    // no failure: something is awaited
	ResultPermission = "permission" // a right is missing
	ResultPanic      = "panic"      // a hook, or the engine itself, panicked
	ResultSkipped    = "skipped"    // no input had changed
)

// Reasons for which a child is written.
const (
	ReasonCreate = "create" // it was absent
	ReasonChange = "change" // the declaration, or what it reads, has changed
	ReasonDrift  = "drift"  // somebody else changed it
	ReasonPrune  = "prune"  // no declaration stands for it any more
)

// Results of an external call.
const (
	CallSuccess = "success" // the host answered as expected
	CallCached  = "cached"  // an answer was used again
	CallFailed  = "failed"  // no answer, or one that may pass
	CallRefused = "refused" // a retry can't mend it
	CallHeld    = "held"    // not sent: the host failed before and is left alone
)

const (
	labelBox    = "box"
	labelResult = "result"
	labelState  = "state"
)

// Recorder counts and measures for all boxes. Make one with New for each registry. It is safe for concurrent use; a nil
// Recorder does nothing, so that tests need none.
type Recorder struct {
	reconciles  *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	resources   *prometheus.GaugeVec
	states      *prometheus.GaugeVec
	childWrites *prometheus.CounterVec
	panics      *prometheus.CounterVec
	rollbacks   *prometheus.CounterVec
	rolledBack  *prometheus.GaugeVec

	loads         *loads
	watches       *watches
	externalCalls *prometheus.CounterVec
	externalTimes *prometheus.HistogramVec
}

// vector is what all vectors can do.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

// New makes a Recorder and registers its series. It fails where one of them is registered already, and then none stays.
func New(registry prometheus.Registerer) (*Recorder, error) {
	r := &Recorder{
		reconciles: counter("orkestra_reconcile_total",
			"Reconciles of a box's resources by result: success, a class of failure, waiting or skipped", labelBox, labelResult),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orkestra_reconcile_duration_seconds",
			Help: "Time that reconciles took, those that were skipped included",
			// A skipped reconcile takes microseconds, one that writes milliseconds, one that waits for a host seconds.
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30},
		}, []string{labelBox}),
		resources: gauge("orkestra_resources",
			"Resources of a box by what they show: total, ready, failing or waiting", labelBox, labelState),
		states: gauge("orkestra_box_state", "1 for the state that a box is in, 0 for all others", labelBox, labelState),
		childWrites: counter("orkestra_child_writes_total",
			"Writes of children by kind, verb and reason", labelBox, "kind", "verb", "reason"),
		panics:     counter("orkestra_panics_total", "Panics that were caught; without a box: in what all boxes share", labelBox),
		rollbacks:  counter("orkestra_rollbacks_total", "Resources that went back to their last good state", labelBox),
		rolledBack: gauge("orkestra_rolled_back", "Resources of a box that are rolled back", labelBox),
		loads:      newLoads(),
		watches:    newWatches(),
		externalCalls: counter("orkestra_external_calls_total",
			"External calls of a box by result: success, cached, failed, refused or held", labelBox, labelResult),
		externalTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "orkestra_external_call_duration_seconds",
			Help:    "Time that external calls took that were sent, retries included",
			Buckets: []float64{.005, .01, .05, .1, .5, 1, 5, 10, 30, 90},
		}, []string{labelBox}),
	}
	for i, v := range r.vectors() {
		if err := registry.Register(v); err != nil {
			for _, done := range r.vectors()[:i] {
				registry.Unregister(done)
			}
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return r, nil
}

// Ensure makes the counters of a box begin at zero, so that their rates are known from the first scrape. It is idempotent.
func (r *Recorder) Ensure(box string) {
	if r == nil {
		return
	}
	for _, result := range results() {
		r.reconciles.WithLabelValues(box, result)
	}
	r.durations.WithLabelValues(box)
	r.panics.WithLabelValues(box)
	r.rollbacks.WithLabelValues(box)
	r.rolledBack.WithLabelValues(box)
}

// Reconciled counts one reconcile with one of the results above and the time that it took.
func (r *Recorder) Reconciled(box, result string, took time.Duration) {
	if r == nil {
		return
	}
	r.reconciles.WithLabelValues(box, result).Inc()
	r.durations.WithLabelValues(box).Observe(took.Seconds())
}

// SetResources sets the numbers of resources by what they show. LeftBehind counts children and is left out.
func (r *Recorder) SetResources(box string, counts v1alpha1.ResourceCounts) {
	if r == nil {
		return
	}
	r.resources.WithLabelValues(box, "total").Set(float64(counts.Total))
	r.resources.WithLabelValues(box, "ready").Set(float64(counts.Ready))
	r.resources.WithLabelValues(box, "failing").Set(float64(counts.Failing))
	r.resources.WithLabelValues(box, "waiting").Set(float64(counts.Waiting))
}

// SetState sets the state that the box is in.
func (r *Recorder) SetState(box string, state v1alpha1.HealthState) {
	if r == nil {
		return
	}
	for _, s := range states() {
		value := 0.0
		if s == state {
			value = 1
		}
		r.states.WithLabelValues(box, string(s)).Set(value)
	}
}

// ChildWritten counts one request that changed a child: its kind (Deployment), the verb (create, apply, delete) and one of
// the reasons above, or another word for it from a fixed list.
func (r *Recorder) ChildWritten(box, kind, verb, reason string) {
	if r == nil {
		return
	}
	r.childWrites.WithLabelValues(box, kind, verb, reason).Inc()
}

// Panicked counts one panic that was caught.
func (r *Recorder) Panicked(box string) {
	if r == nil {
		return
	}
	r.panics.WithLabelValues(box).Inc()
}

// ExternalCalled counts one external call with one of the results above, and the time that it took where it was sent.
func (r *Recorder) ExternalCalled(box, result string, took time.Duration) {
	if r == nil {
		return
	}
	r.externalCalls.WithLabelValues(box, result).Inc()
	if result != CallCached && result != CallHeld {
		r.externalTimes.WithLabelValues(box).Observe(took.Seconds())
	}
}

// Forget deletes every series of a box but its state, which a box has also while it does not run. It is called when nothing of
// the box runs any more: what is recorded later comes back.
func (r *Recorder) Forget(box string) {
	if r == nil {
		return
	}
	for _, v := range r.vectors() {
		if v != vector(r.states) {
			v.DeletePartialMatch(prometheus.Labels{labelBox: box})
		}
	}
}

// ForgetState deletes the state of a box. Whoever sets it calls this when the box is gone, and does not set it after that.
func (r *Recorder) ForgetState(box string) {
	if r == nil {
		return
	}
	r.states.DeletePartialMatch(prometheus.Labels{labelBox: box})
}

// vectors lists every series: what stands here is registered and forgotten.
func (r *Recorder) vectors() []vector {
	return []vector{
		r.reconciles, r.durations, r.resources, r.states, r.childWrites, r.panics,
		r.externalCalls, r.externalTimes, r.rollbacks, r.rolledBack, r.watches, r.loads,
	}
}

func results() []string {
	return []string{
		ResultSuccess, ResultTransient, ResultPermanent, ResultRefused, ResultWaiting, ResultPermission, ResultPanic, ResultSkipped,
	}
}

func states() []v1alpha1.HealthState {
	return []v1alpha1.HealthState{
		v1alpha1.HealthPending, v1alpha1.HealthStarting, v1alpha1.HealthHealthy,
		v1alpha1.HealthDegraded, v1alpha1.HealthSuspended, v1alpha1.HealthStopped,
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}
