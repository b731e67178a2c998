package signin

import (
	"errors"
	"net/http"
	"time"

	"github.com/orkspace/orkestra/engine/web/person"
)

// The cookies. Browsers take one of such a name from this host alone, by TLS, for all paths.
const (
	sessionCookie = "__Host-orkestra-session"
	attemptCookie = "__Host-orkestra-sign-in"
)

const (
	// attemptLife is how long a sign-in may take.
	attemptLife = 10 * time.Minute
	// maxCookie is how long the value of a cookie may be: browsers keep 4096 bytes with its name and attributes.
	maxCookie = 3900
	// maxTo is how long the path may be to which somebody goes after the sign-in.
	maxTo = 1000
)

// session is somebody who has signed in.
type session struct {
	Name   string   `json:"n"`
	Groups []string `json:"g,omitempty"`
	// Since is when, in seconds.
	Since int64 `json:"s"`
}

// attempt is a sign-in that is under way. It counts in the browser that has begun it.
type attempt struct {
	// State is what the provider sends back, Nonce what its token repeats, and Verifier what only the browser's own server knows (PKCE).
	State, Nonce, Verifier string
	// To is where to go afterwards, and Redirect where the provider sends back to.
	To, Redirect string
	// Until is when it is over, in seconds.
	Until int64
}

var (
	errTooLarge = errors.New("more than a cookie can hold")
	errOver     = errors.New("your session is over")
	errNotOpen  = errors.New("your session does not count any more: the key has changed, or the cookie has")
)

// Of says whose session a request has; nil: it has none. The error says why the one that it has does not count.
func (s *SignIn) Of(r *http.Request) (*person.Person, error) {
	var kept session
	if _, err := r.Cookie(sessionCookie); err != nil {
		return nil, nil //nolint:nilnil,nilerr // nobody has signed in
	}
	if err := s.open(r, sessionCookie, &kept); err != nil {
		return nil, errNotOpen
	}
	if !s.clock.Now().Before(time.Unix(kept.Since, 0).Add(s.SessionLife)) {
		return nil, errOver
	}
	return &person.Person{Name: kept.Name, Groups: person.Authenticated(kept.Groups)}, nil
}

// Forget has a browser forget who has signed in.
func (*SignIn) Forget(w http.ResponseWriter) { forget(w, sessionCookie) }

// keep has a browser keep a value, sealed, in a cookie.
func (s *SignIn) keep(w http.ResponseWriter, name string, value any, life time.Duration) error {
	sealed, err := s.keys.seal(name, value)
	if err != nil {
		return err
	}
	if len(sealed) > maxCookie {
		return errTooLarge
	}
	setCookie(w, name, sealed, int(life/time.Second))
	return nil
}

// open reads what a browser has kept.
func (s *SignIn) open(r *http.Request, name string, into any) error {
	cookie, err := r.Cookie(name)
	if err != nil {
		return err //nolint:wrapcheck // there is none
	}
	return s.keys.open(name, cookie.Value, into)
}

func forget(w http.ResponseWriter, name string) { setCookie(w, name, "", -1) }

// setCookie sets a cookie that scripts and pages of other sites do not get. Lax lets the redirect of the provider have it.
func setCookie(w http.ResponseWriter, name, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode})
}
