package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
)

// announce logs a change of state, and makes an event of one to Degraded, and of one that ends that. It is about the box; about
// the CRDHealth where another operator runs the CRD.
func (r *CRDHealthReconciler) announce(
	ctx context.Context, box *v1alpha1.OperatorBox, was *v1alpha1.CRDHealthStatus, now *v1alpha1.CRDHealth,
) {
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
	case health.Degrades(*was, now.Status):
		r.Events.Eventf(about, beside, corev1.EventTypeWarning, v1alpha1.ReasonDegraded, "Reconcile", "%s", cut(readyMessage(now), maxNote))
	case health.Recovers(*was, now.Status):
		r.Events.Eventf(about, beside, corev1.EventTypeNormal, v1alpha1.ReasonRecovered, "Reconcile", "%s", recovered)
	}
}
