package rendering

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/provider"
)

// cloud is a provider of which the outputs alone are asked.
type cloud struct{}

// Kinds implements provider.Provider.
func (cloud) Kinds() map[string]provider.Kind {
	return map[string]provider.Kind{"bucket": {Outputs: apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"url", "size"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"url": {Type: "string"}, "size": {Type: "integer"}},
	}}}
}

func boxOf(t *testing.T, spec string) *v1alpha1.OperatorBox {
	t.Helper()
	box := &v1alpha1.OperatorBox{}
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(spec), &box.Spec)).To(Succeed())
	return box
}

// Where the provider is compiled in, its outputs are checked; otherwise whatever is given may be one.
func TestOutputsThatAreGiven(t *testing.T) {
	box, other := boxOf(t, `{providers: {cloud: [{id: one, bucket: {}}, {id: each, forEach: {field: spec.tiers}, bucket: {}}]}}`), boxOf(t, `{providers: {others: [{id: one, bucket: {}}]}}`)
	for name, tc := range map[string]struct {
		given       string
		known, wild string // what is wrong where the provider is compiled in, and where it is not
	}{
		"a part":         {`{one: {url: a}, each: {x: {size: 5}}}`, "", ""},
		"nothing":        {`{each: {x: {}}}`, "", ""},
		"no such output": {`{one: {ulr: a}}`, `with.yaml:1: providers.one.ulr: unknown field, did you mean "url"?`, ""},
		"a wrong type":   {`{one: {size: many}}`, "with.yaml:1: providers.one.size: want integer, got string", ""},
		"of an item":     {`{each: {x: {size: many}}}`, "with.yaml:1: providers.each.x.size: want integer, got string", ""},
		"no item":        {`{each: {url: a}}`, "with.yaml:1: providers.each.url: want object, got string", "with.yaml:1: providers.each.url: want object, got string"},
		"no object":      {`{one: a}`, "with.yaml:1: providers.one: want object, got string", "with.yaml:1: providers.one: want object, got string"},
		"an unknown id":  {`{once: {url: a}}`, "with.yaml:1: providers.once: no box of -f has a resource of a provider with this id; wanted one of: each, one", "with.yaml:1: providers.once: no box of -f has a resource of a provider with this id; wanted one of: each, one"},
		"no objects":     {`[a]`, "with.yaml:1: providers: want object, got array", "with.yaml:1: providers: want object, got array"},
	} {
		t.Run(name, func(t *testing.T) {
			registry := provider.NewRegistry()
			NewWithT(t).Expect(registry.Add("cloud", cloud{})).To(Succeed())
			expect := func(boxes []validation.Box, registry *provider.Registry, want string) {
				t.Helper()
				g := NewWithT(t)
				doc := input.Parse("with.yaml", []byte("providers: "+tc.given))[0]
				g.Expect(holdsAnswers(doc)).To(BeTrue())
				err := askedBy(boxes, registry, "-f").check(t.Context(), doc)
				if want == "" {
					g.Expect(err).NotTo(HaveOccurred())
					return
				}
				g.Expect(err).To(MatchError(want))
			}
			expect([]validation.Box{{Written: box}}, registry, tc.known)
			expect([]validation.Box{{Written: box}}, nil, tc.wild)
			if name == "no such output" || name == "a wrong type" { // two boxes may mean different things by one id
				expect([]validation.Box{{Written: box}, {Written: other}}, registry, "")
				expect([]validation.Box{{Written: other}, {Written: box}}, registry, "")
			}
		})
	}
}
