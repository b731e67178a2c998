package validate

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/hook"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// orkestra runs the command as the binary does.
func orkestra(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(nil, nil), stdin, args...)
}

func read(g Gomega, name string) string {
	b, err := os.ReadFile(name)
	g.Expect(err).NotTo(HaveOccurred())
	return string(b)
}

// revisionDigits is what changes in the output whenever a default of the API does.
var revisionDigits = regexp.MustCompile(`-[0-9a-f]{10}\b`)

const (
	fixtures = "testdata/"
	websites = fixtures + "website.crd.yaml"
)

// TestValidateGolden compares what is printed with the golden files; UPDATE_GOLDEN=true writes them.
func TestValidateGolden(t *testing.T) {
	withCRD := func(file string) []string { return []string{"-f", fixtures + file, "--crd", websites} }
	for name, args := range map[string][]string{
		"valid":              withCRD("valid.yaml"),
		"admission":          withCRD("admission.yaml"),
		"admission-json":     append(withCRD("admission.yaml"), "-o", "json"),
		"crd-among-files":    {"-f", websites, "-f", fixtures + "valid.yaml"},
		"schema-unknown":     {"-f", fixtures + "valid.yaml"},
		"document-async":     {"-f", fixtures + "document-async.yaml"},
		"document-phases":    {"-f", fixtures + "document-phases.yaml"},
		"document-lifecycle": {"-f", fixtures + "document-lifecycle.yaml"},

		"unknown-field":    withCRD("unknown-field.yaml"),
		"unknown-metadata": withCRD("unknown-metadata.yaml"),
		"unknown-key":      withCRD("unknown-key.yaml"),
		"unknown-operator": withCRD("unknown-operator.yaml"),
		"unknown-kind":     withCRD("unknown-kind.yaml"),
		"unknown-function": withCRD("unknown-function.yaml"),
		"unknown-path":     withCRD("unknown-path.yaml"),
		"wrong-type":       withCRD("wrong-type.yaml"),
		"yaml-booleans":    withCRD("yaml-booleans.yaml"),
		"yaml-keys":        {"-f", fixtures + "yaml-keys.yaml"},
		"wrong-value":      withCRD("wrong-value.yaml"),
		"misplaced":        withCRD("misplaced.yaml"),
		"refused":          withCRD("refused.yaml"),
		"duplicate":        withCRD("duplicate.yaml"),
		"two-boxes":        withCRD("two-boxes.yaml"),
		"crd-field":        withCRD("crd-field.yaml"),
		"definition":       {"-f", fixtures + "definition.yaml"},
		"not-supported":    {"-f", fixtures + "not-supported.yaml"},
		"ring":             {"-f", fixtures + "ring.yaml"},
		"syntax":           withCRD("syntax.yaml"),
		"list":             withCRD("list.yaml"),
		"json-file":        withCRD("box.json"),
		"granting":         withCRD("granting.yaml"),
		"granting-allowed": append(withCRD("granting.yaml"), "--allow-granting-kinds"),

		"output-json": append(withCRD("list.yaml"), "-f", fixtures+"valid.yaml", "-f", fixtures+"document-async.yaml", "-o", "json"),
		"output-yaml": {"-f", fixtures + "list.yaml", "-f", fixtures + "document-async.yaml", "-o", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", append([]string{"validate"}, args...)...)
			got := "$ orkestra validate " + strings.Join(args, " ") + "\n" + stdout + "--- standard error\n" + stderr
			if code != 0 {
				got += "--- exit code 1\n"
				g.Expect(code).To(Equal(exit.No))
			}
			got = revisionDigits.ReplaceAllString(got, "-0123456789")
			shared.Golden(t, name+".txt", got)

			again, _, _ := orkestra(t, "", append([]string{"validate"}, args...)...)
			g.Expect(again).To(Equal(stdout), "the output is deterministic")
		})
	}
}

