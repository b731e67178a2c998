package roots_test

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

func object(fields map[string]roots.Schema) roots.Schema {
	return roots.Schema{Type: "object", Properties: fields}
}

// crd is the schema of a resource with each kind of field.
func crd() *roots.Schema {
	text := roots.Schema{Type: "string"}
	list := func(items *roots.Schema) roots.Schema {
		return roots.Schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}
	}
	entry := object(map[string]roots.Schema{"name": text})
	out := object(map[string]roots.Schema{
		"spec": object(map[string]roots.Schema{
			"image": text, "Odd": text, "replicas": {Type: "integer"}, "port": {XIntOrString: true}, "entries": list(&entry), "anything": {XPreserveUnknownFields: new(true)},
			"untyped": {}, "loose": list(nil), "labels": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}},
			"open":  {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}},
			"pod":   {Type: "object", XEmbeddedResource: true, Properties: map[string]roots.Schema{"spec": object(map[string]roots.Schema{"a": text})}},
			"token": *roots.Hidden("a Secret can't be read here"),
		}),
	})
	return &out
}

// A path is checked segment by segment; what the schema rules out is said with the nearest name.
func TestAt(t *testing.T) {
	set := roots.NewSet(crd()).WithNames(roots.Children, map[string]*roots.Schema{"web": crd(), "other": nil}).WithUnchecked(roots.Item)
	for path, want := range map[string]string{ // the type of what stands there; an error after an exclamation mark
		"spec":                        "object",
		"spec.image":                  "string",
		"spec.replicas":               "integer",
		"spec.port":                   "",
		"spec.entries":                "array",
		"spec.entries[0]":             "object",
		"spec.entries[0].name":        "string",
		"spec.labels.a":               "string",
		"spec.labels['a/b']":          "string",
		"spec.anything.a.b":           "nothing known",
		"spec.untyped.a":              "nothing known",
		"spec.loose[3].a":             "nothing known",
		"spec.open.x":                 "nothing known",
		"spec.pod.metadata.name":      "string",
		"spec.pod.kind":               "string",
		"spec.pod.spec.a":             "string",
		"spec.imagee":                 `! spec.imagee: no such field in the CRD's schema, did you mean "image"?`,
		"spec.image.x":                "! spec.image.x: spec.image is of type string, which has no fields",
		"spec.port.x":                 "! spec.port.x: spec.port is an integer or a string, which has no fields",
		"spec.entries.name":           "! spec.entries.name: spec.entries is a list; take an element of it with index, or range over it",
		"spec.entries[0].nam":         `! spec.entries[0].nam: no such field in the CRD's schema, did you mean "name"?`,
		"spec.entries[0].mode":        `! spec.entries[0].mode: no such field in the CRD's schema, only name`,
		"spec.labels.a.b":             "! spec.labels.a.b: spec.labels.a is of type string, which has no fields",
		"spec.pod.box":                `! spec.pod.box: no such field in the CRD's schema`,
		"spec.token":                  "! spec.token: a Secret can't be read here",
		"spec.token.x":                "! spec.token: a Secret can't be read here",
		"status":                      "object",
		"status.phase":                "! status.phase: no such field in the CRD's schema",
		"metadata.name":               "string",
		"metadata.generation":         "integer",
		"metadata.labels.app":         "string",
		"metadata.ownerReferences[0]": "object",
		"metadata.finalizers[0]":      "string",
		"metadata.managedFields[0].x": "nothing known",
		"metadata.nam":                `! metadata.nam: no such field in the CRD's schema, did you mean "name"?`,
		"kind":                        "string",
		"box.revision":                "string",
		"box.x":                       "! box.x: no such field in the CRD's schema, only name, revision",
		"children.web.spec.image":     "string",
		"children.web.spec.imag":      `! children.web.spec.imag: there is no such field, did you mean "image"?`,
		"children.other.anything":     "nothing known",
		"children.webb":               `! children.webb: this box declares no such child, did you mean "web"?`,
		"item.x.y":                    "nothing known",
		"index":                       "! .index: there is one only inside a forEach",
		"previous.spec":               "! .previous: there is one only inside onRollback",
		"Values.x":                    "! .Values: no such name in a template: that is Helm's; what a resource says is below .spec",
		"Release.Name":                "! .Release: no such name in a template: that is Helm's; a resource's name and namespace are below .metadata",
		"Chart.x":                     "! .Chart: no such name in a template: that is Helm's; a template reads the resource alone",
		"spce.image":                  `! .spce: no such name in a template, did you mean "spec"?`,
		"external.x":                  "! .external: no such name in a template",
	} {
		t.Run(path, func(t *testing.T) {
			g := NewWithT(t)
			parsed, err := value.ParsePath(path)
			g.Expect(err).NotTo(HaveOccurred())
			node, err := set.At(parsed)
			got := "nothing known"
			switch {
			case err != nil:
				got = "! " + err.Error()
			case node != nil:
				got = node.Type
			}
			g.Expect(got).To(Equal(want))
		})
	}
	_, err := set.At(nil)
	NewWithT(t).Expect(err).To(MatchError("a path is empty"))
}

