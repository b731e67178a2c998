// Package process has what the commands that run until they are stopped have in common: where they log, serve metrics and answer probes.
package process

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/pflag"
	uberzap "go.uber.org/zap"
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