func TestValidateWrongUse(t *testing.T) {
	empty, catalogs := t.TempDir(), filepath.Join(t.TempDir(), "shops.yaml")
	NewWithT(t).Expect(os.WriteFile(catalogs, []byte("kind: Katalog\nmetadata: {name: shops}\n"), 0o600)).To(Succeed())
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no -f":                     {nil, `required flag(s) "filename" not set`},
		"an argument":               {[]string{"box.yaml"}, "give files with -f: orkestra validate -f box.yaml\n"},
		"a pattern of a shell":      {[]string{"-f", "a.yaml", "b.yaml"}, "give files with -f: orkestra validate -f a.yaml -f b.yaml\n"},
		"an unknown flag":           {[]string{"--filenam", "x"}, "unknown flag"},
		"an unknown format":         {[]string{"-f", websites, "-o", "xml"}, `--output "xml": wanted json, text, yaml`},
		"no such file":              {[]string{"-f", "testdata/none.yaml"}, "testdata/none.yaml: no such file or directory"},
		"a Katalog":                 {[]string{"-f", catalogs}, "no OperatorBox in " + catalogs + ": `orkestra import -f " + catalogs + "` makes one of Katalog \"shops\""},
		"no box":                    {[]string{"-f", websites}, "no OperatorBox in " + websites},
		"nothing on standard input": {[]string{"-f", "-", "-f", websites}, "no OperatorBox in standard input, " + websites},
		"an empty directory":        {[]string{"-f", empty}, "no OperatorBox in " + empty},
		"no such CRD file":          {[]string{"-f", fixtures + "valid.yaml", "--crd", "none.yaml"}, "none.yaml: no such file or directory"},
		"no CRD on standard input":  {[]string{"-f", fixtures + "valid.yaml", "--crd", "-"}, "no CustomResourceDefinition in standard input"},
		"no CRD in a CRD file":      {[]string{"-f", fixtures + "valid.yaml", "--crd", fixtures + "valid.yaml"}, "no CustomResourceDefinition in " + fixtures + "valid.yaml"},
		"standard input twice":      {[]string{"-f", "-", "--crd", "-"}, "standard input is given to both"},
		"context without a cluster": {[]string{"-f", fixtures + "valid.yaml", "--context", "a"}, "go with --cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", append([]string{"validate"}, tc.args...)...)
			g.Expect(code).To(Equal(exit.Usage))
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

func TestValidateReadsDirectoriesAndStandardInput(t *testing.T) {
	g := NewWithT(t)
	box := read(g, fixtures+"valid.yaml")
	dir := t.TempDir()
	g.Expect(os.Mkdir(filepath.Join(dir, "below"), 0o700)).To(Succeed())
	for file, content := range map[string]string{
		"a.yaml":       strings.Replace(box, "name: website", "name: first", 1),
		"below/b.yml":  strings.Replace(strings.Replace(box, "name: website", "name: second", 1), "websites.", "seconds.", 1),
		"ignored.txt":  "{{",
		"below/c.json": "{}",
	} {
		g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600)).To(Succeed())
	}

	stdout, stderr, code := orkestra(t, "", "validate", "-f", dir)
	g.Expect(code).To(BeZero(), stdout+stderr)
	g.Expect(stdout).To(ContainSubstring(`OperatorBox "first": valid`))
	g.Expect(stderr).To(HaveSuffix("1 box: 1 valid, 0 invalid\n"))

	stdout, stderr, code = orkestra(t, "", "validate", "-R", "-f", dir, "-f", filepath.Join(dir, "a.yaml"))
	g.Expect(code).To(BeZero(), stdout+stderr)
	g.Expect(stdout).To(ContainSubstring(filepath.Join(dir, "below", "b.yml") + `: OperatorBox "second": valid`))
	g.Expect(stderr).To(HaveSuffix("2 boxes: 2 valid, 0 invalid\n"), "a file that is given twice is read once")

	stdout, stderr, code = orkestra(t, box, "validate", "-f", "-", "--crd", websites)
	g.Expect(code).To(BeZero(), stdout+stderr)
	g.Expect(stdout).To(HavePrefix(`stdin: OperatorBox "website": valid`))
}

func TestValidateGivesTheRevisionOfTheCluster(t *testing.T) {
	g := NewWithT(t)
	stdout, _, _ := orkestra(t, "", "validate", "-f", fixtures+"document-lifecycle.yaml", "-o", "json")
	var results []struct {
		Revision string `json:"revision"`
	}
	g.Expect(json.Unmarshal([]byte(stdout), &results)).To(Succeed())

	// What the API server makes of the box: its defaults are in the revision.
	_, text, _ := strings.Cut(read(g, fixtures+"document-lifecycle.yaml"), "\n---\n")
	box := &v1alpha1.OperatorBox{}
	g.Expect(yaml.UnmarshalStrict([]byte(text), box)).To(Succeed())
	g.Expect(results[0].Revision).NotTo(Equal(boxspec.Revision(box)))
	defaults := []byte(`{"spec": {"crd": {"adopt": "Never", "deletionPolicy": "Retain"}, "workers": 3, "resync": "60s", "failureThreshold": 5, "revisionHistoryLimit": 10}}`)
	g.Expect(json.Unmarshal(defaults, box)).To(Succeed())
	g.Expect(results[0].Revision).To(Equal(boxspec.Revision(box)))
}

