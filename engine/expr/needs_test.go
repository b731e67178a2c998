package expr

import (
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr/roots"
)

// TestTemplate_Needs: a path is needed if it is read whatever the data is, and may not be absent. Without it there is no value.
func TestTemplate_Needs(t *testing.T) {
	scope := NewScope(nil).WithChildren("a", "b")
	const read = ".children.a.data.x"
	needed := []string{
		`{{ .children.a.data.x }}`, `of {{ .children.a.data.x }}.`, `{{ .children.a.data.x | upper }}`, `{{ printf "%s" .children.a.data.x }}`, `{{ $x := .children.a.data.x }}y`,
		`{{ if .spec.on }}{{ end }}{{ .children.a.data.x }}`, `{{ range .children.a.data.x }}y{{ end }}`,
	}
	free := []string{
		`{{ .children.a.data.x | default "y" }}`, `{{ default "y" .children.a.data.x }}`, `{{ if .children.a.data.x }}{{ .children.a.data.x }}{{ end }}`,
		`{{ with .children.a.data.x }}{{ . }}{{ else }}{{ .children.a.data.y }}{{ end }}`, `{{ if .spec.on }}{{ .children.a.data.x }}{{ end }}`,
		`{{ if .spec.on }}{{ else }}{{ .children.a.data.x }}{{ end }}`, `{{ range .spec.list }}{{ $.children.a.data.x }}{{ else }}{{ end }}`,
		`{{ range .spec.items }}{{ else }}{{ .spec.on }}{{ end }}`, `{{ and .spec.on .children.a.data.x }}`, `{{ or .spec.on .children.a.data.x }}`,
		`{{ define "x" }}{{ .children.a.data.x }}{{ end }}{{ if .spec.on }}{{ template "x" . }}{{ end }}`,
		`{{ define "x" }}{{ .children.a.data.x }}{{ end }}`, `plain`, `{{ coalesce .children.a.data.x "y" }}`, `{{ ternary .children.a.data.x "y" .spec.on }}`,
	}
	data := Data{"children": map[string]any{}, "spec": map[string]any{"on": false, "list": []any{}, "items": []any{"i"}}}
	g := NewWithT(t)
	for _, text := range needed {
		c, err := scope.Compile(text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(c.Needs()).To(ContainElement(Path{"children", "a", "data", "x"}), text)
		_, err = c.Eval(t.Context(), data)
		absent, ok := errors.AsType[*roots.AbsentError](err)
		g.Expect(ok).To(BeTrue(), text)
		g.Expect("." + absent.Place()).To(Equal(read))
	}
	for _, text := range free {
		c, err := scope.Compile(text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(slices.ContainsFunc(c.Needs(), func(p Path) bool { return p[0] == roots.Children })).To(BeFalse(), text)
	}
}

// A tree needs what each of its templates does, and what the values do that it reads.
func TestValue_Needs(t *testing.T) {
	g := NewWithT(t)
	scope := NewScope(nil).WithChildren("a", "b", "c")
	ip, errs := scope.NameTree("ip", map[string]any{"of": []any{"{{ .children.a.spec.ip }}"}, "or": `{{ .children.c.x | default "" }}`}, field.NewPath("spec"))
	g.Expect(errs).To(BeEmpty())
	v, errs := scope.WithNamed([]*Named{ip}, nil).CompileValue(map[string]any{"x": []any{"{{ .values.ip.of }}"}, "y": "{{ .children.b.x }}"}, field.NewPath("spec"))
	g.Expect(errs).To(BeEmpty())
	g.Expect(v.Needs()).To(Equal([]Path{{"children", "a", "spec", "ip"}, {"children", "b", "x"}, {"values", "ip", "of"}}))
}
