// Package manager is the command `orkestra manager`, which runs the controllers.
package manager

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/process"
	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/hook"
	enginemetrics "github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/tracing"
)

// flags are those of `orkestra manager`.
type flags struct {
	process.Flags

	namespace       string
	leaderElect     bool
	boxNamespaces   []string
	requireAccount  bool
	allowGranting   bool
	requirePolicies []string
	webhookServices []string
	egress          process.Egress
	tracing         process.Tracing
	maxConcurrent   int
	qps             float32
	burst           int
	shutdownTimeout time.Duration
	listFunctions   bool
	web             web
	place           serve.Place // where the Control Center is served, once it is

	code      *hook.Registry
	providers *provider.Registry
}

// NewCommand makes the command of a manager that has some functions and providers compiled in; nil: none.
func NewCommand(code *hook.Registry, providers *provider.Registry) *cobra.Command {
	f := &flags{code: code, providers: providers}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the controllers",
		Long:  "Run the controllers until the process is told to stop. This is the image's entry point.",
		Args:  arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.listFunctions {
				return printFunctions(cmd.OutOrStdout(), f.code)
			}
			return f.run(cmd.Context())
		},
	}
	f.bind(cmd)
	return cmd
}

func (f *flags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.Bind(fs)
	fs.StringVar(&f.namespace, "namespace", "", "the manager's own namespace: lease, revisions of boxes; default: POD_NAMESPACE, else orkestra-system")
	fs.BoolVar(&f.leaderElect, "leader-elect", true, "of several managers only one writes")
	fs.StringSliceVar(&f.boxNamespaces, "box-namespaces", nil,
		"namespace whose ServiceAccounts boxes may act as, by spec.serviceAccountRef; repeatable; default: the manager's own")
	fs.BoolVar(&f.requireAccount, "require-service-account", false, "let no box act as the manager: each names an account in spec.serviceAccountRef")
	fs.BoolVar(&f.allowGranting, "allow-granting-kinds", false, "let boxes make roles, bindings, webhooks and CRDs")
	fs.StringSliceVar(&f.requirePolicies, "require-policies", nil,
		"admission policies that the manager relies on, by name; it says in its log, in a metric and on each box where one is not in force; repeatable")
	f.egress.Bind(fs)
	f.tracing.Bind(fs)
	f.web.bind(fs)
	fs.StringSliceVar(&f.webhookServices, "webhook-services", nil,
		"Service, as namespace/name, or namespace of Services that webhooks of boxes may be, besides those in the namespace of the box's account; repeatable")
	fs.IntVar(&f.maxConcurrent, "max-concurrent-reconciles", 64, "reconciles that may run at the same time, over all boxes")
	fs.Float32Var(&f.qps, "kube-api-qps", 0, "requests per second of each box; default: no limit, the API server says who waits")
	fs.IntVar(&f.burst, "kube-api-burst", 0, "requests of each box that may come at once, with --kube-api-qps; default: those of a second, at least 10")
	fs.BoolVar(&f.listFunctions, "list-functions", false, "print the Go functions that are compiled in, as boxes name them in spec.reconciler, and end")
	fs.DurationVar(&f.shutdownTimeout, "shutdown-timeout", 30*time.Second, "how long workers may take to finish")
}

// printFunctions prints one function in a line, with what it is.
func printFunctions(w io.Writer, code *hook.Registry) error {
	var out strings.Builder
	for _, name := range code.HookNames() {
		fmt.Fprintf(&out, "hooks        %s\n", name)
	}
	for _, name := range code.ConstructorNames() {
		fmt.Fprintf(&out, "constructor  %s\n", name)
	}
	if out.Len() == 0 {
		out.WriteString("none: boxes can't name Go functions with this manager\n")
	}
	_, err := io.WriteString(w, out.String())
	return err //nolint:wrapcheck // the standard output is closed
}

func (f *flags) run(ctx context.Context) error {
	if f.maxConcurrent < 1 {
		return fmt.Errorf("--max-concurrent-reconciles %d: wanted 1 or more", f.maxConcurrent)
	}
	logger, err := f.Logger()
	if err != nil {
		return err
	}
	log.SetLogger(logger)
	tracer, stop, err := f.tracing.Start(ctx, logger, version.Get().Version)
	if err != nil {
		return err
	}
	defer stop() // behind the last reconcile
	config, err := f.restConfig()
	if err != nil {
		return exit.Failure(err)
	}
	mgr, renewed, err := f.newManager(config, logger)
	if err != nil {
		return exit.Failure(err)
	}
	if err := f.setup(mgr, renewed, tracer); err != nil { //nolint:contextcheck // informers run on the context that the manager gives them when it starts
		return exit.Failure(err)
	}
	logger.Info("Starting", "version", version.Get().Version, "commit", version.Get().Commit)
	if err := mgr.Start(ctx); err != nil {
		return exit.Failure(fmt.Errorf("running the manager: %w", err))
	}
	return nil
}