func TestValidateReportsCRDsThatCannotBeUsed(t *testing.T) {
	g := NewWithT(t)
	crd := read(g, websites)
	dir := t.TempDir()
	for file, content := range map[string]string{
		"1.yaml": crd,
		"2.yaml": crd, // the same again is no mistake
		"3.yaml": strings.Replace(crd, "{type: integer}", "{type: string}", 1),
		"4.yaml": strings.Replace(crd, "name: websites.", "name: website.", 1),
		"5.yaml": strings.Replace(crd, "served: true", "served: 1", 1),
		"6.yaml": "a: [",
	} {
		g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600)).To(Succeed())
	}
	stdout, stderr, code := orkestra(t, "", "validate", "-f", fixtures+"valid.yaml", "--crd", dir)
	g.Expect(code).To(Equal(exit.No))
	g.Expect(strings.ReplaceAll(stdout, dir+"/", "")).To(And(
		ContainSubstring(`3.yaml:4: CustomResourceDefinition "websites.demo.example.com": metadata.name: another CustomResourceDefinition of this name is in 1.yaml`),
		ContainSubstring(`4.yaml:4: CustomResourceDefinition "website.demo.example.com": metadata.name: must be <plural>.<group>: "websites.demo.example.com"`),
		ContainSubstring(`5.yaml:11: CustomResourceDefinition "websites.demo.example.com": spec.versions[0].served: want boolean, got integer`),
		ContainSubstring(`6.yaml:1: not YAML: `),
		ContainSubstring(`valid.yaml: OperatorBox "website": valid`),
		Not(ContainSubstring(`2.yaml`)),
	))
	g.Expect(stderr).To(Equal("1 box: 1 valid, 0 invalid; 4 other documents with mistakes\n"))
}

// FuzzValidate looks for input that makes the command panic or speak differently the second time.
func FuzzValidate(f *testing.F) {
	names, err := filepath.Glob(fixtures + "*.*")
	if err != nil || len(names) == 0 {
		f.Fatal("no seeds:", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	validate := func(t *testing.T, data []byte) string {
		t.Helper()
		crds := input.NewCRDs()
		docs := input.Parse("box.yaml", data)
		for _, doc := range docs {
			crds.Add(doc)
		}
		v, err := validation.New(validation.Options{CRDs: crds, Docs: docs, GiveCRD: "give it"})
		if err != nil {
			t.Fatal(err)
		}
		results, err := v.Validate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := printText(&b, results); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if diff := cmp.Diff(validate(t, data), validate(t, data)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFunctionsThatAreCompiledIn are known to the validate of the manager that has them, and to no other.
func TestFunctionsThatAreCompiledIn(t *testing.T) {
	code, err := hook.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	box := func(function string) string {
		return "{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: a}, spec: {crd: {name: as.demo.example.com}, reconciler: {hooks: {location: example.com/op, function: " + function + "}}}}"
	}
	const unknown = "it is not known here which functions the manager has"
	for _, none := range []*hook.Registry{nil, code} {
		stdout, _, exitCode := shared.Run(t, NewCommand(none, nil), box("Websites"), "validate", "-f", "-")
		g := NewWithT(t)
		g.Expect(exitCode).To(BeZero())
		g.Expect(stdout).To(ContainSubstring(unknown))
	}
	err = hook.AddHooks(code, "example.com/op.Websites", func() hook.Hooks[*unstructured.Unstructured] {
		return hook.Hooks[*unstructured.Unstructured]{OnReconcile: func(context.Context, *hook.Call[*unstructured.Unstructured]) error { panic("it is not run") }}
	})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	stdout, _, exitCode := shared.Run(t, NewCommand(code, nil), box("Websites"), "validate", "-f", "-")
	g.Expect(exitCode).To(BeZero(), stdout)
	g.Expect(stdout).NotTo(ContainSubstring(unknown))
	stdout, _, exitCode = shared.Run(t, NewCommand(code, nil), box("Website"), "validate", "-f", "-")
	g.Expect(exitCode).To(Equal(exit.No))
	g.Expect(stdout).To(ContainSubstring(`spec.reconciler.hooks.function: Not found: "example.com/op.Website": the manager has no such function, did you mean "example.com/op.Websites"?`))
}
