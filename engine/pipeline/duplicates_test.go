package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
)

func TestMistakesInCommonLabelsAreSaidOnce(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, `
commonLabels: {a: "{{ .spec.x1 }}"}
onReconcile: {configmaps: [{name: a}, {name: b}]}
`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.HaveLen(1))
}

func TestSingularsOfPlannedKindsAreNoIDs(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, `onReconcile: {configmaps: [{id: statefulset, name: a}]}`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.HaveLen(1))
}
