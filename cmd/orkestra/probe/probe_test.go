package probe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
)

// probed runs the command, and gives its exit code and what it printed.
func probed(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var printed writer
	cmd := NewCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetOut(&printed)
	cmd.SetErr(&printed)
	code = exit.Run(context.WithoutCancel(t.Context()), cmd, args)
	return code, string(printed)
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

func TestProbeWaitsUntilReady(t *testing.T) {
	g := NewWithT(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Expect(r.URL.Path).To(Equal("/readyz"))
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	code, out := probed(t, server.URL+"/readyz")
	g.Expect(code).To(BeZero(), out)
	g.Expect(out).To(Equal(server.URL + "/readyz is ready\n"))
	g.Expect(asked.Load()).To(BeEquivalentTo(2))
}

func TestProbeSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"not ready": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "informers: not synced", http.StatusServiceUnavailable)
		}, `it answers 503 Service Unavailable: "informers: not synced"`},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
			}
		}, "it answers 302 Found"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(c.answer)
			t.Cleanup(server.Close)
			code, out := probed(t, server.URL+"/readyz", "--timeout=200ms")
			g.Expect(code).To(Equal(1))
			g.Expect(out).To(And(ContainSubstring("is not ready after 200ms: "), ContainSubstring(c.want)))
		})
	}
}

func TestProbeOfNobody(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	code, out := probed(t, server.URL, "--timeout=200ms")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(ContainSubstring("connection refused"))
}

func TestProbeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":      {nil, "wanted one argument URL, such as http://127.0.0.1:8081/readyz, got none"},
		"no scheme":    {[]string{"127.0.0.1:8081/readyz"}, "the URL"},
		"another":      {[]string{"ftp://a/readyz"}, `the URL "ftp://a/readyz": wanted one such as http://127.0.0.1:8081/readyz`},
		"no host":      {[]string{"http:///readyz"}, "wanted one such as"},
		"no time":      {[]string{"http://a", "--timeout=0"}, "--timeout 0s: wanted a duration above 0"},
		"unknown flag": {[]string{"http://a", "--wait=1s"}, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code, out := probed(t, c.args...)
			g.Expect(code).To(Equal(2))
			g.Expect(out).To(ContainSubstring(c.want))
		})
	}
}
