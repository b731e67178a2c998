// Package signin signs people in to the Control Center by OpenID Connect: authorization code with PKCE, state and nonce. Who has signed in is known by
// a cookie that is sealed with a key of all replicas; the process keeps nothing of it. docs/design/control-center.md says why it is as it is.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-logr/logr"
	"golang.org/x/oauth2"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

// Options say by which provider people sign in, and what its claims mean.
type Options struct {
	// Issuer is the address of the provider, as its tokens name it.
	Issuer string
	// CAFile has the CAs, as PEM, that sign the provider's certificate. Empty: those of the system.
	CAFile string
	// ClientID is by what the provider knows the Control Center, and ClientSecretFile has the secret; it is read for each sign-in. Empty: there is none.
	ClientID, ClientSecretFile string
	// Scopes that are asked for, besides openid.
	Scopes []string
	// SessionKeyFile has the keys that seal cookies: one on each line, 32 bytes as base64. The first one seals, each one opens. It is read again when
	// it changes.
	SessionKeyFile string
	// SessionLife is how long somebody stays signed in.
	SessionLife time.Duration
	// Claims say who somebody is.
	Claims Claims
}

// Where people sign in and out, and where the provider sends them back to.
const (
	prefix       = "/auth/"
	loginPath    = prefix + "login"
	callbackPath = prefix + "callback"
	logoutPath   = prefix + "logout"
)

const (
	// askTimeout bounds a request to the provider.
	askTimeout = 10 * time.Second
	// knownLife is how long is believed what a provider says of itself, and failedLife how long that it does not answer.
	knownLife, failedLife = time.Hour, 5 * time.Second
	// rate and burst are how many codes per second the provider is asked about, and how many at once: who guesses codes must not keep it busy.
	rate, burst = 20, 100
)

// SignIn signs people in. It is safe for concurrent use.
type SignIn struct {
	Options

	keys   *keys
	client *http.Client
	limit  flowcontrol.PassiveRateLimiter
	clock  clock.PassiveClock
	log    logr.Logger
	mux    *http.ServeMux

	mu     sync.Mutex
	known  *oidc.Provider // guarded by mu, as what follows
	asked  time.Time
	failed error
}

// New makes one, and reads its keys. The provider is asked when somebody signs in: it may start later than the manager.
func New(o Options, clk clock.PassiveClock, log logr.Logger) (*SignIn, error) {
	read, err := newKeys(o, clk, log)
	if err != nil {
		return nil, err
	}
	client, err := newClient(o.CAFile)
	if err != nil {
		return nil, err
	}
	if _, err := readSecret(o.ClientSecretFile); err != nil {
		return nil, err
	}
	s := &SignIn{
		Options: o, keys: read, client: client, limit: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(rate, burst, clk),
		clock: clk, log: log, mux: http.NewServeMux(),
	}
	s.mux.HandleFunc("GET "+loginPath, s.login)
	s.mux.HandleFunc("GET "+callbackPath, s.callback)
	s.mux.HandleFunc("POST "+logoutPath, s.logout)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		tell(w, r, http.StatusNotFound, "Below "+prefix+" there are login, callback, and logout, which takes a POST")
	})
	return s, nil
}

// Paths are where to sign in, by a link, and out, by a POST.
func (*SignIn) Paths() (in, out string) { return loginPath, logoutPath }

// ServeHTTP serves what is below /auth/. Who asks from where has been looked at.
func (s *SignIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	s.mux.ServeHTTP(w, r)
}

// login sends somebody to the provider.
func (s *SignIn) login(w http.ResponseWriter, r *http.Request) {
	to := r.URL.Query().Get("to")
	if to == "" {
		to = "/"
	}
	if !isOurs(to) {
		tell(w, r, http.StatusBadRequest, "The parameter to says where to go after the sign-in: wanted a path of the Control Center, such as /boxes/shop")
		return
	}
	provider, err := s.provider(r.Context())
	if err != nil {
		tell(w, r, http.StatusServiceUnavailable, "The provider at "+s.Issuer+" does not answer as OpenID Connect has it. Try again in a moment; the log of the manager says more")
		return
	}
	begun := attempt{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: to, Redirect: "https://" + r.Host + callbackPath,
		Until: s.clock.Now().Add(attemptLife).Unix(),
	}
	if err := s.keep(w, attemptCookie, begun, attemptLife); err != nil {
		s.log.Error(err, "A sign-in could not be begun")
		tell(w, r, http.StatusInternalServerError, "The sign-in could not be begun. The log of the manager says why")
		return
	}
	config := s.config(provider, begun.Redirect, "")
	http.Redirect(w, r, config.AuthCodeURL(begun.State, oidc.Nonce(begun.Nonce), oauth2.S256ChallengeOption(begun.Verifier)), http.StatusSeeOther)
}

