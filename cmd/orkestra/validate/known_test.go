package validate

import (
	"bytes"
	"os"
	"path/filepath"
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
