package manifests_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/metrics"
)

// alerts are the rules of what is rendered.
func alerts(t *testing.T, rendered objects) (rules []map[string]any) {
	t.Helper()
	g := NewWithT(t)
	all := rendered.ofKind("PrometheusRule")
	g.Expect(all).To(HaveLen(1))
	groups, _, err := unstructured.NestedSlice(all[0].Object, "spec", "groups")
	g.Expect(err).NotTo(HaveOccurred())
	for _, group := range groups {
		of, _, err := unstructured.NestedSlice(group.(map[string]any), "rules")
		g.Expect(err).NotTo(HaveOccurred())
		for _, rule := range of {
			rules = append(rules, rule.(map[string]any))
		}
	}
	return rules
}

// page reads a page of the docs.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(path.Join(root, "docs", name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// TestAlerts: the chart and kustomize have the same, about series that there are, and each has a runbook.
func TestAlerts(t *testing.T) {
	g := NewWithT(t)
	rules := alerts(t, helm(t, "metrics.prometheusRule.enabled=true"))
	g.Expect(alerts(t, kustomize(t, "prometheus"))).To(Equal(rules))
	g.Expect(len(rules)).To(BeNumerically(">=", 8))
	series := map[string]bool{}
	for _, s := range metrics.Catalog() {
		series[s.Name] = true
	}
	operations := page(t, "operations.md")
	for _, rule := range rules {
		name, _ := rule["alert"].(string)
		expr, _ := rule["expr"].(string)
		used := regexp.MustCompile(`orkestra_[a-z_]+`).FindAllString(expr, -1)
		g.Expect(used).NotTo(BeEmpty(), name)
		for _, one := range used {
			g.Expect(series).To(HaveKey(one), name)
		}
		annotations, _ := rule["annotations"].(map[string]any)
		g.Expect(annotations).To(And(HaveKey("summary"), HaveKey("description")), name)
		url, _ := annotations["runbook_url"].(string)
		_, runbook, found := strings.Cut(url, "/docs/")
		g.Expect(found).To(BeTrue(), url)
		g.Expect(page(t, runbook)).To(ContainSubstring("`"+name+"`"), "the runbook names its alert")
		g.Expect(operations).To(ContainSubstring("| `" + name + "` |"))
		g.Expect(operations).To(ContainSubstring("(" + runbook + ")"))
	}
	g.Expect(helm(t).ofKind("PrometheusRule")).To(BeEmpty(), "its kind may not be installed")
	labeled := helm(t, "metrics.prometheusRule.enabled=true", `metrics.prometheusRule.labels={"release": "prometheus"}`).ofKind("PrometheusRule")[0]
	g.Expect(labeled.GetLabels()).To(HaveKeyWithValue("release", "prometheus"))
}
