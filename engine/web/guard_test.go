package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/web/person"
)

// known are tokens.
type known map[string]string

func (k known) Of(_ context.Context, token string) (*person.Person, error) {
	switch token {
	case "broken":
		return nil, errors.New("no answer at 10.0.0.1")
	case "guessed":
		return nil, fmt.Errorf("asking: %w", person.ErrTooMany)
	}
	if name, found := k[token]; found {
		return &person.Person{Name: name}, nil
	}
	return nil, nil //nolint:nilnil // nobody has it
}

// guardOf makes a guard that knows a token of ann.
func guardOf(anonymous *person.Person, next http.Handler) *Guard {
	return NewGuard(Doors{Tokens: known{"t": "ann"}, Anonymous: anonymous, Hosts: []string{"page.example.com"}, Clock: clock.RealClock{}, Log: logr.Discard()}, next)
}

// at sets the header Host.
func at(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }

// with sets headers, as name and value.
func with(headers ...string) func(*http.Request) {
	return func(r *http.Request) {
		for n := 0; n < len(headers); n += 2 {
			r.Header.Add(headers[n], headers[n+1])
		}
	}
}

func TestWhoIsLetIn(t *testing.T) {
	for name, tc := range map[string]struct {
		header    string
		anonymous *person.Person
		status    int
		who, why  string
	}{
		"a token":                            {"Bearer t", nil, http.StatusOK, "ann", ""},
		"a token, in other letters":          {"bearer  t", nil, http.StatusOK, "ann", ""},
		"a token where everybody is let in":  {"Bearer t", &person.Person{Name: "all"}, http.StatusOK, "ann", ""},
		"nothing":                            {"", nil, http.StatusUnauthorized, "", "web.anonymous"},
		"nothing where everybody is let in":  {"", &person.Person{Name: "all"}, http.StatusOK, "all", ""},
		"a guess":                            {"Bearer x", nil, http.StatusUnauthorized, "", "does not know the token"},
		"a guess where everybody is let in":  {"Bearer x", &person.Person{Name: "all"}, http.StatusUnauthorized, "", "does not know the token"},
		"another scheme":                     {"Basic t", nil, http.StatusUnauthorized, "", "Bearer TOKEN"},
		"another scheme, for everybody":      {"Basic t", &person.Person{Name: "all"}, http.StatusUnauthorized, "", "Bearer TOKEN"},
		"the token alone":                    {"t", nil, http.StatusUnauthorized, "", "Bearer TOKEN"},
		"an API server that does not answer": {"Bearer broken", &person.Person{Name: "all"}, http.StatusServiceUnavailable, "", "the API server did not answer"},
		"too many guesses":                   {"Bearer guessed", nil, http.StatusTooManyRequests, "", "try again in a moment"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			who := ""
			guard := guardOf(tc.anonymous, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				p, ok := person.From(r.Context())
				g.Expect(ok).To(BeTrue())
				who = p.Name
			}))
			r := ask(guard, http.MethodGet, "/api/v1/fleet", at("page.example.com"), func(r *http.Request) {
				if tc.header != "" {
					r.Header.Set("Authorization", tc.header)
				}
			})
			g.Expect(r.Code).To(Equal(tc.status))
			g.Expect(who).To(Equal(tc.who))
			g.Expect(r.Body.String()).To(ContainSubstring(tc.why))
			if tc.status != http.StatusOK {
				g.Expect(r.Header().Get("Content-Type")).To(Equal("application/problem+json"))
				g.Expect(r.Header().Get("Content-Security-Policy")).To(Equal(policy))
			}
			if tc.status == http.StatusUnauthorized {
				g.Expect(r.Header().Get("WWW-Authenticate")).To(HavePrefix("Bearer"))
			} else {
				g.Expect(r.Header().Get("WWW-Authenticate")).To(BeEmpty())
			}
		})
	}
}

func TestWhoIsSaidTwiceIsNobody(t *testing.T) {
	g := NewWithT(t)
	r := ask(guardOf(nil, serverOf(&canned{})), http.MethodGet, "/api/v1/fleet", with("Authorization", "Bearer t", "Authorization", "Bearer x"))
	g.Expect(r.Code).To(Equal(http.StatusBadRequest))
}

// TestWhatIsLoggedOfTokens: an error of the API server is for the log, and the token for neither.
func TestWhatIsLoggedOfTokens(t *testing.T) {
	g, lines := NewWithT(t), []string{}
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 9})
	guard := NewGuard(Doors{Tokens: known{}, Clock: clock.RealClock{}, Log: log}, serverOf(&canned{}))
	r := ask(guard, http.MethodGet, "/api/v1/fleet?token=broken", with("Authorization", "Bearer broken"))
	g.Expect(r.Code).To(Equal(http.StatusServiceUnavailable))
	g.Expect(r.Body.String()).NotTo(ContainSubstring("10.0.0.1"), "who is nobody learns nothing of the cluster")
	g.Expect(strings.Join(lines, "\n")).To(And(ContainSubstring("no answer at 10.0.0.1"), Not(ContainSubstring("broken"))))
}

