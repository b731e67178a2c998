package provision

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func TestATokenIsForOneAudienceAndTenMinutes(t *testing.T) {
	g := gomega.NewWithT(t)
	var path string
	var asked authenticationv1.TokenRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.Method + " " + r.URL.Path
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer := asked
		answer.Status.Token = "a.b.c"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&answer)
	}))
	defer server.Close()
	accounts, err := corev1client.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	tokens := Tokens{Accounts: accounts}

	token, err := tokens.Token(t.Context(), "team-a", "cloud", "sts.example.com")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(token).To(gomega.Equal("a.b.c"))
	g.Expect(path).To(gomega.Equal("POST /api/v1/namespaces/team-a/serviceaccounts/cloud/token"))
	g.Expect(asked.Spec.Audiences).To(gomega.ConsistOf("sts.example.com"))
	g.Expect(*asked.Spec.ExpirationSeconds).To(gomega.BeEquivalentTo(600))

	path, tokens.Refusal = "", errors.New("the account is gone")
	_, err = tokens.Token(t.Context(), "team-a", "cloud", "sts.example.com")
	g.Expect(err).To(gomega.MatchError("the account is gone"))
	g.Expect(path).To(gomega.BeEmpty(), "nothing is sent")
}
