package health

import "github.com/orkspace/orkestra/api/v1alpha1"

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
