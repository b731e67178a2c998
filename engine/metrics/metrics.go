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

// What stands for the status code of an external request that has none.
const (
	CodeCached = "cached" // an answer was used again
	CodeHeld   = "held"   // not sent: the host failed before and is left alone
	CodeNone   = "none"   // no answer, or a request that may not be sent
)

const (
	labelBox    = "box"
	labelResult = "result"
	labelState  = "state"

	stateRolledBack = "rolled_back"
)

// Recorder counts and measures for all boxes. Make one with New for each registry. It is safe for concurrent use; a nil
// Recorder does nothing, so that tests need none.
type Recorder struct {
	reconciles *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	resources  *prometheus.GaugeVec
	states     *prometheus.GaugeVec
	children   *prometheus.CounterVec
	panics     *prometheus.CounterVec
	rollbacks  *prometheus.CounterVec
	policies   *prometheus.GaugeVec

	loads            *loads
	scales           *scales
	byNamespace      *waits
	watches          *watches
	providerCalls    *prometheus.CounterVec
	providerTimes    *prometheus.HistogramVec
	externalRequests *prometheus.CounterVec
	externalTimes    *prometheus.HistogramVec
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
			"Resources of a box by what they show: total, ready, failing, waiting or rolled_back", labelBox, labelState),
		states: gauge("orkestra_health_state", "1 for the state that a box is in, 0 for all others", labelBox, labelState),
		children: counter("orkestra_children_total",
			"Writes of children by action: created, changed, corrected, adopted, replaced or pruned", labelBox, "action"),
		panics:        counter("orkestra_panics_total", "Panics that were caught; without a box: in what all boxes share", labelBox),
		rollbacks:     counter("orkestra_rollbacks_total", "Resources that went back to their last good state", labelBox),
		policies:      gauge("orkestra_policy_installed", "1 where an admission policy that the manager relies on is in force, 0 where not", "policy"),
		loads:         newLoads(),
		scales:        newScales(),
		byNamespace:   newWaits(),
		watches:       newWatches(),
		providerCalls: newProviderCalls(),
		providerTimes: newProviderTimes(),
		externalRequests: counter("orkestra_external_requests_total",
			"External requests of a box by the status code of the answer: also cached, held (not sent) or none (no answer)", labelBox, "code"),
		externalTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "orkestra_external_request_duration_seconds",
			Help:    "Time that external requests took that were sent, retries included",
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
	r.resources.WithLabelValues(box, stateRolledBack)
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

// ChildWritten counts one request that changed a child, by its action: a word from a fixed list, such as created or corrected.
func (r *Recorder) ChildWritten(box, action string) {
	if r == nil {
		return
	}
	r.children.WithLabelValues(box, action).Inc()
}

// RolledBack counts one resource that went back to its last good state.
func (r *Recorder) RolledBack(box string) {
	if r == nil {
		return
	}
	r.rollbacks.WithLabelValues(box).Inc()
}

// SetRolledBack sets the number of resources of a box that are rolled back.
func (r *Recorder) SetRolledBack(box string, n int32) {
	if r == nil {
		return
	}
	r.resources.WithLabelValues(box, stateRolledBack).Set(float64(n))
}

// Panicked counts one panic that was caught.
func (r *Recorder) Panicked(box string) {
	if r == nil {
		return
	}
	r.panics.WithLabelValues(box).Inc()
}

// ExternalRequested counts one external request by the status code of its answer, or one of the codes above, and the time that it took
// where it was sent. Its retries are part of it.
func (r *Recorder) ExternalRequested(box, code string, took time.Duration) {
	if r == nil {
		return
	}
	r.externalRequests.WithLabelValues(box, code).Inc()
	if code != CodeCached && code != CodeHeld {
		r.externalTimes.WithLabelValues(box).Observe(took.Seconds())
	}
}

// ProviderCall is one call of a driver of a provider.
type ProviderCall struct {
	// Box that it was made for; Provider and Kind that were called; Operation is ensure, observe or delete.
	Box, Provider, Kind, Operation string
	// Result is success, waiting, held, none, or the class of the error in small letters.
	Result string
	// Took is the time that it took.
	Took time.Duration
}

// newProviderCalls counts calls of drivers. Its labels are bounded by what boxes declare.
func newProviderCalls() *prometheus.CounterVec {
	return counter("orkestra_provider_calls_total",
		"Calls of a provider's drivers by operation and result: success, waiting, held (not sent), none (no answer) or a class of failure",
		labelBox, "provider", "kind", "operation", labelResult)
}

func newProviderTimes() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "orkestra_provider_call_duration_seconds",
		Help:    "Time that calls of a provider's drivers took that were sent",
		Buckets: []float64{.005, .01, .05, .1, .5, 1, 5, 10, 30, 60},
	}, []string{labelBox, "provider"})
}

// ProviderCalled counts one call.
func (r *Recorder) ProviderCalled(c ProviderCall) {
	if r == nil {
		return
	}
	r.providerCalls.WithLabelValues(c.Box, c.Provider, c.Kind, c.Operation, c.Result).Inc()
	if c.Result != CodeHeld {
		r.providerTimes.WithLabelValues(c.Box, c.Provider).Observe(c.Took.Seconds())
	}
}

// Policy notes whether an admission policy is in force that the manager relies on.
func (r *Recorder) Policy(name string, installed bool) {
	if r == nil {
		return
	}
	value := 0.0
	if installed {
		value = 1
	}
	r.policies.WithLabelValues(name).Set(value)
}

// Forget deletes every series of a box but its state, which a box has also while it does not run. Call it when nothing of the box runs
// any more: recording anything later would create the series again.
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

// ForgetState deletes the state of a box. The one that sets it calls this when the box is gone, and does not set it after that.
func (r *Recorder) ForgetState(box string) {
	if r == nil {
		return
	}
	r.states.DeletePartialMatch(prometheus.Labels{labelBox: box})
}

// vectors lists every series: what stands here is registered and forgotten.
func (r *Recorder) vectors() []vector {
	return []vector{
		r.reconciles, r.durations, r.resources, r.states, r.children, r.panics,
		r.externalRequests, r.externalTimes, r.rollbacks, r.policies, r.watches, r.loads, r.scales, r.byNamespace, r.providerCalls, r.providerTimes,
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
