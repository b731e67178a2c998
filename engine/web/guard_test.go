package web

import (
	"context"
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/web/person"
)

// known are tokens.
type known map[string]string

func (k known) Of(_ context.Context, token string) (*person.Person, error) {
	if token == "broken" {
		return nil, errors.New("no answer")
	}
	if name, found := k[token]; found {
		return &person.Person{Name: name}, nil
	}
	return nil, nil //nolint:nilnil // nobody has it
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
		"an API server that does not answer": {"Bearer broken", &person.Person{Name: "all"}, http.StatusServiceUnavailable, "", "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			who := ""
			guard := NewGuard(known{"t": "ann"}, tc.anonymous, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				p, ok := person.From(r.Context())
				g.Expect(ok).To(BeTrue())
				who = p.Name
			}))
			r := ask(guard, http.MethodGet, "/api/v1/fleet", func(r *http.Request) {
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