// newManager makes a manager whose clients write only while this process leads, and says when it last renewed its lease. Without leader election
// it always leads.
func (f *flags) newManager(config *rest.Config, logger logr.Logger) (mgr ctrl.Manager, renewed func() time.Time, err error) {
	options := f.options(logger)
	if !f.leaderElect {
		mgr, err = makeManager(config, options)
		return mgr, time.Now, err
	}
	lock, err := newLeaderLock(config, cluster.ManagerNamespace(f.namespace), f.place.Annotations)
	if err != nil {
		return nil, nil, err
	}
	fence := controllers.NewFence(clock.RealClock{}, LeaseDuration, engine.RequestTimeout)
	options.LeaderElectionResourceLockInterface = fence.Guard(lock)
	config.Wrap(fence.Wrap)
	if mgr, err = makeManager(config, options); err != nil {
		return nil, nil, err
	}
	lock.events = mgr.GetEventRecorder("leader-election")
	return mgr, fence.Renewed, nil
}

// memoryLimit is what GOMEMLIMIT says; 0 where it is not set.
func memoryLimit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return 0
}

func makeManager(config *rest.Config, options ctrl.Options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	return mgr, nil
}

func (f *flags) setup(mgr ctrl.Manager, renewed func() time.Time, tracer *tracing.Tracer) error {
	o := controllers.Options{
		Namespace: cluster.ManagerNamespace(f.namespace), MaxConcurrentReconciles: f.maxConcurrent, QPS: f.qps, Burst: f.burst, ShutdownTimeout: f.shutdownTimeout,
		MemoryLimit: memoryLimit(), AllowGrantingKinds: f.allowGranting, BoxNamespaces: f.boxNamespaces, RequireServiceAccount: f.requireAccount, RequirePolicies: f.requirePolicies, Code: f.code, Providers: f.providers, Registry: metrics.Registry,
	}
	o.ExternalAllow, o.ExternalOnly, o.WebhookServices = f.egress.Allow, f.egress.Only, f.webhookServices
	o.Tracer = tracer
	var err error
	if o.Web, err = f.web.options(); err != nil {
		return err
	}
	if o.Web != nil {
		o.Web.Place = &f.place
	}
	if o.EgressRules, err = f.egress.Rules(); err != nil {
		return err
	}
	if err := controllers.Setup(mgr, o); err != nil {
		return err
	}
	build, lead := version.Get(), enginemetrics.Lead{Elected: mgr.Elected(), Renewed: renewed}
	if err := enginemetrics.RegisterProcess(metrics.Registry, enginemetrics.Build{Version: build.Version, Commit: build.Commit}, lead); err != nil {
		return err
	}
	if err := f.ServePprof(mgr); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding /healthz: %w", err)
	}
	synced := func(req *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(req.Context()) {
			return fmt.Errorf("caches are filling")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("caches", synced); err != nil {
		return fmt.Errorf("adding /readyz: %w", err)
	}
	return nil
}

func (f *flags) restConfig() (*rest.Config, error) {
	config, err := f.Server.Config()
	if err != nil {
		return nil, err
	}
	if f.qps > 0 {
		config.QPS = f.qps
	}
	config.Burst = f.burst
	return config, nil
}

func (f *flags) options(logger logr.Logger) ctrl.Options {
	lease, renew, retry := LeaseDuration, renewDeadline, retryPeriod
	return ctrl.Options{
		Scheme: cluster.Scheme(), Logger: logger, Metrics: f.Metrics(), NewClient: controllers.NewClient, NewCache: controllers.NewCache,
		HealthProbeBindAddress: f.ProbeAddress,
		LeaderElection:         f.leaderElect, LeaderElectionID: drain.LeaseName, LeaderElectionNamespace: cluster.ManagerNamespace(f.namespace),
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
		// Boxes have shutdownTimeout for what is under way. After that it is canceled, and the rest is for it to end.
		GracefulShutdownTimeout: new(f.shutdownTimeout + 10*time.Second),
	}
}
