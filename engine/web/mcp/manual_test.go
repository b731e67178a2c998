package mcp

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	toolLine = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [^|]+ \\| ([^|]+) \\|$")
	quoted   = regexp.MustCompile("`([a-z]+)`")
)

// The manual names each tool, what it needs, and what else it takes.
func TestTheManualHasAllArguments(t *testing.T) {
	g := NewWithT(t)
	manual, err := os.ReadFile("../../../docs/how-to/control-center.md")
	g.Expect(err).NotTo(HaveOccurred())
	words := func(text string) []string {
		all := []string{}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return all
	}
	type takes struct{ needs, may []string }
	said := map[string]takes{}
	for _, m := range toolLine.FindAllStringSubmatch(string(manual), -1) {
		needs, may, _ := strings.Cut(m[2], "may take")
		said[m[1]] = takes{words(needs), words(may)}
	}
	list, err := connect(t, Config{Source: &source{}, Actor: &actor{}}).ListTools(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	known := map[string]takes{}
	for _, tool := range list.Tools {
		text, err := json.Marshal(tool.InputSchema)
		g.Expect(err).NotTo(HaveOccurred())
		var schema struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		}
		g.Expect(json.Unmarshal(text, &schema)).To(Succeed())
		of := takes{slices.Sorted(slices.Values(schema.Required)), []string{}}
		for name := range schema.Properties {
			if !slices.Contains(schema.Required, name) {
				of.may = append(of.may, name)
			}
		}
		slices.Sort(of.may)
		known[tool.Name] = takes{append([]string{}, of.needs...), of.may}
	}
	g.Expect(said).To(Equal(known))
}

// What is wrong with the arguments of a call is said by their names.
func TestWrongArgumentsAreNamed(t *testing.T) {
	g, session := NewWithT(t), connect(t, Config{Source: &source{}})
	text, failed := call(t, session, "explain_condition", map[string]any{"box": "websites", "name": "web"})
	g.Expect(failed).To(BeTrue())
	g.Expect(text).To(ContainSubstring(`"type"`))
	text, failed = call(t, session, "get_box", map[string]any{"box": "websites", "namespase": "n"})
	g.Expect(failed).To(BeTrue())
	g.Expect(text).To(ContainSubstring(`"namespase"`))
}
