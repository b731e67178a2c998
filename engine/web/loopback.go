package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Loopback lets one person in, who has an address with a secret: other users of the machine, and pages of other origins that are open in the same
// browser, reach loopback too.
type Loopback struct {
	host, token string
	next        http.Handler
}

// NewLoopback makes a guard with a secret of its own for a server that is reached at host:port.
func NewLoopback(host string, next http.Handler) *Loopback {
	return &Loopback{host: host, token: rand.Text() + rand.Text(), next: next}
}

const (
	cookiePrefix = "orkestra-ui-"
	tokenName    = "token"
)

// cookieName has the port: a browser keeps one set of cookies for all ports of a machine, and several pages may be open, such as those of two clusters.
func (l *Loopback) cookieName() string {
	_, port, _ := strings.Cut(l.host, ":")
	return cookiePrefix + port
}

// Address is what the person opens.
func (l *Loopback) Address() string { return "http://" + l.host + "/?" + tokenName + "=" + l.token }

// ServeHTTP implements http.Handler.
func (l *Loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if r.Host != l.host { // a name of somebody else that leads to this address
		Problem(w, http.StatusMisdirectedRequest, "This is served at http://"+l.host+" only")
		return
	}
	if given := r.URL.Query().Get(tokenName); given != "" && r.Method == http.MethodGet && l.is(given) {
		//nolint:gosec // loopback is served without TLS, so that Secure would keep the cookie from coming back
		http.SetCookie(w, &http.Cookie{Name: l.cookieName(), Value: l.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, "/", http.StatusSeeOther) // the address that stays in the history has no secret
		return
	}
	if !needsSomebody(r.URL.Path) { // the page says to people who have no secret, or an old one, how they get in
		l.next.ServeHTTP(w, r)
		return
	}
	cookie, err := r.Cookie(l.cookieName())
	if err != nil || !l.is(cookie.Value) {
		Problem(w, http.StatusUnauthorized, "Open the address that orkestra ui has printed: it has the secret that lets you in")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && (isFromElsewhere(r) || isUnsaid(r)) {
		Problem(w, http.StatusForbidden, elsewhere)
		return
	}
	l.next.ServeHTTP(w, r)
}

func (l *Loopback) is(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(l.token)) == 1
}
