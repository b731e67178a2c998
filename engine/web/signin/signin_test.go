package signin

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// nothing is a source that is not asked.
type nothing struct{ web.Source }

func (nothing) Subscribe(context.Context, func(api.Change)) {}

// nobody knows no token.
type nobody struct{}

func (nobody) Of(context.Context, string) (*person.Person, error) { return nil, errors.New("asked") }

// world is a server at which people sign in.
type world struct {
	t        *testing.T
	g        *WithT
	provider *provider
	clock    *clocktesting.FakePassiveClock
	options  Options
	lines    []string // of the log
	guard    http.Handler
	doors    web.Doors
}

const host = "page.example.com"

func newKey() string {
	var key [keySize]byte
	_, _ = rand.Read(key[:])
	return base64.StdEncoding.EncodeToString(key[:])
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, g: NewWithT(t), clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))}
	w.provider = newProvider(t, w.clock.Now)
	dir := t.TempDir()
	w.options = Options{
		Issuer: w.provider.url, ClientID: clientID, ClientSecretFile: filepath.Join(dir, "secret"), Scopes: []string{"groups", "openid"}, SessionKeyFile: filepath.Join(dir, "key"),
		SessionLife: time.Hour, Claims: Claims{Username: "sub", UsernamePrefix: "oidc:", Groups: "groups", GroupsPrefix: "oidc:"},
	}
	for _, f := range change {
		f(&w.options)
	}
	w.write(w.options.ClientSecretFile, clientSecret+"\n")
	w.write(w.options.SessionKeyFile, newKey())
	w.start(nil)
	return w
}

func (w *world) write(file, text string) {
	w.t.Helper()
	w.g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
}

// start begins to serve, as a replica that knows nothing.
func (w *world) start(anonymous *person.Person) {
	w.t.Helper()
	log := funcr.New(func(_, args string) { w.lines = append(w.lines, args) }, funcr.Options{Verbosity: 9})
	signs, err := New(w.options, w.clock, log)
	w.g.Expect(err).NotTo(HaveOccurred())
	pages := web.New(web.Config{Source: nothing{}, Files: fstest.MapFS{"index.html": {Data: []byte("the page")}}, Clock: w.clock, Log: log})
	w.doors = web.Doors{Tokens: nobody{}, SignIn: signs, Anonymous: anonymous, Hosts: []string{host}, Clock: w.clock, Log: log}
	w.guard = web.NewGuard(w.doors, pages)
}

// browser keeps cookies.
type browser struct {
	*world

	cookies map[string]*http.Cookie
}

func (w *world) browser() *browser { return &browser{world: w, cookies: map[string]*http.Cookie{}} }

// ask sends a request as the page itself, and keeps cookies as browsers do.
func (b *browser) ask(method, target string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, target, nil)
	r.Host = host
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	for _, cookie := range b.cookies {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	b.guard.ServeHTTP(w, r)
	for _, line := range w.Header().Values("Set-Cookie") {
		cookie, err := http.ParseSetCookie(line)
		b.g.Expect(err).NotTo(HaveOccurred())
		b.g.Expect(cookie.Name).To(HavePrefix("__Host-"))
		b.g.Expect([]any{cookie.HttpOnly, cookie.Secure, cookie.SameSite, cookie.Path, cookie.Domain}).To(Equal([]any{true, true, http.SameSiteLaxMode, "/", ""}))
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		} else {
			b.g.Expect(cookie.MaxAge).To(BeNumerically(">", 0), "a cookie has a bound life")
			b.cookies[cookie.Name] = cookie
		}
	}
	b.g.Expect(w.Header().Get("Content-Security-Policy")).NotTo(BeEmpty())
	return w
}

// begin asks to sign in, and gives the address to which the provider sends back.
func (b *browser) begin(to string) *url.URL {
	b.t.Helper()
	answer := b.ask(http.MethodGet, "/auth/login?to="+url.QueryEscape(to))
	b.g.Expect(answer.Code).To(Equal(http.StatusSeeOther))
	return b.provider.authorize(b.t, answer.Header().Get("Location"))
}

