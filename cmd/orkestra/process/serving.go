package process

import (
	"fmt"
	"net/http"
	"net/http/pprof"

	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Where what is not for everybody is served, beside /metrics.
const (
	metricsPath  = "/metrics" // as controller-runtime serves it
	logLevelPath = "/debug/log-level"
	pprofPath    = "/debug/pprof/"
)

// ServePprof adds to a manager what serves pprof, to those whom the API server lets read it, as metrics are. It adds nothing where there is no
// address.
func (f *Flags) ServePprof(mgr ctrl.Manager) error {
	if f.pprofAddress == "" || f.pprofAddress == "0" {
		return nil
	}
	options := f.Metrics()
	options.BindAddress = f.pprofAddress
	for path, serve := range map[string]http.HandlerFunc{
		pprofPath: pprof.Index, pprofPath + "cmdline": pprof.Cmdline, pprofPath + "profile": pprof.Profile,
		pprofPath + "symbol": pprof.Symbol, pprofPath + "trace": pprof.Trace,
	} {
		options.ExtraHandlers[path] = serve
	}
	server, err := metricsserver.NewServer(options, mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("making the server of --pprof-bind-address: %w", err)
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the server of --pprof-bind-address: %w", err)
	}
	return nil
}
