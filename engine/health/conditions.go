package health

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

const maxConditionMessage = 1024 // characters; a compiler's list of mistakes is longer than a resource's error

// stalling lists the reasons that a retry can't mend: somebody must change something.
var stalling = map[string]bool{
	v1alpha1.ReasonAccountRequired:     true,
	v1alpha1.ReasonAccountNotAllowed:   true,
	v1alpha1.ReasonAccountMissing:      true,
	v1alpha1.ReasonAccountChanged:      true,
	v1alpha1.ReasonCompileFailed:       true,
	v1alpha1.ReasonUnknownFunction:     true,
	v1alpha1.ReasonCRDClaimed:          true,
	v1alpha1.ReasonCRDNotOwned:         true,
	v1alpha1.ReasonCRDRefused:          true,
	v1alpha1.ReasonCRDVersionNotServed: true,
	v1alpha1.ReasonForbidden:           true,
	v1alpha1.ReasonNotSupported:        true,
	v1alpha1.ReasonStuck:               true,
}

// Stalls says whether a box that does not run for a reason goes on only when somebody changes something. The conditions of OperatorBox and CRDHealth both go
// by it.
func Stalls(reason string) bool { return stalling[reason] }

// awaited lists the reasons for which a stopped box only waits: it starts by itself.
var awaited = map[string]bool{
	v1alpha1.ReasonCRDMissing:        true,
	v1alpha1.ReasonCRDNotEstablished: true,
}

// verdict is the reason and the message that conditions share.
type verdict struct {
	reason, message string
}

// conditions gives all conditions in a fixed order; a transition time stays while its condition's status does. Conditions of other types
// are dropped: Orkestra is the only writer of a CRDHealth.
func conditions(
	old []metav1.Condition, generation int64, r Report, next v1alpha1.CRDHealthStatus, now time.Time,
) []metav1.Condition {
	why := summary(old, r, next)
	stalled := stalling[r.Reason] || next.State == v1alpha1.HealthDegraded && !r.Monitored // its own operator may be at work
	reconciling := !stalled && (next.State == v1alpha1.HealthPending || next.State == v1alpha1.HealthStarting ||
		(next.State == v1alpha1.HealthStopped && awaited[r.Reason]))
	healthy := next.State == v1alpha1.HealthHealthy

	var out []metav1.Condition
	set := func(kind string, status bool, v verdict) {
		out = append(out, condition(old, kind, status, v, generation, now))
	}
	plain := verdict{reason: why.reason}
	// Each condition has the reason; the message is with those that it explains.
	set(v1alpha1.ConditionReady, healthy, why)
	set(v1alpha1.ConditionReconciling, reconciling, pick(reconciling, why, plain))
	// A box whose reconciles keep failing makes no progress: tools would otherwise wait for it as for one that starts.
	set(v1alpha1.ConditionStalled, stalled, pick(stalled, pick(stalling[r.Reason], report(r, why), why), plain))
	set(v1alpha1.ConditionStarted, r.Phase == Running, pick(r.Phase == Running, verdict{reason: v1alpha1.ReasonRunning}, why))
	set(v1alpha1.ConditionHealthy, healthy, why)
	return out
}

func condition(
	old []metav1.Condition, kind string, status bool, v verdict, generation int64, now time.Time,
) metav1.Condition {
	c := metav1.Condition{
		Type:               kind,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: generation,
		LastTransitionTime: seconds(now),
		Reason:             v.reason,
		Message:            v.message,
	}
	if status {
		c.Status = metav1.ConditionTrue
	}
	if was := meta.FindStatusCondition(old, kind); was != nil && was.Status == c.Status {
		c.LastTransitionTime = was.LastTransitionTime
	}
	return c
}

// summary says why the box is in its state, as Ready and Healthy show it.
func summary(old []metav1.Condition, r Report, next v1alpha1.CRDHealthStatus) verdict {
	switch next.State {
	case v1alpha1.HealthDegraded:
		if r.Stuck != "" {
			return verdict{v1alpha1.ReasonStuck, value.Excerpt(r.Stuck, maxConditionMessage)}
		}
		return verdict{v1alpha1.ReasonDegraded, withOverdue(withOne(old, degraded(r), r, next.Failing), r)}
	case v1alpha1.HealthHealthy:
		return verdict{v1alpha1.ReasonHealthy, withOverdue(works(old, r, next.Failing), r)}
	case v1alpha1.HealthStarting:
		return report(r, verdict{v1alpha1.ReasonStarting, Filling})
	case v1alpha1.HealthSuspended:
		return report(r, verdict{v1alpha1.ReasonSuspended, "spec.suspend is true"})
	case v1alpha1.HealthStopped:
		return report(r, verdict{v1alpha1.ReasonStopped, "the sub-controller is stopped"})
	default:
		return report(r, verdict{string(v1alpha1.HealthPending), "the box has not started yet"})
	}
}

