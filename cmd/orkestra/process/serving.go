package process

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/engine/web/person"
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

// authenticated gives a filter of requests, which asks the API server by a client of its own.
func authenticated(config *rest.Config, connection *http.Client) (metricsserver.Filter, error) {
	reviews, err := newReviews(config, connection)
	if err != nil {
		return nil, fmt.Errorf("making what asks the API server who may read metrics: %w", err)
	}
	clk := clock.RealClock{}
	tokens, rights := person.NewTokens(reviews, clk), person.NewRights(reviews, clk)
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return &guard{tokens: tokens, rights: rights, log: log, next: next}, nil
	}, nil
}

// newReviews gives a client that knows of reviews alone, so that it asks for no other kinds.
func newReviews(config *rest.Config, connection *http.Client) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(authenticationv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme)); err != nil {
		return nil, err //nolint:wrapcheck // the caller says what it is for
	}
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(authenticationv1.SchemeGroupVersion.WithKind("TokenReview"), meta.RESTScopeRoot)
	kinds.Add(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"), meta.RESTScopeRoot)
	return client.New(config, client.Options{HTTPClient: connection, Scheme: scheme, Mapper: kinds}) //nolint:wrapcheck // the caller says what it is for
}
