package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/orkspace/orkestra/engine/web/person"
)

// Tokens says whose a bearer token is; nil: nobody knows it. The error says why that could not be found out.
type Tokens interface {
	Of(ctx context.Context, token string) (*person.Person, error)
}

// Guard lets in whom it knows: who sends the token of a Kubernetes user in the header Authorization, and where it is said as whom they count, those
// who send none. Everything behind it has the person in its context.
type Guard struct {
	tokens    Tokens
	anonymous *person.Person
	next      http.Handler
}

// NewGuard makes a guard. anonymous is as whom those count who do not say who they are; nil: they are refused.
func NewGuard(tokens Tokens, anonymous *person.Person, next http.Handler) *Guard {
	return &Guard{tokens: tokens, anonymous: anonymous, next: next}
}

// How to be let in.
const (
	notSaid = `Nobody has said who asks. Send the header "Authorization: Bearer TOKEN" with the token of a Kubernetes user, such as kubectl create token gives, ` +
		`have a proxy send it, or name in the chart's web.anonymous as whom everybody counts. On a laptop, orkestra ui shows the same page`
	notKnown = "The API server does not know the token that was sent: it may have expired. Send another one, such as kubectl create token gives"
)

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get("Authorization")
	if given == "" && g.anonymous != nil {
		g.next.ServeHTTP(w, r.WithContext(person.With(r.Context(), *g.anonymous)))
		return
	}
	scheme, token, _ := strings.Cut(given, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		refuse(w, notSaid)
		return
	}
	who, err := g.tokens.Of(r.Context(), strings.TrimSpace(token))
	switch {
	case err != nil:
		secure(w.Header())
		problem(w, http.StatusServiceUnavailable, "Whose the token is could not be found out: "+err.Error())
	case who == nil:
		refuse(w, notKnown)
	default:
		g.next.ServeHTTP(w, r.WithContext(person.With(r.Context(), *who)))
	}
}

func refuse(w http.ResponseWriter, why string) {
	secure(w.Header())
	w.Header().Set("WWW-Authenticate", `Bearer realm="orkestra"`)
	problem(w, http.StatusUnauthorized, why)
}
