package validate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/input"
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
	valid, invalid, other := Result{isBox: true, Valid: true}, Result{isBox: true}, Result{}
	for want, results := range map[string][]Result{
		"0 boxes: 0 valid, 0 invalid":                                  {},
		"1 box: 1 valid, 0 invalid":                                    {valid},
		"3 boxes: 2 valid, 1 invalid":                                  {valid, invalid, valid},
		"1 box: 0 valid, 1 invalid; 1 other document with mistakes":    {invalid, other},
		"0 boxes: 0 valid, 0 invalid; 2 other documents with mistakes": {other, other},
	} {
		NewWithT(t).Expect(summary(results)).To(Equal(want))
	}
}

// The mistakes of one document are told in the order of their lines, each once.
func TestMistakesAreSorted(t *testing.T) {
	g := NewWithT(t)
	r := Result{Valid: true, File: "a.yaml", subject: `OperatorBox "a"`}
	r.add()
	g.Expect(r.Valid).To(BeTrue())
	late, early := input.Mistake{Path: "b", Message: "late", Line: 9}, input.Mistake{Path: "a", Message: "early", Line: 2}
	r.add(late, early)
	r.add(early, input.Mistake{Path: "a", Message: "at the same place", Line: 2})
	g.Expect(r.Valid).To(BeFalse())
	g.Expect(r.Errors).To(HaveExactElements(HaveField("Message", "at the same place"), early, late))
	var out bytes.Buffer
	g.Expect(printText(&out, []Result{r})).To(Succeed())
	g.Expect(out.String()).To(Equal("a.yaml:2: OperatorBox \"a\": a: at the same place\na.yaml:2: OperatorBox \"a\": a: early\na.yaml:9: OperatorBox \"a\": b: late\n"))
}
