package words

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestMistakesOnOneLine(t *testing.T) {
	a, b := field.Required(field.NewPath("spec", "a"), "say it"), field.Forbidden(field.NewPath("spec", "b"), "no")
	cases := map[string]struct {
		errs field.ErrorList
		want string
	}{
		"one":     {field.ErrorList{a}, "spec.a: Required value: say it"},
		"several": {field.ErrorList{b, a}, "2 mistakes: spec.a: Required value: say it; spec.b: no"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Mistakes(tc.errs)).To(Equal(tc.want))
		})
	}
}

func TestCut(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Cut("äöü", 3)).To(Equal("äöü"))
	g.Expect(Cut("äöüß", 3)).To(Equal("äö…"))
}
