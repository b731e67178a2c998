package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// suite is what is read of a suite of helm-unittest.
type suite struct {
	Templates []string       `json:"templates"`
	Set       map[string]any `json:"set"`
	Tests     []struct {
		Set     map[string]any   `json:"set"`
		Asserts []map[string]any `json:"asserts"`
	} `json:"tests"`
}

// TestSuitesNameEachTemplateAndValue: `make test-chart` runs the suites; here they are counted.
func TestSuitesNameEachTemplateAndValue(t *testing.T) {
	g := NewWithT(t)
	templates, set := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob(chart + "/tests/*_test.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		var s suite
		g.Expect(yaml.Unmarshal(content, &s)).To(Succeed(), file)
		for _, name := range s.Templates {
			templates[filepath.Base(name)] = true
		}
		paths(s.Set, "", set)
		for _, test := range s.Tests {
			g.Expect(test.Asserts).NotTo(BeEmpty(), file)
			paths(test.Set, "", set)
		}
	}
	present, err := filepath.Glob(chart + "/templates/*")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range present {
		if name := filepath.Base(file); !strings.HasPrefix(name, "_") {
			g.Expect(templates).To(HaveKey(name), "no suite names the template %s", name)
		}
	}
	schema := readYAML(t, chart+"/values.schema.json")
	for _, value := range valuePaths(readYAML(t, chart+"/values.yaml"), schema, "") {
		g.Expect(set).To(HaveKey(value), "no suite sets the value %s", value)
	}
}

// paths adds the paths of values that a suite sets. Keys may be paths themselves.
func paths(values map[string]any, path string, found map[string]bool) {
	for key, value := range values {
		below := path + "/" + strings.ReplaceAll(key, ".", "/")
		if object, ok := value.(map[string]any); ok && len(object) > 0 {
			paths(object, below, found)
		}
		found[below] = true
	}
}
