// Package controllers holds the reconcilers of Orkestra's own kinds. They compile boxes, have the engine run them, and write
// what becomes of them to OperatorBox and CRDHealth objects. They make no children and read no resources: that is the
// engine's business.
package controllers

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/admission"
	"github.com/orkspace/orkestra/controllers/claims"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crdhealth"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/controllers/kinds"
	"github.com/orkspace/orkestra/controllers/operatorbox"
	"github.com/orkspace/orkestra/controllers/policies"
	"github.com/orkspace/orkestra/controllers/rights"
	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/controllers/skew"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/tracing"
	"github.com/orkspace/orkestra/engine/web/person"
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
	// BoxNamespaces are those whose ServiceAccounts boxes may act as. Default: the manager's own.
	BoxNamespaces []string
	// RequireServiceAccount says that no box may act as the manager. Default: false.
	RequireServiceAccount bool
	// AllowGrantingKinds lets boxes make kinds that grant rights. Default: false.
	AllowGrantingKinds bool
	// ExternalAllow names hosts, host:port and networks that external calls may reach although they are not public. Default: none.
	ExternalAllow []string
	// ExternalOnly names the only hosts, or host:port, that external calls may reach. Default: all may.
	ExternalOnly []string
	// Providers make what boxes declare outside of the cluster. Default: there are none.
	Providers *provider.Registry
	// WebhookServices are the Services that webhooks of boxes may be, as namespace or namespace/name, besides those in the namespaces of the
	// accounts of the boxes. Default: none.
	WebhookServices []string
	// DialService connects to the cluster IP and port of such a Service. Default: directly, from the network of the cluster.
	DialService func(ctx context.Context, network, address string) (net.Conn, error)
	// RequirePolicies names the admission policies that the manager relies on, as package config/policies does. Default: none.
	RequirePolicies []string
	// EgressRules add to both for certain boxes and accounts. Default: none.
	EgressRules external.EgressRules
	// Code has the Go functions that boxes may name. Default: none.
	Code *hook.Registry
	// Web says where the Control Center is served, and to whom. Default: nowhere.
	Web *serve.Options
	// Clock tells the time. Default: the real one.
	Clock clock.WithTicker
	// Registry is where series are registered. Default: none are.
	Registry prometheus.Registerer
	// Tracer makes a trace of each reconcile that it samples. Default: of none.
	Tracer *tracing.Tracer
}

// defaultNamespace is where the chart's documentation and config/default install Orkestra.
const defaultNamespace = "orkestra-system"

func withDefaults(o Options) (Options, error) {
	if o.Code == nil {
		none, err := hook.NewRegistry()
		if err != nil {
			return o, err //nolint:wrapcheck // it says what it did
		}
		o.Code = none
	}
	var err error
	if o.WebhookServices, err = webhookServices(o.WebhookServices); err != nil {
		return o, err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Namespace = cmp.Or(o.Namespace, defaultNamespace)
	if o.Providers == nil {
		o.Providers = provider.NewRegistry()
	}
	if len(o.BoxNamespaces) == 0 {
		o.BoxNamespaces = []string{o.Namespace}
	}
	return o, nil
}

// webhookServices checks the Services that webhooks may be. The list is never nil: it is known.
func webhookServices(given []string) ([]string, error) {
	for _, entry := range given {
		namespace, name, named := strings.Cut(entry, "/")
		if len(apivalidation.IsDNS1123Label(namespace)) > 0 || named && len(apivalidation.IsDNS1035Label(name)) > 0 {
			return nil, fmt.Errorf("webhook-services: %q is neither a namespace nor a Service as namespace/name", entry)
		}
	}
	return append([]string{}, given...), nil
}

// newEgress gives what may be reached outside of the API server.
func newEgress(o Options) (*external.Egress, error) {
	egress, err := external.NewEgress(o.ExternalAllow, o.ExternalOnly, o.EgressRules)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says which rule
	}
	egress.ServicesBy(o.DialService)
	return egress, nil
}

// newRecorder gives what records series; nil where nothing is registered.
func newRecorder(registry prometheus.Registerer) (*metrics.Recorder, error) {
	if registry == nil {
		return nil, nil //nolint:nilnil // a nil recorder records nothing
	}
	return metrics.New(registry)
}

// newCompiler gives what compiles the boxes that run.
func newCompiler(o Options, c client.Client, live client.Reader, store *crds.Store, revisions *revision.Store, egress *external.Egress) *compiler.Compiler {
	return &compiler.Compiler{
		Client: c, CRDs: store, Revisions: revisions,
		AllowGrantingKinds: o.AllowGrantingKinds, Code: o.Code, Providers: o.Providers, WebhookServices: o.WebhookServices,
		Restricted: func(box *v1alpha1.OperatorBox) bool { return egress.Of(box.Name, identity.Of(box).Key()).Restricted() },
		Unknown:    skew.New(c, live).Unknown,
	}
}

