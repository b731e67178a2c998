package kro

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestPartsOfATextWithExpressions(t *testing.T) {
	for text, want := range map[string][]part{
		"":                            nil,
		"plain $ {a}":                 {{text: "plain $ {a}"}},
		"${ a }":                      {{text: "a", cel: true}},
		"a${b}c${d}":                  {{text: "a"}, {text: "b", cel: true}, {text: "c"}, {text: "d", cel: true}},
		"${ {'a': {'b': 1}}.a }":      {{text: "{'a': {'b': 1}}.a", cel: true}},
		`${"}" + '\'}' + """ "} """}`: {{text: `"}" + '\'}' + """ "} """`, cel: true}},
		`${r"\" + '}'}`:               {{text: `r"\" + '}'`, cel: true}},
	} {
		got, err := parts(text)
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(got).To(Equal(want), text)
	}
	for _, text := range []string{"${", "a ${b", "${'}", `${"\"}`, "${{}"} {
		_, err := parts(text)
		NewWithT(t).Expect(err).To(MatchError(errOpen), text)
	}
}

func TestNamesAreReplacedWhereTheyStand(t *testing.T) {
	for text, want := range map[string]string{
		"schema.spec.name":                                                         "self.spec.name",
		"schema.spec.schema + a.schema":                                            "self.spec.schema + children.a.schema",
		"'schema' + schema.spec.name":                                              "'schema' + self.spec.name",
		"a.items.map(a, a + schema.spec.x)":                                        "children.a.items.map(a, a + self.spec.x)",
		"a.items.exists(x, x == a.metadata.name)":                                  "children.a.items.exists(x, x == children.a.metadata.name)",
		"has(a.status.ready) && a.status.ready":                                    "has(children.a.status.ready) && children.a.status.ready",
		"'ä' + a.metadata.name + 'ö' + b.data.x":                                   "'ä' + children.a.metadata.name + 'ö' + cross.b.data.x",
		"a.status.?x.orValue('none')":                                              "children.a.status.?x.orValue('none')",
		"b.data.?x[schema.spec.key]":                                               "(cross.b.data.?x[self.spec.key]).orValue(none)",
		"c.map(x, x.metadata.name)":                                                "children.?c.orValue({}).transformList(k, v, v).map(x, x.metadata.name)",
		"schema.spec.on ? {'a': 1} : omit()":                                       "self.spec.on ? {'a': 1} : dyn(null)",
		"sets.contains(a.x, lists.range(3)) && ip.isCanonical(strings.quote('x'))": "sets.contains(children.a.x, lists.range(3)) && ip.isCanonical(strings.quote('x'))",
		"[string(schema.spec.x), type(a) == map ? 1:2]":                            "[string(self.spec.x), type(children.a) == map ? 1:2]",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			gr := &graph{byID: map[string]*node{
				"a": {name: "a"}, "b": {name: "b", external: map[string]any{"kind": "ConfigMap"}}, "c": {name: "c", loop: &loop{}},
			}}
			s := scope{g: gr}
			e, err := s.parse(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.cel(e, "none")).To(Equal(want))
		})
	}
}

func TestMarkers(t *testing.T) {
	for text, want := range map[string][]marker{
		"string":                              nil,
		"string|required=true":                {{"required", "true"}},
		`string | default="a b" minLength=3`:  {{"default", "a b"}, {"minLength", "3"}},
		`string | default="a \"b\" \\ \d"`:    {{"default", `a "b" \ \d`}},
		`"[]string" | default=["a", "b c"]`:   {{"default", `["a", "b c"]`}},
		`object | default={"a": {"b": "}"}} `: {{"default", `{"a": {"b": "}"}}`}},
	} {
		_, got, err := parseField(text)
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(got).To(Equal(want), text)
	}
	for _, text := range []string{"string | required", `string | default="a`, "string | default={", "string | default=}"} {
		_, _, err := parseField(text)
		NewWithT(t).Expect(err).To(HaveOccurred(), text)
	}
}

func TestPlurals(t *testing.T) {
	for singular, want := range map[string]string{
		"application": "applications", "policy": "policies", "gateway": "gateways", "ingress": "ingresses", "box": "boxes", "": "",
	} {
		NewWithT(t).Expect(plural(singular)).To(Equal(want))
	}
}
