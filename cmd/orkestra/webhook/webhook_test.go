package webhook

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/test/fixtures"
)

func TestTheWebhookRefusesWhatDoesNotGoTogether(t *testing.T) {
	own := []string{"--certificate-secret=a", "--webhook-configuration=b", "--certificate-names=c"}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no certificate":           {nil, "error: give --cert-dir, or --certificate-secret"},
		"a part of what is needed": {own[:2], "error: give --cert-dir, or --certificate-secret"},
		"two certificates":         {append([]string{"--cert-dir=d"}, own...), "error: --cert-dir goes without --certificate-secret"},
		"a short validity":         {append([]string{"--certificate-validity=1s"}, own...), "error: --certificate-validity 1s: wanted at least 30s"},
		"an address without port":  {[]string{"--cert-dir=d", "--bind-address=localhost"}, `error: --bind-address "localhost": wanted [HOST]:PORT`},
		"a port that is none":      {[]string{"--cert-dir=d", "--bind-address=:70000"}, `error: --bind-address ":70000": wanted [HOST]:PORT`},
		"a level":                  {[]string{"--log-level=loud"}, `error: --log-level "loud": wanted debug, info or error`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := fixtures.Run(t, NewCommand(nil), "", append([]string{"webhook"}, tc.args...)...)
			g.Expect(code).To(Equal(exit.Usage), stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}
