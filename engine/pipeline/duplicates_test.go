package pipeline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// Whatever names a resource gives its children, in whichever order their declarations come, and whichever gates are closed: what was drawn stays,
// and stays that of its declaration, for as long as this makes an object of that name once, or keeps it.
func TestWhatWasDrawnStaysUnderAnyNames(t *testing.T) {
	drawn := func(id, name, more string) string {
		return fmt.Sprintf(`{id: %s, name: "{{ .spec.%s }}", once: true%s, data: {password: "{{ randAlpha 16 }}"}}`, id, name, more)
	}
	names, held := strings.Split("klmnopqrstuvwxyz", ""), map[string]int{}
	for seed := range uint64(40) {
		g, random := gomega.NewWithT(t), rand.New(rand.NewPCG(seed, 9))
		declared := []string{
			`{id: first, name: first}`, drawn("early", "host", ""), drawn("late", "image", ", after: [first]"),
			drawn("kept", "any.kept", ", whenFalse: Keep, when: [{field: spec.tls, equals: true}]"),
			drawn("dropped", "any.dropped", ", when: [{field: spec.tls, equals: false}]"),
			`{id: other, name: "{{ .spec.database.name }}", data: {password: fixed}}`, `{id: last, name: "{{ index .spec.tags 0 }}", after: [first], data: {password: fixed}}`,
		}
		random.Shuffle(len(declared), func(i, j int) { declared[i], declared[j] = declared[j], declared[i] })
		plan := planOf(t, "onCreate: {configmaps: ["+drawn("made", "any.made", "")+"]}\nonReconcile: {configmaps: ["+strings.Join(declared, ", ")+"]}")
		p, marks, now, tls := newPorts(), map[string]string{}, map[string]string{}, false
		for range 30 {
			for _, id := range []string{"early", "late", "kept", "dropped", "made"} {
				if now[id] == "" || random.IntN(4) == 0 {
					now[id] = names[random.IntN(len(names))]
				}
			}
			if random.IntN(3) == 0 {
				tls = !tls
			}
			before := map[string][2]string{}
			for _, c := range p.list(configMapKind, "u1") {
				id, name := children.IDOf(c), c.GetName()
				stays := now[id] == name && (id != "dropped" || !tls) || id == "kept" && !tls || id == "made" && marks[v1alpha1.AnnotationActiveSince] != ""
				if stays {
					before[name] = [2]string{id, p.data(name)["password"]}
				}
				if stays && now[id] != name {
					held[id]++
				}
			}
			resource := website(t, fmt.Sprintf(`{host: %q, image: %q, tls: %t, any: {kept: %q, dropped: %q, made: %q}, database: {name: %q}, tags: [%q]}`,
				now["early"], now["late"], tls, now["kept"], now["dropped"], now["made"], names[random.IntN(len(names))], names[random.IntN(len(names))]))
			resource.SetAnnotations(marks)
			r, _ := p.run(plan, resource) // many have an error
			marks = r.Stored.GetAnnotations()
			held["all"] += len(before)
			for _, c := range p.list(configMapKind, "u1") {
				if was, stays := before[c.GetName()]; stays {
					g.Expect([2]string{children.IDOf(c), p.data(c.GetName())["password"]}).To(gomega.Equal(was), "seed %d: %s of %s", seed, c.GetName(), declared)
					delete(before, c.GetName())
				}
			}
			g.Expect(before).To(gomega.BeEmpty(), "seed %d: deleted of %s", seed, declared)
		}
	}
	gomega.NewWithT(t).Expect(held).To(gomega.SatisfyAll(
		gomega.HaveKeyWithValue("all", gomega.BeNumerically(">", 1000)), gomega.HaveKeyWithValue("made", gomega.BeNumerically(">", 100)),
		gomega.HaveKeyWithValue("kept", gomega.BeNumerically(">", 20))), "names come back often enough, and enough is kept under a former one")
}

func TestSingularsOfPlannedKindsAreNoIDs(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, `onReconcile: {configmaps: [{id: statefulset, name: a}]}`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.HaveLen(1))
}

