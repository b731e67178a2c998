package validation

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/controllers/input"
)

// What is one expression elsewhere is told its form here. Of other types nothing is said of what was meant.
func TestFormsOfFieldsThatAreOneExpressionElsewhere(t *testing.T) {
	const box = `
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: x}
spec:
  crd: {name: websites.demo.example.com}
  when: ["${schema.spec.on}"]
  onReconcile:
    configmaps:
    - {name: a, forEach: "${schema.spec.list}", data: {a: b}}
    - {name: b, readyWhen: ["${b.data.x}"], anyOf: ["${schema.spec.on}", 5], data: {a: b}}
    - {name: c, forEach: [a], data: {a: b}}
`
	g := NewWithT(t)
	v := emptyValidator(g)
	r, err := v.document(t.Context(), input.Parse("f", []byte(box))[0])
	g.Expect(err).NotTo(HaveOccurred())
	var got []string
	for _, m := range r.Errors {
		got = append(got, m.Path+": "+m.Message)
	}
	const condition = "want object, got string; write a list of conditions: {field: spec.x, equals: a}, or {cel: self.spec.x == 'a'}"
	g.Expect(got).To(ConsistOf(
		"spec.when[0]: "+condition,
		"spec.onReconcile.configmaps[0].forEach: want object, got string; write forEach: {field: spec.list}, with a path or a template of one action; the item is .item",
		"spec.onReconcile.configmaps[1].readyWhen[0]: "+condition,
		"spec.onReconcile.configmaps[1].anyOf[0]: "+condition,
		"spec.onReconcile.configmaps[1].anyOf[1]: want object, got integer",
		"spec.onReconcile.configmaps[2].forEach: want object, got array",
	))
}

// The mistakes of one document are told in the order of their lines, each once.
func TestMistakesAreSorted(t *testing.T) {
	g := NewWithT(t)
	r := Result{Valid: true, File: "a.yaml", Subject: `OperatorBox "a"`}
	r.add()
	g.Expect(r.Valid).To(BeTrue())
	late, early := input.Mistake{Path: "b", Message: "late", Line: 9}, input.Mistake{Path: "a", Message: "early", Line: 2}
	r.add(late, early)
	r.add(early, input.Mistake{Path: "a", Message: "at the same place", Line: 2})
	g.Expect(r.Valid).To(BeFalse())
	g.Expect(r.Errors).To(HaveExactElements(HaveField("Message", "at the same place"), early, late))
}
