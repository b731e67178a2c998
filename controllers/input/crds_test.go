package input

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const shops = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.demo.example.com}
spec:
  group: demo.example.com
  scope: Namespaced
  names: {plural: shops, singular: shop, kind: Shop}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [image]
            properties:
              image: {type: string}
              replicas: {type: integer, default: 1, maximum: 9}
              small: {type: integer, format: int32}
              few: {type: integer, format: int32, minimum: 1, maximum: 9}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              most: &most {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              each: {type: object, additionalProperties: {type: object, properties: {most: *most}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              labels: {type: object, additionalProperties: {type: object, properties: {name: {type: string}}}}
            x-kubernetes-validations: [{rule: "self.image != 'none'", message: "no image is no image"}]
  - {name: v2, served: true, storage: false}
`

// crdsOf takes the CRDs of a text.
func crdsOf(text string) *CRDs {
	crds := NewCRDs()
	for _, doc := range Parse("crds.yaml", []byte(text)) {
		crds.Add(doc)
	}
	return crds
}

func TestCRDsOfFiles(t *testing.T) {
	g := NewWithT(t)
	regions := strings.NewReplacer("shops", "regions", "shop", "region", "Shop", "Region", "Namespaced", "Cluster").Replace(shops)
	crds := crdsOf(shops + "---\n" + regions + "---\napiVersion: v1\nkind: ConfigMap\n")
	g.Expect(crds.Wrong()).To(BeEmpty())
	g.Expect(crds.Names()).To(ConsistOf("shops.demo.example.com", "regions.demo.example.com"))
	g.Expect(crds.Named("shops.demo.example.com").Spec.Names.Kind).To(Equal("Shop"))
	g.Expect(crds.Named("none.demo.example.com")).To(BeNil())

	kind := func(version, name string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "demo.example.com", Version: version, Kind: name}
	}
	g.Expect(crds.Schema(kind("v1", "Shop")).Properties).To(HaveKey("spec"))
	for _, unknown := range []schema.GroupVersionKind{kind("v2", "Shop"), kind("v3", "Shop"), kind("v1", "Mall"), {Group: "other", Version: "v1", Kind: "Shop"}} {
		g.Expect(crds.Schema(unknown)).To(BeNil(), unknown.String())
	}
	for name, scope := range map[string]meta.RESTScopeName{"Shop": meta.RESTScopeNameNamespace, "Region": meta.RESTScopeNameRoot} {
		mapping, err := crds.Mapper().RESTMapping(kind("", name).GroupKind(), "v2")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(mapping.Scope.Name()).To(Equal(scope))
		g.Expect(mapping.Resource.Resource).To(Equal(strings.ToLower(name) + "s"))
	}
}

func TestCRDsThatCannotBeUsed(t *testing.T) {
	for name, tc := range map[string]struct{ text, path, want string }{
		"another name":    {strings.Replace(shops, "name: shops.", "name: shop.", 1), "metadata.name", `must be <plural>.<group>: "shops.demo.example.com"`},
		"no name":         {strings.Replace(shops, "{name: shops.demo.example.com}", "{}", 1), "metadata.name", `must be <plural>.<group>: "shops.demo.example.com"`},
		"a wrong type":    {strings.Replace(shops, "served: true", "served: perhaps", 1), "spec.versions[0].served", "want boolean, got string"},
		"two of a name":   {shops + "---\n" + strings.Replace(shops, "Namespaced", "Cluster", 1), "metadata.name", "another CustomResourceDefinition of this name is in crds.yaml"},
		"several at once": {strings.NewReplacer("served: true", "served: 1", "singular: shop", "singular: 5").Replace(shops), "spec.names.singular", "want string, got integer; put it in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			wrong := crdsOf(tc.text).Wrong()
			g.Expect(wrong).To(HaveLen(1))
			g.Expect(wrong[0].Mistakes).To(ContainElement(And(HaveField("Path", tc.path), HaveField("Message", tc.want), HaveField("Line", BeNumerically(">", 0)))))
		})
	}
}

// What the API server would do to an object: unknown fields go, defaults come, and mistakes are found, each with its line.
func TestObjectsAreAdmitted(t *testing.T) {
	s, err := NewSchema(crdsOf(shops).Schema(schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Shop"}))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"fine":                     {"{image: a, free: {anything: [goes]}, labels: {a: {name: b}}}", nil},
		"missing":                  {"{}", []string{"spec.image: Required value"}},
		"a misspelling":            {"{imgae: a, image: b}", []string{`spec.imgae: unknown field, did you mean "image"?`}},
		"too many":                 {"{image: a, replicas: 10}", []string{"spec.replicas: Invalid value: 10: should be less than or equal to 9"}},
		"too large for an integer": {"{image: a, small: 2147483648, few: 99999999999999999999}", []string{"spec.small: Invalid value: 2147483648: want a whole number from -2147483648 to 2147483647", "spec.few: Invalid value: 1e+20: want a whole number from 1 to 9"}},
		"a part of a number":       {"{image: a, small: 1.5, few: x}", []string{"spec.small: Invalid value: 1.5: want a whole number from -2147483648 to 2147483647", "spec.few: want integer, got string"}},
		"twice in a set":           {"{image: a, tags: [x, x]}", []string{`spec.tags[1]: Duplicate value: "x"`}},
		"a rule":                   {"{image: none}", []string{"spec: no image is no image"}},
		"a wrong type":             {"{image: 5}", []string{"spec.image: want string, got integer; put it in quotes"}},
		"below a map":              {"{image: a, labels: {a: {naem: b}}}", []string{`spec.labels.a.naem: unknown field, did you mean "name"?`}},
		"no list":                  {"{image: a, tags: x}", []string{"spec.tags: want array, got string"}},
		"no integer and no string": {
			"{image: a, most: 1.5, each: {a.b: {most: [1]}, c: {most: {d: e}}}}",
			[]string{"spec.most: want integer or string, got number", "spec.each[a.b].most: want integer or string, got array", "spec.each.c.most: want integer or string, got object"},
		},
		"a number that is too large": {"{image: a, most: 1e30}", []string{"spec.most: want integer or string, got number"}},
		"an integer or a string":     {"{image: a, most: 12345678901, each: {a: {most: 25%}, b: {most: null}}}", nil},
		"several mistakes":           {"{imgae: none, replicas: 10}", []string{`spec.imgae: unknown field, did you mean "image"?`, "spec.replicas: Invalid value: 10: should be less than or equal to 9"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			doc := Parse("shop.yaml", []byte("apiVersion: demo.example.com/v1\nkind: Shop\nmetadata: {name: a}\nspec: "+tc.spec+"\n"))[0]
			content := map[string]any{"spec": doc.Content["spec"]}
			found := NewFindings(doc.Content)
			s.Admit(t.Context(), content, found)
			var got []string
			for _, m := range found.Mistakes(doc) {
				got = append(got, m.Path+": "+m.Message)
				g.Expect(m.Line).To(Equal(4))
			}
			g.Expect(got).To(ConsistOf(tc.want))
			if name == "fine" {
				g.Expect(content["spec"]).To(HaveKeyWithValue("replicas", int64(1)), "the default")
			}
			g.Expect(content["spec"]).NotTo(HaveKey("imgae"), "what is unknown is removed")
		})
	}
}

func TestMetadataIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"{name: a, labels: {a: b}}":         "",
		"{name: A}":                         "metadata.name",
		"{name: a, lables: {a: b}}":         "metadata.lables",
		"{name: a, labels: {a: 5}}":         "metadata.labels[a]",
		"{name: a, labels: {a b: c}}":       "metadata.labels",
		"{name: a, namespace: ignored}":     "",
		"{name: a, annotations: [no, map]}": "metadata.annotations",
		"{}":                                "metadata.name",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			doc := Parse("a.yaml", []byte("metadata: "+text))[0]
			errs := Metadata(doc.Content)
			if want == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(ContainElement(HaveField("Field", HavePrefix(want))))
		})
	}
}

func TestDocuments(t *testing.T) {
	g := NewWithT(t)
	docs := Parse("a.yaml", []byte("# first\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {a: 1, a: 2}\n---\nkind: 5\n---\napiVersion: a/b/c\n"))
	g.Expect(docs).To(HaveLen(3))
	g.Expect([]string{docs[0].APIVersion(), docs[0].Group(), docs[0].Kind(), docs[0].Name()}).To(Equal([]string{"apps/v1", "apps", "Deployment", "a"}))
	g.Expect(docs[0].Line()).To(Equal(2))
	g.Expect(docs[0].IsCRD()).To(BeFalse())
	g.Expect(docs[0].Keys()).To(ConsistOf(Mistake{Path: "spec.a", Message: "duplicate key, it is also in line 5", Line: 5, Column: 14}))
	g.Expect(docs[0].Mistake("metadata.name", "no")).To(Equal(Mistake{Path: "metadata.name", Message: "no", Line: 4, Column: 12}))
	g.Expect([]string{docs[1].APIVersion(), docs[1].Kind(), docs[1].Name(), docs[2].Group()}).To(Equal([]string{"", "", "", ""}))
}

// What Go writes as a duration is one, whatever its units: a client in Go that reads and writes a box changes how it is written.
func TestDurationsOfBoxes(t *testing.T) {
	s, err := BoxSchema()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	mistakes := func(resync, cooldown string) []string {
		box := map[string]any{"apiVersion": "orkestra.orkspace.io/v1alpha1", "kind": "OperatorBox", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{
			"crd": map[string]any{"name": "shops.demo.example.com"}, "resync": resync, "autoscale": map[string]any{
				"cooldown": cooldown, "conditions": map[string]any{}, "do": map[string]any{"workers": int64(5)},
			},
		}}
		found := NewFindings(box)
		s.Admit(t.Context(), box, found)
		var all []string
		for _, m := range found.Mistakes(Document{}) {
			all = append(all, m.Path)
		}
		return all
	}
	for _, d := range []time.Duration{time.Second, 1500 * time.Millisecond, time.Minute, 90 * time.Minute, time.Second + time.Microsecond, 24 * time.Hour} {
		NewWithT(t).Expect(mistakes(d.String(), (d-time.Second).String())).To(BeEmpty(), d.String())
	}
	for _, fine := range []string{"0", "0s", "500µs", "1ns", "+5s", ".5s", "1.h", "1h1m1s1ms"} {
		NewWithT(t).Expect(mistakes("1m", fine)).To(BeEmpty(), fine)
	}
	for _, wrong := range []string{"1d", "", "abc", "5 min", "5", "-1s", "25h", "h", "."} {
		NewWithT(t).Expect(mistakes("1m", wrong)).To(Equal([]string{"spec.autoscale.cooldown"}), wrong)
		NewWithT(t).Expect(mistakes(wrong, "1m")).To(Equal([]string{"spec.resync"}), wrong)
	}
}
