package health

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Status computes the new status of a CRDHealth from the old one and a report; generation is that of the CRDHealth. It is pure, and
// changes nothing that it is given. Times are whole seconds, as the API server stores them.
//
// A report without any count, of a box that does not run, leaves the counts as they are: its tracker has not been restored.
func Status(old v1alpha1.CRDHealthStatus, generation int64, r Report, now time.Time) v1alpha1.CRDHealthStatus {
	next := *old.DeepCopy()
	next.ObservedGeneration = generation
	next.State = State(r.Phase, r.Snapshot.Degraded || r.Stuck != "")
	next.StartedAt, next.ClaimedAt = since(old.StartedAt, r.StartedAt), since(old.ClaimedAt, r.ClaimedAt)
	if r.FailureThreshold > 0 || r.Monitored { // a box without a plan keeps that of its last one
		next.FailureThreshold = r.FailureThreshold
	}
	next.Workers, next.QueueDepth = r.Workers, r.QueueDepth
	next.Revision, next.Autoscale = r.Revision, r.Autoscale.DeepCopy()
	next.Rollback, next.Dependencies = rollbackOf(old.Rollback, r), slices.Clone(r.Dependencies)
	if r.Phase == Running || !r.Snapshot.blank() {
		count(&next, r.Snapshot)
	}
	next.Overdue = nil
	for _, key := range r.Unended[:min(len(r.Unended), maxOverdue)] {
		next.Overdue = append(next.Overdue, v1alpha1.ResourceReference{Namespace: key.Namespace, Name: key.Name})
	}
	if r.Phase == Stopped {
		next.Resources, next.Failing = r.Snapshot.Resources, nil
	}
	next.LastKnownGood = knownGood(old.LastKnownGood, next.LastSuccess, next.State, r)
	next.Conditions = conditions(old.Conditions, generation, r, next, now)
	return next
}

// maxOverdue is how many resources the status lists whose reconciles do not end.
const maxOverdue = 10

func count(next *v1alpha1.CRDHealthStatus, s Snapshot) {
	next.Resources = s.Resources
	next.ConsecutiveFailures = s.ConsecutiveFailures
	next.SuccessCount, next.FailureCount = s.SuccessCount, s.FailureCount
	next.LastReconcile, next.LastSuccess = stamp(s.LastReconcile), stamp(s.LastSuccess)
	next.LastFailure = s.LastFailure.DeepCopy()
	if next.LastFailure != nil {
		next.LastFailure.Time = seconds(next.LastFailure.Time.Time)
	}
	next.Failing = nil
	for _, f := range s.Failing {
		f.Since = seconds(f.Since.Time)
		next.Failing = append(next.Failing, f)
	}
}

// knownGood moves to the running plan while the box is Healthy. A plan that has just replaced another is not good because the other one was, nor
// because there was nothing to reconcile: it needs a success of its own. It never moves back. Where nothing has ever succeeded, nothing is good.
func knownGood(old *v1alpha1.KnownGood, lastSuccess *metav1.Time, state v1alpha1.HealthState, r Report) *v1alpha1.KnownGood {
	s := r.Snapshot
	succeeded := !s.LastSuccess.IsZero() && (s.GoodRevision == r.Revision || s.GoodRevision == "")
	switch {
	case lastSuccess == nil:
		return nil
	case state == v1alpha1.HealthHealthy && r.Revision != "" && succeeded:
		return &v1alpha1.KnownGood{Revision: r.Revision, Time: seconds(s.LastSuccess)}
	case old != nil:
		return old.DeepCopy()
	case s.GoodRevision != "" && !s.LastSuccess.IsZero(): // the CRDHealth was deleted by hand, and is made anew
		return &v1alpha1.KnownGood{Revision: s.GoodRevision, Time: seconds(s.LastSuccess)}
	default:
		return nil
	}
}

func stamp(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(seconds(t))
}

// since keeps the older of two starting times: a new process has only gone on with what a former one began.
func since(old *metav1.Time, now time.Time) *metav1.Time {
	if old == nil || now.IsZero() || now.Before(old.Time) {
		return stamp(now)
	}
	return old.DeepCopy()
}

func seconds(t time.Time) metav1.Time {
	return metav1.NewTime(t.Truncate(time.Second))
}

// Degrades says whether a change of a status is one to Degraded. A box that starts again and was Degraded before still is: its
// failures in a row say so.
func Degrades(old, next v1alpha1.CRDHealthStatus) bool {
	return next.State == v1alpha1.HealthDegraded && !wasDegraded(old)
}

// Recovers says whether a change of a status ends that it is Degraded, or was before it started again.
func Recovers(old, next v1alpha1.CRDHealthStatus) bool {
	return next.State == v1alpha1.HealthHealthy && wasDegraded(old)
}

func wasDegraded(s v1alpha1.CRDHealthStatus) bool {
	switch s.State {
	case v1alpha1.HealthDegraded:
		return true
	case v1alpha1.HealthPending, v1alpha1.HealthStarting, v1alpha1.HealthSuspended, v1alpha1.HealthStopped:
		return s.ConsecutiveFailures >= int64(positive(s.FailureThreshold))
	case v1alpha1.HealthHealthy:
	}
	return false
}
