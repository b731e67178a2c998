package crdhealth

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// Dependencies is what is used of an engine.Engine, where each method is documented.
type Dependencies interface {
	Leading() bool
	SetDependency(name string, now pipeline.DependencyState)
}

// DependencyReconciler tells the engine the state of boxes, and of CRDs that other operators run, as soon as it changes. It runs on
// every replica, writes nothing and never waits for a write, so that resources of boxes that depend on them go on at once.
type DependencyReconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Engine is told.
	Engine Dependencies
	// Reports says the state of boxes that this process runs. It counts more than their CRDHealth, which is written later, and which
	// others may have written.
	Reports HealthReporter
}

// SetupWithManager makes the controller. changed adds the names of boxes whose report has changed.
func (r *DependencyReconciler) SetupWithManager(mgr ctrl.Manager, changed source.Source) error {
	leaderOnly := false
	err := ctrl.NewControllerManagedBy(mgr).
		Named("dependency").
		For(&v1alpha1.CRDHealth{}).
		Watches(&v1alpha1.OperatorBox{}, &handler.EnqueueRequestForObject{}).
		WatchesRawSource(changed).
		WithOptions(controller.Options{NeedLeaderElection: &leaderOnly}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the dependency controller: %w", err)
	}
	return nil
}

// Reconcile tells the state of one of them.
func (r *DependencyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	box, known := &v1alpha1.OperatorBox{}, &v1alpha1.CRDHealth{}
	hasBox, err := found(r.Client.Get(ctx, req.NamespacedName, box))
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading OperatorBox %q: %w", req.Name, err)
	}
	hasHealth, err := found(r.Client.Get(ctx, req.NamespacedName, known))
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading CRDHealth %q: %w", req.Name, err)
	}
	if !hasHealth {
		known = nil
	}
	r.Engine.SetDependency(req.Name, r.known(req.Name, stateOf(hasBox, known)))
	return ctrl.Result{}, nil
}

// known is the state of a box that this process knows, or else what the CRDHealth says: on followers, for CRDs that other operators run,
// and while caches fill, when what the former process wrote holds.
func (r *DependencyReconciler) known(box string, written pipeline.DependencyState) pipeline.DependencyState {
	if !written.OfBox || !r.Engine.Leading() {
		return written
	}
	report, ok := r.Reports.HealthReport(box)
	if !ok || report.Phase == health.Starting || r.Reports.Closing() {
		return written
	}
	written.State, written.Started = health.State(report.Phase, report.Snapshot.Degraded), report.Phase == health.Running
	return written
}

func found(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// stateOf is the state that a CRDHealth shows; known is nil where there is none. One whose box is gone counts as absent: the garbage
// collector is about to delete it.
func stateOf(hasBox bool, known *v1alpha1.CRDHealth) pipeline.DependencyState {
	switch {
	case known == nil && !hasBox:
		return pipeline.DependencyState{}
	case known == nil:
		return pipeline.DependencyState{OfBox: true, State: v1alpha1.HealthPending}
	case !hasBox && (known.Spec.OperatorBoxRef != nil || metav1.GetControllerOf(known) != nil):
		return pipeline.DependencyState{}
	case hasBox && known.Spec.OperatorBoxRef == nil:
		// The box is about to take over what another operator ran.
		return pipeline.DependencyState{OfBox: true, State: v1alpha1.HealthPending}
	}
	return pipeline.DependencyState{
		OfBox: hasBox, State: cmp.Or(known.Status.State, v1alpha1.HealthPending),
		Started: meta.IsStatusConditionTrue(known.Status.Conditions, v1alpha1.ConditionStarted),
	}
}
