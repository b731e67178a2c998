// Package controllers holds the reconcilers of Orkestra's own kinds. They compile boxes, have the engine run them, and write
// what becomes of them to OperatorBox and CRDHealth objects. They make no children and read no resources: that is the
// engine's business.
package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/orkspace/orkestra/controllers/crdhealth"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/controllers/operatorbox"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/watch"
)

// Options say how boxes are run. The zero value has the defaults of the manager's flags.
type Options struct {
	// Namespace is the manager's own: what is kept of boxes and of other cluster-scoped objects lives there. Default:
	// orkestra-system.
	Namespace string
	// MaxConcurrentReconciles is the limit over all boxes. Default: 64.
	MaxConcurrentReconciles int
	// MemoryLimit is how many bytes the process may take; templates get a share of it. Default: 1 GiB.
	MemoryLimit int64
	// QPS and Burst limit the requests of each box. Default: no limit; the priority and fairness of the API server decides who waits.
	QPS   float32
	Burst int
	// ShutdownTimeout is how long a stopping box waits for its workers. Default: 30 s.
	ShutdownTimeout time.Duration
	// ReconcileTimeout is the deadline of one reconcile. Default: 2 min.
	ReconcileTimeout time.Duration
	// QuietWatch is how long a watch may send nothing, not even a bookmark, before its objects are listed again. Default: 5 min.
	QuietWatch time.Duration
	// AllowGrantingKinds lets boxes make kinds that grant rights. Default: false.
	AllowGrantingKinds bool
	// ExternalAllow names hosts, host:port and networks that external calls may reach although they are not public. Default: none.
	ExternalAllow []string
	// ExternalOnly names the only hosts, or host:port, that external calls may reach. Default: all may.
	ExternalOnly []string
	// Clock tells the time. Default: the real one.
	Clock clock.WithTicker
	// Registry is where series are registered. Default: none are.
	Registry prometheus.Registerer
}

// defaultNamespace is where the chart's documentation and config/default install Orkestra.
const defaultNamespace = "orkestra-system"

// Setup adds Orkestra's controllers and its engine to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Namespace = cmp.Or(o.Namespace, defaultNamespace)
	var recorder *metrics.Recorder
	if o.Registry != nil {
		var err error
		if recorder, err = metrics.New(o.Registry); err != nil {
			return err
		}
	}
	guard, err := external.NewGuard(o.ExternalAllow, o.ExternalOnly)
	if err != nil {
		return err
	}
	marked := &marks{}
	c := mgr.GetClient()
	rights := access.NewReviews(c, o.Clock)
	store := crds.NewStore(c, mgr.GetAPIReader())
	revisions := revision.NewStore(c, mgr.GetAPIReader(), o.Namespace)
	compiler := &operatorbox.Compiler{
		Client: c, Mapper: mgr.GetRESTMapper(), CRDs: store, Revisions: revisions,
		AllowGrantingKinds: o.AllowGrantingKinds, ExternalOnly: guard.Restricted(),
	}
	plans := revision.NewPlans(revisions, compiler)
	eng, err := newEngine(mgr, o, guard, recorder, rights, marked, plans)
	if err != nil {
		return err
	}
	claims := operatorbox.NewClaims(c, o.Clock)
	reports := &crdhealth.Reports{Engine: eng, Claims: claims, Changed: marked.health}
	drains := &DirtyQueue{}
	draining, err := drain.NewWatch(mgr.GetConfig(), o.Namespace, c, func() { drains.Mark(drain.LeaseName, true) })
	if err != nil {
		return err
	}
	box := operatorbox.New(operatorbox.Ports{
		Client: c, Live: mgr.GetAPIReader(), Engine: eng, Reports: reports, Rights: rights, CRDs: store, Compiler: compiler, Claims: claims,
		Revisions: revisions, Plans: plans, Boxes: &marked.boxes, Events: mgr.GetEventRecorder("operatorbox"), Drain: draining,
	})
	answer := &drain.Reconciler{Client: c, Watch: draining, MarkAll: box.MarkAll}
	dependencies := &crdhealth.DependencyReconciler{Client: c, Engine: eng, Reports: reports}
	standalones := &crdhealth.Standalones{CRDs: store, Rights: rights, Monitors: eng.Monitors()}
	health := &crdhealth.Reconciler{Client: c, Reports: reports, Standalones: standalones, Clock: o.Clock, Metrics: recorder}
	for _, c := range []struct {
		add    func(ctrl.Manager, source.Source) error
		marked *DirtyQueue
	}{
		{box.SetupWithManager, &marked.boxes}, {answer.SetupWithManager, drains},
		{dependencies.SetupWithManager, &marked.dependencies}, {health.SetupWithManager, &marked.healths},
	} {
		if err := c.add(mgr, c.marked.Source()); err != nil {
			return err
		}
	}
	for _, add := range []manager.Runnable{eng, draining, leader{engine: eng, box: box}} {
		if err := mgr.Add(add); err != nil {
			return fmt.Errorf("adding the engine: %w", err)
		}
	}
	return nil
}

