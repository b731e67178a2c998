package manifests_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/engine/metrics"
)

// TestDashboards: the chart and kustomize have the files as they are, under the label that Grafana's sidecar looks for. test/rules judges what is in them.
func TestDashboards(t *testing.T) {
	g := NewWithT(t)
	made := only[corev1.ConfigMap](t, helm(t, "metrics.dashboards.enabled=true"), "ConfigMap")
	kustomized := only[corev1.ConfigMap](t, kustomize(t, "grafana"), "ConfigMap")
	g.Expect(kustomized.Data).To(Equal(made.Data))
	g.Expect(kustomized.Name).To(Equal(made.Name))
	g.Expect(kustomized.Namespace).To(Equal(made.Namespace))
	for _, one := range []*corev1.ConfigMap{made, kustomized} {
		g.Expect(one.Labels).To(HaveKeyWithValue("grafana_dashboard", "1"))
	}
	files, err := filepath.Glob(root + "/config/grafana/*.json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.Data).To(HaveLen(2))
	g.Expect(files).To(HaveLen(2))
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(made.Data).To(HaveKeyWithValue(filepath.Base(file), string(content)))
		g.Expect(json.Valid(content)).To(BeTrue(), file)
		for _, used := range regexp.MustCompile(`orkestra_[a-z_]+`).FindAllString(string(content), -1) {
			g.Expect(slices.ContainsFunc(metrics.Catalog(), func(s metrics.Series) bool {
				return s.Name == used || s.Type == metrics.Histogram && s.Name == strings.TrimSuffix(used, "_bucket")
			})).To(BeTrue(), "%s: there is no series %s", file, used)
		}
	}
	g.Expect(helm(t).ofKind("ConfigMap")).To(BeEmpty(), "not everybody has Grafana")
	labeled := only[corev1.ConfigMap](t, helm(t, "metrics.dashboards.enabled=true", `metrics.dashboards.labels={"grafana_dashboard": null, "show": "yes"}`,
		`metrics.dashboards.annotations={"grafana_folder": "Operators"}`), "ConfigMap")
	g.Expect(labeled.Labels).To(And(HaveKeyWithValue("show", "yes"), Not(HaveKey("grafana_dashboard"))))
	g.Expect(labeled.Annotations).To(Equal(map[string]string{"grafana_folder": "Operators"}))
}
