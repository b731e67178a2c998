// Package process has what the commands that run until they are stopped have in common: where they log, serve metrics and answer probes.
package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/engine/external"
)

// Flags of such a command.
type Flags struct {
	// Server is where the API server is.
	Server cluster.Flags
	// ProbeAddress is where /healthz and /readyz are served.
	ProbeAddress string

	pprofAddress        string
	metricsAddress      string
	metricsSecure       bool
	metricsCertDir      string
	logLevel, logFormat string
	level               uberzap.AtomicLevel // at which the logger logs
}

// Bind gives the flags to a command.
func (f *Flags) Bind(fs *pflag.FlagSet) {
	f.level = uberzap.NewAtomicLevel()
	fs.StringVar(&f.Server.Kubeconfig, "kubeconfig", "", "where the API server is; default: in-cluster, else KUBECONFIG")
	fs.StringVar(&f.Server.Context, "context", "", "context of the kubeconfig")
	fs.StringVar(&f.metricsAddress, "metrics-bind-address", ":8443", "where metrics are served; 0: nowhere")
	fs.BoolVar(&f.metricsSecure, "metrics-secure", true, "serve metrics by HTTPS, to those whom the API server lets read them")
	fs.StringVar(&f.metricsCertDir, "metrics-cert-dir", "", "where tls.crt and tls.key for metrics are; while they are not there, the process signs its own")
	fs.StringVar(&f.ProbeAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served")
	fs.StringVar(&f.pprofAddress, "pprof-bind-address", "", "where pprof is served, to those whom the API server lets read it, as metrics are; default: nowhere")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info or error; "+logLevelPath+" of the address of metrics changes it")
	fs.StringVar(&f.logFormat, "log-format", output.JSON, "json or text")
}

// Metrics says how metrics are served.
func (f *Flags) Metrics() metricsserver.Options {
	serving := metricsserver.Options{
		BindAddress: f.metricsAddress, SecureServing: f.metricsSecure, CertDir: f.metricsCertDir,
		TLSOpts: []func(*tls.Config){WithoutHTTP2}, ExtraHandlers: map[string]http.Handler{},
	}
	if f.metricsSecure {
		serving.FilterProvider = authenticated
		serving.ExtraHandlers[logLevelPath] = levelHandler{f.level} // it changes something, so it is not for everybody
	}
	return serving
}

// WithoutHTTP2 has a server speak HTTP/1.1 alone: what is served here does not need more, and resets and floods (CVE-2023-44487,
// CVE-2023-39325) have exhausted servers.
func WithoutHTTP2(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }

// Logger gives the logger of the process.
func (f *Flags) Logger() (logr.Logger, error) {
	level, err := levelOf(f.logLevel)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level %w", err)
	}
	f.level.SetLevel(level)
	// No stacks with errors: they are mostly about what users wrote, and a stack does not help there. Panics are logged with theirs.
	options := []zap.Opts{zap.Level(f.level), zap.StacktraceLevel(zapcore.DPanicLevel)}
	switch strings.ToLower(f.logFormat) {
	case output.JSON:
		options = append(options, zap.JSONEncoder())
	case output.Text:
		options = append(options, zap.ConsoleEncoder())
	default:
		return logr.Logger{}, fmt.Errorf("--log-format %q: wanted json or text", f.logFormat)
	}
	logger := zap.New(options...)
	return logger.WithSink(calmStop{late{LogSink: logger.GetSink()}}), nil
}

// What controller-runtime logs, with which error, when the lease is released because the process was asked to end. The error has no
// exported value, so it is known by its text. When the lease is lost while the manager runs, Start returns an error, and this is not logged.
const (
	afterStop     = "error received after stop sequence was engaged"
	leaseReleased = "leader election lost"
)

// calmStop logs at level info what an orderly stop brings with it: that the lease was released, and that requests under way were canceled.
// Contexts are canceled only by this process itself, when it stops something, so that is no error.
type calmStop struct{ logr.LogSink }

// Error implements logr.LogSink.
func (c calmStop) Error(err error, message string, fields ...any) {
	if message == afterStop && err != nil && err.Error() == leaseReleased {
		c.Info(0, "Lease released")
		return
	}
	if errors.Is(err, context.Canceled) {
		c.Info(0, message, append(slices.Clone(fields), "reason", err.Error())...)
		return
	}
	c.LogSink.Error(err, message, fields...)
}

// WithName implements logr.LogSink.
func (c calmStop) WithName(name string) logr.LogSink { return calmStop{c.LogSink.WithName(name)} }

// WithValues implements logr.LogSink.
func (c calmStop) WithValues(fields ...any) logr.LogSink {
	return calmStop{c.LogSink.WithValues(fields...)}
}

// Egress are the flags that say what external calls may reach.
type Egress struct {
	// Allow and Only are for all boxes.
	Allow, Only []string

	file string
}

// Bind gives the flags to a command.
func (e *Egress) Bind(fs *pflag.FlagSet) {
	fs.StringSliceVar(&e.Allow, "external-allow", nil,
		"host, host:port or network that external calls may reach although it is private, loopback or link-local; repeatable")
	e.BindLimits(fs)
}

// BindLimits gives those that say which calls a box may have to a command that makes none.
func (e *Egress) BindLimits(fs *pflag.FlagSet) {
	fs.StringSliceVar(&e.Only, "external-only", nil, "the only host, or host:port, that external calls may reach; repeatable")
	fs.StringVar(&e.file, "egress-rules", "", "file with more of both for certain boxes and accounts; it is read when the process starts")
}

// Rules reads those for certain boxes and accounts from the file; none where there is no file.
func (e *Egress) Rules() (external.EgressRules, error) {
	if e.file == "" {
		return external.EgressRules{}, nil
	}
	file, err := os.ReadFile(e.file)
	if err != nil {
		return external.EgressRules{}, fmt.Errorf("reading the file of --egress-rules: %w", err)
	}
	rules, err := external.ParseEgressRules(file)
	if err != nil {
		return external.EgressRules{}, fmt.Errorf("--egress-rules=%s: %w", e.file, err)
	}
	return rules, nil
}
