package kinds

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestAnIngressWithoutRules: a template that gives no rule opens no host. With a default backend, none is needed.
func TestAnIngressWithoutRules(t *testing.T) {
	const message = ": want a rule, got none; an Ingress can't be without: where there may be none, make the Ingress only when there are some, by `when`, or write spec.defaultBackend"
	backend := map[string]any{"service": map[string]any{"name": "web", "port": map[string]any{"number": int64(80)}}}
	for name, tc := range map[string]struct {
		short, spec map[string]any
		want        any // the spec, or what is wrong
	}{
		"an empty list":          {map[string]any{"rules": []any{}}, nil, "rules" + message},
		"null":                   {map[string]any{"rules": nil}, nil, "rules" + message},
		"with a default backend": {map[string]any{"rules": []any{}}, map[string]any{"defaultBackend": backend}, map[string]any{"defaultBackend": backend}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			obj, err := mustLookup(t, keyIngresses).Build(Declared{Name: "web", Namespace: "team-a", Short: tc.short, Spec: tc.spec, Service: &Service{Name: "web", Port: 80}})
			if message, wrong := tc.want.(string); wrong {
				g.Expect(err).To(MatchError(message))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(obj.Object["spec"]).To(Equal(tc.want))
		})
	}
}
