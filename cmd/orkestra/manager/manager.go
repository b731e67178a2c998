// Package manager is the command `orkestra manager`, which runs the controllers.
package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/engine"
	enginemetrics "github.com/orkspace/orkestra/engine/metrics"
)

// flags are those of `orkestra manager`.
type flags struct {
	server              cluster.Flags
	namespace           string
	leaderElect         bool
	metricsAddress      string
	metricsSecure       bool
	metricsCertDir      string
	probeAddress        string
	pprofAddress        string
	logLevel, logFormat string
	allowGranting       bool
	externalAllow       []string
	externalOnly        []string
	maxConcurrent       int
	qps                 float32
	burst               int
	shutdownTimeout     time.Duration
}

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the controllers",
		Long:  "Run the controllers until the process is told to stop. This is the image's entry point.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context())
		},
	}
	f.bind(cmd)
	return cmd
}

func (f *flags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.server.Kubeconfig, "kubeconfig", "", "where the API server is; default: in-cluster, else KUBECONFIG")
	fs.StringVar(&f.server.Context, "context", "", "context of the kubeconfig")
	fs.StringVar(&f.namespace, "namespace", "", "the manager's own namespace: lease, revisions of boxes; default: POD_NAMESPACE, else orkestra-system")
	fs.BoolVar(&f.leaderElect, "leader-elect", true, "of several managers only one writes")
	fs.StringVar(&f.metricsAddress, "metrics-bind-address", ":8443", "where metrics are served; 0: nowhere")
	fs.BoolVar(&f.metricsSecure, "metrics-secure", true, "serve metrics by HTTPS, to those whom the API server lets read them")
	fs.StringVar(&f.metricsCertDir, "metrics-cert-dir", "", "where tls.crt and tls.key for metrics are; while they are not there, the manager signs its own")
	fs.StringVar(&f.probeAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served")
	fs.StringVar(&f.pprofAddress, "pprof-bind-address", "", "where pprof is served; default: nowhere")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info or error")
	fs.StringVar(&f.logFormat, "log-format", output.JSON, "json or text")
	fs.BoolVar(&f.allowGranting, "allow-granting-kinds", false, "let boxes make roles, bindings, webhooks and CRDs")
	fs.StringSliceVar(&f.externalAllow, "external-allow", nil,
		"host, host:port or network that external calls may reach although it is private, loopback or link-local; repeatable")
	fs.StringSliceVar(&f.externalOnly, "external-only", nil, "the only host, or host:port, that external calls may reach; repeatable")
	fs.IntVar(&f.maxConcurrent, "max-concurrent-reconciles", 64, "reconciles that may run at the same time, over all boxes")
	fs.Float32Var(&f.qps, "kube-api-qps", 0, "requests per second of each box; default: no limit, the API server says who waits")
	fs.IntVar(&f.burst, "kube-api-burst", 0, "requests of each box that may come at once, with --kube-api-qps; default: those of a second, at least 10")
	fs.DurationVar(&f.shutdownTimeout, "shutdown-timeout", 30*time.Second, "how long workers may take to finish")
}

func (f *flags) run(ctx context.Context) error {
	logger, err := f.logger()
	if err != nil {
		return err
	}
	log.SetLogger(logger)
	config, err := f.restConfig()
	if err != nil {
		return exit.Failure(err)
	}
	mgr, err := f.newManager(config, logger)
	if err != nil {
		return exit.Failure(err)
	}
	if err := f.setup(mgr); err != nil {
		return exit.Failure(err)
	}
	logger.Info("Starting", "version", version.Get().Version, "commit", version.Get().Commit)
	if err := mgr.Start(ctx); err != nil {
		return exit.Failure(fmt.Errorf("running the manager: %w", err))
	}
	return nil
}

// newManager makes a manager whose clients write only while this process leads. Without leader election it always does.
func (f *flags) newManager(config *rest.Config, logger logr.Logger) (ctrl.Manager, error) {
	options := f.options(logger)
	if !f.leaderElect {
		return makeManager(config, options)
	}
	lock, err := newLeaderLock(config, cluster.ManagerNamespace(f.namespace))
	if err != nil {
		return nil, err
	}
	fence := controllers.NewFence(clock.RealClock{}, LeaseDuration, engine.RequestTimeout)
	options.LeaderElectionResourceLockInterface = fence.Guard(lock)
	config.Wrap(fence.Wrap)
	mgr, err := makeManager(config, options)
	if err != nil {
		return nil, err
	}
	lock.events = mgr.GetEventRecorder("leader-election")
	return mgr, nil
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

func (f *flags) setup(mgr ctrl.Manager) error {
	err := controllers.Setup(mgr, controllers.Options{
		Namespace: cluster.ManagerNamespace(f.namespace), MaxConcurrentReconciles: f.maxConcurrent, QPS: f.qps, Burst: f.burst, ShutdownTimeout: f.shutdownTimeout,
		MemoryLimit: memoryLimit(), AllowGrantingKinds: f.allowGranting, ExternalAllow: f.externalAllow, ExternalOnly: f.externalOnly, Registry: metrics.Registry,
	})
	if err != nil {
		return err
	}
	build := version.Get()
	if err := enginemetrics.RegisterProcess(metrics.Registry, enginemetrics.Build{Version: build.Version, Commit: build.Commit}, mgr.Elected()); err != nil {
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
	config, err := f.server.Config()
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
	serving := metricsserver.Options{
		BindAddress: f.metricsAddress, SecureServing: f.metricsSecure, CertDir: f.metricsCertDir,
		// No HTTP/2: metrics do not need it, and its resets and floods (CVE-2023-44487, CVE-2023-39325) have exhausted servers.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	}
	if f.metricsSecure {
		serving.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	lease, renew, retry := LeaseDuration, renewDeadline, retryPeriod
	return ctrl.Options{
		Scheme: cluster.Scheme(), Logger: logger, Metrics: serving, NewClient: controllers.NewClient, NewCache: controllers.NewCache,
		HealthProbeBindAddress: f.probeAddress, PprofBindAddress: f.pprofAddress,
		LeaderElection: f.leaderElect, LeaderElectionID: drain.LeaseName, LeaderElectionNamespace: cluster.ManagerNamespace(f.namespace),
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
		// Boxes have shutdownTimeout for what is under way. After that it is canceled, and the rest is for it to end.
		GracefulShutdownTimeout: new(f.shutdownTimeout + 10*time.Second),
	}
}

func (f *flags) logger() (logr.Logger, error) {
	levels := map[string]zapcore.Level{"debug": zapcore.DebugLevel, "info": zapcore.InfoLevel, "error": zapcore.ErrorLevel}
	level, ok := levels[strings.ToLower(f.logLevel)]
	if !ok {
		return logr.Logger{}, fmt.Errorf("--log-level %q: wanted debug, info or error", f.logLevel)
	}
	// No stacks with errors: they are mostly about what users wrote, and a stack does not help there. Panics are logged with theirs.
	options := []zap.Opts{zap.Level(level), zap.StacktraceLevel(zapcore.DPanicLevel)}
	switch strings.ToLower(f.logFormat) {
	case output.JSON:
		options = append(options, zap.JSONEncoder())
	case output.Text:
		options = append(options, zap.ConsoleEncoder())
	default:
		return logr.Logger{}, fmt.Errorf("--log-format %q: wanted json or text", f.logFormat)
	}
	logger := zap.New(options...)
	return logger.WithSink(calmStop{logger.GetSink()}), nil
}
