package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// Tokens says whose a bearer token is; nil: nobody knows it. The error says why that could not be found out.
type Tokens interface {
	Of(ctx context.Context, token string) (*person.Person, error)
}

// SignIn signs people in, and knows who has signed in.
type SignIn interface {
	// Handler serves what is below /auth/.
	http.Handler
	// Paths are where to sign in, by a link, and out, by a POST.
	Paths() (in, out string)
	// Of says whose session a request has; nil: it has none. The error says why the one that it has does not count.
	Of(r *http.Request) (*person.Person, error)
	// Forget has a browser forget its session.
	Forget(w http.ResponseWriter)
}

// Doors are the ways in which somebody may be let in.
type Doors struct {
	// Tokens are those that the header Authorization has.
	Tokens Tokens
	// Proxy believes proxies who asks; nil: no proxy is.
	Proxy *Proxy
	// SignIn signs people in; nil: nobody can.
	SignIn SignIn
	// Replicas pass on what people ask them; nil: there are no others.
	Replicas *Replicas
	// Anonymous is as whom those count who do not say who they are; nil: they are refused.
	Anonymous *person.Person
	// Hosts are the names, without ports, at which browsers reach the page. Addresses and localhost need no name.
	Hosts []string
	// Clock tells the time; Log gets what is no answer to anybody.
	Clock clock.PassiveClock
	Log   logr.Logger
}

// Guard lets in whom it knows: whom another replica names that has let them in, whom a trusted proxy names, who sends the token of a Kubernetes user in the header Authorization, who has signed in, and
// where it is said as whom they count, those who say nothing. Everything behind it has the person in its context.
type Guard struct {
	Doors

	hosts hosts
	rates *rates
	next  http.Handler
}

// NewGuard makes a guard.
func NewGuard(d Doors, next http.Handler) *Guard {
	return &Guard{Doors: d, hosts: newHosts(d.Hosts), rates: newRates(d.Clock, rate{each: rateEach, burst: burstEach}, rate{each: rateShared, burst: burstShared}), next: next}
}

// How to be let in.
const (
	notSaid = `Nobody has said who asks. Send the header "Authorization: Bearer TOKEN" with the token of a Kubernetes user, such as kubectl create token gives, ` +
		`have a proxy send it, or name in the chart's web.oidc where people sign in, or in web.anonymous as whom everybody counts. On a laptop, orkestra ui shows the same page`
	notSignedIn = "Nobody has signed in here. Sign in, or send the token of a Kubernetes user, as kubectl create token gives it, in the header Authorization"
	notKnown    = "The API server does not know the token that was sent: it may have expired. Send another one, such as kubectl create token gives"
	saidMore    = "The request has more than one header Authorization, so that nobody knows who asks: send one"
	notAsked    = "Whose the token is could not be found out, because the API server did not answer: try again in a moment. The log of the manager says more"
	elsewhere   = "A page of another origin has had the browser ask. Open the Control Center itself"
	tooMany     = "Too many tokens are sent that were not seen before: try again in a moment"
)

// refusal is why somebody is not let in.
type refusal struct {
	status int
	why    string
	over   bool // the session is: the browser forgets it
}

// entry is somebody who is let in.
type entry struct {
	who person.Person
	// byItself says that a browser shows who that is by itself, whichever page has it ask.
	byItself bool
	// byProxy says that a proxy has said so: which names lead to it is not for this server to know.
	byProxy bool
	// signIn and signOut are where that can be done; empty: it can't.
	signIn, signOut string
	// still says whether the person would be let in now; nil: for as long as the request goes on.
	still func(ctx context.Context) bool
}

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if refused := refuseLength(r); refused != nil {
		turnAway(w, g.Clock, refused)
		return
	}
	if r.ContentLength != 0 {
		awaitBody(w, g.Clock) // until it is read, or refused unread
	}
	if g.SignIn != nil && !needsSomebody(r.URL.Path) {
		g.open(w, r)
		return
	}
	e, refused := g.enter(r)
	if refused == nil && e.byItself && !e.byProxy {
		refused = g.hosts.refuse(r)
	}
	if refused == nil && e.byItself && (isFromElsewhere(r) || isUnsaid(r)) {
		refused = &refusal{status: http.StatusForbidden, why: elsewhere}
	}
	if refused == nil && !g.rates.accept(e.who) {
		refused = &refusal{status: http.StatusTooManyRequests, why: "You ask more often than the page does: try again in a moment"}
	}
	if refused != nil {
		if r.ContentLength != 0 {
			endBody(w, g.Clock)
		}
		g.tell(w, refused)
		return
	}
	ctx := context.WithValue(person.With(r.Context(), e.who), entryKey{}, e)
	g.next.ServeHTTP(w, r.WithContext(ctx))
}

