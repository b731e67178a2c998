package process

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// Who sends a token that the API server does not know is told so. That the API server can't be asked is another matter.
func TestTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		code    int
		answer  string
		want    int
		says    string
		entries int
	}{
		"one that is not known": {
			http.StatusCreated, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"error":"[invalid bearer token, the token has expired]"}}`,
			http.StatusUnauthorized, `no token was sent, or one that the API server does not know`, 0,
		},
		"not known, without a reason": {
			http.StatusCreated, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{}}`,
			http.StatusUnauthorized, `no token was sent, or one that the API server does not know`, 0,
		},
		"the manager may not ask": {
			http.StatusForbidden, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`,
			http.StatusInternalServerError, "Authentication failed", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.code)
				_, _ = w.Write([]byte(tc.answer))
			}))
			defer server.Close()
			filter, err := authenticated(&rest.Config{Host: server.URL}, server.Client())
			g.Expect(err).NotTo(HaveOccurred())
			entries := 0
			log := funcr.New(func(string, string) { entries++ }, funcr.Options{})
			handler, err := filter(log, http.NotFoundHandler())
			g.Expect(err).NotTo(HaveOccurred())

			request, got := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil), httptest.NewRecorder()
			request.Header.Set("Authorization", "Bearer junk")
			handler.ServeHTTP(got, request)

			g.Expect(got.Code).To(Equal(tc.want), got.Body.String())
			g.Expect(got.Body.String()).To(ContainSubstring(tc.says))
			g.Expect(entries).To(Equal(tc.entries), "lines of the log")
		})
	}
}
