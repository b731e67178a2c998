package crdhealth

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/health"
)

// announce logs a change of state, and makes an event when the state becomes Degraded and when that ends. The event is on the box, or on
// the CRDHealth where another operator runs the CRD.
func (r *Reconciler) announce(
	ctx context.Context, box *v1alpha1.OperatorBox, was *v1alpha1.CRDHealthStatus, now *v1alpha1.CRDHealth,
) {
	last := r.noteEvent(now.Name, *was, now.Status)
	if state := now.Status.State; was.State != state {
		log.FromContext(ctx).Info("Health changed", "state", state, "before", was.State)
	}
	if r.Events == nil {
		return
	}
	var about, beside runtime.Object = now, nil
	recovered := "every resource is healthy again"
	if box != nil {
		about, beside = box, now
		recovered = "a reconcile succeeded again"
	}
	switch {
	case health.Degrades(last, now.Status):
		r.Events.Eventf(about, beside, corev1.EventTypeWarning, v1alpha1.ReasonDegraded, "Reconcile", "%s", words.Cut(readyMessage(now), words.MaxNote))
	case health.Recovers(last, now.Status):
		r.Events.Eventf(about, beside, corev1.EventTypeNormal, v1alpha1.ReasonRecovered, "Reconcile", "%s", recovered)
	}
}

// noteEvent notes the state that an event is about, and gives the one of the last event: what this process noted, or after a restart what
// the object showed. So no event comes of what somebody else wrote to the object, or of its deletion.
func (r *Reconciler) noteEvent(name string, was, now v1alpha1.CRDHealthStatus) v1alpha1.CRDHealthStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, known := r.lastEvents[name]; known {
		was = last
	}
	if r.lastEvents == nil {
		r.lastEvents = map[string]v1alpha1.CRDHealthStatus{}
	}
	r.lastEvents[name] = v1alpha1.CRDHealthStatus{
		State: now.State, ConsecutiveFailures: now.ConsecutiveFailures, FailureThreshold: now.FailureThreshold,
	}
	return was
}

// forget drops what was noted of a name, when neither a box nor a CRDHealth has it any more.
func (r *Reconciler) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lastEvents, name)
}
