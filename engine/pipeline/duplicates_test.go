package pipeline

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestMistakesInCommonLabelsAreSaidOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, `
commonLabels: {a: "{{ .spec.x1 }}"}
onReconcile: {configmaps: [{name: a}, {name: b}]}
`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.HaveLen(1))
}

// What was drawn for a child that is made once can't be drawn again: nothing writes it over, also where its own declaration comes later.
func TestWhatIsMadeOnceIsNotWrittenOver(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, `
onReconcile:
  configmaps:
  - {id: first, name: first}
  - {id: keep, name: kept, after: [first], once: true, data: {password: "{{ randAlpha 16 }}"}}
  - {id: other, name: "{{ .spec.host }}", data: {password: fixed}}
`)
	_, err := p.run(plan, website(t, `{host: elsewhere}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	drawn := p.data("kept")
	g.Expect(drawn).To(gomega.HaveKeyWithValue("password", gomega.HaveLen(16)))

	_, err = p.run(plan, website(t, `{host: kept}`))
	expectStep(g, err, "onReconcile", Refused, v1alpha1.ReasonDuplicateChild)
	g.Expect(err.Error()).To(gomega.HaveSuffix(`"other" renders ConfigMap "kept", which "keep" has made once; give one of them another name`))
	g.Expect(p.data("kept")).To(gomega.Equal(drawn))

	_, err = p.run(plan, website(t, `{host: elsewhere}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.data("kept")).To(gomega.Equal(drawn))

	_, err = p.run(planOf(t, `onReconcile: {configmaps: [{id: other, name: kept, data: {password: fixed}}]}`), website(t, `{}`))
	g.Expect(err).NotTo(gomega.HaveOccurred(), "a declaration that is gone holds nothing")
	g.Expect(p.data("kept")).To(gomega.HaveKeyWithValue("password", "fixed"))
}

func TestSingularsOfPlannedKindsAreNoIDs(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, `onReconcile: {configmaps: [{id: statefulset, name: a}]}`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.HaveLen(1))
}
