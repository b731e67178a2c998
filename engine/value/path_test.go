package value_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/value"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string]value.Path{
		"spec":                                {"spec"},
		".spec.tls":                           {"spec", "tls"},
		"metadata.annotations['a.b/c']":       {"metadata", "annotations", "a.b/c"},
		`metadata.annotations["a.b/c"].x`:     {"metadata", "annotations", "a.b/c", "x"},
		"spec.list[0].x":                      {"spec", "list", "0", "x"},
		"spec.list[007][10]":                  {"spec", "list", "7", "10"},
		`spec['it\'s']`:                       {"spec", "it's"},
		"spec.a-b_c":                          {"spec", "a-b_c"},
		"children.deployment.status.replicas": {"children", "deployment", "status", "replicas"},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := value.ParsePath(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p).To(Equal(want))
			again, err := value.ParsePath(p.String())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(p))
		})
	}
	for text, want := range map[string]string{
		"": "a path is empty", ".": "a path is empty", "spec.": "", "spec..x": "a name is missing", "spec[x]": "an index or a quoted key",
		"spec[": "an index or a quoted key", "spec['x'": "must be followed by ]", "spec['x": "has no end", "spec[0]x": "there must be a dot", "a b": "is no plain name",
		"[0].x": "a name is missing", "0.x": "a path begins with a name", "spec[-1]": "an index", "spec.a/b": "is no plain name",
	} {
		t.Run("not "+text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := value.ParsePath(text)
			if text == "spec." {
				g.Expect(err).To(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(want)), "%v", p)
		})
	}
}

func TestParsePath_trimsSpace(t *testing.T) {
	g := NewWithT(t)
	g.Expect(value.ParsePath(" spec.tls ")).To(Equal(value.Path{"spec", "tls"}))
}

func TestPath_String(t *testing.T) {
	g := NewWithT(t)
	g.Expect(value.Path{"spec", "replicas"}.String()).To(Equal("spec.replicas"))
	g.Expect(value.Path{"metadata", "annotations", "a.b/c"}.String()).To(Equal("metadata.annotations['a.b/c']"))
	g.Expect(value.Path{"spec", "list", "0", "x"}.String()).To(Equal("spec.list[0].x"))
	g.Expect(value.Path{"spec", "it's"}.String()).To(Equal(`spec['it\'s']`))
	g.Expect(value.Path(nil).String()).To(BeEmpty())
}

func TestLookup(t *testing.T) {
	g := NewWithT(t)
	d := map[string]any{
		"spec":     map[string]any{"replicas": int64(3), "hosts": []any{"a.example.com", "b.example.com"}, "env": []any{map[string]any{"name": "A"}}, "nothing": nil},
		"metadata": map[string]any{"annotations": map[string]any{"a.b/c": "d"}},
	}
	for text, want := range map[string]any{"spec.replicas": int64(3), "spec.hosts[1]": "b.example.com", "spec.env[0].name": "A", "metadata.annotations['a.b/c']": "d"} {
		p, err := value.ParsePath(text)
		g.Expect(err).NotTo(HaveOccurred())
		v, ok := value.Lookup(d, p)
		g.Expect(ok).To(BeTrue(), text)
		g.Expect(v).To(Equal(want))
	}
	for _, p := range []value.Path{nil, {"no"}, {"spec", "no"}, {"spec", "nothing"}, {"spec", "replicas", "x"}, {"spec", "hosts", "2"}, {"spec", "hosts", "-1"}, {"spec", "hosts", "x"}, {"spec", "Replicas"}} {
		v, ok := value.Lookup(d, p)
		g.Expect(ok).To(BeFalse(), p.String())
		g.Expect(v).To(BeNil())
	}
	_, ok := value.Lookup(nil, value.Path{"spec"})
	g.Expect(ok).To(BeFalse())
}

// Whatever parses prints as something that parses to the same.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"spec.tls", "a['b.c']", `a["b'c"]`, "a[0].b", `a['\\']`, "a[00]", "a['0']", ".a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := value.ParsePath(text)
		if err != nil || slices.Contains(p, value.AnyElement) {
			return
		}
		again, err := value.ParsePath(p.String())
		if err != nil || !slices.Equal(p, again) {
			t.Errorf("%q is %q, which prints as %s, which is %q, %v", text, p, p, again, err)
		}
	})
}

func TestOneMark(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if got := value.Annotation(obj, "a"); got != "" {
		t.Errorf("an object without metadata has the annotation %q", got)
	}
	obj.SetAnnotations(map[string]string{"a": "of annotations"})
	obj.SetLabels(map[string]string{"a": "of labels"})
	if got := value.Annotation(obj, "a") + ", " + value.Label(obj, "a") + ", " + value.Label(obj, "b"); got != "of annotations, of labels, " {
		t.Errorf("read %q", got)
	}
}
