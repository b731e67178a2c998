// Package crdhealth keeps a CRDHealth for each box, and those that people make for CRDs that other operators run.
package crdhealth

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/metrics"
)

const (
	// healthWorkers is more than one, so that a slow write for one box does not hold up the others.
	healthWorkers = 4
	// staleDelay is how long a reconcile waits that met a newer object than the cache has. As a rule the cache's event, which also
	// queues the CRDHealth, comes earlier.
	staleDelay = time.Second
)

// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=crdhealths,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=crdhealths/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=crdhealths/finalizers,verbs=update
// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=operatorboxes,verbs=get;list;watch
//
// An owner reference that blocks its owner's deletion needs this right over the owner.
// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=operatorboxes/finalizers,verbs=update

// HealthReporter is asked for what a box's CRDHealth shows.
type HealthReporter interface {
	// HealthReport gives a report of the box of that name, and false where nothing is known of it now. It does not
	// block.
	HealthReport(box string) (health.Report, bool)
	// Closing says that this process stops. Reports show boxes that stop with it then. A report that was given just before may do so
	// too, so it is asked after the report.
	Closing() bool
	// Settling is how long boxes may still be starting because the process did; 0: that is over.
	Settling() time.Duration
}

// Reconciler keeps one CRDHealth for each box. Nobody else writes them. It runs on the leader only.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// Reports is asked at every reconcile.
	Reports HealthReporter
	// Standalones is asked for CRDHealths that belong to no box.
	Standalones *Standalones
	// Clock tells the time of transitions and of the last write.
	Clock clock.PassiveClock
	// Events is told when a box degrades and recovers. Default: SetupWithManager asks the manager for one; without either,
	// there are no events.
	Events events.EventRecorder
	// Metrics is told the state of each box. nil: nothing is recorded.
	Metrics *metrics.Recorder

	mu       sync.Mutex          // guards all below
	written  map[string]write    // by name
	tellings map[string]*telling // by name
}

// write is what this process last wrote for a box.
type write struct {
	object *v1alpha1.CRDHealth // the API server's answer; nil: the cache has seen it
	before []string            // the resourceVersions that were written over: a cache that has one of them is older than the answer
	status time.Time           // of the last write of the status; zero: none
}

