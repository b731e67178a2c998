package health

// How soon a change of a CRDHealth is written.

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

const (
	// SlowInterval is the shortest time between two writes of counters and times.
	SlowInterval = 15 * time.Second
	// ListInterval is the shortest time between two writes for the failing list or the counts of resources alone. With more
	// failing resources than the list holds, the ten worst are others after nearly every retry; and resources that are made
	// by the thousand would each be worth a write.
	ListInterval = time.Second
	// FlapInterval is the shortest time between any two writes: a box whose reconciles fail and succeed in turn, with a low
	// threshold, changes its state hundreds of times a second.
	FlapInterval = 50 * time.Millisecond
)

// Urgent says whether the change from old to next must be written at once, or may wait up to SlowInterval: counters and times
// may wait, all else may not.
func Urgent(old, next v1alpha1.CRDHealthStatus) bool {
	return !equality.Semantic.DeepEqual(pressing(old), pressing(next))
}

// Wait gives how long the write of next over old has to wait, where ago is the time since the last write. 0: it is due. The caller must
// have seen that they differ.
func Wait(old, next v1alpha1.CRDHealthStatus, ago time.Duration) time.Duration {
	interval := SlowInterval
	if Urgent(old, next) {
		interval = ListInterval
		old.Failing, next.Failing = nil, nil
		old.Overdue, next.Overdue = nil, nil
		old.Resources, next.Resources = v1alpha1.ResourceCounts{}, v1alpha1.ResourceCounts{}
		old.Conditions, next.Conditions = withoutMessages(old.Conditions), withoutMessages(next.Conditions)
		if Urgent(old, next) {
			interval = FlapInterval
		}
	}
	if ago < 0 {
		return 0 // the clock was set back: waiting for it to catch up may take hours
	}
	return max(0, interval-ago)
}

// pressing is the part of a status that may not wait.
func pressing(s v1alpha1.CRDHealthStatus) v1alpha1.CRDHealthStatus {
	p := *s.DeepCopy()
	p.ConsecutiveFailures, p.SuccessCount, p.FailureCount = 0, 0, 0
	p.LastReconcile, p.LastSuccess, p.LastFailure = nil, nil, nil
	p.Workers, p.QueueDepth = 0, 0
	if p.LastKnownGood != nil {
		p.LastKnownGood.Time = metav1.Time{}
	}
	for i := range p.Failing {
		p.Failing[i].ConsecutiveFailures, p.Failing[i].Since = 0, metav1.Time{}
	}
	slices.SortFunc(p.Failing, func(a, b v1alpha1.FailingResource) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return p
}

// withoutMessages are the conditions without their messages, since that of a degraded box changes with the failing list.
func withoutMessages(conditions []metav1.Condition) []metav1.Condition {
	out := slices.Clone(conditions)
	for i := range out {
		out[i].Message = ""
	}
	return out
}