// What makes one object whatever the resource is, is known when the box is applied.
func TestDeclarationsOfOneObject(t *testing.T) {
	const same = ` makes the %s of the same name, and neither has a gate; give one of them another name, or each a ` + "`when`" + ` by which never both are made`
	for name, tc := range map[string]struct{ box, wrong, of string }{
		"one name":               {`onReconcile: {configmaps: [{id: a, name: x}, {id: b, name: x}]}`, `spec.onReconcile.configmaps[1]: Duplicate value: "x": spec.onReconcile.configmaps[0]`, "ConfigMap"},
		"one template":           {`onReconcile: {configmaps: [{id: a, name: "{{ .spec.host }}"}, {id: b, name: "{{ .spec.host }}"}]}`, `spec.onReconcile.configmaps[1]: Duplicate value: "{{ .spec.host }}": spec.onReconcile.configmaps[0]`, "ConfigMap"},
		"that of the resource":   {`onReconcile: {configmaps: [{id: a}, {id: b, name: "{{ .metadata.name }}"}]}`, `spec.onReconcile.configmaps[1]: Duplicate value: "{{ .metadata.name }}": spec.onReconcile.configmaps[0]`, "ConfigMap"},
		"in a manifest":          {`onReconcile: {configmaps: [{id: a, name: x}], resources: [{id: b, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]}`, `spec.onReconcile.resources[0]: Duplicate value: "x": spec.onReconcile.configmaps[0]`, "ConfigMap"},
		"of both groups":         {"onCreate: {configmaps: [{id: a, name: x}]}\nonReconcile: {configmaps: [{id: b, name: x}]}", `spec.onReconcile.configmaps[0]: Duplicate value: "x": spec.onCreate.configmaps[0]`, "ConfigMap"},
		"made once":              {`onReconcile: {configmaps: [{id: a, name: x, once: true}, {id: b, name: x}]}`, `spec.onReconcile.configmaps[1]: Duplicate value: "x": spec.onReconcile.configmaps[0]`, "ConfigMap"},
		"below the box's gate":   {"when: [{field: spec.tls, equals: true}]\nonReconcile: {configmaps: [{id: a, name: x}, {id: b, name: x}]}", `spec.onReconcile.configmaps[1]: Duplicate value: "x": spec.onReconcile.configmaps[0]`, "ConfigMap"},
		"in one namespace":       {`onReconcile: {configmaps: [{id: a, name: x, namespace: ns}, {id: b, name: x, namespace: ns}]}`, `spec.onReconcile.configmaps[1]: Duplicate value: "x": spec.onReconcile.configmaps[0]`, "ConfigMap"},
		"in another version":     {`onReconcile: {hpas: [{id: a, name: x, workload: w, maxReplicas: 2}], deployments: [{id: w, image: a}], resources: [{id: b, manifest: {apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: x}}}]}`, `spec.onReconcile.resources[0]: Duplicate value: "x": spec.onReconcile.hpas[0]`, "HorizontalPodAutoscaler"},
		"of onRollback":          {`rollback: {onRollback: {configmaps: [{id: a, name: x}, {id: b, name: x}]}}`, `spec.rollback.onRollback.configmaps[1]: Duplicate value: "x": spec.rollback.onRollback.configmaps[0]`, "ConfigMap"},
		"in another namespace":   {`onReconcile: {configmaps: [{id: a, name: x}, {id: b, name: x, namespace: ns}]}`, ``, ``},
		"of another kind":        {`onReconcile: {configmaps: [{id: a, name: x}], secrets: [{id: b, name: x}]}`, ``, ``},
		"of another group":       {`onReconcile: {services: [{id: a, name: x, port: 80, selector: {a: b}}], resources: [{id: b, manifest: {apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: x}}}]}`, ``, ``},
		"one of them has a gate": {`onReconcile: {configmaps: [{id: a, name: x}, {id: b, name: x, when: [{field: spec.tls, equals: true}]}]}`, ``, ``},
		"one of them is a loop":  {`onReconcile: {configmaps: [{id: a, name: x}, {id: b, name: x, forEach: {field: spec.tags, key: "{{ .item }}"}}]}`, ``, ``},
		"when the resource goes": {"onReconcile: {configmaps: [{id: a, name: x}]}\nonDelete: {configmaps: [{id: b, name: x}]}", ``, ``},
		"and when it goes back":  {"onReconcile: {configmaps: [{id: a, name: x}]}\nrollback: {onRollback: {configmaps: [{id: b, name: x}]}}", ``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t)})
			if tc.wrong == "" {
				g.Expect(errs).To(gomega.BeEmpty())
				return
			}
			g.Expect(errs).To(gomega.HaveLen(1))
			g.Expect(errs[0].Error()).To(gomega.Equal(tc.wrong + fmt.Sprintf(same, tc.of)))
		})
	}
}

// A name that is a mistake is reported as that, and not as one that another declaration has.
func TestAMistakenNameIsNoName(t *testing.T) {
	for name, box := range map[string]string{
		"two mistakes":           `onReconcile: {configmaps: [{id: a, name: "{{ randAlpha 5 }}"}, {id: b, name: "{{ randAlpha 5 }}"}]}`,
		"beside a default name":  `onReconcile: {configmaps: [{id: a}, {id: b, name: "{{ nothing }}"}]}`,
		"before a default name":  `onReconcile: {configmaps: [{id: a, name: "{{ nothing }}"}, {id: b}]}`,
		"beside another mistake": `onReconcile: {configmaps: [{id: a, name: x}, {id: b, name: x, when: [{field: nothing, equals: y}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, box), Env{CRD: websites(t)})
			g.Expect(errs).NotTo(gomega.BeEmpty())
			for _, err := range errs {
				g.Expect(err.Type).NotTo(gomega.Equal(field.ErrorTypeDuplicate), err.Error())
			}
		})
	}
}