// Without a schema nothing below spec and status is checked; an open schema is none.
func TestNewSet_open(t *testing.T) {
	for name, schema := range map[string]*roots.Schema{"none": nil, "open": {XPreserveUnknownFields: new(true)}, "empty": {}} {
		g := NewWithT(t)
		node, err := roots.NewSet(schema).At(value.Path{"spec", "whatever"})
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(node).To(BeNil(), name)
		_, err = roots.NewSet(schema).At(value.Path{"metadata", "whatever"})
		g.Expect(err).To(HaveOccurred(), name)
	}
}

// The With methods change a copy; what was taken away is back when it is added again.
func TestSet_with(t *testing.T) {
	g := NewWithT(t)
	set := roots.NewSet(crd())
	g.Expect(set.Names()).To(Equal([]string{"apiVersion", "box", "children", "kind", "metadata", "spec", "status"}))
	g.Expect(set.WithUnchecked("item", "key").Names()).To(ContainElements("item", "key"))
	g.Expect(set.Without(roots.Children, roots.Box).Names()).To(Equal([]string{"apiVersion", "kind", "metadata", "spec", "status"}))
	hidden := set.WithHidden(roots.Status, "cross")
	g.Expect(hidden.Names()).NotTo(ContainElement("status"))
	g.Expect(hidden.Hides(roots.Status)).To(BeTrue())
	g.Expect(hidden.Reads(roots.Status)).To(BeFalse())
	g.Expect(hidden.Reads(roots.Spec)).To(BeTrue())
	_, known := hidden.Schema(roots.Status)
	g.Expect(known).To(BeTrue(), "it is there, and may not be read")
	g.Expect(hidden.Check(roots.Status)).To(MatchError("status is not available here: this step runs before it is read"))
	g.Expect(hidden.Check("cross")).To(MatchError(ContainSubstring("not available here")))
	for _, back := range []*roots.Set{hidden.WithUnchecked(roots.Status), hidden.With(roots.Status, nil), hidden.WithNames(roots.Status, nil)} {
		g.Expect(back.Reads(roots.Status)).To(BeTrue())
	}
	g.Expect(set.Hides(roots.Status)).To(BeFalse(), "a copy was changed")
	g.Expect(set.Reads("item")).To(BeFalse(), "a copy was changed")
	again := hidden.WithHidden("kind")
	g.Expect(again.Hides(roots.Status)).To(BeTrue())
	g.Expect(hidden.Hides("kind")).To(BeFalse())

	element := roots.Schema{Type: "integer"}
	node, _ := set.With("item", &element).Schema("item")
	g.Expect(node).To(BeIdenticalTo(&element))
	node, _ = set.With("item", &element).WithUnchecked("item").Schema("item")
	g.Expect(node).To(BeIdenticalTo(&element), "what is known of it stays")
}

func TestOfResource(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []string{"apiVersion", "kind", "metadata", "spec", "status"} {
		g.Expect(roots.OfResource(name)).To(BeTrue(), name)
	}
	for _, name := range []string{"box", "children", "item", "self", "", "Spec"} {
		g.Expect(roots.OfResource(name)).To(BeFalse(), name)
	}
	g.Expect(roots.Elsewhere("item")).To(BeTrue())
	g.Expect(roots.Elsewhere("Values")).To(BeTrue())
	g.Expect(roots.Elsewhere("spec")).To(BeFalse())
}

