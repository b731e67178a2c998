package shape

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRequire(t *testing.T) {
	const name = "schedule"
	for what, tc := range map[string]struct {
		short, spec map[string]any
		overlaid    []string
		missing     bool
	}{
		"given":                             {short: map[string]any{name: "* * * * *"}, overlaid: []string{name}},
		"missing":                           {overlaid: []string{name}, missing: true},
		"empty":                             {short: map[string]any{name: ""}, overlaid: []string{name}, missing: true},
		"in the overlay":                    {spec: map[string]any{"deep": map[string]any{name: "x"}}, overlaid: []string{"deep", name}},
		"not in the overlay":                {spec: map[string]any{"deep": map[string]any{}}, overlaid: []string{"deep", name}, missing: true},
		"given, of a kind without a spec":   {short: map[string]any{name: "x"}},
		"missing, of a kind without a spec": {missing: true},
		"missing, beside an overlay that can't hold it": {spec: map[string]any{name: "x"}, missing: true},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			c := &Checker{Short: tc.short, Spec: tc.spec, At: field.NewPath("spec")}
			c.Require(name, "a schedule", tc.overlaid...)
			if !tc.missing {
				g.Expect(c.Found).To(BeEmpty())
				return
			}
			g.Expect(c.Found).To(HaveLen(1))
			g.Expect(c.Found[0].Error()).To(HavePrefix("spec.schedule: Required value"))
		})
	}
}
