package rollback

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func website(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Website",
		"metadata": map[string]any{
			"name": name, "namespace": "shop", "uid": "1234", "generation": int64(3), "resourceVersion": "77",
			"labels":      map[string]any{"team": "a", v1alpha1.LabelManaged: "true"},
			"annotations": map[string]any{v1alpha1.AnnotationManagedSince: "long ago"},
			"finalizers":  []any{v1alpha1.Finalizer},
		},
		"spec":   map[string]any{"image": "<a> & b", "replicas": int64(3), "share": 0.5, "list": []any{int64(1), "x", nil}},
		"status": map[string]any{"phase": "Running"},
	}}
}

// testKey signs what tests write.
var testKey = Key("0123456789abcdef0123456789abcdef")

func take(resource *unstructured.Unstructured) Snapshot {
	return Take(resource, "shops", "shops-0123456789", func(key string) bool { return strings.HasPrefix(key, v1alpha1.GroupName) })
}

// stored is an object as the API server gives it back.
func stored(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	back := &unstructured.Unstructured{}
	if err := back.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestSnapshotComesBack(t *testing.T) {
	g := NewWithT(t)
	s := take(website("web"))
	g.Expect(s.Metadata).To(Equal(map[string]any{
		"name": "web", "namespace": "shop", "uid": "1234", "generation": int64(3), "labels": map[string]any{"team": "a"},
	}), "what templates read, without what is Orkestra's")
	obj, err := s.encode(testKey, website("web"), "shop", 7)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(obj.GetName()).To(MatchRegexp(`^web-[0-9a-f]{32}$`))
	g.Expect(obj.GetLabels()).To(Equal(map[string]string{
		v1alpha1.LabelSnapshot: "true", v1alpha1.LabelOwnerUID: "1234", v1alpha1.LabelBox: "shops",
	}), "no label but Orkestra's: a StatefulSet adopts loose revisions by label")
	g.Expect(obj.GetOwnerReferences()).To(BeEmpty(), "they can't cross namespaces")

	back, content, err := decode(stored(t, obj), hashSize)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(testKey.signed(content, obj.GetAnnotations()[v1alpha1.AnnotationSignature])).To(BeTrue())
	g.Expect(Key("another key").signed(content, obj.GetAnnotations()[v1alpha1.AnnotationSignature])).To(BeFalse())
	g.Expect(back.Hash()).To(HaveLen(64))
	g.Expect(obj.GetName()).To(Equal("web-"+back.Hash()[:32]), "its name has a part of it")
	back.hash = ""
	g.Expect(back).To(Equal(s))
	g.Expect(back.Of(3, "shops-0123456789")).To(BeTrue())
	g.Expect(back.Of(2, "shops-0123456789")).To(BeFalse())
	g.Expect(back.Of(3, "shops-other")).To(BeFalse())
}

func TestSnapshotOfAResourceWithoutSpec(t *testing.T) {
	g := NewWithT(t)
	resource := website("web")
	delete(resource.Object, "spec")
	resource.SetNamespace("")
	obj, err := take(resource).encode(testKey, resource, "orkestra-system", 1)
	g.Expect(err).NotTo(HaveOccurred())
	back, _, err := decode(stored(t, obj), hashSize)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Spec).To(BeNil())
	g.Expect(back.Metadata).NotTo(HaveKey("namespace"))
}

func TestNames(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("a", 220) + "." + strings.Repeat("b", 32)
	resource := website(long)
	obj, err := take(resource).encode(testKey, resource, "shop", 1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(obj.GetName()).To(MatchRegexp(`^a{220}-[0-9a-f]{32}$`), "shortened, and a name of DNS still")

	name := func(change func(*unstructured.Unstructured), number int64) string {
		resource := website("web")
		change(resource)
		obj, err := take(resource).encode(testKey, resource, "shop", number)
		g.Expect(err).NotTo(HaveOccurred())
		return obj.GetName()
	}
	same := name(func(*unstructured.Unstructured) {}, 1)
	g.Expect(name(func(*unstructured.Unstructured) {}, 1)).To(Equal(same))
	g.Expect(name(func(*unstructured.Unstructured) {}, 2)).NotTo(Equal(same))
	g.Expect(name(func(o *unstructured.Unstructured) { o.SetUID("5678") }, 1)).NotTo(Equal(same))
	g.Expect(name(func(o *unstructured.Unstructured) { o.SetLabels(nil) }, 1)).NotTo(Equal(same))
	g.Expect(name(func(o *unstructured.Unstructured) { o.SetResourceVersion("78") }, 1)).To(Equal(same))
}

func TestWhatIsNotTrusted(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*unstructured.Unstructured)
		why    string
	}{
		"no data":          {func(o *unstructured.Unstructured) { delete(o.Object, "data") }, "it holds no data"},
		"data of a list":   {func(o *unstructured.Unstructured) { o.Object["data"] = []any{} }, "it holds no data"},
		"no metadata":      {set("x", "data", "metadata"), "data.metadata is missing"},
		"no box":           {func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "data", "box") }, "data.box, data.revision or data.generation"},
		"odd generation":   {set("3", "data", "generation"), "data.box, data.revision or data.generation"},
		"odd spec":         {set("x", "data", "spec"), "data.spec is no object"},
		"another spec":     {set("evil", "data", "spec", "image"), "the hash in its name is not that of its data"},
		"another number":   {set(int64(99), "revision"), "the hash in its name is not that of its data"},
		"another name":     {func(o *unstructured.Unstructured) { o.SetName("web-0123456789") }, "the hash in its name is not that of its data"},
		"another resource": {func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "5678"}) }, "the snapshot of another resource"},
		"another uid":      {set("5678", "data", "metadata", "uid"), "the snapshot of another resource"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			obj, err := take(website("web")).encode(testKey, website("web"), "shop", 7)
			g.Expect(err).NotTo(HaveOccurred())
			obj = stored(t, obj)
			tc.change(obj)
			_, _, err = decode(obj, hashSize)
			g.Expect(err).To(MatchError(ContainSubstring(tc.why)))
		})
	}
}

func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			panic(err)
		}
	}
}
