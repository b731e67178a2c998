package validate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
)

// two are two boxes of which one reads the resources of the other.
func two(read string) string {
	return `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: pages}
spec:
  crd: {definition: {group: demo.example.com, scope: Namespaced, names: {plural: pages, singular: page, kind: Page, listKind: PageList},
    versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}
  cross: [{name: site, box: website, selector: {name: web}}]
  onReconcile: {configmaps: [{data: {a: "{{ .cross.site.` + read + ` }}"}}]}
`
}

// A path into the resources of another box is checked against the schema of that box's CRD, if the files hold both.
func TestPathsIntoOtherBoxes(t *testing.T) {
	other := fixtures + "valid.yaml"
	for name, tc := range map[string]struct {
		read  string
		files []string
		code  int
		want  string
	}{
		"right":                   {"spec.image", []string{other, websites}, 0, `OperatorBox "pages": valid`},
		"misspelled":              {"spec.imgae", []string{other, websites}, exit.No, `did you mean "image"?`},
		"the CRD is in no file":   {"spec.imgae", []string{other}, 0, `OperatorBox "pages": valid`},
		"the box is in no file":   {"spec.imgae", []string{websites}, 0, `OperatorBox "pages": valid`},
		"the box has wrong types": {"spec.imgae", []string{websites, fixtures + "wrong-type.yaml"}, exit.No, `OperatorBox "pages"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			file := filepath.Join(t.TempDir(), "pages.yaml")
			g.Expect(os.WriteFile(file, []byte(two(tc.read)), 0o600)).To(Succeed())
			args := []string{"validate", "-f", file}
			for _, f := range tc.files {
				args = append(args, "-f", f)
			}
			stdout, stderr, code := orkestra(t, "", args...)
			g.Expect(code).To(Equal(tc.code), stdout+stderr)
			g.Expect(stdout).To(ContainSubstring(tc.want))
		})
	}
}

// A box that compiles, and of which people would hardly want what comes of it, is valid with a note.
func TestWhatABoxLeavesToWishForIsNoted(t *testing.T) {
	const (
		subresource = "version v1 of websites.demo.example.com has no status subresource: results are in events and in CRDHealth only. Add subresources: {status: {}} to the version of the CRD"
		fields      = "the schema of websites.demo.example.com does not know status.conditions and status.observedGeneration: they are left out of the resources' status. Add them to the schema of the CRD"
		idle        = "nothing is done for a resource: the box declares no children, no hook, no clean-up, no rules and no status"
		child       = "onReconcile: {configmaps: [{data: {a: b}}]}"
	)
	without := func(parts ...string) func(string) string {
		return func(crd string) string {
			for _, part := range parts {
				crd = strings.Replace(crd, part, "", 1)
			}
			return crd
		}
	}
	whole := without()
	for name, tc := range map[string]struct {
		spec string
		crd  func(string) string // nil: no file holds it
		want []string
	}{
		"all is well":                   {child, whole, nil},
		"no CRD":                        {child, nil, []string{"schema of websites.demo.example.com unknown: paths are not checked; give --crd or --cluster"}},
		"no subresource":                {child, without("subresources: {status: {}}"), []string{subresource}},
		"no conditions in the schema":   {child, without("observedGeneration: {type: integer, format: int64}", "conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}"), []string{fields}},
		"nothing":                       {"workers: 2", whole, []string{idle}},
		"nothing that is written out":   {"onReconcile: {configmaps: []}, mutation: {rules: []}, status: {}, reconciler: {}", whole, []string{idle}},
		"what is only read and gated":   {"when: [{field: spec.tls, equals: true}], cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: a}}], deletion: {timeout: 1m}", whole, []string{idle}},
		"nothing and nowhere to say it": {"workers: 2", without("subresources: {status: {}}"), []string{subresource, idle}},
		"a rule":                        {"validation: {rules: [{field: spec.replicas, operator: lte, value: 3}]}", whole, nil},
		"a default":                     {"mutation: {rules: [{field: spec.replicas, default: 3}]}", whole, nil},
		"a field":                       {`status: {fields: [{path: phase, value: "a"}]}`, whole, nil},
		"a clean-up":                    {"onDelete: {configmaps: [{data: {a: b}}]}", whole, nil},
		"a hook":                        {"reconciler: {hooks: {webhook: {url: 'https://hooks.example.com/a'}}}", whole, nil},
		"a call":                        {"external: [{name: a, url: 'https://a.example.com'}]", whole, nil},
		"a finalizer":                   {"finalizers: [example.com/a]", whole, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			args := []string{"validate", "-f", "-", "-o", "json"}
			if tc.crd != nil {
				file := filepath.Join(t.TempDir(), "crd.yaml")
				g.Expect(os.WriteFile(file, []byte(tc.crd(read(g, websites))), 0o600)).To(Succeed())
				args = append(args, "--crd", file)
			}
			stdout, stderr, code := orkestra(t, "{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: a}, spec: {crd: {name: websites.demo.example.com}, "+tc.spec+"}}", args...)
			g.Expect(code).To(BeZero(), stdout+stderr)
			var results []validation.Result
			g.Expect(json.Unmarshal([]byte(stdout), &results)).To(Succeed())
			g.Expect(results).To(HaveLen(1))
			wanted := make([]any, 0, len(tc.want))
			for _, want := range tc.want {
				wanted = append(wanted, HavePrefix(want))
			}
			g.Expect(results[0].Notes).To(HaveExactElements(wanted...))
		})
	}
}

func TestSummary(t *testing.T) {
	valid, invalid, other := validation.Result{IsBox: true, Valid: true}, validation.Result{IsBox: true}, validation.Result{}
	for want, results := range map[string][]validation.Result{
		"0 boxes: 0 valid, 0 invalid":                                  {},
		"1 box: 1 valid, 0 invalid":                                    {valid},
		"3 boxes: 2 valid, 1 invalid":                                  {valid, invalid, valid},
		"1 box: 0 valid, 1 invalid; 1 other document with mistakes":    {invalid, other},
		"0 boxes: 0 valid, 0 invalid; 2 other documents with mistakes": {other, other},
	} {
		NewWithT(t).Expect(summary(results)).To(Equal(want))
	}
}

// A mistake is printed with its file, its line and its path.
func TestMistakesArePrinted(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(printText(&out, []validation.Result{{File: "a.yaml", Subject: `OperatorBox "a"`, Errors: []input.Mistake{{Path: "a", Message: "early", Line: 2}, {Path: "b", Message: "late", Line: 9}}}})).To(Succeed())
	g.Expect(out.String()).To(Equal("a.yaml:2: OperatorBox \"a\": a: early\na.yaml:9: OperatorBox \"a\": b: late\n"))
}
