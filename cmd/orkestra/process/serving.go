package process

import (
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Where what is not for everybody is served, beside /metrics.
const (
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

// authenticated asks the API server who sends a request, and whether they may. What it refuses, it says why.
func authenticated(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	ask, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, fmt.Errorf("making what asks the API server for those who read metrics: %w", err)
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		asked, err := ask(log, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refusing, ok := w.(*refusal); ok {
				w = refusing.ResponseWriter // they may: what follows is no refusal
			}
			next.ServeHTTP(w, r)
		}))
		if err != nil {
			return nil, err //nolint:wrapcheck // it makes none
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.ServeHTTP(&refusal{ResponseWriter: w, request: r}, r)
		}), nil
	}, nil
}

// refusal adds to an answer of 401 or 403 what is missing.
type refusal struct {
	http.ResponseWriter

	request *http.Request
	code    int
}

// WriteHeader implements http.ResponseWriter.
func (r *refusal) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *refusal) Write(text []byte) (int, error) {
	n, err := r.ResponseWriter.Write(text)
	if err != nil {
		return n, err //nolint:wrapcheck // as the writer says it
	}
	switch r.code {
	case http.StatusUnauthorized:
		_, err = fmt.Fprintln(r.ResponseWriter, `no token was sent, or one that the API server does not know: `+
			`send the header "Authorization: Bearer TOKEN" with the token of a ServiceAccount, such as kubectl create token gives`)
	case http.StatusForbidden:
		_, err = fmt.Fprintf(r.ResponseWriter, "it needs the right to %s the nonResourceURL %s: bind a ClusterRole with that to it; the one whose name ends in -metrics-reader has it for /metrics\n",
			verbOf(r.request), r.request.URL.Path)
	}
	return n, err //nolint:wrapcheck // as the writer says it
}
