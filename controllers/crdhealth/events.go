package crdhealth

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/health"
)

// eventInterval is the shortest time between two events that say that a box has become Degraded. One success ends that it is, so that a box in which
// some resources fail and others succeed becomes so again and again.
const eventInterval = 5 * time.Minute

// telling is what the events of one box have told.
type telling struct {
	seen   v1alpha1.CRDHealthStatus // what was last noted: state, failures in a row and their threshold
	at     time.Time                // of the last event that it is Degraded; zero: there was none
	untold bool                     // it is Degraded, and no event says so yet
	more   int                      // how often it became Degraded since then, without an event
}

// announce logs a change of state, and makes an event when the state becomes Degraded and when that ends. The event is on the box, or on
// the CRDHealth where another operator runs the CRD. again is when to ask again: an event is due then; zero: none is.
func (r *Reconciler) announce(
	ctx context.Context, box *v1alpha1.OperatorBox, was *v1alpha1.CRDHealthStatus, now *v1alpha1.CRDHealth,
) (again time.Duration) {
	if state := now.Status.State; was.State != state {
		log.FromContext(ctx).Info("Health changed", "state", state, "before", was.State)
	}
	due, more, again := r.note(now.Name, *was, now.Status)
	if r.Events == nil {
		return again
	}
	var about, beside runtime.Object = now, nil
	recovered := "every resource is healthy again"
	if box != nil {
		about, beside = box, now
		recovered = "a reconcile succeeded again"
	}
	switch due {
	case v1alpha1.ReasonDegraded:
		text := readyMessage(now)
		if more > 0 {
			text = fmt.Sprintf("Degraded %d more times since the last event; %s", more, text)
		}
		r.Events.Eventf(about, beside, corev1.EventTypeWarning, due, "Reconcile", "%s", words.Cut(text, words.MaxNote))
	case v1alpha1.ReasonRecovered:
		r.Events.Eventf(about, beside, corev1.EventTypeNormal, due, "Reconcile", "%s", recovered)
	}
	return again
}

// note notes the state of a box, and gives the reason of the event that is due; empty: none is.
func (r *Reconciler) note(name string, was, now v1alpha1.CRDHealthStatus) (due string, more int, again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tellings[name]
	if t == nil {
		// After a restart, what the object showed is what was told.
		t = &telling{seen: was}
		if r.tellings == nil {
			r.tellings = map[string]*telling{}
		}
		r.tellings[name] = t
	}
	return t.next(now, r.Clock.Now())
}

// next takes over a state. It is compared with the one that was noted, and not with what the object showed: no event comes of what somebody else wrote
// to the object, or of its deletion.
func (t *telling) next(now v1alpha1.CRDHealthStatus, at time.Time) (due string, more int, again time.Duration) {
	last := t.seen
	t.seen = v1alpha1.CRDHealthStatus{State: now.State, ConsecutiveFailures: now.ConsecutiveFailures, FailureThreshold: now.FailureThreshold}
	switch {
	case health.Degrades(last, now):
		t.untold = true
	case health.Recovers(last, now) && t.untold: // neither is told
		t.untold = false
		t.more++
	case health.Recovers(last, now):
		return v1alpha1.ReasonRecovered, 0, 0
	}
	if !t.untold || now.State != v1alpha1.HealthDegraded {
		return "", 0, 0
	}
	if ago := at.Sub(t.at); !t.at.IsZero() && ago >= 0 && ago < eventInterval {
		return "", 0, eventInterval - ago
	}
	more = t.more
	t.at, t.untold, t.more = at, false, 0
	return v1alpha1.ReasonDegraded, more, 0
}

// forget drops what was noted of a name, when neither a box nor a CRDHealth has it any more.
func (r *Reconciler) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tellings, name)
}
