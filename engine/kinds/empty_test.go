package kinds

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// TestWithoutEmptyFindsEveryListAndMap writes each list and map of each short form as null and as empty, and leaves it out.
func TestWithoutEmptyFindsEveryListAndMap(t *testing.T) {
	found := 0
	for _, key := range Keys() {
		k := mustLookup(t, key)
		for name, m := range shape.Of(k.fields).Members {
			if !m.Shape.Compound() || name == k.selecting || key == keyResources {
				continue
			}
			found++
			t.Run(key+"."+name, func(t *testing.T) {
				g := NewWithT(t)
				none := map[string]any{"empty list": []any{}, "empty map": map[string]any{}}["empty "+emptyWord(m.Shape)]
				g.Expect(none).NotTo(BeNil())
				for _, v := range []any{nil, none} {
					g.Expect(k.WithoutEmpty(map[string]any{name: v})).To(BeEmpty(), "%v", v)
					if key == keyIngresses && name == nameRules {
						continue // a template that gives no rule does not ask for the default one: TestAnIngressWithoutRules
					}
					g.Expect(built(k, merged(requiredFields(k), map[string]any{name: v}))).To(Equal(built(k, without(requiredFields(k), name))), "%v", v)
				}
			})
		}
	}
	if found < 60 {
		t.Fatalf("only %d lists and maps were found", found)
	}
}

// built is an object of the kind, or why there is none.
func built(k Kind, short map[string]any) any {
	obj, err := k.Build(Declared{
		Name: "web", Namespace: "team-a", Short: short, Instance: "web",
		Workload: &Workload{Kind: "Deployment", Name: "web", Port: 80}, Service: &Service{Name: "web", Port: 80},
	})
	if err != nil {
		return err.Error()
	}
	return obj.UnstructuredContent()
}

func without(from map[string]any, name string) map[string]any {
	out := merged(from)
	delete(out, name)
	return out
}

func emptyWord(s *shape.Shape) string {
	if s.Form == shape.FormList {
		return "list"
	}
	return "map"
}

func TestWithoutEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		key      string
		in, want map[string]any
	}{
		"maps below objects": {
			keyDeployments,
			map[string]any{"resources": map[string]any{"limits": map[string]any{}, "requests": map[string]any{"cpu": nil}}},
			map[string]any{"resources": map[string]any{}},
		},
		"lists in entries of lists": {
			keyDeployments,
			map[string]any{"ports": []any{}, "sidecars": []any{map[string]any{"name": "a", "args": []any{}, nameEnv: nil}}},
			map[string]any{"sidecars": []any{map[string]any{"name": "a"}}},
		},
		"objects": {
			keyDeployments,
			map[string]any{nameVolumes: []any{map[string]any{"name": "a", "emptyDir": map[string]any{}}}, "securityContext": map[string]any{}},
			map[string]any{nameVolumes: []any{map[string]any{"name": "a", "emptyDir": map[string]any{}}}, "securityContext": map[string]any{}},
		},
		"entries of lists": {
			keyNetworkPolicies, map[string]any{"egress": []any{map[string]any{"to": []any{}}}, "podSelector": map[string]any{}},
			map[string]any{"egress": []any{map[string]any{}}, "podSelector": map[string]any{}},
		},
		"a selector of no pods": {keyServices, map[string]any{"selector": map[string]any{}, "ports": []any{}}, map[string]any{"selector": map[string]any{}}},
		"no selector":           {keyServices, map[string]any{"selector": nil}, map[string]any{}},
		"a manifest": {
			keyResources, map[string]any{"manifest": map[string]any{"list": []any{}, "map": map[string]any{}, "none": nil}},
			map[string]any{"manifest": map[string]any{"list": []any{}, "map": map[string]any{}, "none": nil}},
		},
		"what does not fit": {
			keyDeployments, map[string]any{"imagee": []any{}, "image": []any{}, nameEnv: map[string]any{"a": nil}, nameResources: "{{ .spec.resources }}"},
			map[string]any{"imagee": []any{}, "image": []any{}, nameEnv: map[string]any{"a": nil}, nameResources: "{{ .spec.resources }}"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := (&unstructured.Unstructured{Object: c.in}).DeepCopy().Object
			g.Expect(mustLookup(t, c.key).WithoutEmpty(c.in)).To(Equal(c.want))
			g.Expect(c.in).To(Equal(before), "it is not changed")
		})
	}
}

// TestOneSelectorIsNoAbsence: a list or map that is to mean something when it is empty is an exception to what the reference says.
func TestOneSelectorIsNoAbsence(t *testing.T) {
	g := NewWithT(t)
	var kept []string
	for _, key := range Keys() {
		k := mustLookup(t, key)
		for name, m := range shape.Of(k.fields).Members {
			none := map[shape.Form]any{shape.FormList: []any{}, shape.FormDictionary: map[string]any{}}[m.Shape.Form]
			if none != nil && len(k.WithoutEmpty(map[string]any{name: none})) > 0 {
				kept = append(kept, key+"."+name)
			}
		}
	}
	g.Expect(kept).To(ConsistOf("services.selector"))
}
