package controllers

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/revision"
)

// boxWorkers is more than one, so that a box whose CRD is slow does not hold up the others.
const boxWorkers = 4

// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=operatorboxes,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=operatorboxes/status,verbs=patch;update
// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=operatorboxes/finalizers,verbs=update
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// OperatorBoxReconciler compiles boxes and has the engine run them. It runs on every replica: followers compile and keep
// informers warm, and write nothing.
type OperatorBoxReconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// Live reads from the API server: full CRDs, which are too large to keep in a cache.
	Live client.Reader
	// Engine runs the plans.
	Engine *engine.Engine
	// Reports is told what CRDHealth shows of boxes that do not run.
	Reports *Reports
	// Rights says what the manager may do.
	Rights *access.Reviews
	// CRDs keeps the full CRDs of the boxes.
	CRDs *crds.Store
	// Compiler compiles the boxes.
	Compiler *Compiler
	// Claims says which box runs a CRD.
	Claims *Claims
	// Revisions keeps the specs that ran.
	Revisions *revision.Store
	// Plans compiles what ran before.
	Plans *revision.Plans
	// Boxes queues boxes that must be looked at.
	Boxes *DirtyQueue
	// Events is told what happens to a box. nil: there are no events.
	Events events.EventRecorder
	// Drain says whether everything is to be let go. nil: it never is.
	Drain *Drain
	// AllowGrantingKinds lets boxes make kinds that grant rights.
	AllowGrantingKinds bool

	account *account
	held    sync.Map // boxes by name, as they were when this process last saw our finalizer on the API server; not those that it took it off
}

// SetupWithManager makes the controller.
func (r *OperatorBoxReconciler) SetupWithManager(mgr ctrl.Manager) error {
	everywhere := false
	err := ctrl.NewControllerManagedBy(mgr).
		Named("operatorbox").
		For(&v1alpha1.OperatorBox{}).
		Watches(&v1alpha1.CRDHealth{}, &handler.EnqueueRequestForObject{}).
		WatchesMetadata(&apiextensionsv1.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(r.boxesOf)).
		Watches(&v1alpha1.OperatorBox{}, handler.EnqueueRequestsFromMapFunc(r.dependants), builder.WithPredicates(judged{})).
		WatchesRawSource(r.Boxes.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: boxWorkers, NeedLeaderElection: &everywhere}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the OperatorBox controller: %w", err)
	}
	return nil
}

// boxesOf gives the boxes that name a CRD.
func (r *OperatorBoxReconciler) boxesOf(ctx context.Context, crd client.Object) []reconcile.Request {
	var boxes v1alpha1.OperatorBoxList
	if err := r.Client.List(ctx, &boxes); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Boxes of a CRD could not be listed", "crd", crd.GetName())
		return nil
	}
	var out []reconcile.Request
	for i := range boxes.Items {
		if crds.NameOf(&boxes.Items[i]) == crd.GetName() || crds.Defined(&boxes.Items[i]) == crd.GetName() {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: boxes.Items[i].Name}})
		}
	}
	return out
}

// Reconcile brings one box to what its spec says. It is idempotent.
func (r *OperatorBoxReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) {
		// The box has changed since the cache last saw it. That is no error: its event is on the way.
		ctrl.LoggerFrom(ctx).V(1).Info("Read an old OperatorBox", "reason", err.Error())
		return ctrl.Result{RequeueAfter: staleDelay}, nil
	}
	return result, err
}

func (r *OperatorBoxReconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	draining, err := r.draining(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	box, err := r.read(ctx, req.NamespacedName, draining)
	if apierrors.IsNotFound(err) {
		return r.vanished(ctx, req.Name)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading OperatorBox %q: %w", req.Name, err)
	}
	// A plan that does not know where former revisions have made children would overlook those, and is not made anew when that is known.
	if _, err := r.Revisions.Places(ctx, box.Name); err != nil && !apierrors.IsForbidden(err) {
		return ctrl.Result{}, fmt.Errorf("reading the revisions of OperatorBox %q: %w", req.Name, err)
	}
	if box.DeletionTimestamp != nil {
		return r.finalize(ctx, box)
	}
	if draining {
		return r.drain(ctx, box)
	}
	if err := r.hold(ctx, box); err != nil {
		return ctrl.Result{}, err
	}
	v, err := r.bring(ctx, box)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.Reports.Set(box.Name, v.report())
	if err := r.writeStatus(ctx, box, v); err != nil {
		return ctrl.Result{}, err
	}
	// From here on the status names the CRD that the box serves: nobody takes it for one that waits for another.
	if err := r.offer(ctx, r.Claims.Keep(box.Name, v.crdName)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: v.again}, nil
}

// read gives a box from the cache. Until this process has seen the finalizer of the box on the API server, it is read from there: the
// cache may still show the one that a drain has just taken off, and a box that is deleted without one leaves its resources marked for ever.
func (r *OperatorBoxReconciler) read(ctx context.Context, key types.NamespacedName, draining bool) (*v1alpha1.OperatorBox, error) {
	box := &v1alpha1.OperatorBox{}
	if err := r.Client.Get(ctx, key, box); err != nil {
		return nil, err
	}
	if last := r.lastHeld(key.Name); last != nil && last.UID == box.UID || draining || !r.Engine.Leading() || box.DeletionTimestamp != nil {
		return box, nil
	}
	live := &v1alpha1.OperatorBox{}
	if err := r.Live.Get(ctx, key, live); err != nil {
		return nil, err
	}
	return live, nil
}

// lastHeld gives a box as this process saw it last with our finalizer; nil: it has not, or has taken it off.
func (r *OperatorBoxReconciler) lastHeld(name string) *v1alpha1.OperatorBox {
	last, _ := r.held.Load(name)
	box, _ := last.(*v1alpha1.OperatorBox)
	return box
}

// vanished does what is left to do for a box that is gone. One that we held was deleted past its finalizer: by hand, or by the API server,
// which decides about a deletion by the finalizers that it has read before, while we put ours on. Its resources are let go nevertheless.
func (r *OperatorBoxReconciler) vanished(ctx context.Context, name string) (ctrl.Result, error) {
	last := r.lastHeld(name)
	if last == nil || !r.Engine.Leading() {
		r.dropRevisions(ctx, name)
		return ctrl.Result{}, r.forget(ctx, name)
	}
	if err := r.Live.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.OperatorBox{}); !apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: staleDelay}, client.IgnoreNotFound(err) // it was made again, and its event is on the way
	}
	return r.finalize(ctx, last.DeepCopy())
}