// TestPagesOfOtherOrigins: where the browser shows by itself who asks, any page that is open in it could ask, and a name of somebody else could lead
// here. Who sends a token has been told to.
func TestPagesOfOtherOrigins(t *testing.T) {
	const refused, elsewhere = http.StatusForbidden, http.StatusMisdirectedRequest
	for name, tc := range map[string]struct {
		host, path string
		headers    []string
		status     int
	}{
		"its own page":                 {"page.example.com", "/api/v1/fleet", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, http.StatusOK},
		"no browser":                   {"page.example.com", "/api/v1/fleet", nil, http.StatusOK},
		"an address that is typed in":  {"page.example.com:443", "/", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, http.StatusOK},
		"in other letters":             {"Page.Example.Com.:9443", "/", nil, http.StatusOK},
		"a port of this machine":       {"localhost:9443", "/api/v1/fleet", nil, http.StatusOK},
		"an address":                   {"10.1.2.3:9443", "/api/v1/fleet", nil, http.StatusOK},
		"an address of six":            {"[::1]:9443", "/api/v1/fleet", nil, http.StatusOK},
		"a link from elsewhere":        {"page.example.com", "/boxes/web", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, http.StatusOK},
		"a link to the API":            {"page.example.com", "/api/v1/fleet", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, refused},
		"a stream for another page":    {"page.example.com", "/api/v1/nothing", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, refused},
		"a page of a neighbor":         {"page.example.com", "/api/v1/fleet", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, refused},
		"a file for another page":      {"page.example.com", "/app.js", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, refused},
		"an older browser":             {"page.example.com", "/api/v1/fleet", []string{"Origin", "https://evil.example.com"}, refused},
		"an older browser, no origin":  {"page.example.com", "/api/v1/fleet", []string{"Origin", "null"}, refused},
		"an older browser, well":       {"page.example.com", "/api/v1/fleet", []string{"Origin", "https://page.example.com"}, http.StatusOK},
		"a name that leads here":       {"evil.example.com", "/api/v1/fleet", []string{"Sec-Fetch-Site", "same-origin"}, elsewhere},
		"a name that looks like it":    {"page.example.com.evil.example.com", "/", nil, elsewhere},
		"a name that is an address to": {"localhost.evil.example.com:9443", "/", nil, elsewhere},
		"a port that is none":          {"page.example.com:1@evil.example.com", "/", nil, elsewhere},
		"no name":                      {"", "/", nil, elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			status := func(headers ...string) int {
				path := tc.path
				r := ask(guardOf(&person.Person{Name: "all"}, serverOf(&canned{})), http.MethodGet, path, at(tc.host), with(tc.headers...), with(headers...))
				if r.Code == http.StatusNotFound {
					return http.StatusOK // it was let in
				}
				return r.Code
			}
			g.Expect(status()).To(Equal(tc.status))
			g.Expect(status("Authorization", "Bearer t")).To(Equal(http.StatusOK))
		})
	}
}

// TestWhoAsksTooOften is told so, and keeps nobody else out.
func TestWhoAsksTooOften(t *testing.T) {
	g, clk := NewWithT(t), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	guard := NewGuard(Doors{Tokens: known{"t": "ann", "u": "bob"}, Anonymous: &person.Person{Name: "ann"}, Clock: clk, Log: logr.Discard()}, serverOf(&canned{}))
	asks := func(headers ...string) int {
		return ask(guard, http.MethodGet, "/api/v1/fleet", at("localhost"), with(headers...)).Code
	}
	for range burstEach {
		g.Expect(asks("Authorization", "Bearer t")).To(Equal(http.StatusOK))
	}
	g.Expect(asks("Authorization", "Bearer t")).To(Equal(http.StatusTooManyRequests))
	g.Expect(asks("Authorization", "Bearer u")).To(Equal(http.StatusOK))
	for range burstShared {
		g.Expect(asks()).To(Equal(http.StatusOK), "all together have more")
	}
	g.Expect(asks()).To(Equal(http.StatusTooManyRequests))
	clk.SetTime(clk.Now().Add(time.Second / rateEach))
	g.Expect(asks("Authorization", "Bearer t")).To(Equal(http.StatusOK))
	g.Expect(asks("Authorization", "Bearer t")).To(Equal(http.StatusTooManyRequests))
}