// What Ready says of a healthy box of which there is no more to know, or only that some of its resources fail.
const (
	allWorks   = "the box works"
	allHealthy = "every resource is healthy"
	someOfThem = "the box works, but some resources fail"
)

// Beside gives what there is to know of a healthy box nevertheless, in the words of its condition Ready, such as a dependency that is not met. Empty: there
// is nothing, or only that some resources fail, which their number tells.
func Beside(s *v1alpha1.CRDHealthStatus) string {
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.Message == allWorks || ready.Message == allHealthy || strings.HasPrefix(ready.Message, someOfThem) {
		return ""
	}
	return ready.Message
}

// works is the message of a healthy box. It names what is wrong nevertheless: a spec that can't run, in place of which the revision before
// it runs; a right that was taken away; an object that can't be read; or some resources that fail while others succeed.
func works(old []metav1.Condition, r Report, failing []v1alpha1.FailingResource) string {
	switch {
	case r.Monitored:
		return allHealthy
	case stalling[r.Reason]: // below
	case r.Reason == "" && r.Message != "":
		return value.Excerpt(allWorks+"; "+r.Message, maxConditionMessage)
	case r.Awaits != "":
		return value.Excerpt(allWorks+"; new resources wait: "+r.Awaits, maxConditionMessage)
	case r.Snapshot.Resources.Failing > 0:
		return withOne(old, someOfThem, r, failing)
	default:
		return allWorks
	}
	return value.Excerpt(fmt.Sprintf("revision %s works; a problem stands beside it: %s", r.Revision, r.Message), maxConditionMessage)
}

// overdueMark stands before what is said of reconciles that do not end.
const overdueMark = "; but "

// withOverdue adds to a message which reconciles do not end: their resources are in no list, since nothing has come of them yet.
func withOverdue(message string, r Report) string {
	if r.Overdue == "" {
		return message
	}
	return value.Excerpt(message+overdueMark+r.Overdue, maxConditionMessage)
}

// degraded names the threshold, and not the count of failures: a message that changes with every retry would be written each time.
func degraded(r Report) string {
	switch threshold := positive(r.FailureThreshold); {
	case r.Monitored:
		return "not every resource is healthy"
	case threshold == 1:
		return "a reconcile failed"
	default:
		return fmt.Sprintf("at least %d reconciles in a row failed", threshold)
	}
}

// withOne adds one failing resource and its error to a message. As long as the resource that the condition names now is listed, it stays
// with that one: the order of the list changes with every retry.
func withOne(old []metav1.Condition, first string, r Report, failing []v1alpha1.FailingResource) string {
	if len(failing) == 0 {
		return first
	}
	plural, _, _ := strings.Cut(r.CRD, ".")
	said := ""
	if was := meta.FindStatusCondition(old, v1alpha1.ConditionReady); was != nil {
		said, _, _ = strings.Cut(was.Message, overdueMark)
	}
	messages := make([]string, 0, len(failing))
	for _, f := range failing {
		m := value.Excerpt(fmt.Sprintf("%s; %s: %s", first, subject(plural, f.ResourceReference), failure(f)), maxConditionMessage)
		if m == said {
			return m
		}
		messages = append(messages, m)
	}
	return messages[0]
}

func subject(plural string, r v1alpha1.ResourceReference) string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + r.Name
	}
	return strings.TrimSpace(plural + " " + name)
}

func failure(f v1alpha1.FailingResource) string {
	if f.Step == "" {
		return f.Message
	}
	return f.Step + ": " + f.Message
}

// report gives the reason and the message of the engine's report, or else those of otherwise.
func report(r Report, otherwise verdict) verdict {
	return verdict{cmp.Or(r.Reason, otherwise.reason), value.Excerpt(cmp.Or(r.Message, otherwise.message), maxConditionMessage)}
}

func pick(first bool, a, b verdict) verdict {
	if first {
		return a
	}
	return b
}
