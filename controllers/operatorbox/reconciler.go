package operatorbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
)

const (
	// boxWorkers is more than one, so that a box whose CRD is slow does not hold up the others.
	boxWorkers = 4
	// staleDelay is how long a reconcile waits that met a newer object than the cache has. As a rule the cache's event, which also
	// queues the box, comes earlier.
	staleDelay = time.Second
)

// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=operatorboxes,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=operatorboxes/status,verbs=patch;update
// +kubebuilder:rbac:groups=orkestra.orkspace.io,resources=operatorboxes/finalizers,verbs=update
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reconciler compiles boxes and has the engine run them. It runs on every replica: followers compile and keep informers warm, and
// write nothing.
type Reconciler struct {
	ports     Ports
	hold      *holder
	account   *accountant
	crd       *finder
	claim     *claimer
	history   *historian
	compile   *planner
	run       *runner
	admission *enforcer
	status    *recorder
	release   *releaser
}

// New gives a reconciler that works with these ports.
func New(p Ports) *Reconciler {
	r := &Reconciler{ports: p, hold: &holder{Ports: p}, claim: &claimer{p}, history: &historian{p}, run: &runner{p}, status: &recorder{p}}
	r.crd = &finder{Ports: p, installer: installer{p}}
	r.account = &accountant{Ports: p, run: r.run}
	r.compile = &planner{Ports: p, run: r.run}
	r.admission = &enforcer{p}
	r.release = &releaser{
		Ports: p, hold: r.hold, crd: r.crd, claim: r.claim, history: r.history, run: r.run, admission: r.admission, status: r.status,
	}
	return r
}

// SetupWithManager makes the controller. marked adds the boxes that Ports.Boxes holds.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, marked source.Source) error {
	leaderOnly := false
	err := ctrl.NewControllerManagedBy(mgr).
		Named("operatorbox").
		For(&v1alpha1.OperatorBox{}).
		Watches(&v1alpha1.CRDHealth{}, &handler.EnqueueRequestForObject{}). // of the same name: the box's status copies its counts
		WatchesMetadata(&apiextensionsv1.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(r.boxesOf)).
		Watches(&v1alpha1.OperatorBox{}, handler.EnqueueRequestsFromMapFunc(r.dependants), builder.WithPredicates(specOrVerdictChanged{})).
		Watches(&v1alpha1.OperatorBox{}, handler.EnqueueRequestsFromMapFunc(r.juniors), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(marked).
		WithOptions(controller.Options{MaxConcurrentReconciles: boxWorkers, NeedLeaderElection: &leaderOnly}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the OperatorBox controller: %w", err)
	}
	return nil
}

// boxesOf gives the boxes that name a CRD.
func (r *Reconciler) boxesOf(ctx context.Context, crd client.Object) []reconcile.Request {
	var boxes v1alpha1.OperatorBoxList
	if err := r.ports.Client.List(ctx, &boxes, crds.Named(crd.GetName())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Boxes of a CRD could not be listed", "crd", crd.GetName())
		return nil
	}
	out := make([]reconcile.Request, 0, len(boxes.Items))
	for i := range boxes.Items {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: boxes.Items[i].Name}})
	}
	return out
}

// juniors gives the younger boxes over the kind of others that a box serves: what it selects is not theirs.
func (r *Reconciler) juniors(ctx context.Context, changed client.Object) []reconcile.Request {
	box, ok := changed.(*v1alpha1.OperatorBox)
	if !ok || crds.OthersName(box) == "" {
		return nil
	}
	var boxes v1alpha1.OperatorBoxList
	if err := r.ports.Client.List(ctx, &boxes); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Younger boxes over the same kind could not be listed", "box", box.Name)
		return nil
	}
	var out []reconcile.Request
	for i := range boxes.Items {
		if crds.OthersName(&boxes.Items[i]) == crds.OthersName(box) && crds.Older(box, &boxes.Items[i]) < 0 {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: boxes.Items[i].Name}})
		}
	}
	return out
}

// MarkAll queues every box, those first that others depend on, and boxes that are gone and have left revisions.
func (r *Reconciler) MarkAll(ctx context.Context) error {
	var list v1alpha1.OperatorBoxList
	if err := r.ports.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing boxes: %w", err)
	}
	for _, name := range inOrder(list.Items) {
		r.ports.Boxes.Mark(name, true)
	}
	r.history.markGoneBoxes(ctx, list.Items)
	return nil
}

// Reconcile brings one box to what its spec says. It is idempotent.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) || errors.Is(err, engine.ErrNotStarted) {
		// Either the box has changed since the cache last saw it, and its event is on the way; or the engine begins, or ends, beside the
		// controllers. Neither is an error, nor must it count as one in the metrics.
		ctrl.LoggerFrom(ctx).V(1).Info("Trying again in a moment", "reason", err.Error())
		return ctrl.Result{RequeueAfter: staleDelay}, nil
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	draining, err := r.ports.Drain.Draining(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	box, err := r.hold.read(ctx, req.NamespacedName, draining)
	if apierrors.IsNotFound(err) {
		return r.boxGone(ctx, req.Name)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading OperatorBox %q: %w", req.Name, err)
	}
	// A plan must know in which namespaces former revisions have made children, or they would never be pruned. It would not be compiled
	// again when that is known later, so the box waits. Without the right to read revisions it can't be known, and the box goes on.
	if _, err := r.ports.Revisions.Places(ctx, box.Name); err != nil && !apierrors.IsForbidden(err) {
		return ctrl.Result{}, fmt.Errorf("reading the revisions of OperatorBox %q: %w", req.Name, err)
	}
	s := newScope(box)
	s.deleted, s.draining = box.DeletionTimestamp != nil, draining
	return r.serve(ctx, s)
}

// serve goes through the steps. Those that show how far the box came do not run after an error: the next try shows it.
func (r *Reconciler) serve(ctx context.Context, s *scope) (ctrl.Result, error) {
	steps, always := r.order(s)
	if err := walk(ctx, s, steps); err != nil && !s.showStuck(err) {
		return ctrl.Result{}, err
	}
	if err := errors.Join(s.failed, walk(ctx, s, always)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: s.requeueAfter}, nil
}

func walk(ctx context.Context, s *scope, steps []step) error {
	for _, do := range steps {
		if stop, err := do(ctx, s); err != nil || stop {
			return err
		}
	}
	return nil
}

// boxGone does what is left to do for a box that is gone. Where this process had put the finalizer on, the box has been deleted in spite of
// it: somebody took the finalizer off, or the API server had read the box for the deletion before the finalizer was added. Its resources
// are let go nevertheless, as those of a box that is being deleted.
func (r *Reconciler) boxGone(ctx context.Context, name string) (ctrl.Result, error) {
	last := r.hold.last(name)
	if last == nil || !r.ports.Engine.Leading() {
		r.history.drop(ctx, name)
		err := r.release.forget(ctx, name)
		if _, stuck := errors.AsType[*engine.StuckError](err); stuck {
			err = nil // there is no box that could show it
		}
		return ctrl.Result{}, err
	}
	if err := r.ports.Live.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.OperatorBox{}); !apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: staleDelay}, client.IgnoreNotFound(err) // it was made again, and its event is on the way
	}
	s := newScope(last.DeepCopy())
	s.deleted = true
	return r.serve(ctx, s)
}
