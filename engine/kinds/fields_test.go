package kinds

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// TestEveryFieldsTypeHasAKind fails while the API has short fields that no key decodes.
func TestEveryFieldsTypeHasAKind(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob("../../api/v1alpha1/resource_*types.go")
	g.Expect(err).NotTo(HaveOccurred())
	var declared, embedded, used []string
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if strings.HasSuffix(n.Name.Name, "Fields") {
				declared = append(declared, n.Name.Name)
			}
		case *ast.Field:
			if name, ok := n.Type.(*ast.Ident); ok && len(n.Names) == 0 {
				embedded = append(embedded, name.Name)
			}
		}
		return true
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		g.Expect(err).NotTo(HaveOccurred())
		ast.Inspect(file, visit)
	}
	for _, k := range table {
		used = append(used, k.fields.Name())
	}
	g.Expect(declared).NotTo(BeEmpty())
	for _, name := range declared {
		if !slices.Contains(embedded, name) {
			g.Expect(used).To(ContainElement(name), "a short form without a kind")
		}
	}
}

// notInTheObject are short fields that say how the object is treated (see FailurePolicyOf), or where others come from.
var notInTheObject = map[string][]string{
	"jobs": {nameFailurePolicy, RerunOn}, "services": {nameWorkload}, "networkpolicies": {nameWorkload}, "pdbs": {nameWorkload}, "hpas": {nameWorkload},
	"ingresses": {nameService}, "statefulsets": {nameService},
	"resources": {nameKinds},             // what a template may give is checked when it is rendered
	"patches":   {nameTarget, nameForce}, // the samples of targets, which are those of autoscalers, name no apiVersion
}

// TestEveryFieldHasAnEffect fails while a short field, or a field of a type of ours in it, is accepted and ignored.
func TestEveryFieldHasAnEffect(t *testing.T) {
	for _, key := range Keys() {
		k := mustLookup(t, key)
		required := requiredFields(k)
		for name, samples := range fieldSamples(t, k) {
			for _, sample := range samples {
				t.Run(key+"/"+name, func(t *testing.T) {
					g := NewWithT(t)
					without := build(t, k, required)
					with := build(t, k, merged(required, map[string]any{name: sample}))
					if slices.Contains(notInTheObject[key], name) {
						g.Expect(with).To(Equal(without))
					} else {
						g.Expect(with).NotTo(Equal(without), "%s: %v has no effect", name, sample)
					}
				})
			}
		}
	}
}

// requiredFields are values for what the declarations of a kind need.
func requiredFields(k Kind) map[string]any {
	out := map[string]any{}
	for name, v := range map[string]any{
		nameImage: "required", nameManifest: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"},
		nameServicePort: int64(1), nameSchedule: "0 0 * * *", nameStorage: "1Gi", nameMaxReplicas: int64(3), nameMinAvailable: int64(1),
		nameRoleRef: map[string]any{"kind": "ClusterRole", "name": "view"}, "limits": []any{map[string]any{"type": "Pod"}},
	} {
		if slices.Contains(k.FieldNames(), name) {
			out[name] = v
		}
	}
	return out
}

// fieldSamples gives values for every short field of a kind: one, or for our own types one for each of their fields.
func fieldSamples(t *testing.T, k Kind) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	r := &sampler{random: rand.New(rand.NewPCG(1, 1))}
	for name, m := range shape.Of(k.fields).Members {
		switch {
		case name == nameManifest:
			out[name] = []any{map[string]any{"apiVersion": "example.com/v1", "kind": "Other"}}
		case name == nameTarget:
			out[name] = []any{map[string]any{"kind": "Deployment", "name": "other"}, map[string]any{"kind": "StatefulSet", "name": "web"}}
		case name == nameClaimTemplates:
			out[name] = []any{[]any{map[string]any{"metadata": map[string]any{"name": "data"}}}}
		case name == nameProbes:
			for _, probe := range m.Shape.Names {
				out[name] = append(out[name], map[string]any{probe: map[string]any{"periodSeconds": int64(1)}})
			}
		case len(m.Shape.Values) > 0: // the first is nowhere the default
			out[name] = []any{m.Shape.Values[0]}
		case m.Shape.Form == shape.FormList && len(m.Shape.Elem.Values) > 0:
			out[name] = []any{[]any{m.Shape.Elem.Values[0]}}
		case m.Shape.Form == shape.FormObject:
			out[name] = []any{map[string]any{}}
		case m.Shape.Form == shape.FormDictionary:
			out[name] = []any{map[string]any{"sample": r.value(m.Shape.Elem, 1, false)}}
		case m.Shape.Form == shape.FormList && m.Shape.Elem.Form == shape.FormObject:
			out[name] = []any{[]any{map[string]any{}}}
		case m.Shape.Form == shape.FormBoolean:
			out[name] = []any{true}
		case m.Shape.Form == shape.FormInteger || m.Shape.Form == shape.FormIntOrString:
			out[name] = []any{int64(7)}
		default:
			out[name] = []any{r.value(m.Shape, 1, false)}
		}
	}
	return out
}

func build(t *testing.T, k Kind, short map[string]any) map[string]any {
	t.Helper()
	obj, err := k.Build(Declared{
		Name: "web", Namespace: "team", Instance: "shop", Short: short,
		Workload: &Workload{Kind: "Deployment", Name: "web", Port: 8080}, Service: &Service{Name: "web", Port: 80},
	})
	if err != nil {
		t.Fatal(err)
	}
	return obj.Object
}

// TestRandomDeclarations: what Check finds nothing wrong with is built, is what Kubernetes' own types read, and is the same
// when built again.
func TestRandomDeclarations(t *testing.T) {
	r := &sampler{random: rand.New(rand.NewPCG(3, 4))}
	for _, key := range Keys() {
		if key == "resources" || key == "patches" { // which hold objects of any kind
			continue
		}
		k, built := mustLookup(t, key), 0
		for range 300 {
			short := r.object(shape.Of(k.fields), 5, true)
			short = merged(short, requiredFields(k))
			maps.DeleteFunc(short, func(_ string, v any) bool { return v == nil }) // what is written as null never comes this far
			if k.fromWorkload.scalable {
				delete(short, nameTarget) // hardly any random one names a kind
			}
			service := &Service{Name: "web", Port: 80}
			if name, ok := short[nameServiceName].(string); ok {
				service.Name = name
			}
			var spec map[string]any
			if k.spec != nil {
				spec = r.object(shape.Of(k.spec), 5, true)
			}
			if len(k.Check(short, spec, nil, nil)) > 0 {
				continue
			}
			d := Declared{
				Name: "web", Instance: "shop", Short: short, Spec: spec,
				Workload: &Workload{Kind: "Deployment", Name: "web"}, Service: service,
			}
			first, err := k.Build(d)
			if err != nil {
				t.Fatalf("%s: building %v and %v: %v", key, short, spec, err)
			}
			second, err := k.Build(d)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first.Object, second.Object); diff != "" {
				t.Fatalf("built twice:\n%s", diff)
			}
			expectTyped(t, first.Object)
			built++
		}
		NewWithT(t).Expect(built).To(BeNumerically(">", 50), key)
	}
}
