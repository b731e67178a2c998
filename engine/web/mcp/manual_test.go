package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/web/api"
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

// An answer has no more than a model can read, what is wrong first.
func TestAnswersAreShortened(t *testing.T) {
	g := NewWithT(t)
	many := &api.Resource{Notes: []string{"a note"}}
	for n := range 300 {
		many.Declarations = append(many.Declarations, api.Declaration{Declaration: fmt.Sprint(n), State: "Ready", YAML: "kind: A\n"})
	}
	many.Declarations[299].State = "Failed"
	got := shortened(many)
	g.Expect(got.Declarations).To(HaveLen(mostDeclarations))
	g.Expect(got.Declarations[0].Declaration).To(Equal("299"))
	g.Expect(got.Declarations[mostYAML-1].YAML).NotTo(BeEmpty())
	g.Expect(got.Declarations[mostYAML].YAML).To(BeEmpty())
	g.Expect(got.Notes).To(HaveExactElements("a note", "It has 300 declarations: the YAML of 20 is here, those first that are not as they should be, and 100 more are left out"))
	g.Expect(many.Declarations[mostYAML].YAML).NotTo(BeEmpty(), "what others have is as it was")
	few := &api.Resource{Declarations: many.Declarations[:mostYAML]}
	g.Expect(shortened(few)).To(BeIdenticalTo(few))
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
	text, failed = call(t, session, "list_resources", map[string]any{"box": "websites", "state": "faling"})
	g.Expect(failed).To(BeTrue())
	g.Expect(text).To(ContainSubstring(`state "faling": wanted one of Ready, Waiting, Failing`))
}