// A capital first letter stands for a small one where the schema has no such field; where it can't tell, the value decides.
func TestFold(t *testing.T) {
	spec := crd().Properties["spec"]
	entries, labels, open, pod := spec.Properties["entries"], spec.Properties["labels"], spec.Properties["anything"], spec.Properties["pod"]
	for name, tc := range map[string]struct {
		node     *roots.Schema
		segment  string
		spelling string
		known    bool
	}{
		"a field":                        {&spec, "image", "image", true},
		"a field with a capital letter":  {&spec, "Odd", "Odd", true},
		"a field in capital spelling":    {&spec, "Image", "image", true},
		"a field that is not there":      {&spec, "Nothing", "nothing", true},
		"a map, whose keys are anything": {&labels, "App", "App", false},
		"a list":                         {&entries, "X", "X", false},
		"what may be anything":           {&open, "X", "X", false},
		"an embedded resource":           {&pod, "Kind", "Kind", false},
		"its field":                      {&pod, "Spec", "spec", true},
		"nothing known":                  {nil, "X", "X", false},
	} {
		spelling, known := roots.Fold(tc.node, tc.segment)
		g := NewWithT(t)
		g.Expect(spelling).To(Equal(tc.spelling), name)
		g.Expect(known).To(Equal(tc.known), name)
	}
}

func TestIsOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		schema roots.Schema
		want   bool
	}{
		"nothing said":           {roots.Schema{}, true},
		"unknown fields stay":    {roots.Schema{Type: "object", XPreserveUnknownFields: new(true)}, true},
		"unknown fields go":      {roots.Schema{Type: "object", XPreserveUnknownFields: new(false)}, false},
		"any key":                {roots.Schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}}, true},
		"no key":                 {roots.Schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{}}, false},
		"keys of one schema":     {roots.Schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &roots.Schema{}}}, false},
		"an object":              {roots.Schema{Type: "object"}, false},
		"text":                   {roots.Schema{Type: "string"}, false},
		"an integer or a string": {roots.Schema{XIntOrString: true}, false},
		"fields without a type":  {roots.Schema{Properties: map[string]roots.Schema{"a": {}}}, false},
	} {
		NewWithT(t).Expect(roots.IsOpen(&tc.schema)).To(Equal(tc.want), name)
	}
}

// The error names what is absent and what to do about it, in the words of where it was to be found.
func TestAbsentError(t *testing.T) {
	for want, e := range map[string]roots.AbsentError{
		"spec.a: no such field in this resource; where it may be absent, use default or if":                         {Path: value.Path{"spec", "a"}},
		"spec.a.b: no such field in this resource (spec.a is a string); where it may be absent, use default or if":  {Path: value.Path{"spec", "a", "b"}, Found: "spec.a is a string"},
		"children.web.status: no such child or field yet; where it may be absent, use default or if":                {Path: value.Path{"children", "web", "status"}},
		"cross.db: no such object or field yet; where it may be absent, use default or if":                          {Path: value.Path{"cross", "db"}},
		"external.call.body: no such field in the answer; where it may be absent, use default or if":                {Path: value.Path{"external", "call", "body"}},
		"argument 1 of trim: no value; where it may be absent, use default or if":                                   {What: "argument 1 of trim"},
		"no such key; where it may be absent, use has()":                                                            {What: "no such key", Hint: "use has()"},
		"spec.a: no such field in this resource; where it may be absent, use has(self.spec.a) or an optional field": {Path: value.Path{"spec", "a"}, Hint: "use has(self.spec.a) or an optional field"},
		"spec.labels['a/b'][0]: no such field in this resource; where it may be absent, use default or if":          {Path: value.Path{"spec", "labels", "a/b", "0"}},
	} {
		g := NewWithT(t)
		g.Expect(e.Error()).To(Equal(want))
		g.Expect(roots.IsAbsent(fmt.Errorf("evaluating: %w", &e))).To(BeTrue())
	}
	NewWithT(t).Expect(roots.IsAbsent(errors.New("spec.a: no such field in this resource"))).To(BeFalse())
	NewWithT(t).Expect(roots.IsAbsent(nil)).To(BeFalse())
}
