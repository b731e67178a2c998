package manifests_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// TestTheValuesOfTheHardeningGuideRender renders the chart with the values that the page shows in one piece.
func TestTheValuesOfTheHardeningGuideRender(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations", "security.md"))
	g.Expect(err).NotTo(HaveOccurred())
	blocks := regexp.MustCompile("(?s)<!-- values -->\n```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	g.Expect(blocks).To(HaveLen(1))
	values := filepath.Join(t.TempDir(), "values.yaml")
	g.Expect(os.WriteFile(values, []byte(blocks[0][1]), 0o600)).To(Succeed())
	out, err := run(t, "helm", "template", "orkestra", chart, "--namespace", namespace, "--values", values)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(And(
		ContainSubstring("--require-service-account"), ContainSubstring("--box-namespaces=team-a"), ContainSubstring("--external-only=api.example.com"),
		ContainSubstring("catalog.team-a.svc:8080"), ContainSubstring("kind: NetworkPolicy"), ContainSubstring("resourceNames: [\"site-operator\"]"),
	))
}
