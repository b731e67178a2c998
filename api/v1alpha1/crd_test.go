package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// maxSize is what a CRD may weigh, so that a client-side kubectl apply can keep a copy of it in an annotation.
const maxSize = 200 << 10

func readCRD(t *testing.T, plural string) (crd apiextensionsv1.CustomResourceDefinition, size int) {
	t.Helper()
	g := NewWithT(t)
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", v1alpha1.GroupName+"_"+plural+".yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	compact, err := yaml.YAMLToJSON(raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(compact, &crd)).To(Succeed())
	return crd, len(compact)
}

func TestCRDsAreSmall(t *testing.T) {
	for _, plural := range []string{"operatorboxes", "crdhealths"} {
		t.Run(plural, func(t *testing.T) {
			g := NewWithT(t)
			_, size := readCRD(t, plural)
			t.Logf("%d bytes", size)
			g.Expect(size).To(BeNumerically("<=", maxSize))
		})
	}
}

// kubernetesTypes are the fields of our specs whose schemas are Kubernetes' own: a label selector, and durations.
var kubernetesTypes = []string{
	"spec.selector",
	"spec.autoscale.cooldown", "spec.autoscale.do.resync", "spec.autoscale.interval", "spec.deletion.timeout",
	"spec.external[].cacheFor", "spec.external[].timeout", "spec.reconciler.hooks.webhook.resyncAfter", "spec.reconciler.hooks.webhook.timeout", "spec.resync", "spec.rollback.trigger.within",
}

func TestSpecsAreBounded(t *testing.T) {
	for _, plural := range []string{"operatorboxes", "crdhealths"} {
		t.Run(plural, func(t *testing.T) {
			g := NewWithT(t)
			crd, _ := readCRD(t, plural)
			spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			g.Expect(unbounded("spec", &spec)).To(BeEmpty())
		})
	}
}

// unbounded gives the lists without maxItems, the maps without maxProperties and the strings without maxLength. An enum is
// a bound, and so is a format.
func unbounded(at string, s *apiextensionsv1.JSONSchemaProps) []string {
	if slices.Contains(kubernetesTypes, at) {
		return nil
	}
	var out []string
	switch {
	case s.Type == "array" && s.MaxItems == nil:
		out = append(out, at+": no maxItems")
	case s.Type == "string" && s.MaxLength == nil && len(s.Enum) == 0 && s.Format == "":
		out = append(out, at+": no maxLength")
	case s.AdditionalProperties != nil && s.MaxProperties == nil:
		out = append(out, at+": no maxProperties")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		out = append(out, unbounded(at+"."+name, &p)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		out = append(out, unbounded(at+"[]", s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out = append(out, unbounded(at+"{}", s.AdditionalProperties.Schema)...)
	}
	return out
}

func TestEnumsAreTheConstants(t *testing.T) {
	g := NewWithT(t)
	crd, _ := readCRD(t, "operatorboxes")
	condition := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["when"].Items.Schema
	for field, typeName := range map[string]string{"operator": "Operator", "valueType": "ValueType"} {
		var enum []string
		for _, e := range condition.Properties[field].Enum {
			enum = append(enum, strings.Trim(string(e.Raw), `"`))
		}
		g.Expect(enum).NotTo(BeEmpty())
		g.Expect(enum).To(ConsistOf(constants(t, "when_types.go", typeName)), field)
	}
}

func TestEachOperatorHasAShortForm(t *testing.T) {
	g := NewWithT(t)
	b, err := json.Marshal(v1alpha1.ShortForms{
		Equals: &apiextensionsv1.JSON{Raw: []byte("1")}, GreaterThanOrEqual: &apiextensionsv1.JSON{Raw: []byte("2")},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b).To(MatchJSON(`{"equals":1,"greaterThanOrEqual":2}`))

	crd, _ := readCRD(t, "operatorboxes")
	condition := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["when"].Items.Schema
	long := map[string]string{"gt": "greaterThan", "gte": "greaterThanOrEqual", "lt": "lessThan", "lte": "lessThanOrEqual"}
	for _, operator := range constants(t, "when_types.go", "Operator") {
		if name, ok := long[operator]; ok {
			operator = name
		}
		g.Expect(condition.Properties).To(HaveKey(operator))
	}
}

// constants reads the values of all constants of a type from the source.
func constants(t *testing.T, file, typeName string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || fmt.Sprint(spec.Type) != typeName {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, text)
			}
		}
		return true
	})
	return out
}
