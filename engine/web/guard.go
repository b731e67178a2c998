package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/person"
)

// Tokens says whose a bearer token is; nil: nobody knows it. The error says why that could not be found out.
type Tokens interface {
	Of(ctx context.Context, token string) (*person.Person, error)
}

// Doors are the ways in which somebody may be let in.
type Doors struct {
	// Tokens are those that the header Authorization has.
	Tokens Tokens
	// Proxy believes proxies who asks; nil: no proxy is.
	Proxy *Proxy
	// Anonymous is as whom those count who do not say who they are; nil: they are refused.
	Anonymous *person.Person
	// Hosts are the names, without ports, at which browsers reach the page. Addresses and localhost need no name.
	Hosts []string
	// Clock tells the time; Log gets what is no answer to anybody.
	Clock clock.PassiveClock
	Log   logr.Logger
}

// Guard lets in whom it knows: whom a trusted proxy names, who sends the token of a Kubernetes user in the header Authorization, and where it is said
// as whom they count, those who say nothing. Everything behind it has the person in its context.
type Guard struct {
	Doors

	hosts hosts
	rates *rates
	next  http.Handler
}

// NewGuard makes a guard.
func NewGuard(d Doors, next http.Handler) *Guard {
	return &Guard{Doors: d, hosts: newHosts(d.Hosts), rates: newRates(d.Clock), next: next}
}

// How to be let in.
const (
	notSaid = `Nobody has said who asks. Send the header "Authorization: Bearer TOKEN" with the token of a Kubernetes user, such as kubectl create token gives, ` +
		`have a proxy send it, or name in the chart's web.anonymous as whom everybody counts. On a laptop, orkestra ui shows the same page`
	notKnown  = "The API server does not know the token that was sent: it may have expired. Send another one, such as kubectl create token gives"
	saidMore  = "The request has more than one header Authorization, so that nobody knows who asks: send one"
	notAsked  = "Whose the token is could not be found out, because the API server did not answer: try again in a moment. The log of the manager says more"
	elsewhere = "A page of another origin has had the browser ask. Open the Control Center itself"
	tooMany   = "Too many tokens are sent that were not seen before: try again in a moment"
)

// refusal is why somebody is not let in.
type refusal struct {
	status int
	why    string
}

// entry is somebody who is let in.
type entry struct {
	who person.Person
	// byItself says that a browser shows who that is by itself, whichever page has it ask.
	byItself bool
	// byProxy says that a proxy has said so: which names lead to it is not for this server to know.
	byProxy bool
	// still says whether the person would be let in now; nil: for as long as the request goes on.
	still func(ctx context.Context) bool
}

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if r.ContentLength != 0 {
		refuseBody(w, g.Clock)
		return
	}
	e, refused := g.enter(r)
	if refused == nil && e.byItself && !e.byProxy {
		refused = g.hosts.refuse(r)
	}
	if refused == nil && e.byItself && isFromElsewhere(r) {
		refused = &refusal{status: http.StatusForbidden, why: elsewhere}
	}
	if refused == nil && !g.rates.accept(e.who) {
		refused = &refusal{status: http.StatusTooManyRequests, why: "You ask more often than the page does: try again in a moment"}
	}
	if refused != nil {
		refused.tell(w)
		return
	}
	ctx := person.With(r.Context(), e.who)
	if e.still != nil {
		ctx = context.WithValue(ctx, stillKey{}, e.still)
	}
	g.next.ServeHTTP(w, r.WithContext(ctx))
}

// enter finds out who asks.
func (g *Guard) enter(r *http.Request) (*entry, *refusal) {
	if e, refused := g.Proxy.enter(r); e != nil || refused != nil {
		return e, refused
	}
	given := r.Header.Values("Authorization")
	switch {
	case len(given) > 1:
		return nil, &refusal{status: http.StatusBadRequest, why: saidMore}
	case len(given) == 1:
		return g.byToken(r, given[0])
	case g.Anonymous != nil:
		who := *g.Anonymous
		who.Shared = true
		return &entry{who: who, byItself: true}, nil
	default:
		return nil, &refusal{status: http.StatusUnauthorized, why: notSaid}
	}
}

func (g *Guard) byToken(r *http.Request, given string) (*entry, *refusal) {
	scheme, token, _ := strings.Cut(given, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, &refusal{status: http.StatusUnauthorized, why: notSaid}
	}
	token = strings.TrimSpace(token)
	who, err := g.Tokens.Of(r.Context(), token)
	switch {
	case errors.Is(err, person.ErrTooMany):
		return nil, &refusal{status: http.StatusTooManyRequests, why: tooMany}
	case err != nil:
		// What the error says of the API server is not for everybody.
		g.Log.Error(err, "Whose a token is that was sent to the page could not be found out")
		return nil, &refusal{status: http.StatusServiceUnavailable, why: notAsked}
	case who == nil:
		return nil, &refusal{status: http.StatusUnauthorized, why: notKnown}
	}
	return &entry{who: *who, still: func(ctx context.Context) bool {
		now, err := g.Tokens.Of(ctx, token)
		return now != nil || err != nil // an API server that does not answer shows nothing either: each right is asked for
	}}, nil
}

func (f *refusal) tell(w http.ResponseWriter) {
	switch f.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="orkestra"`)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	problem(w, f.status, f.why)
}

// stillKey is that of the question whether who asks would still be let in.
type stillKey struct{}

// isStillIn asks whether who has sent a request would still be let in.
func isStillIn(r *http.Request) bool {
	still, ok := r.Context().Value(stillKey{}).(func(context.Context) bool)
	return !ok || still(r.Context())
}
