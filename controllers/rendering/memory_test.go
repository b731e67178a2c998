package rendering

import (
	"context"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline"
)

var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func object(kind schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(obj.Object, content)
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// empty is a cluster of which nothing is known but some objects.
func empty(t *testing.T, objects ...*unstructured.Unstructured) *memory {
	t.Helper()
	crds := input.NewCRDs()
	known := &State{}
	for _, obj := range objects {
		known.Add(obj)
	}
	return &memory{
		Rendering: &Rendering{Validator: &validation.Validator{Options: validation.Options{CRDs: crds}, Mapper: crds.Mapper()}, Known: known, Words: Words{GiveRest: "by --with", GiveCRD: "by --crd, or --cluster"}}, plan: &pipeline.Plan{}, ctx: t.Context,
	}
}

func owner() apply.Owner {
	resource := object(schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Shop"}, "default", "flowers", nil)
	resource.SetUID("flowers")
	return apply.Owner{Resource: resource, Box: "shops", Label: "flowers"}
}

// A child is made once, corrected when what is declared changes, and left alone when it is made once.
func TestChildrenInMemory(t *testing.T) {
	g, m := NewWithT(t), empty(t)
	declared := func(value string, once bool) apply.Child {
		return apply.Child{Object: object(configMaps, "default", "a", map[string]any{"data": map[string]any{"key": value}}), ID: "a", Once: once}
	}
	for _, step := range []struct {
		child apply.Child
		want  apply.Action
		value string
	}{
		{declared("one", false), apply.Created, "one"},
		{declared("one", false), apply.None, "one"},
		{declared("two", false), apply.Changed, "two"},
		{declared("three", true), apply.None, "two"},
	} {
		out, err := m.Apply(t.Context(), owner(), step.child)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.Action).To(Equal(step.want))
		value, _, err := unstructured.NestedString(out.Object.Object, "data", "key")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(value).To(Equal(step.value))
	}
	g.Expect(m.Owned(configMaps, owner().Resource)).To(HaveLen(1))
	other := owner().Resource.DeepCopy()
	other.SetUID("weeds")
	g.Expect(m.Owned(configMaps, other)).To(BeEmpty())

	live := m.Owned(configMaps, owner().Resource)[0]
	for _, keep := range []func(context.Context) (apply.Outcome, error){
		func(ctx context.Context) (apply.Outcome, error) { return m.Keep(ctx, owner(), apply.Child{}, live) },
		func(ctx context.Context) (apply.Outcome, error) { return m.Expire(ctx, live, 5) },
	} {
		out, err := keep(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).To(Equal(apply.Outcome{Action: apply.None, Object: live}))
	}
	g.Expect(m.Orphan(t.Context(), owner(), live)).To(Succeed())
	g.Expect(m.rendered()).To(BeEmpty())
	g.Expect(m.Delete(t.Context(), live)).To(Succeed(), "one that is gone is no error")
}

// What --with says of a child is what a cluster would show of it, but for what is declared.
func TestAChildAsAClusterShowsIt(t *testing.T) {
	g := NewWithT(t)
	seen := object(configMaps, "default", "a", map[string]any{"data": map[string]any{"key": "old", "own": "stays"}, "status": map[string]any{"ready": true}})
	m := empty(t, seen)
	out, err := m.Apply(t.Context(), owner(), apply.Child{Object: object(configMaps, "default", "a", map[string]any{"data": map[string]any{"key": "new"}}), ID: "a"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Object.Object).To(And(HaveKeyWithValue("data", map[string]any{"key": "new", "own": "stays"}), HaveKeyWithValue("status", map[string]any{"ready": true})))
	g.Expect(apply.ManagedByUs(out.Object)).To(BeTrue())
	g.Expect(m.rendered()[0].Object).NotTo(HaveKey("status"), "what is sent has none")
	g.Expect(seen.Object["data"]).To(HaveKeyWithValue("key", "old"), "what was given stays as it is")
}

func TestMarksInMemory(t *testing.T) {
	g, m := NewWithT(t), empty(t)
	marks := apply.Marks{Finalizers: []string{v1alpha1.Finalizer}, Annotations: map[string]string{v1alpha1.AnnotationManagedBy: "shops"}}
	stored := owner().Resource
	marked, err := m.Mark(t.Context(), stored, marks)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(marks.On(marked)).To(BeTrue())
	g.Expect(marks.On(stored)).To(BeFalse(), "what was given stays as it is")
	again, err := m.Mark(t.Context(), marked, marks)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(marked))
	gone, err := m.Gone(t.Context(), marked)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(gone).To(BeFalse())
	g.Expect(m.Finish(t.Context(), marked, nil)).To(Succeed())
}

func TestWhatIsReadOfOthers(t *testing.T) {
	g := NewWithT(t)
	b, a := object(configMaps, "default", "b", nil), object(configMaps, "default", "a", nil)
	a.SetLabels(map[string]string{"app": "x"})
	m := empty(t, b, a, object(configMaps, "other", "a", nil))
	g.Expect(m.Get(configMaps, "default", "a")).To(BeIdenticalTo(a))
	g.Expect(m.Get(configMaps, "default", "c")).To(BeNil())
	g.Expect(m.Select(configMaps, "default", labels.Everything())).To(Equal([]*unstructured.Unstructured{a, b}), "by name")
	g.Expect(m.Select(configMaps, "", labels.Everything())).To(HaveLen(3))
	g.Expect(m.Select(configMaps, "", labels.SelectorFromSet(labels.Set{"app": "x"}))).To(ConsistOf(a))
	g.Expect(m.Observe(t.Context(), configMaps)).To(Succeed())
	g.Expect(m.Observe(t.Context(), schema.GroupVersionKind{Group: "x.example.com", Version: "v1", Kind: "X"})).To(MatchError(ContainSubstring("give its CRD by --crd, or --cluster")))

	kind := schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Shop"}
	plan := &pipeline.Plan{}
	plan.CRD.Kind = kind
	m.Boxes = []validation.Box{{Name: "shops", Plan: plan}}
	g.Expect(m.Box("shops")).To(Equal(kind))
	g.Expect(m.Box("others")).To(Equal(schema.GroupVersionKind{}))
}

func TestMergedTakesListsWhole(t *testing.T) {
	tree := map[string]any{"a": map[string]any{"b": "old", "c": "stays"}, "list": []any{"x", "y"}, "word": "old"}
	NewWithT(t).Expect(merged(tree, map[string]any{"a": map[string]any{"b": "new"}, "list": []any{"z"}, "word": map[string]any{"now": "a map"}})).To(Equal(map[string]any{
		"a": map[string]any{"b": "new", "c": "stays"}, "list": []any{"z"}, "word": map[string]any{"now": "a map"}}))
}

// withText gives what a text says that a cluster has.
func withText(t *testing.T, text string) (*State, error) {
	t.Helper()
	return empty(t).ReadState(input.Parse("with.yaml", []byte(text)))
}

func TestWithIsReadAsAClusterWouldHaveIt(t *testing.T) {
	g := NewWithT(t)
	s, err := withText(t, `
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {word: hunter2}
data: {other: YQ==}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
external:
  quota: {body: {limit: 5}}
  slow: {status: 503, headers: {Retry-After: "1"}}
`)
	g.Expect(err).NotTo(HaveOccurred())
	secret := s.get(corev1.SchemeGroupVersion.WithKind("Secret"), "default", "token")
	g.Expect(secret.Object).To(And(HaveKeyWithValue("data", map[string]any{"other": "YQ==", "word": "aHVudGVyMg=="}), Not(HaveKey("stringData"))))
	g.Expect(s.get(corev1.SchemeGroupVersion.WithKind("Namespace"), "", "team-a")).NotTo(BeNil(), "a kind without namespaces is in none")

	m := empty(t)
	m.Known = s
	a := answers{m.Rendering}
	answer, err := a.Call(t.Context(), &external.Request{Name: "quota"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer).To(Equal(&external.Answer{Status: 200, Headers: map[string]any{}, Body: map[string]any{"limit": int64(5)}}))
	answer, err = a.Call(t.Context(), &external.Request{Name: "slow"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Headers).To(Equal(map[string]any{"Retry-After": "1"}))
	_, err = a.Call(t.Context(), &external.Request{Name: "slow", Expected: []int{200, 204}})
	g.Expect(err).To(MatchError(ContainSubstring("answered 503, wanted [200 204]")))
	_, err = a.Call(t.Context(), &external.Request{Name: "none"})
	g.Expect(err).To(MatchError(ContainSubstring("nothing is called here: give the answer by --with, as external: {none: {status: 200, body: {}}}")))
}

func TestWithThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`external: {quota: 5}`:                                            "with.yaml: external.quota: wanted an object with status, body and headers",
		`external: {quota: {limit: 5}}`:                                   "with.yaml: external.quota.limit: unknown; wanted status, body and headers, with what the service says in body",
		`external: {quota: {headers: a}}`:                                 "with.yaml: external.quota.headers: wanted an object",
		`external: {quota: {status: "200"}}`:                              "with.yaml: external.quota.status: wanted a number",
		`{apiVersion: v1, kind: ConfigMap}`:                               "wanted objects with apiVersion, kind and metadata.name",
		`{kind: ConfigMap, metadata: {name: a}}`:                          "wanted objects with apiVersion, kind and metadata.name",
		`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a}}`:     "wanted objects with apiVersion, kind and metadata.name",
		`{apiVersion: v1, metadata: {name: a}, external: "what is that"}`: "wanted objects with apiVersion, kind and metadata.name",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := withText(t, text)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
		})
	}
}

func TestEveryBuiltInKindHasAScope(t *testing.T) {
	g := NewWithT(t)
	for kind, clusterScoped := range map[string]bool{"Namespace": true, "Pod": false, "PersistentVolume": true, "Secret": false} {
		scope, known := builtInScope(corev1.SchemeGroupVersion.WithKind(kind))
		g.Expect(known).To(BeTrue(), kind)
		g.Expect(scope).To(Equal(clusterScoped), kind)
	}
	_, known := builtInScope(corev1.SchemeGroupVersion.WithKind("Unheard"))
	g.Expect(known).To(BeFalse())
}
