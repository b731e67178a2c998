package process

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// Whom the API server does not know, and who has no right, is told so. That the API server can't be asked is another matter.
func TestWhoMayReadMetrics(t *testing.T) {
	const (
		unknown   = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"error":"[invalid bearer token, the token has expired]"}}`
		known     = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ann"}}}`
		allowed   = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`
		denied    = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":false}}`
		forbidden = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`
		noToken   = `no token was sent, or one that the API server does not know: send the header "Authorization: Bearer TOKEN"`
	)
	for name, tc := range map[string]struct {
		header, token, right, path string
		want                       int
		says                       string
		entries                    int
	}{
		"no header":                    {"", known, allowed, "/metrics", http.StatusUnauthorized, noToken, 0},
		"another scheme":               {"Basic YTpi", known, allowed, "/metrics", http.StatusUnauthorized, noToken, 0},
		"a token that is not known":    {"Bearer t", unknown, allowed, "/metrics", http.StatusUnauthorized, noToken, 0},
		"no right":                     {"Bearer t", known, denied, "/metrics", http.StatusForbidden, "ann needs the right to get the nonResourceURL /metrics: bind a ClusterRole with that to it; the one whose name ends in -metrics-reader has it\n", 0},
		"no right to something else":   {"Bearer t", known, denied, "/debug/x", http.StatusForbidden, "ann needs the right to get the nonResourceURL /debug/x: bind a ClusterRole with that to it\n", 0},
		"a right":                      {"Bearer t", known, allowed, "/metrics", http.StatusOK, "the series", 0},
		"it is not told whose":         {"Bearer t", forbidden, allowed, "/metrics", http.StatusServiceUnavailable, "the API server did not say", 1},
		"whether they may is not told": {"Bearer t", known, forbidden, "/metrics", http.StatusServiceUnavailable, "the API server did not say", 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := tc.token
				if strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
					answer = tc.right
				}
				w.Header().Set("Content-Type", "application/json")
				if answer == forbidden {
					w.WriteHeader(http.StatusForbidden)
				}
				_, _ = w.Write([]byte(answer))
			}))
			defer server.Close()
			filter, err := authenticated(&rest.Config{Host: server.URL}, server.Client())
			g.Expect(err).NotTo(HaveOccurred())
			entries := 0
			log := funcr.New(func(string, string) { entries++ }, funcr.Options{})
			handler, err := filter(log, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the series")) }))
			g.Expect(err).NotTo(HaveOccurred())

			request, got := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil), httptest.NewRecorder()
			if tc.header != "" {
				request.Header.Set("Authorization", tc.header)
			}
			handler.ServeHTTP(got, request)

			g.Expect(got.Code).To(Equal(tc.want), got.Body.String())
			g.Expect(got.Body.String()).To(ContainSubstring(tc.says))
			g.Expect(entries).To(Equal(tc.entries), "lines of the log")
		})
	}
}
