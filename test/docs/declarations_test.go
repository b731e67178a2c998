package docs_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

const (
	declarationsPage = "docs/reference/declarations.md"
	examplesCRD      = "docs/examples/crd.yaml"
	probes           = "probes"
)

// shortFields are the types behind the tables of the page, by heading.
var shortFields = map[string]reflect.Type{
	"configmaps":  reflect.TypeFor[v1alpha1.ConfigMapFields](),
	"deployments": reflect.TypeFor[v1alpha1.DeploymentFields](),
	"ingresses":   reflect.TypeFor[v1alpha1.IngressFields](),
	"jobs":        reflect.TypeFor[v1alpha1.JobFields](),
	"resources":   reflect.TypeFor[v1alpha1.ManifestFields](),
	"services":    reflect.TypeFor[v1alpha1.ServiceFields](),
	probes:        reflect.TypeFor[v1alpha1.Probes](),
}

// shortField is one row of such a table.
type shortField struct {
	name, kind, standard, example string
}

func (f shortField) supported() bool { return f.standard != "not yet" }

// tables are the rows of all tables of a page, without their headings, by the heading above them.
func tables(t *testing.T, page string) map[string][][]string {
	t.Helper()
	out := map[string][][]string{}
	heading, isBody := "", false
	for line := range strings.SplitSeq(prose(t, page), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		case strings.HasPrefix(line, "|--"):
			isBody = true
		case !strings.HasPrefix(line, "| "):
			isBody = false
		case isBody:
			out[heading] = append(out[heading], cells)
		}
	}
	return out
}

func documented(t *testing.T, heading string) []shortField {
	t.Helper()
	var out []shortField
	for _, row := range tables(t, declarationsPage)[heading] {
		if len(row) != 5 {
			t.Fatalf("%s: %s: this row has not five cells: %q", declarationsPage, heading, row)
		}
		out = append(out, shortField{name: strings.Trim(row[0], "`"), kind: row[1], standard: row[2], example: strings.Trim(row[4], "`")})
	}
	return out
}

// TestDeclarations checks that the reference has every short field of every key, and no other, with its type.
func TestDeclarations(t *testing.T) {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(shortFields)), func(key string) bool { return key == probes })
	if !slices.Equal(keys, kinds.Keys()) {
		t.Errorf("the types behind the tables are of the keys %q, there are %q", keys, kinds.Keys())
	}
	for heading, of := range shortFields {
		t.Run(heading, func(t *testing.T) {
			want := typeWords(of)
			for _, f := range documented(t, heading) {
				word, exists := want[f.name]
				switch {
				case !exists:
					t.Errorf("%s: %s has no field %q, or it is listed twice", declarationsPage, heading, f.name)
				case f.kind != word:
					t.Errorf("%s: %s.%s is %q, it says %q", declarationsPage, heading, f.name, word, f.kind)
				}
				delete(want, f.name)
			}
			for _, name := range slices.Sorted(maps.Keys(want)) {
				t.Errorf("%s: the table of %s lacks the field %q", declarationsPage, heading, name)
			}
		})
	}
}

// typeWords says of each JSON field of a struct what type the page must give it.
func typeWords(of reflect.Type) map[string]string {
	out := map[string]string{}
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			maps.Copy(out, typeWords(f.Type))
			continue
		}
		out[name] = typeWord(f.Type)
	}
	return out
}

func typeWord(of reflect.Type) string {
	switch {
	case of.Kind() == reflect.Pointer:
		return typeWord(of.Elem())
	case of == reflect.TypeFor[intstr.IntOrString]():
		return "integer or string"
	case of == reflect.TypeFor[[]byte]():
		return "base64 string"
	case of.Kind() == reflect.Slice:
		return "list of " + several(of.Elem())
	case of == reflect.TypeFor[map[string]any](), of == shortFields[probes]:
		return "object"
	case of.Kind() == reflect.Map:
		return "map of " + several(of.Elem())
	case of.Kind() == reflect.Struct:
		return "`" + of.Name() + "`"
	case of.Kind() == reflect.Bool:
		return "boolean"
	case of.Kind() == reflect.Int32, of.Kind() == reflect.Int64:
		return "integer"
	default:
		return of.Kind().String()
	}
}

