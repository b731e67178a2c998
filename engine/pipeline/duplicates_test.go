package pipeline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
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

// Whatever names a resource gives its children, and in whichever order their declarations come: what was drawn stays for as long as a declaration
// that makes it once renders an object of that name.
func TestWhatWasDrawnStaysUnderAnyNames(t *testing.T) {
	drawn := func(id, name, more string) string {
		return fmt.Sprintf(`{id: %s, name: "{{ .spec.%s }}", once: true%s, data: {password: "{{ randAlpha 16 }}"}}`, id, name, more)
	}
	names, held := strings.Split("stuvwxyz", ""), 0
	for seed := range uint64(40) {
		g, random := gomega.NewWithT(t), rand.New(rand.NewPCG(seed, 9))
		declared := []string{
			`{id: first, name: first}`, drawn("early", "host", ""), drawn("late", "image", ", after: [first]"),
			`{id: other, name: "{{ .spec.database.name }}", data: {password: fixed}}`, `{id: last, name: "{{ index .spec.tags 0 }}", after: [first], data: {password: fixed}}`,
		}
		random.Shuffle(len(declared), func(i, j int) { declared[i], declared[j] = declared[j], declared[i] })
		plan, p := planOf(t, "onReconcile: {configmaps: ["+strings.Join(declared, ", ")+"]}"), newPorts()
		pick := func() string { return names[random.IntN(len(names))] }
		host, image := pick(), pick()
		for range 30 {
			if random.IntN(4) == 0 {
				host = pick()
			}
			if random.IntN(4) == 0 {
				image = pick()
			}
			before := map[string]string{}
			for _, c := range p.list(configMapKind, "u1") {
				if id := children.IDOf(c); c.GetName() == host && id == "early" || c.GetName() == image && id == "late" {
					before[c.GetName()] = p.data(c.GetName())["password"]
				}
			}
			_, _ = p.run(plan, website(t, fmt.Sprintf(`{host: %q, image: %q, database: {name: %q}, tags: [%q]}`, host, image, pick(), pick()))) // most have an error
			held += len(before)
			for name, password := range before {
				g.Expect(p.data(name)).To(gomega.HaveKeyWithValue("password", password), "seed %d: %s", seed, declared)
			}
		}
	}
	gomega.NewWithT(t).Expect(held).To(gomega.BeNumerically(">", 100), "names come back often enough")
}

func TestSingularsOfPlannedKindsAreNoIDs(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, `onReconcile: {configmaps: [{id: statefulset, name: a}]}`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.HaveLen(1))
}