func newEngine(
	mgr ctrl.Manager, o Options, guard *external.Guard, recorder *metrics.Recorder, rights *access.Reviews, marked *marks,
	plans *revision.Plans,
) (*engine.Engine, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst = o.QPS, o.Burst
	return engine.New(engine.Config{
		REST: config, Mapper: mgr.GetRESTMapper(), Events: mgr.GetEventRecorder("orkestra"), Metrics: recorder,
		Clock: o.Clock, Log: mgr.GetLogger().WithName("engine"),
		MaxConcurrentReconciles: o.MaxConcurrentReconciles, MemoryLimit: o.MemoryLimit, QuietWatch: o.QuietWatch, ShutdownTimeout: o.ShutdownTimeout,
		ReconcileTimeout: o.ReconcileTimeout, Guard: guard, Namespace: o.Namespace, Plans: plans,
		Rights: rights, Notifier: notifier{marks: marked, rights: rights},
	})
}

// notifier marks boxes for the reconcilers of boxes and of their health when the engine says that something has changed.
type notifier struct {
	marks  *marks
	rights *access.Reviews
}

// BoxChanged implements engine.Notifier.
func (n notifier) BoxChanged(name string) {
	n.marks.boxes.Mark(name, true)
	n.marks.health(name, true)
}

// HealthChanged implements engine.Notifier.
func (n notifier) HealthChanged(name string, urgent bool) { n.marks.health(name, urgent) }

// RightDenied implements engine.Notifier.
func (n notifier) RightDenied(name string, missing access.Right) {
	if n.rights.Lost(missing) {
		n.marks.boxes.Mark(name, true)
	}
}

// NewClient makes the manager's client, for ctrl.Options.NewClient. Its requests end in time: the last write of a process that
// no longer leads must end before its lease does.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	bounded := rest.CopyConfig(config)
	bounded.Timeout = engine.RequestTimeout
	options.HTTPClient = nil // the one that the manager has made has no timeout, because watches share it
	return client.New(bounded, options)
}

// markInterval is the time between two tries of a new leader to reconcile every box.
const markInterval = time.Second

// leader runs on the leader alone: it lets the engine's workers start, and has every box reconciled once, because a follower
// has written nothing of what it saw.
type leader struct {
	engine *engine.Engine
	box    *operatorbox.Reconciler
}

// Start implements manager.Runnable.
func (l leader) Start(ctx context.Context) error {
	l.engine.Lead()
	// An API server that is away for a moment is no reason to end the process.
	mark := func(ctx context.Context) (bool, error) {
		err := l.box.MarkAll(ctx)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Boxes can't be reconciled yet")
		}
		return err == nil, nil
	}
	if err := wait.PollUntilContextCancel(ctx, markInterval, true, mark); err != nil {
		return nil //nolint:nilerr // the process stops
	}
	<-ctx.Done()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (leader) NeedLeaderElection() bool { return true }

// NewCache makes the manager's cache, for ctrl.Options.NewCache. Its lists are consistent: one that an API server answers from its watch
// cache may be older than what the former process has seen, and a box would run for a moment as it was before its last edit.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	options.NewInformer = newInformer
	return cache.New(config, options)
}

func newInformer(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	lists := toolscache.ToListerWatcherWithContext(lw)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return lists.ListWithContext(ctx, watch.Consistent(options))
		},
		WatchFuncWithContext: lists.WatchWithContext,
	}, obj, resync, indexers)
}
