package process

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

// TestTheLevelOfTheLogChanges: of the logger that is there already, and only to a level that there is.
func TestTheLevelOfTheLogChanges(t *testing.T) {
	g := NewWithT(t)
	f := &Flags{}
	f.Bind(pflag.NewFlagSet("test", pflag.ContinueOnError))
	f.logLevel = "error"
	logger, err := f.Logger()
	g.Expect(err).NotTo(HaveOccurred())
	named := logger.WithName("here").WithValues("a", "b")
	g.Expect(named.Enabled()).To(BeFalse())
	handler := f.Metrics().ExtraHandlers[logLevelPath]
	ask := func(method, body string) (int, string) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, logLevelPath, strings.NewReader(body)))
		return answer.Code, answer.Body.String()
	}
	for _, tc := range []struct {
		method, body string
		code         int
		want         string
		info, debug  bool
	}{
		{http.MethodGet, "", http.StatusOK, "error\n", false, false},
		{http.MethodPut, "info", http.StatusOK, "info\n", true, false},
		{http.MethodPut, " DEBUG\n", http.StatusOK, "debug\n", true, true},
		{http.MethodPut, "loud", http.StatusBadRequest, "log level \"loud\": wanted debug, info or error\n", true, true},
		{http.MethodPut, "", http.StatusBadRequest, "log level \"\": wanted debug, info or error\n", true, true},
		{http.MethodPut, strings.Repeat("debug", 1000), http.StatusBadRequest, "wanted debug, info or error", true, true},
		{http.MethodPost, "info", http.StatusMethodNotAllowed, "POST: wanted GET, or PUT with a level\n", true, true},
		{http.MethodPut, "error", http.StatusOK, "error\n", false, false},
	} {
		code, text := ask(tc.method, tc.body)
		g.Expect(code).To(Equal(tc.code), text)
		g.Expect(text).To(ContainSubstring(tc.want))
		g.Expect(named.Enabled()).To(Equal(tc.info), tc.method+tc.body)
		g.Expect(named.V(1).Enabled()).To(Equal(tc.debug), tc.method+tc.body)
	}
	f.metricsSecure = false
	g.Expect(f.Metrics().ExtraHandlers).To(BeEmpty(), "nobody is asked who they are")
}
