package pipeline

import (
	"slices"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// servedBy is a Deployment that carries our finalizer, and the label of a box.
func servedBy(box string) *unstructured.Unstructured {
	obj := deploymentOf("web")
	obj.SetFinalizers([]string{v1alpha1.Finalizer})
	obj.SetLabels(map[string]string{"expose": "yes", v1alpha1.LabelServedBy: box})
	return obj
}

func TestAnObjectOfOthersIsHeldWhereSomethingWouldBeLeftBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		spec  string
		held  bool
		marks bool // something may be written to the object
	}{
		"children beside it":           {spec: "onReconcile: {configmaps: [{}]}"},
		"a status":                     {spec: "status: {fields: [{path: collisionCount, value: 3}]}"},
		"dependsOn":                    {spec: "dependsOn: [{name: db}], onReconcile: {configmaps: [{}]}"},
		"a call that reads":            {spec: "external: [{name: a, url: 'http://example.com'}]"},
		"how onDelete would run":       {spec: "deletion: {timeout: 5m}"},
		"a call that writes":           {spec: "external: [{name: a, method: POST, url: 'http://example.com'}]", marks: true},
		"Jobs":                         {spec: "onReconcile: {jobs: [{image: a}]}", marks: true},
		"onCreate":                     {spec: "onCreate: {configmaps: [{}]}", marks: true},
		"rollback":                     {spec: "rollBackOnError: true", marks: true},
		"finalizers":                   {spec: "finalizers: [a.io/b]", held: true, marks: true},
		"onDelete":                     {spec: "onDelete: {configmaps: [{}]}", held: true, marks: true},
		"deletion in reverse":          {spec: "deletion: {children: Reverse}", held: true, marks: true},
		"another namespace":            {spec: "onReconcile: {configmaps: [{namespace: other}]}", held: true, marks: true},
		"a namespace by a template":    {spec: "onReconcile: {configmaps: [{namespace: '{{ .metadata.name }}'}]}", held: true, marks: true},
		"cluster-scoped children":      {spec: "onReconcile: {namespaces: [{name: '{{ .metadata.namespace }}-{{ .metadata.name }}'}]}", held: true, marks: true},
		"children that stay":           {spec: "onReconcile: {configmaps: [{deletionPolicy: Orphan}]}", held: true, marks: true},
		"providers":                    {spec: "providers: {cloud: [{id: a, bucket: {name: a}}]}", held: true, marks: true},
		"patches of objects of others": {spec: "onReconcile: {patches: [{target: {apiVersion: v1, kind: ConfigMap, name: a}, patch: {data: {a: b}}}]}", held: true, marks: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan, errs := othersBox(t, ofDeployments, exposed+", "+tc.spec)
			g.Expect(errs).To(gomega.BeEmpty())
			g.Expect(slices.Contains(plan.Finalizers, v1alpha1.Finalizer)).To(gomega.Equal(tc.held))
			for _, rule := range plan.Required() {
				if rule.Resources[0] == "deployments" {
					g.Expect(slices.Contains(rule.Verbs, "patch")).To(gomega.Equal(tc.marks))
				}
			}
			p := newPorts()
			_, _ = p.run(plan, deploymentOf("web")) // calls fail here, which is all the same to what is marked before
			held := slices.ContainsFunc(p.wrote, func(w string) bool { return w == "mark" })
			if !tc.marks {
				g.Expect(held).To(gomega.BeFalse(), "%v", p.wrote)
			}
		})
	}
}

func TestWhoseMarksAreOnAnObjectOfOthers(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := othersBox(t, ofDeployments, exposed)
	g.Expect(errs).To(gomega.BeEmpty())
	ours, theirs, unnamed, copied := servedBy("exposed"), servedBy("other"), servedBy(""), servedBy("other")
	unnamed.SetLabels(nil)
	copied.SetFinalizers(nil)
	for _, tc := range []struct {
		what   string
		obj    *unstructured.Unstructured
		holds  bool
		heldBy string
	}{
		{"ours", ours, true, ""}, {"of another box", theirs, false, "other"}, {"without a label", unnamed, true, ""},
		{"a label that was copied", copied, false, ""}, {"nothing", deploymentOf("web"), false, ""},
	} {
		g.Expect(plan.Holds(tc.obj)).To(gomega.Equal(tc.holds), tc.what)
		g.Expect(plan.HeldBy(tc.obj)).To(gomega.Equal(tc.heldBy), tc.what)
	}
}

// The controller of Deployments copies their annotations to ReplicaSets, so those of an object that this box has not marked say nothing of it.
func TestAnnotationsThatWereCopiedAreNotRead(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := othersBox(t, ofDeployments, exposed+", onCreate: {configmaps: [{}]}")
	g.Expect(errs).To(gomega.BeEmpty())
	obj := deploymentOf("web")
	obj.SetAnnotations(map[string]string{v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z", "team": "a"})
	r := plan.NewRun(obj, now, newPorts().ports())
	g.Expect(r.Marks.Active).To(gomega.BeFalse())
	g.Expect(r.Stored.GetAnnotations()).To(gomega.Equal(map[string]string{"team": "a"}))
	g.Expect(obj.GetAnnotations()).To(gomega.HaveLen(2), "what the cache has stays as it is")
	obj.SetLabels(map[string]string{v1alpha1.LabelServedBy: "exposed"})
	g.Expect(plan.NewRun(obj, now, newPorts().ports()).Marks.Active).To(gomega.BeTrue())
}

// TestWhatPatchesHaveTakenIsKnownAfterTheBox: a box that is deleted leaves its patches, with the note of what they have taken. The one that comes
// after it reads the note, and not one that was copied from another object.
func TestWhatPatchesHaveTakenIsKnownAfterTheBox(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := othersBox(t, ofDeployments, exposed+", onReconcile: {patches: [{id: v, force: true, target: {apiVersion: v1, kind: ConfigMap, name: a}, patch: {data: {a: p}}}]}")
	g.Expect(errs).To(gomega.BeEmpty())
	for _, of := range []string{string(deploymentOf("web").GetUID()), "another-uid"} {
		obj := deploymentOf("web")
		note := `[{"id":"v","apiVersion":"v1","kind":"ConfigMap","name":"a","taken":{"uid":"x"},"of":"` + of + `"}]`
		obj.SetAnnotations(map[string]string{v1alpha1.AnnotationPatches: note})
		read := plan.NewRun(obj, now, newPorts().ports()).Stored.GetAnnotations()[v1alpha1.AnnotationPatches]
		if of == "another-uid" {
			note = ""
		}
		g.Expect(read).To(gomega.Equal(note), of)
	}
}

// Objects of kinds without metadata.generation are told apart by what they hold.
func TestAnObjectWithoutAGenerationIsKnownByItsContent(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := othersBox(t, ofDeployments, exposed)
	g.Expect(errs).To(gomega.BeEmpty())
	obj := deploymentOf("web")
	obj.SetGeneration(0)
	p := newPorts()
	r, err := p.run(plan, obj)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, obj, p, now)).To(gomega.BeTrue())
	changed := obj.DeepCopy()
	changed.SetResourceVersion("71")
	g.Expect(unstructured.SetNestedField(changed.Object, "x", "status", "y")).To(gomega.Succeed())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, changed, p, now)).To(gomega.BeTrue(), "neither metadata nor status is content")
	g.Expect(unstructured.SetNestedField(changed.Object, int64(5), "spec", "replicas")).To(gomega.Succeed())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, changed, p, now)).To(gomega.BeFalse())
}
