package process

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"

	"github.com/orkspace/orkestra/engine/web/person"
)

// guard lets those in whose token the API server knows, and who have the right to the path, as to a nonResourceURL. Whom it refuses is told why.
// controller-runtime has such a filter, too: it answers a token that nobody knows with 500, and logs an error for each.
type guard struct {
	tokens *person.Tokens
	rights *person.Rights
	log    logr.Logger
	next   http.Handler
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := person.Bearer(r.Header.Get("Authorization"))
	who, err := g.tokens.Of(r.Context(), token)
	switch {
	case errors.Is(err, person.ErrTooMany):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	case err != nil:
		g.unanswered(w, r, err)
		return
	case who == nil:
		w.Header().Set("WWW-Authenticate", `Bearer realm="orkestra"`)
		http.Error(w, `no token was sent, or one that the API server does not know: `+
			`send the header "Authorization: Bearer TOKEN" with the token of a ServiceAccount, such as kubectl create token gives`, http.StatusUnauthorized)
		return
	}
	may, err := g.rights.May(r.Context(), *who, person.Right{Verb: verbOf(r), Path: r.URL.Path})
	switch {
	case err != nil:
		g.unanswered(w, r, err)
	case !may:
		http.Error(w, missing(*who, r), http.StatusForbidden)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// unanswered says that the API server could not be asked. What it says of itself is not for everybody.
func (g *guard) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	g.log.Error(err, "Who may read what was asked for could not be found out", "path", r.URL.Path)
	http.Error(w, "the API server did not say who asks, or whether they may: try again in a moment; the log of the process says more", http.StatusServiceUnavailable)
}

// missing says which right somebody lacks, and how they get it.
func missing(who person.Person, r *http.Request) string {
	text := fmt.Sprintf("%s needs the right to %s the nonResourceURL %s: bind a ClusterRole with that to it", who.Name, verbOf(r), r.URL.Path)
	if r.URL.Path == metricsPath {
		text += "; the one whose name ends in -metrics-reader has it"
	}
	return text
}
