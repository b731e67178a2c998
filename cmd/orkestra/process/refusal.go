package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// authenticated asks the API server who sends a request, and whether they may. What it refuses, it says why.
func authenticated(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	ask, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, fmt.Errorf("making what asks the API server for those who read metrics: %w", err)
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		allowed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refusing, ok := w.(*refusal); ok {
				w = refusing.ResponseWriter // they may: what follows is no refusal
			}
			next.ServeHTTP(w, r)
		})
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			refusing := &refusal{ResponseWriter: w, request: r}
			asked, err := ask(log.WithSink(listener{LogSink: log.GetSink(), to: refusing}), allowed)
			if err != nil { // it makes none
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			asked.ServeHTTP(refusing, r)
		}), nil
	}, nil
}

// listener hears why a request fails, which what asks the API server tells the log alone.
type listener struct {
	logr.LogSink

	to *refusal
}

// Error implements logr.LogSink. A token that the API server does not know is no error of the manager: anybody can send one.
func (l listener) Error(err error, message string, keysAndValues ...any) {
	if l.to.unknown = !unanswered(err); !l.to.unknown {
		l.LogSink.Error(err, message, keysAndValues...)
	}
}

// unanswered says whether the API server could not be asked, or did not say who somebody is. All other errors are its answer.
func unanswered(err error) bool {
	var several utilerrors.Aggregate
	if errors.As(err, &several) {
		for _, one := range several.Errors() {
			if unanswered(one) {
				return true
			}
		}
		return false
	}
	var status apierrors.APIStatus
	var lost *url.Error
	return errors.As(err, &status) || errors.As(err, &lost) || wait.Interrupted(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// refusal adds to an answer of 401 or 403 what is missing.
type refusal struct {
	http.ResponseWriter

	request *http.Request
	code    int
	unknown bool // the API server does not know the token
}

// WriteHeader implements http.ResponseWriter.
func (r *refusal) WriteHeader(code int) {
	if code == http.StatusInternalServerError && r.unknown {
		code = http.StatusUnauthorized
	}
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
