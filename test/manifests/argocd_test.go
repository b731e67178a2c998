package manifests_test

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestChartCarriesTheRuleOfArgoCD checks that the rule in the chart is the one in docs/how-to/argocd.md, which test/gitops runs.
func TestChartCarriesTheRuleOfArgoCD(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(root + "/docs/how-to/argocd.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var patch struct {
		Data map[string]string `json:"data"`
	}
	g.Expect(yaml.UnmarshalStrict([]byte(block), &patch)).To(Succeed())
	g.Expect(patch.Data).To(HaveLen(3))

	var data map[string]string
	for _, object := range helm(t, "argocd.healthRule=true", `argocd.kinds=["demo.example.com_Website", "orkestra.orkspace.io_CRDHealth"]`) {
		if object.GetKind() == "ConfigMap" {
			data, _, err = unstructured.NestedStringMap(object.Object, "data")
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	g.Expect(data).To(Equal(patch.Data))
}