// needsSomebody says whether a path is for those alone who are let in, also where people sign in: what says something of the cluster is.
func needsSomebody(path string) bool { return strings.HasPrefix(path, "/api/") || path == ToolsPath }

// open serves what needs nobody: the sign-in, and the files of the page, which say nothing of the cluster.
func (g *Guard) open(w http.ResponseWriter, r *http.Request) {
	proxied, refused := g.Proxy.enter(r)
	if proxied == nil && refused == nil {
		refused = g.hosts.refuse(r)
	}
	if refused == nil && (isFromElsewhere(r) || isUnsaid(r)) {
		refused = &refusal{status: http.StatusForbidden, why: elsewhere}
	}
	switch {
	case refused != nil:
		g.tell(w, refused)
	case strings.HasPrefix(r.URL.Path, "/auth/"):
		g.SignIn.ServeHTTP(w, r)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// enter finds out who asks.
func (g *Guard) enter(r *http.Request) (*entry, *refusal) {
	if e, refused := g.Replicas.enter(r); e != nil || refused != nil {
		return e, refused
	}
	if e, refused := g.Proxy.enter(r); e != nil || refused != nil {
		return e, refused
	}
	given := r.Header.Values("Authorization")
	switch {
	case len(given) > 1:
		return nil, &refusal{status: http.StatusBadRequest, why: saidMore}
	case len(given) == 1:
		return g.byToken(r, given[0])
	}
	if e, refused := g.bySession(r); e != nil || refused != nil {
		return e, refused
	}
	if g.Anonymous != nil {
		who := *g.Anonymous
		who.Shared = true
		return &entry{who: who, byItself: true, signIn: g.signIn()}, nil
	}
	if g.SignIn != nil {
		return nil, &refusal{status: http.StatusUnauthorized, why: notSignedIn}
	}
	return nil, &refusal{status: http.StatusUnauthorized, why: notSaid}
}

// bySession lets in who has signed in; nil: nobody has.
func (g *Guard) bySession(r *http.Request) (*entry, *refusal) {
	if g.SignIn == nil {
		return nil, nil //nolint:nilnil // nobody can
	}
	who, err := g.SignIn.Of(r)
	if err != nil {
		return nil, &refusal{status: http.StatusUnauthorized, why: "Sign in once more: " + err.Error(), over: true}
	}
	if who == nil {
		return nil, nil //nolint:nilnil // nobody has
	}
	_, out := g.SignIn.Paths()
	return &entry{who: *who, byItself: true, signOut: out, still: func(context.Context) bool {
		now, err := g.SignIn.Of(r)
		return now != nil && err == nil
	}}, nil
}

// signIn is where to sign in; empty: nobody can.
func (g *Guard) signIn() string {
	if g.SignIn == nil {
		return ""
	}
	in, _ := g.SignIn.Paths()
	return in
}

func (g *Guard) byToken(r *http.Request, given string) (*entry, *refusal) {
	token, ok := person.Bearer(given)
	if !ok {
		return nil, &refusal{status: http.StatusUnauthorized, why: notSaid}
	}
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

// tell says why somebody is not let in, and where they can sign in.
func (g *Guard) tell(w http.ResponseWriter, why *refusal) {
	said := api.Problem{Status: why.status, Detail: why.why}
	switch why.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="orkestra"`)
		said.SignIn = g.signIn()
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	if why.over {
		g.SignIn.Forget(w)
	}
	writeProblem(w, said)
}

// entryKey is that of the entry in the context of a request.
type entryKey struct{}

// entryOf gives how who asks was let in. On loopback there is no guard that knows.
func entryOf(ctx context.Context) entry {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		return *e
	}
	return entry{}
}

// isStillIn asks whether who has sent a request would still be let in.
func isStillIn(r *http.Request) bool {
	e := entryOf(r.Context())
	return e.still == nil || e.still(r.Context())
}