// SetupWithManager registers the controller. dirty adds the names of boxes whose report has changed.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, dirty source.Source) error {
	if r.Events == nil {
		r.Events = mgr.GetEventRecorder("crdhealth")
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("crdhealth").
		For(&v1alpha1.CRDHealth{}).
		Watches(&v1alpha1.OperatorBox{}, &handler.EnqueueRequestForObject{}).
		WatchesMetadata(&apiextensionsv1.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(r.standaloneFor)).
		WatchesRawSource(dirty).
		WithOptions(controller.Options{MaxConcurrentReconciles: healthWorkers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the CRDHealth controller: %w", err)
	}
	return nil
}

// Reconcile makes the CRDHealth of a box, puts its spec right, and writes its status when that is due.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	box := &v1alpha1.OperatorBox{}
	if err := r.Client.Get(ctx, req.NamespacedName, box); apierrors.IsNotFound(err) {
		box = nil
		// The series is removed only here. Reconciles of one name never overlap, so none can set it again after that.
		r.Metrics.ForgetState(req.Name)
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading OperatorBox %q: %w", req.Name, err)
	}
	current, err := r.read(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if box == nil && current == nil {
		r.forget(req.Name)
	}
	var result ctrl.Result
	if box == nil && standsAlone(current) {
		result, err = r.standalone(ctx, current)
	} else {
		r.Standalones.Forget(req.Name)
		result, err = r.reconcile(ctx, box, current)
	}
	if stale(err) {
		log.FromContext(ctx).V(1).Info("Read an old CRDHealth", "reason", err.Error())
		return ctrl.Result{RequeueAfter: staleDelay}, nil
	}
	return result, err
}

// reconcile writes the CRDHealth of a box. box and current are nil where they do not exist.
func (r *Reconciler) reconcile(
	ctx context.Context, box *v1alpha1.OperatorBox, current *v1alpha1.CRDHealth,
) (ctrl.Result, error) {
	if box == nil {
		report, ok := withoutBox(current)
		if !ok {
			return ctrl.Result{}, nil
		}
		return r.writeStatus(ctx, nil, current, report)
	}
	report, known := r.Reports.HealthReport(box.Name)
	if r.Reports.Closing() {
		// Nothing is written of boxes while they stop: the next process goes on from what they were before.
		return ctrl.Result{}, nil
	}
	current, err := r.ensure(ctx, box, current, report.CRD)
	if err != nil || current == nil {
		return ctrl.Result{}, err
	}
	if wait := r.Reports.Settling(); known && report.Phase == health.Starting && hasRun(current) && wait > 0 {
		// After a restart, what the former process wrote holds while caches fill: the box would be Starting for a moment otherwise.
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if !known {
		if current.Status.State != "" { // what was last written holds until more is known
			return ctrl.Result{}, nil
		}
		report = health.Report{Phase: health.Pending}
	}
	return r.writeStatus(ctx, box, current, report)
}

// ensure makes the object, or corrects its spec and owner. It gives nil where there is none, and none can be made: the box
// is being deleted, or does not say which CRD it serves.
func (r *Reconciler) ensure(
	ctx context.Context, box *v1alpha1.OperatorBox, current *v1alpha1.CRDHealth, crd string,
) (*v1alpha1.CRDHealth, error) {
	if !box.DeletionTimestamp.IsZero() {
		return current, nil
	}
	wanted, err := desiredHealth(box, current, crd, r.Client.Scheme())
	switch {
	case err != nil || wanted == nil:
		return nil, err
	case current == nil:
		if err := r.Client.Create(ctx, wanted, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
			return nil, fmt.Errorf("creating CRDHealth %q: %w", box.Name, err)
		}
		return wanted, nil
	case equality.Semantic.DeepEqual(current, wanted):
		return current, nil
	}
	base := current.ResourceVersion
	if err := r.Client.Update(ctx, wanted, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return nil, fmt.Errorf("correcting CRDHealth %q: %w", box.Name, err)
	}
	r.remember(base, wanted, false)
	return wanted, nil
}

// hasRun says whether a CRDHealth shows a box that runs.
func hasRun(h *v1alpha1.CRDHealth) bool {
	return h.Status.State == v1alpha1.HealthHealthy || h.Status.State == v1alpha1.HealthDegraded
}

// writeStatus writes the status where it differs, at once or when the next write is due. box is nil for a CRDHealth without one.
func (r *Reconciler) writeStatus(
	ctx context.Context, box *v1alpha1.OperatorBox, current *v1alpha1.CRDHealth, report health.Report,
) (ctrl.Result, error) {
	next := current.DeepCopy()
	next.Status = health.Status(current.Status, current.Generation, report, r.Clock.Now())
	if box != nil {
		r.Metrics.SetState(box.Name, next.Status.State)
	}
	// No event tells that a queue gets shorter, so the CRDHealth is reconciled until it is empty.
	later := ctrl.Result{}
	if next.Status.QueueDepth > 0 {
		later.RequeueAfter = health.SlowInterval
	}
	if equality.Semantic.DeepEqual(current.Status, next.Status) {
		return sooner(later, r.announce(ctx, box, &current.Status, next)), nil
	}
	if wait := health.Wait(current.Status, next.Status, r.sinceWrite(current.Name)); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// The whole status is written. A merge patch would leave out zeros that the schema requires, where there was no status.
	base := current.ResourceVersion
	if err := r.Client.Status().Update(ctx, next, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return ctrl.Result{}, fmt.Errorf("writing status of CRDHealth %q: %w", current.Name, err)
	}
	r.remember(base, next, true)
	return sooner(later, r.announce(ctx, box, &current.Status, next)), nil
}

// sooner has a reconcile come again after a time at the latest; zero: nothing asks for it.
func sooner(result ctrl.Result, after time.Duration) ctrl.Result {
	if after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	return result
}

// read gives the object, or nil. While the cache has not seen our last write, it gives the answer to that: the next status is
// made from the last one.
func (r *Reconciler) read(ctx context.Context, name types.NamespacedName) (*v1alpha1.CRDHealth, error) {
	current := &v1alpha1.CRDHealth{}
	err := r.Client.Get(ctx, name, current)
	r.mu.Lock()
	defer r.mu.Unlock()
	if apierrors.IsNotFound(err) {
		delete(r.written, name.Name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading CRDHealth %q: %w", name.Name, err)
	}
	last := r.written[name.Name]
	if slices.Contains(last.before, current.ResourceVersion) {
		return last.object.DeepCopy(), nil
	}
	if last.object != nil {
		r.written[name.Name] = write{status: last.status}
	}
	return current, nil
}

// remember keeps the answer to a write over the version base; status says that the status was written.
func (r *Reconciler) remember(base string, object *v1alpha1.CRDHealth, status bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written == nil {
		r.written = map[string]write{}
	}
	last := r.written[object.Name]
	last.object, last.before = object.DeepCopy(), append(last.before, base)
	if status {
		last.status = r.Clock.Now()
	}
	r.written[object.Name] = last
}

// sinceWrite says how long ago the status was written.
func (r *Reconciler) sinceWrite(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.written[name].status
	if last.IsZero() {
		// The former process may have just written. While this one still counts the resources again, writes of counters wait: they would
		// only lead back to the numbers that are there.
		return health.SlowInterval - min(health.SlowInterval, r.Reports.Settling())
	}
	return r.Clock.Since(last)
}

// stale says that the cache was behind. Reads handle NotFound themselves, so here it is that of a CRDHealth that was being written.
func stale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}
