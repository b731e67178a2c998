package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// lets is a namespace that lets these in.
func lets(name, from string) *unstructured.Unstructured {
	ns := other(stage.NamespaceKind, "", name, nil)
	ns.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowFrom: from})
	return ns
}

// withdraws runs a plan while the namespace "shared" lets the resource in, and again when it does not any more.
func withdraws(t *testing.T, before, after string) (*ports, *Run) {
	t.Helper()
	g := gomega.NewWithT(t)
	p := newPorts()
	shared := lets("shared", "team-a")
	p.others = append(p.others, shared)
	r, err := p.run(planOf(t, before), website(t, `{host: shared, image: old}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.done()
	shared.SetAnnotations(nil)
	next := website(t, `{host: shared, image: new}`)
	next.SetAnnotations(r.Stored.GetAnnotations())
	next.SetFinalizers(r.Stored.GetFinalizers())
	r, err = p.run(planOf(t, after), next)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return p, r
}

func TestANamespaceThatNoLongerLetsTheResourceInStopsOneDeclaration(t *testing.T) {
	const far = `{id: far, name: far, namespace: "{{ .spec.host }}", data: {a: "{{ .spec.image }}"}}`
	const near = `{id: near, name: near, data: {a: "{{ .spec.image }}"}}`
	g := gomega.NewWithT(t)
	p, r := withdraws(t, `onReconcile: {configmaps: [`+far+`, {name: old}, `+near+`]}`, `onReconcile: {configmaps: [`+far+`, `+near+`]}`)
	g.Expect(p.done()).To(gomega.ConsistOf("mark Website/shop", "change ConfigMap/near", "delete ConfigMap/old"), "others go on, and are pruned")
	g.Expect(r.Waits).To(gomega.Equal([]stage.Wait{{Of: "far", Reason: v1alpha1.ReasonNamespaceWithdrawn, Message: `far: namespace: namespace "shared" does not let resources of "team-a" in any more: ` +
		`add "team-a" to its annotation orkestra.orkspace.io/allow-from again, or write the namespace literally in the box; what is there stays as it is`}}))
	g.Expect(r.Stored.GetAnnotations()).To(gomega.HaveKeyWithValue(v1alpha1.AnnotationNamespaces, "shared"), "its children are still found there")
}

// A declaration that is gone leaves nothing behind, wherever its child is: no grant is needed to delete what is ours.
func TestWhatIsNoLongerDeclaredIsPrunedWhereNobodyIsLetInAnyMore(t *testing.T) {
	g := gomega.NewWithT(t)
	p, r := withdraws(t, `onReconcile: {configmaps: [{name: far, namespace: "{{ .spec.host }}"}]}`, `onReconcile: {configmaps: [{name: near}]}`)
	g.Expect(p.done()).To(gomega.ConsistOf("mark Website/shop", "create ConfigMap/near", "delete ConfigMap/far", "mark Website/shop"))
	g.Expect(r.Waits).To(gomega.BeEmpty())
}

// What is made once is not corrected anyway, so nothing waits: the resource says that it is left alone.
func TestWhatIsMadeOnceIsLeftAlone(t *testing.T) {
	const once = `onReconcile: {configmaps: [{name: far, namespace: "{{ .spec.host }}", once: true}]}`
	g := gomega.NewWithT(t)
	p, r := withdraws(t, once, once)
	g.Expect(p.done()).To(gomega.Equal([]string{"mark Website/shop"}))
	g.Expect(r.Waits).To(gomega.BeEmpty())
	g.Expect(r.Notes).To(gomega.ConsistOf(gomega.And(gomega.HavePrefix(`ConfigMap shared/far: namespace "shared" does not let resources of "team-a" in any more`), gomega.HaveSuffix("; it stays as it is"))))
}

// In a rollout, an item that is not there and can't be made has what leaves go on serving.
func TestWhatLeavesServesWhileANamespaceLetsNobodyIn(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	shared := lets("shared", "team-a")
	p.others = append(p.others, shared)
	plan := planOf(t, `onReconcile: {configmaps: [{name: "{{ .item }}", forEach: {field: spec.tags, rollout: {}}, namespace: '{{ if eq .item "far" }}shared{{ else }}team-a{{ end }}'}]}`)
	r, err := p.run(plan, website(t, `{tags: [far, old]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	shared.SetAnnotations(nil)
	for _, c := range p.list(configMapKind, "u1") {
		if c.GetName() == "far" {
			p.remove("lost", c)
		}
	}
	p.done()
	next := withSpec(t, r.Stored, `{tags: [far]}`)
	_, err = p.run(plan, next)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.BeEmpty())
	shared.SetAnnotations(lets("shared", "team-a").GetAnnotations())
	_, err = p.run(plan, next)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.Equal([]string{"create ConfigMap/far", "delete ConfigMap/old"}))
}

// An item that is gone is pruned although another of the same loop has to stop.
func TestOneItemStopsAlone(t *testing.T) {
	const loop = `onReconcile: {configmaps: [{name: "x-{{ .item }}", forEach: {field: spec.tags}, namespace: '{{ if eq .item "far" }}shared{{ else }}team-a{{ end }}'}]}`
	g := gomega.NewWithT(t)
	p := newPorts()
	shared := lets("shared", "team-a")
	p.others = append(p.others, shared)
	r, err := p.run(planOf(t, loop), website(t, `{tags: [far, near, old]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	p.done()
	shared.SetAnnotations(nil)
	next := website(t, `{tags: [far, near]}`)
	next.SetAnnotations(r.Stored.GetAnnotations())
	r, err = p.run(planOf(t, loop), next)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.done()).To(gomega.ContainElement("delete ConfigMap/x-old"))
	g.Expect(r.Waits).To(gomega.ConsistOf(gomega.HaveField("Reason", v1alpha1.ReasonNamespaceWithdrawn)))
}

func TestClusterScopedChildrenOfTwoNamespacesNeverMeet(t *testing.T) {
	class := schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}
	const dashed = `onReconcile: {resources: [{manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "{{ .metadata.namespace }}-{{ .metadata.name }}"}, value: 1}}]}`
	in := func(namespace, name string) *unstructured.Unstructured {
		r := website(t, "")
		r.SetNamespace(namespace)
		r.SetName(name)
		return r
	}
	g := gomega.NewWithT(t)
	plan, errs := Compile(boxOf(t, dashed), Env{CRD: websites(t), Mapper: stubMapper()})
	g.Expect(errs).To(gomega.BeEmpty())
	p := newPorts()
	p.namespaced = func(schema.GroupVersionKind) (bool, error) { return false, nil }
	_, err := p.run(plan, in("a", "b-c"))
	expectStep(g, err, stage.StepOnReconcile, Permanent, v1alpha1.ReasonInvalidChild)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(`from "a-b-c" it can't be told that its resource is in namespace "a"`)))
	_, err = p.run(plan, in("a-b", "c"))
	g.Expect(err).NotTo(gomega.HaveOccurred(), "the name is its own")
	g.Expect(p.children).To(gomega.HaveLen(1))

	// What an earlier version has made under such a name keeps it.
	p = newPorts()
	p.namespaced = func(schema.GroupVersionKind) (bool, error) { return false, nil }
	p.kinds = func() []schema.GroupVersionKind { return []schema.GroupVersionKind{class} }
	p.put(class, "a-b-c", "resources/PriorityClass/{{ .metadata.namespace }}-{{ .metadata.name }}", func(c *unstructured.Unstructured) { c.SetNamespace("") })
	_, err = p.run(plan, in("a", "b-c"))
	g.Expect(err).NotTo(gomega.HaveOccurred())

	unnamed, errs := Compile(boxOf(t, `onReconcile: {resources: [{manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1}}]}`), Env{CRD: websites(t), Mapper: stubMapper()})
	g.Expect(errs).To(gomega.BeEmpty())
	p = newPorts()
	p.namespaced = func(schema.GroupVersionKind) (bool, error) { return false, nil }
	_, err = p.run(unnamed, in("a", "b-c"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children[0].GetName()).To(gomega.MatchRegexp("^a-b-c-[0-9a-f]{16}$"))
}
