package signin

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	. "github.com/onsi/gomega"
)

const (
	clientID     = "control-center"
	clientSecret = "s3cret"
	keyID        = "one"
)

// provider is one of OpenID Connect, where everybody signs in at once.
type provider struct {
	oidctest.Server

	url string
	key *rsa.PrivateKey
	now func() time.Time

	mu     sync.Mutex
	codes  map[string]url.Values // what was asked for, by the code that was given; guarded by mu, as what follows
	claims map[string]any        // that are added to a token, or replace its own
	signer *rsa.PrivateKey       // who signs
	down   bool
	answer string // in place of a token
	asked  int    // requests for a token
	known  int    // requests for what it says of itself
	during func() // what happens while it is asked for that; nil: nothing
}

func newProvider(t *testing.T, now func() time.Time) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	p := &provider{key: key, signer: key, now: now, codes: map[string]url.Values{}, claims: map[string]any{}}
	p.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: keyID, Algorithm: oidc.RS256}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	p.SetIssuer(server.URL)
	return p
}

// set changes how the provider answers.
func (p *provider) set(change func(p *provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL.Path == "/.well-known/openid-configuration" {
		p.known++
		if p.during != nil {
			p.during()
		}
	}
	switch {
	case p.down:
		http.Error(w, "down at 10.0.0.1", http.StatusInternalServerError)
	case r.URL.Path == "/token":
		p.token(w, r)
	default:
		p.Server.ServeHTTP(w, r)
	}
}

// authorize gives the address to which it sends somebody back who has signed in.
func (p *provider) authorize(t *testing.T, location string) (back *url.URL) {
	t.Helper()
	g := NewWithT(t)
	at, err := url.Parse(location)
	g.Expect(err).NotTo(HaveOccurred())
	asked := at.Query()
	g.Expect(location).To(HavePrefix(p.url + "/auth?"))
	g.Expect(asked.Get("client_id")).To(Equal(clientID))
	g.Expect(asked.Get("response_type")).To(Equal("code"))
	g.Expect(asked.Get("code_challenge_method")).To(Equal("S256"))
	g.Expect(asked.Get("nonce")).NotTo(BeEmpty())
	code := rand.Text()
	p.set(func(p *provider) { p.codes[code] = asked })
	back, err = url.Parse(asked.Get("redirect_uri"))
	g.Expect(err).NotTo(HaveOccurred())
	back.RawQuery = url.Values{"code": {code}, "state": {asked.Get("state")}}.Encode()
	return back
}

// token answers for a code, once, to the client that shows the secret, the verifier and the address that belong to it.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.asked++
	_ = r.ParseForm()
	asked, found := p.codes[r.Form.Get("code")]
	delete(p.codes, r.Form.Get("code"))
	id, secret, _ := r.BasicAuth()
	challenge := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	w.Header().Set("Content-Type", "application/json")
	if !found || id != clientID || secret != clientSecret || r.Form.Get("redirect_uri") != asked.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant", "error_description": "no such code", "secret-of-the-answer": "x"}`))
		return
	}
	if p.answer != "" {
		_, _ = w.Write([]byte(p.answer))
		return
	}
	now := p.now().Unix()
	claims := map[string]any{"iss": p.url, "aud": clientID, "sub": "42", "exp": now + 60, "iat": now, "nonce": asked.Get("nonce")}
	maps.Copy(claims, p.claims)
	text, _ := json.Marshal(claims)                  //nolint:errchkjson // claims of tests are JSON
	_ = json.NewEncoder(w).Encode(map[string]string{ //nolint:errchkjson // the client may have gone
		"access_token": "access", "token_type": "Bearer", "id_token": oidctest.SignIDToken(p.signer, keyID, oidc.RS256, string(text)),
	})
}
