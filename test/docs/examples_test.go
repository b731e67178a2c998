package docs_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

const examplesCRD = "docs/examples/crd.yaml"

// declarationExamples checks that every example compiles in a declaration of its key.
func declarationExamples(t *testing.T, bin string) {
	t.Helper()
	crd := read(t, examplesCRD)
	for _, key := range kinds.Keys() {
		t.Run(key, func(t *testing.T) {
			kind := lookup(t, key)
			box := newExampleBox(key)
			for _, f := range kind.ShortFields() {
				box.add(t, kind, f, exampleOf(t, key, f))
				for _, inside := range f.Fields() {
					if inside.Example != "" {
						box.add(t, kind, f, map[string]any{f.Name: exampleOf(t, key+"."+f.Name, inside)})
					}
				}
			}
			block := &fence{page: declarationsPage}
			block.validate(t, bin, box.yaml(t), []string{crd}, "--allow-granting-kinds")
		})
	}
}

// exampleOf reads the example of a field, which gives that field alone.
func exampleOf(t *testing.T, of string, f kinds.FieldDoc) map[string]any {
	t.Helper()
	var example map[string]any
	if err := yaml.UnmarshalStrict([]byte(f.Example), &example); err != nil || len(example) != 1 || example[f.Name] == nil {
		t.Fatalf("the example of %s.%s does not give that field alone: %q (%v)", of, f.Name, f.Example, err)
	}
	return example
}

// exampleBox is a box with declarations of one key, and what their defaults are taken from.
type exampleBox struct {
	key               string
	reconcile, remove map[string]any
	count             int
}

func newExampleBox(key string) *exampleBox {
	b := &exampleBox{key: key, reconcile: map[string]any{}, remove: map[string]any{}}
	workload := []any{map[string]any{"id": "web", "image": "registry.example.com/app:1", "port": 8080}}
	switch key {
	case "ingresses", "hpas", "networkpolicies", "pdbs", "services":
		b.reconcile["deployments"] = workload
	}
	switch key {
	case "ingresses":
		b.reconcile["services"] = []any{map[string]any{"id": "site", "name": "web"}}
	case "statefulsets":
		b.reconcile["services"] = []any{map[string]any{"id": "peers", "name": "web", "selector": map[string]any{"app": "web"}}}
	}
	return b
}

// add adds a declaration with an example, and with what declarations of its key need besides.
func (b *exampleBox) add(t *testing.T, kind kinds.Kind, f kinds.FieldDoc, example map[string]any) {
	t.Helper()
	name := fmt.Sprintf("example-%d", b.count)
	b.count++
	if kind.ClusterScoped {
		name += "-{{ .metadata.namespace }}"
	}
	out := map[string]any{"name": name}
	if kind.IsPatch() {
		out = map[string]any{"id": fmt.Sprintf("example%d", b.count)}
	}
	for _, needed := range kind.ShortFields() {
		either := b.key == "pdbs" && needed.Name == "minAvailable" && f.Name != "maxUnavailable"
		if strings.HasPrefix(needed.Default, kinds.DefaultRequired) || either {
			maps.Copy(out, exampleOf(t, b.key, needed))
		}
	}
	maps.Copy(out, example)
	if f.Name == "kinds" { // which stand beside a manifest that one template gives
		out["manifest"] = "{{ dict }}"
	}
	group := b.reconcile
	if f.Name == "failurePolicy" {
		group = b.remove
	}
	list, _ := group[b.key].([]any)
	group[b.key] = append(list, out)
}

func (b *exampleBox) yaml(t *testing.T) string {
	t.Helper()
	box, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "metadata": map[string]any{"name": "example"},
		"spec": map[string]any{"crd": map[string]any{"name": "shops.shop.example.com"}, "onReconcile": b.reconcile, "onDelete": b.remove},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(box)
}
