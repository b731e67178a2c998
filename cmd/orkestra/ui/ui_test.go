package ui

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"
)

// The page goes by the Date of its answers, which is the API server's time, also where this machine's clock is wrong.
func TestAnswersAreDatedByTheCluster(t *testing.T) {
	g := NewWithT(t)
	there := time.Date(2036, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	server := httptest.NewServer(dated(http.NotFoundHandler(), testclock.NewFakePassiveClock(there)))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := server.Client().Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	g.Expect(answer.Header.Values("Date")).To(ConsistOf("Wed, 02 Jan 2036 02:04:05 GMT"))
}
