package validation

import (
	"os"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/controllers/input"
)

const fixtures = "../../cmd/orkestra/validate/testdata/"

func read(g Gomega, name string) string {
	b, err := os.ReadFile(name)
	g.Expect(err).NotTo(HaveOccurred())
	return string(b)
}

// emptyValidator knows no CRD and no cluster.
func emptyValidator(g Gomega) *Validator {
	v, err := New(Options{CRDs: input.NewCRDs()})
	g.Expect(err).NotTo(HaveOccurred())
	return v
}

// TestEachValueMayBeWrong puts a value of every type in every place of a box: nothing panics, and whatever is wrong has a path.
func TestEachValueMayBeWrong(t *testing.T) {
	g := NewWithT(t)
	for _, doc := range slices.Concat(input.Parse("f", []byte(read(g, fixtures+"valid.yaml"))), input.Parse("f", []byte(read(g, fixtures+"document-lifecycle.yaml")))) {
		if doc.Kind() != kindBox {
			continue
		}
		each(doc.Content, func(path string) {
			if path == ".apiVersion" || path == ".kind" {
				return
			}
			v := emptyValidator(g)
			r, err := v.document(t.Context(), doc)
			g.Expect(err).NotTo(HaveOccurred())
			for _, m := range r.Errors {
				g.Expect(m.Path).NotTo(BeEmpty(), "%s: %s", path, m.Message)
				g.Expect(m.Message).NotTo(BeEmpty(), path)
			}
		})
	}
}

// each replaces every value of a tree by values of other types, one after the other, and calls visit each time.
func each(tree any, visit func(path string)) {
	wrong := []any{nil, "", "x", "{{", int64(-1), 1.5, true, []any{}, []any{nil, int64(1)}, map[string]any{}, map[string]any{"x": map[string]any{}}}
	try := func(path string, set func(any), old any) {
		for _, w := range wrong {
			set(w)
			visit(path)
		}
		set(old)
		each(old, func(below string) { visit(path + below) })
	}
	switch tree := tree.(type) {
	case map[string]any:
		for key, old := range tree {
			try("."+key, func(v any) { tree[key] = v }, old)
		}
	case []any:
		for i, old := range tree {
			try("[]", func(v any) { tree[i] = v }, old)
		}
	}
}