// Setup adds Orkestra's controllers and its engine to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	o, err := withDefaults(o)
	if err != nil {
		return err
	}
	recorder, err := newRecorder(o.Registry)
	if err != nil {
		return err
	}
	egress, err := newEgress(o)
	if err != nil {
		return err
	}
	marked := &marks{}
	c := crds.NewIndexing(mgr.GetClient(), mgr.GetFieldIndexer())
	reviews := access.NewReviews(c, o.Clock)
	store := crds.NewStore(c, mgr.GetAPIReader())
	revisions := revision.NewStore(c, mgr.GetAPIReader(), o.Namespace)
	compiling := newCompiler(o, c, mgr.GetAPIReader(), store, revisions, egress)
	plans := revision.NewPlans(revisions, compiling)
	keys := rollback.NewKeys(c, mgr.GetAPIReader(), o.Namespace)
	remembered := newHistory(o)
	eng, err := newEngine(mgr, o, egress, recorder, reviews, marked, plans, keys, remembered)
	if err != nil {
		return err
	}
	compiling.Mapper = eng.Mapper()
	held := claims.NewStore(c, o.Clock)
	reports := &crdhealth.Reports{Engine: eng, Claims: held, Changed: marked.health}
	drains := &DirtyQueue{}
	draining, err := drain.NewWatch(mgr.GetConfig(), o.Namespace, c, func() { drains.Mark(drain.LeaseName, true) })
	if err != nil {
		return err
	}
	var box *operatorbox.Reconciler
	known, as, err := identities(mgr, o, func(ctx context.Context, namespace, name string) { box.MarkUsers(ctx, namespace, name) })
	if err != nil {
		return err
	}
	required, err := policies.NewWatch(mgr.GetConfig(), o.RequirePolicies, o.Namespace, recorder, func(ctx context.Context) error { return box.MarkAll(ctx) })
	if err != nil {
		return err
	}
	rules := &admission.Enforcer{
		Store: &admission.Store{
			Client: c, Informers: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Clock: o.Clock,
			Changed: func(box string) { marked.boxes.Mark(box, false) },
		},
		Client: c, Rights: reviews.Of(identity.Account{}, ""), Judge: eng,
	}
	box = operatorbox.New(operatorbox.Ports{
		Client: c, Live: mgr.GetAPIReader(), Engine: eng, Reports: reports, Rights: reviews, CRDs: store, Compiler: compiling, Claims: held,
		Accounts: known, AccountRequired: o.RequireServiceAccount, As: as,
		Revisions: revisions, Plans: plans, Admission: rules, Boxes: &marked.boxes, Events: mgr.GetEventRecorder("operatorbox"), Drain: draining,
		Policies: required,
	})
	standalones := &crdhealth.Standalones{CRDs: store, Rights: reviews.Of(identity.Account{}, ""), Monitors: eng.Monitors()}
	health := &crdhealth.Reconciler{Client: c, Reports: reports, Standalones: standalones, Clock: o.Clock, Metrics: recorder}
	granted, err := rights.NewWatch(mgr.GetConfig(), reviews, o.Clock, func(ctx context.Context) {
		box.MarkWaiting(ctx)
		health.MarkWaiting(ctx, func(name string) { marked.healths.Mark(name, true) })
		eng.RightsChanged()
	})
	if err != nil {
		return err
	}
	dependencies := &crdhealth.DependencyReconciler{Client: c, Engine: eng, Reports: reports}
	if err := (&kinds.Reconciler{Cached: c, Live: mgr.GetAPIReader(), Mapper: eng.Mapper()}).SetupWithManager(mgr); err != nil {
		return err
	}
	if err := addPage(mgr, o, c, eng, compiling, remembered, revisions, draining, keys); err != nil {
		return err
	}
	return add(mgr, []reconciler{
		{box.SetupWithManager, &marked.boxes}, {(&drain.Reconciler{Client: c, Watch: draining, MarkAll: box.MarkAll}).SetupWithManager, drains},
		{dependencies.SetupWithManager, &marked.dependencies}, {health.SetupWithManager, &marked.healths},
	}, eng, draining, known, required, granted, leader{engine: eng, box: box, keys: keys, kept: revisions})
}

// newHistory gives what remembers reconciles; nil where there is no page that shows them.
func newHistory(o Options) *history.History {
	if o.Web == nil {
		return nil
	}
	return history.New(o.Clock)
}

