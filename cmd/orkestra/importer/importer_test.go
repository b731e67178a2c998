package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

const websites = "testdata/website.crd.yaml"

func orkestra(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(nil), stdin, args...)
}

func TestImport(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"katalog":  {[]string{"-f", "testdata/katalog.yaml", "--crd", websites}, 0},
		"fragment": {[]string{"-f", "testdata/fragment.yaml", "--crd", websites}, 0},
		"graph":    {[]string{"-f", "testdata/graph.yaml"}, 0},
		"loops":    {[]string{"-f", "testdata/loops.yaml"}, 0},
		"without":  {[]string{"-f", "testdata/without.yaml"}, exit.No},
		"unknown":  {[]string{"-f", "testdata/unknown.yaml", "--crd", websites}, exit.No},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", append([]string{"import"}, tc.args...)...)
			shared.Golden(t, name+".yaml", stdout)
			shared.Golden(t, name+".txt", stderr)
			g.Expect(code).To(Equal(tc.code), stderr)
			again, told, _ := orkestra(t, "", append([]string{"import"}, tc.args...)...)
			g.Expect([]string{again, told}).To(Equal([]string{stdout, stderr}), "it is the same each time")
			if tc.code != 0 {
				return
			}
			// What import says of its output, validate says of the text.
			args := []string{"validate", "-f", "-"}
			if len(tc.args) > 2 {
				args = append(args, tc.args[2:]...)
			} else {
				crd, _, _ := strings.Cut(stdout, "---\n")
				file := filepath.Join(t.TempDir(), "crd.yaml")
				g.Expect(os.WriteFile(file, []byte(crd), 0o600)).To(Succeed())
				args = append(args, "--crd", file)
			}
			out, notes, code := shared.Run(t, validate.NewCommand(nil, nil), stdout, args...)
			if name == "katalog" { // one of its two CRDs is not given
				g.Expect(out).To(ContainSubstring(`OperatorBox "website": valid`))
				return
			}
			g.Expect(code).To(BeZero(), out+notes)
		})
	}
}

