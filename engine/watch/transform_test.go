package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/engine/packed"
)

func managed(managers ...string) *unstructured.Unstructured {
	obj := child("ns", "a", "1", "o@box")
	entries := []any{}
	for _, m := range managers {
		entries = append(entries, map[string]any{"manager": m, "operation": "Apply", "fieldsV1": map[string]any{"f:data": map[string]any{}}})
	}
	metadata := obj.Object["metadata"].(map[string]any)
	metadata["managedFields"] = entries
	metadata["annotations"] = map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	obj.Object["data"] = map[string]any{"key": "dmFsdWU="}
	return obj
}

func TestTrimChild(t *testing.T) {
	for name, tc := range map[string]struct {
		managers []string
		ours     bool
		others   []string // whose fields are kept
	}{
		"ours":              {[]string{"kubectl", "orkestra", "orkestra-initial", "helm"}, true, []string{"kubectl", "helm"}},
		"twice ours":        {[]string{"orkestra", "orkestra"}, true, nil},
		"not ours":          {[]string{"kubectl", "orkestra-initial", "orkestra-status"}, false, nil},
		"nobody's":          {nil, false, nil},
		"the manager's own": {[]string{"orkestra"}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			obj := managed(tc.managers...)
			g.Expect(OursByFields(obj)).To(Equal(tc.ours), "before")

			want := child("ns", "a", "1", "o@box")
			want.Object["data"] = map[string]any{"key": "dmFsdWU="}
			if tc.ours {
				kept := []any{map[string]any{"manager": "orkestra"}}
				for _, m := range tc.others {
					kept = append(kept, map[string]any{"manager": m, "operation": "Apply", "fieldsV1": map[string]any{"f:data": map[string]any{}}})
				}
				want.Object["metadata"].(map[string]any)["managedFields"] = kept
			}
			for range 2 {
				item, err := packing(trimChild)(obj)
				g.Expect(err).NotTo(HaveOccurred())
				obj = item.(*packed.Object).Unpack()
				g.Expect(cmp.Diff(want, obj)).To(BeEmpty())
				g.Expect(OursByFields(obj)).To(Equal(tc.ours), "after")
			}
		})
	}
}

func TestTrimDropsWhoWroteTheStatus(t *testing.T) {
	g := NewWithT(t)
	obj := managed("orkestra", "kubelet", "kubectl")
	entries := obj.Object["metadata"].(map[string]any)["managedFields"].([]any)
	entries[1].(map[string]any)["subresource"] = "status"
	entries[2].(map[string]any)["subresource"] = "scale"
	trimChild(obj)
	g.Expect(obj.GetManagedFields()).To(HaveExactElements(HaveField("Manager", "orkestra"), HaveField("Manager", "kubectl")))
}

func TestTrimKeepsOtherAnnotations(t *testing.T) {
	g := NewWithT(t)
	obj := managed("orkestra")
	obj.Object["metadata"].(map[string]any)["annotations"].(map[string]any)["mine"] = "yes"
	trimResource(obj)
	g.Expect(obj.GetAnnotations()).To(Equal(map[string]string{"mine": "yes"}))
	g.Expect(obj.GetManagedFields()).To(BeEmpty())
}

func TestTransformOfWhatIsNoObject(t *testing.T) {
	g := NewWithT(t)
	for _, item := range []any{nil, "text", cache.DeletedFinalStateUnknown{Key: "a"}, &unstructured.Unstructured{}} {
		for _, trim := range []func(*unstructured.Unstructured){trimChild, trimResource} {
			_, err := packing(trim)(item)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	g.Expect(OursByFields(nil)).To(BeFalse())
	g.Expect(OursByFields(&unstructured.Unstructured{})).To(BeFalse())
	g.Expect(OursByFields(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{"x"}}}})).To(BeFalse())
}

func TestCopyOfChildLeavesTheOriginal(t *testing.T) {
	g := NewWithT(t)
	original := managed("orkestra")
	obj := copyOfChild(original).Unpack()
	g.Expect(cmp.Diff(managed("orkestra"), original)).To(BeEmpty())
	obj.Object["data"].(map[string]any)["key"] = "changed"
	obj.SetLabels(nil)
	g.Expect(cmp.Diff(managed("orkestra"), original)).To(BeEmpty())
	g.Expect(obj.GetAnnotations()).To(BeEmpty())
}