// addPage has a manager serve the Control Center, where that is asked for.
func addPage(mgr ctrl.Manager, o Options, c client.Client, eng *engine.Engine, compiling *compiler.Compiler, remembered *history.History, revisions *revision.Store, lease *drain.Watch, keys *rollback.Keys) error {
	if o.Web == nil {
		return nil
	}
	source := serve.NewSource(serve.Ports{
		Own: c, Informers: mgr.GetCache(), Caches: eng.Caches(), Mapper: eng.Mapper(), Rights: person.NewRights(c, o.Clock), Namespace: o.Namespace,
		Live: mgr.GetAPIReader(), Reviews: access.NewReviews(c, o.Clock), History: remembered, Leading: eng.Leading, Clock: o.Clock, CRDs: compiling.CRDs,
		Checking: validation.Options{
			Code: o.Code, Providers: o.Providers, AllowGranting: o.AllowGrantingKinds, WebhookServices: o.WebhookServices, Restricted: compiling.Restricted,
		},
	})
	writing := rest.CopyConfig(mgr.GetConfig())
	writing.QPS = -1 // people are limited where they ask
	actor := serve.NewActor(serve.Writing{
		Boxes: struct {
			client.Reader
			client.Writer
		}{mgr.GetAPIReader(), c},
		Revisions: revisions, REST: writing, HTTP: mgr.GetHTTPClient().Transport, Events: mgr.GetEventRecorder(engine.EventSource),
	}, source)
	options := *o.Web
	options.Leader = &serve.Leader{Leading: eng.Leading, Annotations: lease.Annotations, Key: func(ctx context.Context) ([]byte, error) { return keys.Load(ctx) }}
	server, err := serve.NewServer(options, source, actor, person.NewTokens(c, o.Clock), o.Clock, mgr.GetLogger().WithName("web"))
	if err != nil {
		return err
	}
	return add(mgr, nil, server, remembered)
}

// reconciler is added to a manager with what marks its objects.
type reconciler struct {
	setup  func(ctrl.Manager, source.Source) error
	marked *DirtyQueue
}

// add has a manager run reconcilers and what else runs with it.
func add(mgr ctrl.Manager, reconcilers []reconciler, runnables ...manager.Runnable) error {
	for _, r := range reconcilers {
		if err := r.setup(mgr, r.marked.Source()); err != nil {
			return err
		}
	}
	for _, r := range runnables {
		if err := mgr.Add(r); err != nil {
			return fmt.Errorf("adding %T: %w", r, err)
		}
	}
	return nil
}

func newEngine(
	mgr ctrl.Manager, o Options, egress *external.Egress, recorder *metrics.Recorder, rights *access.Reviews, marked *marks,
	plans *revision.Plans, keys *rollback.Keys, remembered *history.History,
) (*engine.Engine, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst = o.QPS, o.Burst
	return engine.New(engine.Config{
		REST: config, Mapper: mgr.GetRESTMapper(), Discover: func() (meta.RESTMapper, error) {
			return apiutil.NewDynamicRESTMapper(config, mgr.GetHTTPClient())
		},
		Events: mgr.GetEventRecorder(engine.EventSource), Metrics: recorder, Tracer: o.Tracer, History: remembered,
		Clock: o.Clock, Log: mgr.GetLogger().WithName("engine"),
		MaxConcurrentReconciles: o.MaxConcurrentReconciles, MemoryLimit: o.MemoryLimit, QuietWatch: o.QuietWatch, ShutdownTimeout: o.ShutdownTimeout,
		ReconcileTimeout: o.ReconcileTimeout, Egress: egress, Code: o.Code, Namespace: o.Namespace, Plans: plans, SnapshotKeys: keys,
		Rights: rights, Notifier: notifier{marks: marked},
	})
}

// notifier marks boxes for the reconcilers of boxes and of their health when the engine says that something has changed.
type notifier struct{ marks *marks }

// BoxChanged implements engine.Notifier.
func (n notifier) BoxChanged(name string) {
	n.marks.boxes.Mark(name, true)
	n.marks.health(name, true)
}

// HealthChanged implements engine.Notifier.
func (n notifier) HealthChanged(name string, urgent bool) { n.marks.health(name, urgent) }

// RightDenied implements engine.Notifier.
func (n notifier) RightDenied(name string) { n.marks.boxes.Mark(name, true) }

// markInterval is the time between two tries of a new leader to reconcile every box.
const markInterval = time.Second

// leader runs on the leader alone: it lets the engine's workers start, and has every box reconciled once, because a follower
// has written nothing of what it saw.
type leader struct {
	engine *engine.Engine
	box    *operatorbox.Reconciler
	keys   *rollback.Keys
	kept   *revision.Store
}

// Start implements manager.Runnable.
func (l leader) Start(ctx context.Context) error {
	// Without the key, snapshots are neither taken nor believed. That is shown where one is needed, and is no reason not to start.
	if _, err := l.keys.Load(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The key of snapshots can't be had yet")
	}
	l.kept.Lead()
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