func TestWrongUse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no file":                   {nil, `required flag(s) "filename" not set`},
		"an argument":               {[]string{"-f", "a.yaml", "b.yaml"}, "give files with -f: orkestra import -f a.yaml -f b.yaml\n"},
		"no such file":              {[]string{"-f", "none.yaml"}, "none.yaml: no such file or directory"},
		"nothing to import":         {[]string{"-f", websites}, "no Katalog and no ResourceGraphDefinition in " + websites},
		"nothing on standard input": {[]string{"-f", "-"}, "no Katalog and no ResourceGraphDefinition in standard input"},
		"no CRD":                    {[]string{"-f", "testdata/katalog.yaml", "--crd", "testdata/graph.yaml"}, "no CustomResourceDefinition in testdata/graph.yaml"},
		"standard input twice":      {[]string{"-f", "-", "--crd", "-"}, "standard input is given to both"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", append([]string{"import"}, tc.args...)...)
			g.Expect(code).To(Equal(exit.Usage))
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

// Where CRDs are given, a Katalog that names another one is not told to give one, but which there are.
func TestACRDIsMissedAmongThoseThatAreGiven(t *testing.T) {
	site, err := os.ReadFile(websites)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	pages := filepath.Join(t.TempDir(), "pages.yaml")
	NewWithT(t).Expect(os.WriteFile(pages, []byte(strings.NewReplacer("websites", "pages", "website", "page", "Website", "Page").Replace(string(site))), 0o600)).To(Succeed())
	for name, tc := range map[string]struct {
		entry string
		crds  []string
		code  int
		want  string
	}{
		"none is given": {"apiTypes: {group: demo.example.com, kind: Websit}", nil, 0,
			"schema of websits.demo.example.com unknown: paths are not checked; give --crd\n"},
		"by a wrong name": {"apiTypes: {group: demo.example.com, kind: Websit}", []string{websites}, 0,
			`schema of websits.demo.example.com unknown: paths are not checked; no file of -f or --crd holds this CRD, did you mean "websites.demo.example.com"?`},
		"a file, and none is given": {"crdFile: ./shop.crd.yaml", nil, exit.No, "spec.crds.shop.crdFile: the file is not read from here: give it with --crd ./shop.crd.yaml\n"},
		"another file":              {"crdFile: ./shop.crd.yaml", []string{websites}, 0, "1 box, 0 CRDs: 0 errors"},
		"other files": {"crdFile: ./shop.crd.yaml", []string{websites, pages}, exit.No,
			"spec.crds.shop.crdFile: no file that is given and holds a CRD is called shop.crd.yaml: give it with --crd ./shop.crd.yaml, or say in apiTypes which of those it is that are given: pages.demo.example.com, websites.demo.example.com\n"},
		"nothing, and none is given": {"enabled: true", nil, exit.No, "nothing says which CRD it is: wanted apiTypes with group and kind, or a CRD by --crd\n"},
		"nothing": {"enabled: true", []string{websites, pages}, exit.No,
			"nothing says which of the CRDs it is that are given: wanted apiTypes with group and kind, or crdFile; given: pages.demo.example.com, websites.demo.example.com\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			args := []string{"import", "-f", "-"}
			for _, crd := range tc.crds {
				args = append(args, "--crd", crd)
			}
			_, stderr, code := orkestra(t, `apiVersion: orkestra.orkspace.io/v1
kind: Katalog
metadata: {name: a}
spec:
  crds:
    shop:
      `+tc.entry+`
      operatorBox: {onReconcile: {configMaps: [{name: answer, data: {a: b}}]}}
`, args...)
			g.Expect(code).To(Equal(tc.code), stderr)
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

// A call that stands in a group is made where the group's conditions hold, as it was before.
func TestACallKeepsTheGateOfItsGroup(t *testing.T) {
	g := NewWithT(t)
	stdout, stderr, _ := orkestra(t, `apiVersion: orkestra.orkspace.io/v1
kind: Katalog
metadata: {name: a}
spec:
  crds:
    shop:
      apiTypes: {group: demo.example.com, kind: Shop, version: v1}
      operatorBox:
        onReconcile:
          when: {field: spec.checked, equals: true}
          external:
          - {name: one, url: "https://a.example.com"}
          - {name: two, url: "https://b.example.com", when: [{field: spec.both, equals: true}]}
          configMaps:
          - {name: answer, data: {a: "{{ .external.one.status }}"}}
`, "import", "-f", "-")
	var box struct {
		Spec struct {
			External []struct {
				Name string `json:"name"`
				When []struct {
					Field string `json:"field"`
				} `json:"when"`
			} `json:"external"`
		} `json:"spec"`
	}
	g.Expect(yaml.Unmarshal([]byte(stdout), &box)).To(Succeed())
	var gates []string
	for _, call := range box.Spec.External {
		for _, w := range call.When {
			gates = append(gates, call.Name+" "+w.Field)
		}
	}
	g.Expect(gates).To(Equal([]string{"one spec.checked", "two spec.checked", "two spec.both"}), stdout+stderr)
	g.Expect(stdout).NotTo(ContainSubstring("import: :"))
}

// Each is one sentence with file, line and field, and no reason to stop.
func TestBadInput(t *testing.T) {
	const katalog = "apiVersion: orkestra.orkspace.io/v1\nkind: Katalog\nmetadata: {name: a}\n"
	const graph = "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: a}\n"
	const schema = "spec:\n  schema: {apiVersion: v1, kind: A, group: demo.example.com"
	var types strings.Builder
	for i := range 30 {
		fmt.Fprintf(&types, "t%d: {a: t%d, b: t%d}, ", i, i+1, i+1)
	}
	for name, tc := range map[string]struct{ file, want string }{
		"no YAML":                    {katalog + "spec: [\n", `:4: error: not YAML: `},
		"a Katalog of others":        {"apiVersion: v1\nkind: Katalog\n", `:1: error: Katalog "": apiVersion: "v1" has no Katalog: wanted orkestra.orkspace.io/v1`},
		"no spec":                    {katalog, `error: Katalog "a": spec: wanted an object with crds`},
		"no CRDs":                    {katalog + "spec: {crds: 5}", `:4: error: Katalog "a": spec.crds: wanted an object with an entry for each CRD`},
		"an entry without name":      {katalog + "spec: {crds: [{workers: 1}]}", `spec.crds[0].name: wanted a name: the box gets it`},
		"a group that is a list":     {katalog + "spec: {crds: {a: {operatorBox: {onCreate: []}}}}", `spec.crds.a.operatorBox.onCreate: wanted an object from the plural of a kind to a list of declarations`},
		"wrong types everywhere":     {katalog + "spec: {crds: {a: {operatorBox: [], enabled: 1, apiTypes: 2, dependsOn: 3, normalize: 4, cross: {}, external: [5], rollback: 6, status: 7, reconciler: 8}}}", `spec.crds.a.dependsOn: wanted an object from the name of an entry`},
		"no definition of ours":      {"apiVersion: kro.run/v9\nkind: ResourceGraphDefinition\n", `apiVersion: "kro.run/v9" has no ResourceGraphDefinition that is known here: wanted kro.run/v1alpha1`},
		"no schema":                  {graph + "spec: {}\n", `spec.schema: wanted an object with apiVersion, kind and spec`},
		"no kind":                    {graph + "spec: {schema: {}}\n", `spec.schema.kind: wanted a text`},
		"a schema that is text":      {graph + schema + ", spec: hello}\n", `spec.schema.spec: wanted fields of SimpleSchema`},
		"types that hold each other": {graph + schema + ", spec: {a: b}, types: {b: {c: d}, d: {e: '[]b'}}}\n", `the type "b" holds itself, which no CRD can say: use object`},
		"types without end":          {graph + schema + ", spec: {a: t0}, types: {" + types.String() + "t30: {a: string}}}\n", `the schema has more than 2000 fields`},
		"a marker that is not known": {graph + schema + ", spec: {a: string | min=3}}\n", `spec.schema.spec.a: the marker "min" is not known`},
		"a quote that is open":       {graph + schema + `, spec: {a: 'string | default="x'}}` + "\n", `the marker default: the quote is not closed`},
		"resources that are none":    {graph + schema + "}\n  resources: 5\n", `spec.resources: wanted a list of resources`},
		"a loop that is none":        {graph + schema + "}\n  resources: [{id: a, forEach: [{x: 1, y: 2}], template: {apiVersion: v1, kind: ConfigMap}}]\n", `spec.resources[0].forEach[0]: wanted an object with one field`},
		"a loop over text":           {graph + schema + "}\n  resources: [{id: a, forEach: [{x: hello}], template: {apiVersion: v1, kind: ConfigMap}}]\n", `spec.resources[0].forEach[0].x: wanted one expression, ${...}`},
		"a kind that is computed":    {graph + schema + ", spec: {k: string}}\n  resources: [{id: a, template: {apiVersion: v1, kind: '${schema.spec.k}'}}]\n", `spec.resources[0].template.kind: the kind is to be written out: rights are derived from it`},
		"deep CEL":                   {graph + schema + ", status: {a: '${" + strings.Repeat("(", 5000) + strings.Repeat(")", 5000) + "}'}}\n", `spec.schema.status.a: left out: ${`},
		"a variable that hides":      {graph + schema + ", spec: {l: '[]string'}, status: {a: '${schema.spec.l.map(self, self)}'}}\n", `the variable self of its loop hides what a box calls so`},
		"a ring":                     {graph + schema + "}\n  resources:\n  - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${b.metadata.name}'}}}\n  - {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${a.metadata.name}'}}}\n", `does not compile`},
		"two of one name":            {katalog + "spec: {crds: {a: {apiTypes: {group: demo.example.com, kind: A}}}}\n---\n" + graph + schema + "}\n", `metadata.name: left out: stdin:4 makes the OperatorBox "a", too`},
		"control characters":         {graph + schema + ", \"a\\u001b[31m\\n\": 1}\n", `spec.schema[a\x1b[31m ]: left out`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, tc.file, "import", "-f", "-")
			g.Expect(stderr).To(ContainSubstring(tc.want))
			if name != "control characters" {
				g.Expect(code).To(Equal(exit.No), stdout+stderr)
			}
			for line := range strings.Lines(strings.TrimSpace(stderr)) {
				g.Expect(line).To(Or(HavePrefix("stdin:"), HavePrefix("note: "), HavePrefix("0 "), HavePrefix("1 "), HavePrefix("2 ")), stderr)
			}
		})
	}
}

// FuzzImport looks for input that makes the command panic, or speak differently the second time.
func FuzzImport(f *testing.F) {
	shared.Fuzz(f, "testdata/*.yaml", func(t *testing.T, text string) (stdout, stderr string, code int) {
		t.Helper()
		return orkestra(t, text, "import", "-f", "-")
	})
}

// The page shows what the command makes of its definition.
func TestPage(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../../docs/how-to/import.md")
	g.Expect(err).NotTo(HaveOccurred())
	var blocks []string
	for _, part := range strings.Split(string(page), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```\n")
		blocks = append(blocks, block)
	}
	g.Expect(blocks).To(HaveLen(2))
	stdout, stderr, code := orkestra(t, blocks[0], "import", "-f", "-")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stderr).To(Equal("1 box, 1 CRD: 0 errors, 0 remarks\n"))
	crd, box, _ := strings.Cut(stdout, "---\n")
	g.Expect(blocks[1]).To(Equal(box))
	shown, err := os.ReadFile("../../../docs/examples/webapplication.crd.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(shown)).To(Equal(crd))
}
