package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/engine"
)

// managerFlags are the flags of `orkestra manager`.
type managerFlags struct {
	kubeconfig, context string
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

func newManagerCommand() *cobra.Command {
	f := &managerFlags{}
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

func (f *managerFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "where the API server is; default: in-cluster, else KUBECONFIG")
	fs.StringVar(&f.context, "context", "", "context of the kubeconfig")
	fs.StringVar(&f.namespace, "namespace", "", "the manager's own namespace: lease, revisions of boxes; default: POD_NAMESPACE, else orkestra-system")
	fs.BoolVar(&f.leaderElect, "leader-elect", true, "of several managers only one writes")
	fs.StringVar(&f.metricsAddress, "metrics-bind-address", ":8443", "where metrics are served; 0: nowhere")
	fs.BoolVar(&f.metricsSecure, "metrics-secure", true, "serve metrics by HTTPS, to those whom the API server lets read them")
	fs.StringVar(&f.metricsCertDir, "metrics-cert-dir", "", "where tls.crt and tls.key for metrics are; while they are not there, the manager signs its own")
	fs.StringVar(&f.probeAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served")
	fs.StringVar(&f.pprofAddress, "pprof-bind-address", "", "where pprof is served; default: nowhere")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info or error")
	fs.StringVar(&f.logFormat, "log-format", formatJSON, "json or text")
	fs.BoolVar(&f.allowGranting, "allow-granting-kinds", false, "let boxes make roles, bindings, webhooks and CRDs")
	fs.StringSliceVar(&f.externalAllow, "external-allow", nil,
		"host, host:port or network that external calls may reach although it is private, loopback or link-local; repeatable")
	fs.StringSliceVar(&f.externalOnly, "external-only", nil, "the only host, or host:port, that external calls may reach; repeatable")
	fs.IntVar(&f.maxConcurrent, "max-concurrent-reconciles", 64, "reconciles that may run at the same time, over all boxes")
	fs.Float32Var(&f.qps, "kube-api-qps", 0, "requests per second of each box; default: no limit, the API server says who waits")
	fs.IntVar(&f.burst, "kube-api-burst", 0, "requests of each box that may come at once, with --kube-api-qps; default: those of a second, at least 10")
	fs.DurationVar(&f.shutdownTimeout, "shutdown-timeout", 30*time.Second, "how long workers may take to finish")
}

func (f *managerFlags) run(ctx context.Context) error {
	logger, err := f.logger()
	if err != nil {
		return err
	}
	log.SetLogger(logger)
	config, err := f.restConfig()
	if err != nil {
		return &failure{fmt.Errorf("finding the API server: %w", err)}
	}
	mgr, err := f.newManager(config, logger)
	if err != nil {
		return &failure{err}
	}
	if err := f.setup(mgr); err != nil {
		return &failure{err}
	}
	logger.Info("Starting", "version", version, "commit", commit)
	if err := mgr.Start(ctx); err != nil {
		return &failure{fmt.Errorf("running the manager: %w", err)}
	}
	return nil
}

// newManager makes a manager whose clients write only while this process leads.
func (f *managerFlags) newManager(config *rest.Config, logger logr.Logger) (ctrl.Manager, error) {
	options := f.options(logger)
	if !f.leaderElect {
		return makeManager(config, options)
	}
	lock, err := newLeaderLock(config, f.ownNamespace())
	if err != nil {
		return nil, err
	}
	fence := controllers.NewFence(clock.RealClock{}, leaseDuration, engine.RequestTimeout)
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

func (f *managerFlags) setup(mgr ctrl.Manager) error {
	err := controllers.Setup(mgr, controllers.Options{
		Namespace: f.ownNamespace(), MaxConcurrentReconciles: f.maxConcurrent, QPS: f.qps, Burst: f.burst, ShutdownTimeout: f.shutdownTimeout,
		MemoryLimit: memoryLimit(), AllowGrantingKinds: f.allowGranting, ExternalAllow: f.externalAllow, ExternalOnly: f.externalOnly, Registry: metrics.Registry,
	})
	if err != nil {
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

func (f *managerFlags) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "orkestra/" + version
	config.QPS, config.Burst = f.qps, f.burst
	if f.qps <= 0 {
		config.QPS = -1 // 0 is client-go's own limit
	}
	return config, nil
}

func (f *managerFlags) options(logger logr.Logger) ctrl.Options {
	serving := metricsserver.Options{
		BindAddress: f.metricsAddress, SecureServing: f.metricsSecure, CertDir: f.metricsCertDir,
		// HTTP/2 has had too many ways to exhaust a server that needs none of it.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	}
	if f.metricsSecure {
		serving.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	lease, renew, retry := leaseDuration, renewDeadline, retryPeriod
	return ctrl.Options{
		Scheme: newScheme(), Logger: logger, Metrics: serving, NewClient: controllers.NewClient, NewCache: controllers.NewCache,
		HealthProbeBindAddress: f.probeAddress, PprofBindAddress: f.pprofAddress,
		LeaderElection: f.leaderElect, LeaderElectionID: controllers.LeaseName, LeaderElectionNamespace: f.ownNamespace(),
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
		GracefulShutdownTimeout: new(f.shutdownTimeout + 10*time.Second),
	}
}

// ownNamespace is where the lease is, and what is kept of boxes.
func (f *managerFlags) ownNamespace() string {
	if f.namespace != "" {
		return f.namespace
	}
	if ns := os.Getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	return "orkestra-system"
}

func (f *managerFlags) logger() (logr.Logger, error) {
	levels := map[string]zapcore.Level{"debug": zapcore.DebugLevel, "info": zapcore.InfoLevel, "error": zapcore.ErrorLevel}
	level, ok := levels[strings.ToLower(f.logLevel)]
	if !ok {
		return logr.Logger{}, fmt.Errorf("--log-level %q: wanted debug, info or error", f.logLevel)
	}
	// A stack says nothing about what a user wrote. Panics are logged with theirs.
	options := []zap.Opts{zap.Level(level), zap.StacktraceLevel(zapcore.DPanicLevel)}
	switch strings.ToLower(f.logFormat) {
	case formatJSON:
		options = append(options, zap.JSONEncoder())
	case "text":
		options = append(options, zap.ConsoleEncoder())
	default:
		return logr.Logger{}, fmt.Errorf("--log-format %q: wanted json or text", f.logFormat)
	}
	logger := zap.New(options...)
	return logger.WithSink(calmStop{logger.GetSink()}), nil
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			// The types are compiled in: this can't fail at run time unless two of them clash, which every test would show.
			panic(err)
		}
	}
	return s
}
