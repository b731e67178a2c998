package worker

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

func TestRequestsAreToldByVerb(t *testing.T) {
	const maps, one = "/api/v1/namespaces/a/configmaps", "/api/v1/namespaces/a/configmaps/b"
	for _, tc := range []struct{ method, path, content, want string }{
		{http.MethodPost, maps, "", "create"},
		{http.MethodPut, one, "", "update"},
		{http.MethodPatch, one, "application/merge-patch+json", "patch"},
		{http.MethodPatch, one, "application/apply-patch+yaml", "apply"},
		{http.MethodPatch, one, "application/apply-patch+cbor", "apply"},
		{http.MethodDelete, one, "", "delete"},
		{http.MethodDelete, maps, "", "deletecollection"},
		{http.MethodGet, one, "", verbGet},
		{http.MethodGet, maps + "?limit=5", "", verbList},
		{http.MethodGet, "/api/v1/configmaps", "", verbList},
		{http.MethodGet, "/api/v1/namespaces", "", verbList},
		{http.MethodGet, "/api/v1/namespaces/a", "", verbGet},
		{http.MethodGet, "/apis/demo.example.com/v1/websites", "", verbList},
		{http.MethodGet, "/apis/demo.example.com/v1/namespaces/a/websites", "", verbList},
		{http.MethodGet, "/apis/demo.example.com/v1/namespaces/a/websites/b/status", "", verbGet},
		{http.MethodGet, "/apis/demo.example.com/v1/websites/b", "", verbGet},
		{http.MethodGet, maps + "?watch=true", "", "watch"},
		{http.MethodGet, maps + "?watch=1", "", "watch"},
		{http.MethodGet, "/apis", "", verbGet},
		{http.MethodGet, "/api/v1", "", verbGet},
		{http.MethodGet, "/apis/apps/v1", "", verbGet},
		{http.MethodHead, one, "", "other"},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			g := NewWithT(t)
			request := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, http.NoBody)
			request.Header.Set("Content-Type", tc.content)
			g.Expect(VerbOf(request)).To(Equal(tc.want))
		})
	}
}

func TestTargets(t *testing.T) {
	for path, want := range map[string]Target{
		"/api/v1/configmaps":                                        {Resource: "configmaps"},
		"/api/v1/namespaces":                                        {Resource: "namespaces"},
		"/api/v1/namespaces/a":                                      {Resource: "namespaces", Name: "a"},
		"/api/v1/namespaces/a/configmaps/b":                         {Resource: "configmaps", Namespace: "a", Name: "b"},
		"/apis/apps/v1/namespaces/a/deployments":                    {Group: "apps", Resource: "deployments", Namespace: "a"},
		"/apis/demo.example.com/v1/websites/b":                      {Group: "demo.example.com", Resource: "websites", Name: "b"},
		"/apis/demo.example.com/v1/namespaces/a/websites/b/status/": {Group: "demo.example.com", Resource: "websites", Namespace: "a", Name: "b", Subresource: "status"},
	} {
		got, ok := TargetOf(path)
		g := NewWithT(t)
		g.Expect(ok).To(BeTrue(), path)
		g.Expect(got).To(Equal(want), path)
	}
	for _, path := range []string{"", "/", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz"} {
		_, ok := TargetOf(path)
		NewWithT(t).Expect(ok).To(BeFalse(), path)
	}
	g := NewWithT(t)
	g.Expect(Target{Resource: "pods"}.Kind()).To(Equal("pods"))
	g.Expect(Target{Group: "apps", Resource: "deployments", Subresource: "scale"}.Kind()).To(Equal("deployments.apps/scale"))
}

func TestEachRequestIsTold(t *testing.T) {
	g := NewWithT(t)
	var told []string
	var answer *http.Response
	var failure error
	next := roundTripper(func(*http.Request) (*http.Response, error) { return answer, failure })
	counting := NewCounting(next, func(verb string, code int) { told = append(told, fmt.Sprint(verb, code)) })
	send := func() (*http.Response, error) {
		return counting.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods", http.NoBody))
	}
	answer = &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody}
	got, err := send()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(BeIdenticalTo(answer))
	g.Expect(got.Body.Close()).To(Succeed())
	answer, failure = nil, errors.New("cut off")
	_, err = send() //nolint:bodyclose // there is none
	g.Expect(err).To(MatchError(failure))
	g.Expect(told).To(Equal([]string{"list429", "list0"}))
	g.Expect(counting.WrappedRoundTripper()).NotTo(BeNil())
}