// forget drops everything that is known of a box that is gone. Those that waited for its CRD are looked at.
func (r *OperatorBoxReconciler) forget(ctx context.Context, name string) error {
	r.held.Delete(name)
	r.Engine.Remove(name)
	r.Reports.Forget(name)
	r.CRDs.Forget(name)
	return r.offer(ctx, r.Claims.Release(name))
}

// offer has the boxes looked at that wait for CRDs which nobody holds any more.
func (r *OperatorBoxReconciler) offer(ctx context.Context, freed []string) error {
	for _, crd := range freed {
		waiting, err := r.claimants(ctx, crd)
		if err != nil {
			return err
		}
		for i := range waiting {
			r.Boxes.Mark(waiting[i].Name, true)
		}
	}
	return nil
}

// hold puts Orkestra's finalizer on a box, so that its resources can be let go when it is deleted.
func (r *OperatorBoxReconciler) hold(ctx context.Context, box *v1alpha1.OperatorBox) error {
	if !r.Engine.Leading() {
		return nil
	}
	if controllerutil.ContainsFinalizer(box, v1alpha1.Finalizer) {
		r.held.Store(box.Name, box.DeepCopy())
		return nil
	}
	base := box.DeepCopy()
	controllerutil.AddFinalizer(box, v1alpha1.Finalizer)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, box, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("adding the finalizer to OperatorBox %q: %w", box.Name, err)
	}
	r.held.Store(box.Name, box.DeepCopy())
	return nil
}

// bring does what the spec asks for, as far as it can be done now, and says how far that was.
func (r *OperatorBoxReconciler) bring(ctx context.Context, box *v1alpha1.OperatorBox) (*view, error) {
	v := &view{crdName: crds.NameOf(box)}
	r.noteMisread(box, v)
	crd, err := r.findCRD(ctx, box, v)
	if err != nil {
		return nil, err
	}
	if v.live == nil {
		// Without a CRD there is nothing to watch. It comes back by an event.
		r.Engine.Remove(box.Name)
		return v, nil
	}
	if holder, err := r.Claims.Take(ctx, box, v.crdName); err != nil {
		return nil, err
	} else if holder != box.Name {
		r.Engine.Remove(box.Name)
		v.phase, v.reason = health.Stopped, v1alpha1.ReasonCRDClaimed
		v.message = fmt.Sprintf("box %q is for %s already; delete that box, or let this one name another CRD", holder, v.crdName)
		return v, nil
	}
	if err := r.recall(ctx, box, v.live); err != nil {
		return nil, err
	}
	switch {
	case crd == nil:
		return v, r.serveOtherVersion(ctx, box, v)
	case v.refused:
		return v, r.goOn(ctx, box, crd, v)
	}
	return v, r.run(ctx, box, crd, v)
}

// run compiles the box against its CRD and hands the plan to the engine. What can't be run leaves a plan that runs alone.
func (r *OperatorBoxReconciler) run(ctx context.Context, box *v1alpha1.OperatorBox, crd *pipeline.CRD, v *view) error {
	v.crd, v.compiled = crd, true
	plan, errs := r.compile(ctx, box, crd)
	if len(errs) > 0 {
		v.errors = append(v.errors, errs...)
		v.phase, v.reason, v.message = health.Pending, v1alpha1.ReasonCompileFailed, mistakes(errs)
		return r.serveDeletions(ctx, box, crd, v)
	}
	r.noteAdded(box, plan)
	v.plan = plan
	missing, err := r.Rights.Missing(ctx, plan.Rules)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		v.missing, v.again = missing, access.RetryInterval
		v.phase, v.reason, v.message = health.Pending, v1alpha1.ReasonForbidden, access.Sentence(missing)
		return r.serveDeletions(ctx, box, crd, v)
	}
	if box.Spec.Suspend {
		v.phase, v.reason, v.message = health.Suspended, v1alpha1.ReasonSuspended, "spec.suspend is true; deletions are still served"
		plan = plan.ForCleanup()
	}
	r.keep(ctx, box, v)
	if err := r.remember(ctx, box, plan); err != nil {
		return err
	}
	return r.ensure(ctx, box, plan)
}

func (r *OperatorBoxReconciler) ensure(ctx context.Context, box *v1alpha1.OperatorBox, plan *pipeline.Plan) error {
	options := engine.Options{ManagedKinds: kindsOf(box), Namespaces: watchedNamespaces(box, plan)}
	known := &v1alpha1.CRDHealth{}
	switch err := r.Client.Get(ctx, types.NamespacedName{Name: box.Name}, known); {
	case err == nil:
		options.Health = &known.Status
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading CRDHealth %q: %w", box.Name, err)
	}
	if err := r.Engine.Ensure(plan, options); err != nil {
		return fmt.Errorf("starting OperatorBox %q: %w", box.Name, err)
	}
	return nil
}
