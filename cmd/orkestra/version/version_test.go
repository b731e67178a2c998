package version

import (
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

func TestVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"text": {nil, "orkestra dev (commit none, " + runtime.Version() + ", tested with Kubernetes 1.36)\n"},
		"json": {[]string{"-o", "json"}, "{\n  \"version\": \"dev\",\n  \"commit\": \"none\",\n  \"go\": \"" + runtime.Version() + "\",\n  \"kubernetes\": \"1.36\"\n}\n"},
		"yaml": {[]string{"-o", "yaml"}, "commit: none\ngo: " + runtime.Version() + "\nkubernetes: \"1.36\"\nversion: dev\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := shared.Run(t, NewCommand(), "", append([]string{"version"}, tc.args...)...)
			g.Expect(code).To(BeZero(), stderr)
			g.Expect(stdout).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	_, stderr, code := shared.Run(t, NewCommand(), "", "version", "-o", "xml")
	g.Expect(code).To(Equal(exit.Usage))
	g.Expect(stderr).To(ContainSubstring(`--output "xml": wanted json or yaml`))
	g.Expect(UserAgent()).To(Equal("orkestra/dev"))
}