// callback is where the provider sends somebody back to.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	begun, query := attempt{}, r.URL.Query()
	err := s.open(r, attemptCookie, &begun)
	forget(w, attemptCookie) // whatever comes of it: it counts once
	if err != nil || s.clock.Now().Unix() >= begun.Until || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(begun.State)) != 1 {
		tell(w, r, http.StatusBadRequest, "This sign-in was not begun in this browser, is over, or was begun too long ago. Sign in once more, in one tab")
		return
	}
	if failed := query.Get("error"); failed != "" {
		s.refuse(w, r, "", "The provider at "+s.Issuer+" did not let you sign in: "+spoken(failed, query.Get("error_description"))+". Sign in as somebody else, or ask who looks after the provider")
		return
	}
	if !s.limit.TryAccept() {
		w.Header().Set("Retry-After", "1")
		tell(w, r, http.StatusTooManyRequests, "Too many people sign in at once. Sign in once more in a moment")
		return
	}
	who, err := s.redeem(r.Context(), begun, query.Get("code"))
	if refused := (*refusedError)(nil); errors.As(err, &refused) {
		s.refuse(w, r, who.Name, refused.Error())
		return
	}
	if err == nil {
		err = s.keep(w, sessionCookie, session{Name: who.Name, Groups: who.Groups, Since: s.clock.Now().Unix()}, s.SessionLife)
	}
	switch {
	case errors.Is(err, errTooLarge):
		s.refuse(w, r, who.Name, fmt.Sprintf("You are in %d groups, more than a cookie can hold. Have the provider tell only those that matter here", len(who.Groups)))
	case err != nil:
		s.log.Error(err, "A sign-in has failed", "issuer", s.Issuer)
		tell(w, r, http.StatusBadGateway, "What the provider at "+s.Issuer+" has answered does not let you in. Sign in once more; the log of the manager says what is wrong")
	default:
		s.log.Info("Somebody has signed in to the Control Center", "user", who.Name)
		http.Redirect(w, r, begun.To, http.StatusSeeOther)
	}
}

// refuse says to somebody why they are not let in, and to those who run the manager, whom some of the reasons tell to act. user is empty where it is not
// known who it is.
func (s *SignIn) refuse(w http.ResponseWriter, r *http.Request, user, why string) {
	s.log.Info("A sign-in was refused", "issuer", s.Issuer, "user", user, "reason", why)
	tell(w, r, http.StatusForbidden, why)
}

// logout forgets who has signed in. What another browser has copied counts until its time is over, or the key has changed.
func (s *SignIn) logout(w http.ResponseWriter, _ *http.Request) {
	s.Forget(w)
	w.WriteHeader(http.StatusNoContent)
}

// isOurs says whether a text leads to a path of this server, whatever a browser makes of it.
func isOurs(to string) bool {
	return len(to) <= maxTo && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.HasPrefix(to, prefix) &&
		!strings.ContainsFunc(to, func(c rune) bool { return c == '\\' || c <= ' ' || c > '~' })
}

// config is that of the client for one sign-in.
func (s *SignIn) config(provider *oidc.Provider, redirect, secret string) *oauth2.Config {
	scopes := append([]string{oidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(s.Scopes), func(scope string) bool { return scope == oidc.ScopeOpenID })...)
	return &oauth2.Config{ClientID: s.ClientID, ClientSecret: secret, Endpoint: provider.Endpoint(), RedirectURL: redirect, Scopes: scopes}
}

// provider gives what the provider says of itself.
func (s *SignIn) provider(ctx context.Context) (*oidc.Provider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.known != nil && now.Sub(s.asked) < knownLife {
		return s.known, nil
	}
	if s.failed != nil && now.Sub(s.asked) < failedLife {
		return s.known, s.failed
	}
	// It is kept, and asks for keys later: it must not end with the page that happens to ask.
	said, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), s.client), s.Issuer)
	s.asked, s.failed = s.clock.Now(), nil // who has waited for an answer that took long does not wait for another one
	switch {
	case err == nil:
		s.known = said
	case s.known == nil:
		s.failed = fmt.Errorf("asking the provider what it is: %w", err)
		s.log.Error(s.failed, "Nobody can sign in", "issuer", s.Issuer)
		return nil, s.failed
	}
	return s.known, nil
}
