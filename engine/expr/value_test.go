package expr

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/test/fixtures"
)

func TestValue_Eval(t *testing.T) {
	g := NewWithT(t)
	tree := map[string]any{
		"name": "{{ .metadata.name }}-x", "replicas": "{{ .spec.replicas }}", "literal": 5, "null": nil, "on": true,
		"env":    []any{map[string]any{"name": "A", "value": "{{ .spec.title }}"}, "plain"},
		"labels": map[string]any{"a": "b"},
	}
	v, errs := NewScope(websites()).CompileValue(tree, field.NewPath("spec"))
	g.Expect(errs).To(BeEmpty())
	got, err := v.Eval(t.Context(), fixtures.Sample())
	g.Expect(err).NotTo(HaveOccurred())
	want := map[string]any{
		"name": "web-x", "replicas": int64(3), "literal": int64(5), "null": nil, "on": true,
		"env":    []any{map[string]any{"name": "A", "value": "Hello"}, "plain"},
		"labels": map[string]any{"a": "b"},
	}
	g.Expect(got).To(Equal(want))
	scribble(got)
	again, err := v.Eval(t.Context(), fixtures.Sample())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(want), "a result belongs to the caller")
	g.Expect(v.Paths()).To(Equal([]Path{{"metadata", "name"}, {"spec", "replicas"}, {"spec", "title"}}))
	_, ok := v.Literal()
	g.Expect(ok).To(BeFalse())
}

func TestValue_Literal(t *testing.T) {
	g := NewWithT(t)
	tree := map[string]any{"a": []any{"b", 1, nil}}
	v, errs := NewScope(nil).CompileValue(tree, nil)
	g.Expect(errs).To(BeEmpty())
	tree["a"] = "changed"
	got, ok := v.Literal()
	g.Expect(ok).To(BeTrue())
	g.Expect(got).To(Equal(map[string]any{"a": []any{"b", int64(1), nil}}))
	g.Expect(v.Paths()).To(BeEmpty())
	for _, empty := range []any{nil, map[string]any{}, []any{}, ""} {
		v, errs := NewScope(nil).CompileValue(empty, nil)
		g.Expect(errs).To(BeEmpty())
		got, ok := v.Literal()
		g.Expect(ok).To(BeTrue())
		if empty == nil {
			g.Expect(got).To(BeNil())
		} else {
			g.Expect(got).To(Equal(empty))
		}
	}
}

// All mistakes are reported, each with its place.
func TestCompileValue_errors(t *testing.T) {
	g := NewWithT(t)
	_, errs := NewScope(websites()).CompileValue(map[string]any{
		"a": "{{ .spec.replcas }}", "env": []any{"ok", map[string]any{"v": "{{ uper .spec.title }}"}}, "{{ .kind }}": "x", "a/b": "{{", "type": struct{}{},
	}, field.NewPath("spec", "onReconcile"))
	var got []string
	for _, e := range errs {
		got = append(got, e.Field)
	}
	g.Expect(got).To(ConsistOf("spec.onReconcile.a", "spec.onReconcile.env[1].v", "spec.onReconcile[{{ .kind }}]", "spec.onReconcile[a/b]", "spec.onReconcile.type"))
	g.Expect(errs.ToAggregate().Error()).To(ContainSubstring(`did you mean "replicas"?`))
	g.Expect(errs.ToAggregate().Error()).To(ContainSubstring(`a key cannot be a template: write the whole map as one, such as {{ dict .metadata.name "value" }}`))
}

func TestValue_Eval_errorsNameTheLeaf(t *testing.T) {
	for name, tc := range map[string]struct {
		tree any
		want string
	}{
		"a map":    {map[string]any{"env": []any{map[string]any{"value": "{{ .spec.no }}"}}}, "env[0].value: evaluating {{ .spec.no }}: spec.no: no such field"},
		"a list":   {[]any{"x", "{{ .spec.no }}"}, "[1]: evaluating {{ .spec.no }}"},
		"odd keys": {map[string]any{"a.b/c": map[string]any{"d.e": "{{ .spec.no }}"}}, "['a.b/c']['d.e']: evaluating"},
		"a leaf":   {"{{ .spec.no }}", "evaluating {{ .spec.no }}: spec.no"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v, errs := NewScope(nil).CompileValue(tc.tree, nil)
			g.Expect(errs).To(BeEmpty())
			_, err := v.Eval(t.Context(), fixtures.Sample())
			g.Expect(err).To(MatchError(HavePrefix(tc.want)))
			g.Expect(roots.IsAbsent(err)).To(BeTrue())
		})
	}
}