// signIn signs in.
func (b *browser) signIn(to string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.ask(http.MethodGet, b.begin(to).RequestURI(), "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
}

// who asks who is signed in.
func (b *browser) who(headers ...string) (status int, said api.Session, problem api.Problem) {
	b.t.Helper()
	answer := b.ask(http.MethodGet, "/api/v1/session", headers...)
	if answer.Code == http.StatusOK {
		b.g.Expect(json.NewDecoder(answer.Body).Decode(&said)).To(Succeed())
	} else {
		b.g.Expect(json.NewDecoder(answer.Body).Decode(&problem)).To(Succeed())
	}
	return answer.Code, said, problem
}

func (b *browser) isNobody() {
	b.t.Helper()
	status, _, problem := b.who()
	b.g.Expect(status).To(Equal(http.StatusUnauthorized))
	b.g.Expect(problem.SignIn).To(Equal("/auth/login"))
	b.g.Expect(b.cookies).NotTo(HaveKey(sessionCookie))
}

// problemOf is why a sign-in has failed.
func (b *browser) problemOf(answer *httptest.ResponseRecorder, status int) string {
	b.t.Helper()
	var problem api.Problem
	b.g.Expect(answer.Code).To(Equal(status))
	b.g.Expect(json.NewDecoder(answer.Body).Decode(&problem)).To(Succeed())
	return problem.Detail
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.isNobody()
	page := b.ask(http.MethodGet, "/boxes/shop")
	w.g.Expect(page.Code).To(Equal(http.StatusOK), "the page itself says nothing of the cluster, and has the button")
	w.g.Expect(b.ask(http.MethodGet, "/", "X-Remote-User", "ann").Code).To(Equal(http.StatusForbidden), "nor is it shown to who says to be somebody")
	w.g.Expect(b.ask(http.MethodPost, "/").Code).To(Equal(http.StatusMethodNotAllowed))

	w.provider.set(func(p *provider) { p.claims["groups"] = []string{"a", "b"} })
	back := b.begin("/boxes/shop?state=x")
	answer := b.ask(http.MethodGet, back.RequestURI(), "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	w.g.Expect(answer.Code).To(Equal(http.StatusSeeOther))
	w.g.Expect(answer.Header().Get("Location")).To(Equal("/boxes/shop?state=x"))
	w.g.Expect(answer.Header().Get("Referrer-Policy")).To(Equal("no-referrer"))
	w.g.Expect(answer.Header().Get("Cache-Control")).To(Equal("no-store"))
	w.g.Expect(b.cookies).To(HaveLen(1))
	kept := b.cookies[sessionCookie].Value
	status, said, _ := b.who()
	w.g.Expect(status).To(Equal(http.StatusOK))
	w.g.Expect(said).To(Equal(api.Session{Person: api.Person{Name: "oidc:42", Groups: []string{"oidc:a", "oidc:b", "system:authenticated"}}, SignOut: "/auth/logout"}))

	w.start(nil)
	status, said, _ = b.who()
	w.g.Expect(status).To(Equal(http.StatusOK), "another replica knows who has signed in")
	w.g.Expect(said.Person.Name).To(Equal("oidc:42"))

	for n := range kept {
		changed := []byte(kept)
		changed[n] = "BA"[len(strings.TrimLeft(kept[n:n+1], "B"))]
		thief := w.browser()
		thief.cookies[sessionCookie] = &http.Cookie{Name: sessionCookie, Value: string(changed)}
		if string(changed) != kept {
			thief.isNobody()
		}
	}
	sealed, err := base64.RawURLEncoding.DecodeString(kept)
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(string(sealed)).NotTo(ContainSubstring("oidc:42"), "the name can't be read")
	w.g.Expect(w.lines).To(HaveExactElements(ContainSubstring(`"user"="oidc:42"`)))
	w.g.Expect(strings.Join(w.lines, "\n")).NotTo(Or(ContainSubstring(kept), ContainSubstring(back.Query().Get("code")), ContainSubstring(clientSecret)))
}

func TestScopes(t *testing.T) {
	w := newWorld(t)
	answer := w.browser().ask(http.MethodGet, "/auth/login")
	at, err := url.Parse(answer.Header().Get("Location"))
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(at.Query().Get("scope")).To(Equal("openid groups"))
	w.g.Expect(at.Query().Get("redirect_uri")).To(Equal("https://" + host + "/auth/callback"))
}

func TestASessionEnds(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn("/")
	kept := b.cookies[sessionCookie]
	w.clock.SetTime(w.clock.Now().Add(time.Hour - time.Second))
	status, _, _ := b.who()
	w.g.Expect(status).To(Equal(http.StatusOK))
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	_, _, problem := b.who()
	w.g.Expect(problem.Detail).To(ContainSubstring("your session is over"))
	b.isNobody()
	b.cookies[sessionCookie] = kept
	w.start(&person.Person{Name: "visitor"})
	status, _, _ = b.who()
	w.g.Expect(status).To(Equal(http.StatusUnauthorized), "who believes to be somebody is not taken for everybody")
	status, said, _ := b.who()
	w.g.Expect(status).To(Equal(http.StatusOK), "once: then the browser has forgotten the session")
	w.g.Expect(said).To(Equal(api.Session{Person: api.Person{Name: "visitor"}, SignIn: "/auth/login"}))
}

func TestLogout(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	for name, headers := range map[string][]string{
		"a page of another site":   {"Sec-Fetch-Site", "cross-site"},
		"a page of a neighbor":     {"Sec-Fetch-Site", "same-site"},
		"a form, in older browser": {"Sec-Fetch-Site", "", "Origin", "https://evil.example.com"},
		"nobody says from where":   {"Sec-Fetch-Site", ""},
		"by navigation":            {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"},
	} {
		b.signIn("/")
		w.g.Expect(b.ask(http.MethodPost, "/auth/logout", headers...).Code).To(Equal(http.StatusForbidden), name)
		w.g.Expect(b.cookies).To(HaveKey(sessionCookie), name)
	}
	w.g.Expect(b.ask(http.MethodGet, "/auth/logout").Code).NotTo(Equal(http.StatusNoContent), "an image of another page could ask")
	w.g.Expect(b.cookies).To(HaveKey(sessionCookie))
	w.g.Expect(b.ask(http.MethodPost, "/auth/logout").Code).To(Equal(http.StatusNoContent))
	b.isNobody()
	b.signIn("/")
	w.g.Expect(b.ask(http.MethodPost, "/auth/logout", "Sec-Fetch-Site", "", "Origin", "https://"+host).Code).To(Equal(http.StatusNoContent))
}

// TestASessionOfAnotherSiteIsNotUsed: a browser sends a Lax cookie for pages of neighbors.
func TestASessionOfAnotherSiteIsNotUsed(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn("/")
	for _, headers := range [][]string{{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "", "Origin", "https://other.example.com"}} {
		status, _, _ := b.who(headers...)
		w.g.Expect(status).To(Equal(http.StatusForbidden))
	}
}

// TestASignInCountsOnce: neither the address that the provider sends back to, nor its code, nor its state is of use to somebody else, or twice.
func TestASignInCountsOnce(t *testing.T) {
	w := newWorld(t)
	const again = "was not begun in this browser, is over"
	victim, thief := w.browser(), w.browser()
	back := victim.begin("/")
	begun := victim.cookies[attemptCookie]
	w.g.Expect(thief.problemOf(thief.ask(http.MethodGet, back.RequestURI()), http.StatusBadRequest)).To(ContainSubstring(again), "an address that was sent to somebody")
	thief.begin("/")
	w.g.Expect(thief.problemOf(thief.ask(http.MethodGet, back.RequestURI()), http.StatusBadRequest)).To(ContainSubstring(again), "the state of another browser")
	thief.isNobody()
	w.g.Expect(w.provider.asked).To(BeZero(), "the provider is not asked")

	w.g.Expect(victim.ask(http.MethodGet, back.RequestURI()).Code).To(Equal(http.StatusSeeOther))
	w.g.Expect(victim.cookies).NotTo(HaveKey(attemptCookie))
	w.g.Expect(victim.problemOf(victim.ask(http.MethodGet, back.RequestURI()), http.StatusBadRequest)).To(ContainSubstring(again))

	thief.cookies[attemptCookie] = begun
	w.g.Expect(thief.problemOf(thief.ask(http.MethodGet, back.RequestURI()), http.StatusBadGateway)).To(ContainSubstring("does not let you in"), "the provider takes a code once")
	w.g.Expect(strings.Join(w.lines, "\n")).To(And(ContainSubstring("invalid_grant: no such code"), Not(ContainSubstring("secret-of-the-answer"))))
	thief.isNobody()

	mine, theirs := thief.begin("/"), victim.begin("/")
	query := mine.Query()
	query.Set("code", theirs.Query().Get("code"))
	mine.RawQuery = query.Encode()
	w.g.Expect(thief.ask(http.MethodGet, mine.RequestURI()).Code).To(Equal(http.StatusBadGateway), "a code of another browser: PKCE")
	thief.isNobody()

	late := thief.begin("/")
	w.clock.SetTime(w.clock.Now().Add(attemptLife))
	w.g.Expect(thief.problemOf(thief.ask(http.MethodGet, late.RequestURI()), http.StatusBadRequest)).To(ContainSubstring(again))

	for _, query := range []string{"", "?state=", "?code=x&state="} {
		nobody := w.browser()
		w.g.Expect(nobody.ask(http.MethodGet, "/auth/callback"+query).Code).To(Equal(http.StatusBadRequest))
	}
	thief.begin("/")
	session := thief.cookies[attemptCookie].Value
	thief.cookies = map[string]*http.Cookie{sessionCookie: {Name: sessionCookie, Value: session}}
	thief.isNobody() // what was sealed for one purpose is not taken for another
}

func TestTokensThatAreNotForUs(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, tc := range map[string]struct {
		change func(*provider)
		logged string
	}{
		"another audience":     {func(p *provider) { p.claims["aud"] = "another" }, `expected audience`},
		"another party":        {func(p *provider) { p.claims["aud"], p.claims["azp"] = []string{clientID, "b"}, "b" }, "made for another client"},
		"another issuer":       {func(p *provider) { p.claims["iss"] = "https://evil.example.com" }, "issued by a different provider"},
		"one that is over":     {func(p *provider) { p.claims["exp"] = p.now().Unix() - 1 }, "token is expired"},
		"another nonce":        {func(p *provider) { p.claims["nonce"] = "another" }, "its nonce is another one"},
		"no nonce":             {func(p *provider) { p.claims["nonce"] = "" }, "its nonce is another one"},
		"another key":          {func(p *provider) { p.signer = other }, "failed to verify"},
		"no token":             {func(p *provider) { p.answer = `{"access_token": "x", "token_type": "Bearer"}` }, "no id_token"},
		"one without a key":    {func(p *provider) { p.answer = `{"access_token": "x", "id_token": "eyJhbGciOiJub25lIn0.e30."}` }, "verifying the id_token"},
		"no answer":            {func(p *provider) { p.answer = `nonsense` }, "asking the provider for a token"},
		"a provider that ails": {func(p *provider) { p.down = true }, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			back := b.begin("/")
			w.provider.set(tc.change)
			answer := b.ask(http.MethodGet, back.RequestURI())
			w.g.Expect(b.problemOf(answer, http.StatusBadGateway)).To(And(ContainSubstring("Sign in once more"), Not(ContainSubstring("10.0.0.1"))))
			w.g.Expect(strings.Join(w.lines, "\n")).To(And(ContainSubstring(tc.logged), Not(ContainSubstring("eyJ"))))
			b.isNobody()
		})
	}
}

func TestACookieIsOfNoUseWhenTheKeyHasChanged(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn("/")
	stolen := *b.cookies[sessionCookie]
	before, err := os.ReadFile(w.options.SessionKeyFile)
	w.g.Expect(err).NotTo(HaveOccurred())
	next := newKey()
	w.write(w.options.SessionKeyFile, next+"\n"+string(before)+"\n")
	w.clock.SetTime(w.clock.Now().Add(web.RereadInterval))
	status, _, _ := b.who()
	w.g.Expect(status).To(Equal(http.StatusOK), "an older key opens, so that a new one signs nobody out")
	newer := w.browser()
	newer.signIn("/")
	w.write(w.options.SessionKeyFile, next)
	w.clock.SetTime(w.clock.Now().Add(web.RereadInterval))
	b.cookies[sessionCookie] = &stolen
	_, _, problem := b.who()
	w.g.Expect(problem.Detail).To(ContainSubstring("does not count any more"))
	b.isNobody()
	status, _, _ = newer.who()
	w.g.Expect(status).To(Equal(http.StatusOK), "and the first one seals")
	w.g.Expect(os.Remove(w.options.SessionKeyFile)).To(Succeed())
	w.clock.SetTime(w.clock.Now().Add(web.RereadInterval))
	status, _, _ = newer.who()
	w.g.Expect(status).To(Equal(http.StatusOK), "a file that is being replaced keeps nobody out")
	w.write(w.options.SessionKeyFile, next)
	w.options.ClientID = "another"
	w.start(nil)
	newer.isNobody() // who was let in for another client, or by another provider
}

func TestASignInLeadsNowhereElse(t *testing.T) {
	w := newWorld(t)
	for _, to := range []string{
		"https://evil.example.com", "//evil.example.com", "/\\evil.example.com", "/\t/evil.example.com", "/ /evil.example.com", "/a\n/b", "evil.example.com", "javascript:alert(1)",
		"\\\\evil.example.com", "/\\/evil.example.com", "/auth/logout", "/auth/login?to=/", "/" + strings.Repeat("x", maxTo), "/\u00e4",
	} {
		b := w.browser()
		w.g.Expect(b.problemOf(b.ask(http.MethodGet, "/auth/login?to="+url.QueryEscape(to)), http.StatusBadRequest)).To(ContainSubstring("wanted a path"), to)
		w.g.Expect(b.cookies).To(BeEmpty())
	}
	for _, to := range []string{"/", "/boxes/shop", "/boxes/shop/resources?text=https%3A%2F%2Fevil.example.com&sort=-age", "/%2Fevil.example.com"} {
		w.g.Expect(w.browser().signIn(to).Header().Get("Location")).To(Equal(to))
	}
	b := w.browser()
	answer := b.ask(http.MethodGet, "/auth/login", "Host", "")
	w.g.Expect(answer.Code).To(Equal(http.StatusSeeOther))
	r := httptest.NewRequest(http.MethodGet, "/auth/login", nil)
	r.Host = "evil.example.com"
	recorder := httptest.NewRecorder()
	w.guard.ServeHTTP(recorder, r)
	w.g.Expect(recorder.Code).To(Equal(http.StatusMisdirectedRequest), "nor does the provider send back to another name")
}

func TestWhatTheProviderSays(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	back := b.begin("/")
	spoiled := url.Values{"state": {back.Query().Get("state")}, "error": {"access_denied"}, "error_description": {"<b>no</b> \u202eyou." + strings.Repeat("x", 1000)}}.Encode()
	nobody := w.browser()
	w.g.Expect(nobody.problemOf(nobody.ask(http.MethodGet, "/auth/callback?"+spoiled), http.StatusBadRequest)).NotTo(ContainSubstring("denied"), "who has not begun a sign-in is shown no text of an address")
	page := b.ask(http.MethodGet, "/auth/callback?"+spoiled, "Accept", "text/html")
	w.g.Expect(page.Code).To(Equal(http.StatusForbidden))
	w.g.Expect(page.Header().Get("Content-Type")).To(Equal("text/html; charset=utf-8"))
	w.g.Expect(page.Header().Get("Cache-Control")).To(Equal("no-store"))
	w.g.Expect(page.Body.String()).To(And(ContainSubstring("access_denied: &lt;b&gt;no&lt;/b&gt;"), ContainSubstring(`href="/auth/login"`), Not(ContainSubstring("\u202e")), Not(ContainSubstring(strings.Repeat("x", 400)))))
	b.isNobody()

	w.provider.set(func(p *provider) { p.down = true })
	w.start(nil)
	w.g.Expect(b.problemOf(b.ask(http.MethodGet, "/auth/login"), http.StatusServiceUnavailable)).To(And(ContainSubstring("Try again in a moment"), Not(ContainSubstring("10.0.0.1"))))
	w.provider.set(func(p *provider) { p.down = false })
	w.g.Expect(b.ask(http.MethodGet, "/auth/login").Code).To(Equal(http.StatusServiceUnavailable), "it is not asked each time")
	w.clock.SetTime(w.clock.Now().Add(failedLife))
	w.g.Expect(b.ask(http.MethodGet, "/auth/login").Code).To(Equal(http.StatusSeeOther))
	w.provider.set(func(p *provider) { p.down = true })
	w.clock.SetTime(w.clock.Now().Add(knownLife))
	w.g.Expect(b.ask(http.MethodGet, "/auth/login").Code).To(Equal(http.StatusSeeOther), "what it has said before still counts")
	w.g.Expect(b.ask(http.MethodGet, "/auth/else").Code).To(Equal(http.StatusNotFound))
}

// TestAProviderThatHangs: those who wait for it do not wait one after the other.
func TestAProviderThatHangs(t *testing.T) {
	w := newWorld(t)
	w.provider.set(func(p *provider) {
		p.down, p.during = true, func() { w.clock.SetTime(w.clock.Now().Add(2 * failedLife)) }
	})
	for range 3 {
		w.g.Expect(w.browser().ask(http.MethodGet, "/auth/login").Code).To(Equal(http.StatusServiceUnavailable))
	}
	w.g.Expect(w.provider.known).To(Equal(1))
}

func TestGuessedCodes(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	refused := 0
	for range burst + 5 {
		back := b.begin("/")
		query := back.Query()
		query.Set("code", "guess")
		if b.ask(http.MethodGet, "/auth/callback?"+query.Encode()).Code == http.StatusTooManyRequests {
			refused++
		}
	}
	w.g.Expect(refused).To(Equal(5))
	w.g.Expect(w.provider.asked).To(BeNumerically("<=", 2*burst), "a client may show its secret in two ways")
}

func TestTooManyGroups(t *testing.T) {
	w := newWorld(t)
	groups := make([]string, 500)
	for n := range groups {
		groups[n] = fmt.Sprintf("00000000-0000-0000-0000-%012d", n)
	}
	w.provider.set(func(p *provider) { p.claims["groups"] = groups })
	b := w.browser()
	w.g.Expect(b.problemOf(b.signIn("/"), http.StatusForbidden)).To(ContainSubstring("You are in 500 groups, more than a cookie can hold"))
	w.g.Expect(strings.Join(w.lines, "\n")).To(And(ContainSubstring(`"A sign-in was refused"`), ContainSubstring(`"user"="oidc:42"`), ContainSubstring("You are in 500 groups")))
	b.isNobody()
	w.provider.set(func(p *provider) { p.claims["groups"] = groups[:55] })
	w.g.Expect(b.signIn("/").Code).To(Equal(http.StatusSeeOther))
}

// TestWhatIsSealedForOnePurpose is not opened for another, and never the same twice.
func TestWhatIsSealedForOnePurpose(t *testing.T) {
	w := newWorld(t)
	k, err := newKeys(w.options, w.clock, logr.Discard())
	w.g.Expect(err).NotTo(HaveOccurred())
	var got, other string
	sealed, err := k.seal("a", "text")
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(k.open("a", sealed, &got)).To(Succeed())
	w.g.Expect(got).To(Equal("text"))
	w.g.Expect(k.open("b", sealed, &other)).To(MatchError(errSealed))
	w.g.Expect(other).To(BeEmpty())
	again, err := k.seal("a", "text")
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(again).NotTo(Equal(sealed))
}

func TestClaims(t *testing.T) {
	plain := Claims{Username: "sub", Groups: "groups"}
	for name, tc := range map[string]struct {
		claims Claims
		said   map[string]any
		want   person.Person
		err    string
	}{
		"a name":                      {plain, map[string]any{"sub": "a"}, person.Person{Name: "a"}, ""},
		"another claim":               {Claims{Username: "login"}, map[string]any{"sub": "a", "login": "b", "groups": []any{"x"}}, person.Person{Name: "b"}, ""},
		"prefixes":                    {Claims{"sub", "u:", "groups", "g:"}, map[string]any{"sub": "a", "groups": []any{"x", "y"}}, person.Person{Name: "u:a", Groups: []string{"g:x", "g:y"}}, ""},
		"one group":                   {plain, map[string]any{"sub": "a", "groups": "x"}, person.Person{Name: "a", Groups: []string{"x"}}, ""},
		"no name":                     {plain, map[string]any{}, person.Person{}, `no text in the claim "sub"`},
		"a name that is empty":        {plain, map[string]any{"sub": ""}, person.Person{}, `no text in the claim "sub"`},
		"a name that is a number":     {plain, map[string]any{"sub": 7.0}, person.Person{}, `no text in the claim "sub"`},
		"groups that are a map":       {plain, map[string]any{"sub": "a", "groups": map[string]any{}}, person.Person{}, "wanted a text or a list of texts"},
		"a group that is a number":    {plain, map[string]any{"sub": "a", "groups": []any{"x", 7.0}}, person.Person{}, "something that is no text"},
		"groups that are elsewhere":   {plain, map[string]any{"sub": "a", "_claim_names": map[string]any{"groups": "src1"}}, person.Person{}, "more groups than the provider puts into a token"},
		"groups that are too many":    {plain, map[string]any{"sub": "a", "hasgroups": true}, person.Person{}, "more groups than the provider puts into a token"},
		"an address":                  {Claims{Username: "email"}, map[string]any{"email": "a@b.c"}, person.Person{Name: "a@b.c"}, ""},
		"one that is verified":        {Claims{Username: "email"}, map[string]any{"email": "a@b.c", "email_verified": true}, person.Person{Name: "a@b.c"}, ""},
		"one that is not":             {Claims{Username: "email"}, map[string]any{"email": "a@b.c", "email_verified": false}, person.Person{}, "has not verified"},
		"one that is, as a text":      {Claims{Username: "email"}, map[string]any{"email": "a@b.c", "email_verified": "true"}, person.Person{}, "has not verified"},
		"a user of Kubernetes":        {plain, map[string]any{"sub": "system:admin"}, person.Person{}, "one of Kubernetes' own users"},
		"one of them, by the prefix":  {Claims{Username: "sub", UsernamePrefix: "system:"}, map[string]any{"sub": "admin"}, person.Person{}, "one of Kubernetes' own users"},
		"a group of Kubernetes":       {plain, map[string]any{"sub": "a", "groups": []any{"system:masters"}}, person.Person{}, "one of Kubernetes' own groups"},
		"a group with such an ending": {Claims{Username: "sub", Groups: "groups", GroupsPrefix: "x:"}, map[string]any{"sub": "a", "groups": []any{"system:masters"}}, person.Person{Name: "a", Groups: []string{"x:system:masters"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := tc.claims.person(tc.said)
			if tc.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(got).To(Equal(tc.want))
		})
	}
	w := newWorld(t)
	w.provider.set(func(p *provider) { p.claims["sub"] = "" })
	b := w.browser()
	w.g.Expect(b.problemOf(b.signIn("/"), http.StatusForbidden)).To(ContainSubstring("does not say who you are"))
	w.g.Expect(strings.Join(w.lines, "\n")).To(And(ContainSubstring(`"A sign-in was refused"`), ContainSubstring("does not say who you are")))
}

func TestFilesOfASignIn(t *testing.T) {
	w := newWorld(t)
	short := base64.StdEncoding.EncodeToString([]byte("short"))
	for name, tc := range map[string]struct {
		change func(*Options)
		text   string
		err    string
	}{
		"no key":            {func(o *Options) { o.SessionKeyFile += ".not" }, newKey(), "reading the keys of sessions"},
		"an empty key":      {func(*Options) {}, "\n", "line 1: wanted 32 random bytes as base64"},
		"a short key":       {func(*Options) {}, short, "line 1: wanted 32 random bytes as base64"},
		"a short older key": {func(*Options) {}, newKey() + "\n" + short, "line 2: wanted 32 random bytes as base64"},
		"a key in words":    {func(*Options) {}, "secret!", "line 1: wanted 32 random bytes as base64"},
		"no CA":             {func(o *Options) { o.CAFile = o.SessionKeyFile + ".not" }, newKey(), "reading the CA of the provider"},
		"a CA that is none": {func(o *Options) { o.CAFile = o.SessionKeyFile }, newKey(), "wanted certificates as PEM, found none"},
		"no secret":         {func(o *Options) { o.ClientSecretFile += ".not" }, newKey(), "reading the client's secret"},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), w.options
			w.write(o.SessionKeyFile, tc.text)
			tc.change(&o)
			_, err := New(o, w.clock, logr.Discard())
			g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
		})
	}
	w.write(w.options.SessionKeyFile, newKey())
	w.write(w.options.ClientSecretFile, " \n")
	_, err := New(w.options, w.clock, logr.Discard())
	w.g.Expect(err).To(MatchError(ContainSubstring("it is empty")))
	w.options.ClientSecretFile = ""
	_, err = New(w.options, w.clock, logr.Discard())
	w.g.Expect(err).NotTo(HaveOccurred(), "a client may have none")
}