func several(of reflect.Type) string {
	word := typeWord(of)
	if strings.HasSuffix(word, "`") {
		return word
	}
	return word + "s"
}

// TestKubernetesTypes checks that the page explains each type of Kubernetes that it names, with fields that there are.
func TestKubernetesTypes(t *testing.T) {
	types := map[string]reflect.Type{}
	for _, of := range shortFields {
		kubernetesTypes(of, types)
	}
	for _, row := range tables(t, declarationsPage)["Types"] {
		name := strings.Trim(row[0], "`")
		of, exists := types[name]
		if !exists {
			t.Errorf("%s: no short field is a %s, or it is listed twice", declarationsPage, name)
			continue
		}
		delete(types, name)
		for field := range strings.FieldsSeq(strings.ReplaceAll(row[1], "`", "")) {
			if !slices.Contains(jsonNames(of), field) {
				t.Errorf("%s: a %s has no field %q", declarationsPage, name, field)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		t.Errorf("%s does not explain the type %s", declarationsPage, name)
	}
}

// kubernetesTypes collects the structs of Kubernetes that fields of ours have as their type, or as that of their elements.
func kubernetesTypes(of reflect.Type, found map[string]reflect.Type) {
	for f := range of.Fields() {
		elem := f.Type
		for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
			elem = elem.Elem()
		}
		switch {
		case elem.Kind() != reflect.Struct || elem == reflect.TypeFor[intstr.IntOrString]():
		case elem.PkgPath() == of.PkgPath():
			kubernetesTypes(elem, found)
		default:
			found[elem.Name()] = elem
		}
	}
}

// declarationExamples checks that every example of the tables compiles in a declaration of its key, and that what the page
// calls "not yet" is refused as such.
func declarationExamples(t *testing.T, bin string) {
	t.Helper()
	crd := read(t, examplesCRD)
	for heading := range shortFields {
		t.Run(heading, func(t *testing.T) {
			var accepted []any
			for i, f := range documented(t, heading) {
				d := f.declaration(t, heading, i)
				if f.supported() {
					accepted = append(accepted, d)
					continue
				}
				block := &fence{page: declarationsPage, invalid: "." + f.name + ": not supported yet"}
				block.validate(t, bin, exampleBox(t, heading, d), []string{crd})
			}
			block := &fence{page: declarationsPage}
			block.validate(t, bin, exampleBox(t, heading, accepted...), []string{crd})
		})
	}
}

// declaration gives the example of a field with what a declaration of its key needs besides.
func (f shortField) declaration(t *testing.T, heading string, i int) map[string]any {
	t.Helper()
	var example map[string]any
	if err := yaml.UnmarshalStrict([]byte(f.example), &example); err != nil || len(example) != 1 || example[f.name] == nil {
		t.Fatalf("%s: the example of %s.%s does not give that field alone: %q (%v)", declarationsPage, heading, f.name, f.example, err)
	}
	out := map[string]any{"name": fmt.Sprintf("example-%d", i)}
	switch heading {
	case probes:
		example = map[string]any{probes: example}
		fallthrough
	case "deployments", "jobs":
		out["image"] = "registry.example.com/app:1"
	}
	maps.Copy(out, example)
	return out
}

// exampleBox is a box with these declarations under one key, and what their defaults are taken from.
func exampleBox(t *testing.T, heading string, declarations ...any) string {
	t.Helper()
	create, remove := map[string]any{}, map[string]any{}
	switch heading {
	case probes:
		create["deployments"] = declarations
	case "jobs":
		remove[heading] = declarations
	case "ingresses":
		create["services"] = []any{map[string]any{"name": "web"}}
		fallthrough
	case "services":
		create["deployments"] = []any{map[string]any{"image": "registry.example.com/app:1", "port": 8080}}
		fallthrough
	default:
		create[heading] = declarations
	}
	box, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "metadata": map[string]any{"name": "example"},
		"spec": map[string]any{"crd": map[string]any{"name": "shops.shop.example.com"}, "onReconcile": create, "onDelete": remove},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(box)
}
