package drift

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestCustomSchema(t *testing.T) {
	str := func(s string) *string { return &s }
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	ports := apiextensionsv1.JSONSchemaProps{
		Type: "array", XListType: str("map"), XListMapKeys: []string{"port", "protocol"},
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object",
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"port": {Type: "integer"}, "name": text,
				"protocol": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"TCP"`)}},
			},
		}},
	}
	textMap := func(mapType *string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{
			Type: "object", XMapType: mapType, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text},
		}
	}
	root := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"ports": ports,
			"tags":  {Type: "array", XListType: str("set"), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}},
			"args":  {Type: "array", XListType: str("atomic"), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}},
			"loose": textMap(nil), "whole": textMap(str("atomic")),
			"size": {XIntOrString: true},
			"unit": {Type: "object", XMapType: str("atomic"), Properties: map[string]apiextensionsv1.JSONSchemaProps{"inner": textMap(nil)}},
		}},
	}}
	asked := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	comparer := NewComparer(func(gvk schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
		if gvk == asked {
			return root
		}
		return nil
	})
	runDriftCases(t, comparer, map[string]driftCase{
		"KeysWithDefault": {custom, "spec: {ports: [{port: 1, name: a}]}", "spec: {ports: [{port: 2}, {port: 1, protocol: TCP, name: a}]}", nil},
		"KeysDiffer":      {custom, "spec: {ports: [{port: 1, name: a}]}", "spec: {ports: [{port: 1, protocol: TCP, name: b}]}", []string{"spec.ports[port=1,protocol=TCP].name"}},
		"KeysOtherEntry":  {custom, "spec: {ports: [{port: 1, protocol: UDP}]}", "spec: {ports: [{port: 1, protocol: TCP}]}", []string{"spec.ports[port=1,protocol=UDP]"}},
		"Set":             {custom, "spec: {tags: [a, b]}", "spec: {tags: [c, b, a]}", nil},
		"SetLacks":        {custom, "spec: {tags: [a, 'b,c']}", "spec: {tags: [a]}", []string{`spec.tags["b,c"]`}},
		"SetOfMaps":       {custom, "spec: {tags: [{a: b}]}", "spec: {tags: [{a: c}]}", []string{"spec.tags[0].a"}},
		"Atomic":          {custom, "spec: {args: [a, b]}", "spec: {args: [b, a]}", []string{"spec.args[0]", "spec.args[1]"}},
		"LooseMap":        {custom, "spec: {loose: {a: b}}", "spec: {loose: {a: b, c: d}}", nil},
		"EmptyKeyValue":   {custom, "spec: {loose: {a: ''}}", "spec: {loose: {b: ''}}", []string{"spec.loose.a"}},
		"WholeMap":        {custom, "spec: {whole: {a: b}}", "spec: {whole: {a: b, c: d}}", []string{"spec.whole.c"}},
		"WholeMapNull":    {custom, "spec: {whole: {a: b}}", "spec: {whole: {a: b, c: null}}", nil},
		"InAWhole":        {custom, "spec: {unit: {inner: {a: b}}}", "spec: {unit: {inner: {a: b, c: d}, more: x}}", []string{"spec.unit.inner.c"}},
		"IntOrString":     {custom, "spec: {size: 5}", "spec: {size: '5'}", nil},
		"NotInSchema":     {custom, "spec: {more: {a: [1]}}", "spec: {more: {a: [1]}}", nil},
		"NotInSchema2":    {custom, "spec: {more: {a: [1]}}", "spec: {more: {a: [1, 2]}}", []string{"spec.more.a[1]"}},
		"NoSchema":        {"example.com/v2 Thing", "spec: {tags: [a, b]}", "spec: {tags: [b, a]}", []string{"spec.tags[0]", "spec.tags[1]"}},
	})
}

func TestCustomSchemaMayChange(t *testing.T) {
	g := NewWithT(t)
	set := func() *apiextensionsv1.JSONSchemaProps {
		kind := "set"
		tags := apiextensionsv1.JSONSchemaProps{Type: "array", XListType: &kind}
		spec := apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"tags": tags}}
		return &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}}
	}
	current := set()
	c := NewComparer(func(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps { return current })
	desired, live := object(t, custom, "spec: {tags: [a, b]}"), object(t, custom, "spec: {tags: [b, a]}")
	differ := func() []string { return Paths(c.Differences(c.Prepare(desired), live)) }
	g.Expect(differ()).To(BeEmpty())
	g.Expect(differ()).To(BeEmpty())
	current = &apiextensionsv1.JSONSchemaProps{Type: "object"}
	g.Expect(differ()).To(HaveLen(2))
	current = nil
	g.Expect(differ()).To(HaveLen(2))
	current = set()
	g.Expect(differ()).To(BeEmpty())
}
