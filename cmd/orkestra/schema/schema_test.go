package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/kinds"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// printed gives the schema as the command prints it.
func printed(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	stdout, stderr, code := shared.Run(t, NewCommand(), "", "schema")
	if code != 0 || stderr != "" {
		t.Fatalf("orkestra schema ended with %d: %s", code, stderr)
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(stdout), s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// TestFile: what is in the repository is what the command prints.
func TestFile(t *testing.T) {
	g := NewWithT(t)
	stdout, _, _ := shared.Run(t, NewCommand(), "", "schema")
	file, err := os.ReadFile("../../../docs/reference/operatorbox.schema.json")
	g.Expect(err).NotTo(HaveOccurred())
	if string(file) != stdout { // a difference of 17,000 lines helps nobody
		t.Error("docs/reference/operatorbox.schema.json is not what the command prints: run make generate")
	}
}

// TestSame: the command prints the same each time. The order of Go's maps is another one each time.
func TestSame(t *testing.T) {
	first, _, _ := shared.Run(t, NewCommand(), "", "schema")
	for range 10 {
		if again, _, _ := shared.Run(t, NewCommand(), "", "schema"); again != first {
			t.Fatal("the command printed two schemas")
		}
	}
}

const written = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: websites}
spec:
  crd: {name: websites.demo.example.com}
  onReconcile:
    deployments:
    - image: "{{ .spec.image }}"
      replicas: 2
      strategy: {type: Recreate}
      env: [{name: A, value: "1"}]
      when: [{field: spec.on, operator: equals, value: true}]
`

func TestMistakes(t *testing.T) {
	accepts := printed(t)
	for name, tc := range map[string]struct {
		old, new string
		refused  bool
	}{
		"nothing":                        {"", "", false},
		"a field of a box":               {"onReconcile:", "onReconciles:", true},
		"a key":                          {"deployments:", "deployment:", true},
		"a key in another spelling":      {"deployments:", "Deployments:", false},
		"a short field":                  {"image:", "imag:", true},
		"a field of a type":              {"{name: A,", "{nam: A,", true},
		"an operator":                    {"operator: equals", "operator: equal", true},
		"a short form":                   {"operator: equals, value: true", "equals: true", false},
		"an unknown short form":          {"operator: equals, value: true", "equal: true", true},
		"a value of an enumeration":      {"Recreate", "Recreated", true},
		"a template in place of one":     {"Recreate", "'{{ .spec.strategy }}'", false},
		"a list in place of a text":      {"image: \"{{ .spec.image }}\"", "image: [a]", true},
		"a text in place of a number":    {"replicas: 2", "replicas: two", true},
		"digits in place of a number":    {"replicas: 2", `replicas: "2"`, false},
		"a template in place of one too": {"replicas: 2", `replicas: "{{ .spec.replicas }}"`, false},
		"too large a number":             {"replicas: 2", "replicas: 3000000000", true},
		"a map in place of a list":       {`[{name: A, value: "1"}]`, "{A: 1}", true},
		"a template in place of a list":  {`[{name: A, value: "1"}]`, `"{{ .spec.env }}"`, false},
		"a text in place of a list":      {`[{name: A, value: "1"}]`, "none", true},
		"nothing in place of a field":    {`[{name: A, value: "1"}]`, "null", false},
		"another kind":                   {"kind: OperatorBox", "kind: OperatorBoxes", true},
		"another version":                {"v1alpha1", "v1", true},
		"no spec":                        {"spec:\n  crd:", "spek:\n  crd:", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(written).To(ContainSubstring(tc.old))
			var box any
			g.Expect(yaml.Unmarshal([]byte(strings.Replace(written, tc.old, tc.new, 1)), &box)).To(Succeed())
			err := accepts.Validate(box)
			g.Expect(err != nil).To(Equal(tc.refused), "%v", err)
		})
	}
}

// sampleBoxes gives the boxes of all samples by their files.
func sampleBoxes(t *testing.T) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, pattern := range []string{"*", "ports/*"} {
		files, err := filepath.Glob("../../../config/samples/" + pattern + "/box.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var box map[string]any
			if err := yaml.Unmarshal(text, &box); err != nil {
				t.Fatal(err)
			}
			out[file] = box
		}
	}
	if len(out) < 15 {
		t.Fatalf("found only %d samples", len(out))
	}
	return out
}

func TestSamples(t *testing.T) {
	accepts := printed(t)
	for file, box := range sampleBoxes(t) {
		if err := accepts.Validate(box); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestExamples: what explain shows as the example of a field is accepted, with the fields that must be there beside it.
func TestExamples(t *testing.T) {
	accepts, seen := printed(t), 0
	read := func(f kinds.FieldDoc) map[string]any {
		var out map[string]any
		if err := yaml.Unmarshal([]byte(f.Example), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, key := range kinds.Keys() {
		kind, _ := kinds.Lookup(key)
		required := map[string]any{}
		for _, f := range kind.ShortFields() {
			if f.Required() {
				maps.Copy(required, read(f))
			}
		}
		for _, f := range append(kind.ShortFields(), kind.CommonFields()...) {
			if f.Example == "" {
				continue
			}
			seen++
			declaration := maps.Clone(required)
			maps.Copy(declaration, read(f))
			var box map[string]any
			if err := yaml.Unmarshal([]byte(written), &box); err != nil {
				t.Fatal(err)
			}
			spec, _ := box["spec"].(map[string]any)
			spec["onReconcile"] = map[string]any{key: []any{declaration}}
			if err := accepts.Validate(box); err != nil {
				t.Errorf("%s.%s: %v", key, f.Name, err)
			}
		}
	}
	if seen < 100 {
		t.Errorf("there are only %d examples", seen)
	}
}

// place is a value in a box.
type place struct {
	path string
	set  func(any)            // puts another value there
	name func(renamed string) // gives the field another name; nil for an entry of a list
}

// places gives all values below one.
func places(at string, v any, out []place) []place {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := v[name]
			out = append(out, place{
				path: at + "." + name,
				set:  func(other any) { v[name] = other },
				name: func(renamed string) { delete(v, name); v[renamed] = below },
			})
			out = places(at+"."+name, below, out)
		}
	case []any:
		for i, below := range v {
			path := fmt.Sprintf("%s[%d]", at, i)
			out = append(out, place{path: path, set: func(other any) { v[i] = other }})
			out = places(path, below, out)
		}
	}
	return out
}

// open are the fields below which the schema says nothing of: what stands there depends on a kind that it does not look at.
var open = []string{".manifest.", ".manifest[", ".patch.", ".crd.definition.", ".labels.", ".annotations.", ".metadata."}

// isShape says whether a message is about the names and types of fields.
func isShape(message string) bool {
	for _, part := range []string{"unknown field", "unknown key", "no such field", "want object", "want array", "want string", "want integer", "want boolean", "wanted object", "Unsupported value"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

// mutants are the ways to spoil a value.
var mutants = map[string]func(place) bool{
	"renamed": func(p place) bool {
		if p.name != nil {
			p.name("surely")
		}
		return p.name != nil
	},
	"a map":     func(p place) bool { p.set(map[string]any{"surely": map[string]any{}}); return true },
	"a list":    func(p place) bool { p.set([]any{[]any{}}); return true },
	"a number":  func(p place) bool { p.set(int64(7)); return true },
	"a text":    func(p place) bool { p.set("surely not"); return true },
	"a boolean": func(p place) bool { p.set(true); return true },
}

// TestMutants spoils values of the samples: where orkestra validate finds fault with the name or the type of a field, so does the schema, and where
// the schema finds fault, so does orkestra validate.
func TestMutants(t *testing.T) {
	const step = 97 // of all mutants, each of so many is tried: all of them take minutes
	accepts, tried, both := printed(t), 0, 0
	for file, box := range sampleBoxes(t) {
		for i, p := range places("", box["spec"], nil) {
			for j, name := range slices.Sorted(maps.Keys(mutants)) {
				if (i*len(mutants)+j)%step != 0 || slices.ContainsFunc(open, func(below string) bool { return strings.Contains(p.path, below) }) {
					continue
				}
				spoilt := runtime.DeepCopyJSON(box)
				if !mutants[name](places("", spoilt["spec"], nil)[i]) {
					continue
				}
				tried++
				wrong, refused := mistakes(t, spoilt), accepts.Validate(spoilt)
				shape := slices.ContainsFunc(wrong, isShape)
				switch {
				case shape && refused == nil:
					t.Errorf("%s: spec%s is %s: the schema accepts what orkestra validate does not:\n%s", file, p.path, name, strings.Join(wrong, "\n"))
				case refused != nil && len(wrong) == 0:
					t.Errorf("%s: spec%s is %s: orkestra validate accepts what the schema does not: %v", file, p.path, name, refused)
				case refused != nil && shape:
					both++
				}
			}
		}
	}
	if both < 30 {
		t.Errorf("of %d mutants, only %d are refused by both", tried, both)
	}
}

// mistakes are those that orkestra validate finds.
func mistakes(t *testing.T, box map[string]any) []string {
	t.Helper()
	text, err := yaml.Marshal(box)
	if err != nil {
		t.Fatal(err)
	}
	v, err := validation.New(validation.Options{Docs: input.Parse("box.yaml", text), CRDs: input.NewCRDs()})
	if err != nil {
		t.Fatal(err)
	}
	results, err := v.Validate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range results {
		for _, m := range r.Errors {
			out = append(out, m.Path+": "+m.Message)
		}
	}
	return out
}
