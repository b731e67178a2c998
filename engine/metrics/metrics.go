// Package metrics holds every series that Orkestra exports. It only counts what it is told: it decides nothing, reads no
// clock and knows no client. No series may carry the name of a resource: there can be a million of them.
package metrics

import (
	"fmt"
	"strconv"
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

// What stands for an action or a budget that no other package names.
const (
	ActionPatched = "patched" // fields of an object of others were set
	BudgetRetries = "retries" // a retry of a failing resource was put off
)

const (
	labelBox    = "box"
	labelResult = "result"
	labelState  = "state"
	labelCode   = "code"
	labelKind   = "kind"

	stateRolledBack = "rolled_back"
)

// Recorder counts and measures for all boxes. Make one with New for each registry. It is safe for concurrent use; a nil
// Recorder does nothing, so that tests need none.
type Recorder struct {
	cycles
	calls

	resources *prometheus.GaugeVec
	states    *prometheus.GaugeVec
	policies  *prometheus.GaugeVec

	loads       *loads
	scales      *scales
	byNamespace *waits
	watches     *watches
	places      *reading
}

// cycles are the series of what happens in reconciles.
type cycles struct {
	reconciles  *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	stages      *prometheus.HistogramVec
	waits       *prometheus.HistogramVec
	children    *prometheus.CounterVec
	panics      *prometheus.CounterVec
	rollbacks   *prometheus.CounterVec
	budgets     *prometheus.CounterVec
	contentions *prometheus.CounterVec
}

// calls are the series of what is asked of others.
type calls struct {
	apiRequests      *prometheus.CounterVec
	externalRequests *prometheus.CounterVec
	externalTimes    *prometheus.HistogramVec
	providerRequests *prometheus.CounterVec
	providerTimes    *prometheus.HistogramVec
}

// New makes a Recorder and registers its series. It fails where one of them is registered already, and then none stays.
func New(registry prometheus.Registerer) (*Recorder, error) {
	d := newDescriptions()
	r := &Recorder{
		cycles: cycles{
			reconciles: d.counter("orkestra_reconcile_total"), durations: d.histogram("orkestra_reconcile_duration_seconds"),
			stages: d.histogram("orkestra_stage_duration_seconds"), waits: d.histogram("orkestra_queue_wait_seconds"),
			children: d.counter("orkestra_children_total"), panics: d.counter("orkestra_panics_total"), rollbacks: d.counter("orkestra_rollbacks_total"),
			budgets: d.counter("orkestra_budget_exceeded_total"), contentions: d.counter("orkestra_contention_total"),
		},
		calls: calls{
			apiRequests:      d.counter("orkestra_api_requests_total"),
			externalRequests: d.counter("orkestra_external_requests_total"), externalTimes: d.histogram("orkestra_external_request_duration_seconds"),
			providerRequests: d.counter("orkestra_provider_requests_total"), providerTimes: d.histogram("orkestra_provider_request_duration_seconds"),
		},
		resources: d.gauge("orkestra_resources"), states: d.gauge("orkestra_health_state"), policies: d.gauge("orkestra_policy_installed"),
		loads: newLoads(d), scales: newScales(d), byNamespace: newWaits(d), watches: newWatches(d), places: &reading{desc: d.desc("orkestra_places_busy")},
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
	r.waits.WithLabelValues(box)
	r.panics.WithLabelValues(box)
	r.rollbacks.WithLabelValues(box)
	r.contentions.WithLabelValues(box)
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

// StageEnded measures one stage of a reconcile.
func (r *Recorder) StageEnded(box, stage string, took time.Duration) {
	if r == nil {
		return
	}
	r.stages.WithLabelValues(box, stage).Observe(took.Seconds())
}

// Waited measures how long a resource has waited for a worker.
func (r *Recorder) Waited(box string, wait time.Duration) {
	if r == nil {
		return
	}
	r.waits.WithLabelValues(box).Observe(wait.Seconds())
}

// BudgetExceeded counts one reconcile that ended over a budget, which is named by a word of a fixed list.
func (r *Recorder) BudgetExceeded(box, budget string) {
	if r == nil {
		return
	}
	r.budgets.WithLabelValues(box, budget).Inc()
}

// Contended counts children and patches that began to be corrected less often.
func (r *Recorder) Contended(box string, n int) {
	if r == nil || n == 0 {
		return
	}
	r.contentions.WithLabelValues(box).Add(float64(n))
}

// Requested counts one request to the API server by its verb, a word of a fixed list, and the status code of the answer; 0: there was none. It
// is no box's where several share what is asked for.
func (r *Recorder) Requested(box, verb string, code int) {
	if r == nil {
		return
	}
	text := CodeNone
	if code != 0 {
		text = strconv.Itoa(code)
	}
	r.apiRequests.WithLabelValues(box, verb, text).Inc()
}

// MeasurePlaces reads how many places of the process are taken, each time that the series are collected. taken must not block.
func (r *Recorder) MeasurePlaces(taken func() int) {
	if r == nil {
		return
	}
	r.places.set(func() (float64, bool) { return float64(taken()), true })
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

// ProviderCalled counts one call.
func (r *Recorder) ProviderCalled(c ProviderCall) {
	if r == nil {
		return
	}
	r.providerRequests.WithLabelValues(c.Box, c.Provider, c.Kind, c.Operation, c.Result).Inc()
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
		r.reconciles, r.durations, r.stages, r.waits, r.children, r.panics, r.rollbacks, r.budgets, r.contentions,
		r.apiRequests, r.externalRequests, r.externalTimes, r.providerRequests, r.providerTimes,
		r.resources, r.states, r.policies, r.loads, r.scales, r.byNamespace, r.watches, r.places,
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
