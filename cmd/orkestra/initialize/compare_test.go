package initialize

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/cmd/orkestra/initialize/derive"
	"github.com/orkspace/orkestra/controllers/input"
)

func TestDifference(t *testing.T) {
	for name, tc := range map[string]struct {
		wanted, got string
		path, why   string
	}{
		"the same":                   {`{spec: {a: 1, b: [x, {c: true}]}}`, `{spec: {a: 1, b: [x, {c: true}]}}`, "", ""},
		"numbers of both types":      {`{spec: {a: 1}}`, `{spec: {a: 1.0}}`, "", ""},
		"large numbers":              {`{a: 9007199254740993}`, `{a: 9007199254740992}`, "a", "wanted 9007199254740993, got 9007199254740992"},
		"another value":              {`{a: {b: 1}}`, `{a: {b: 2}}`, "a.b", "wanted 1, got 2"},
		"another type":               {`{a: {b: "1"}}`, `{a: {b: 1}}`, "a.b", `wanted "1", got 1`},
		"a field is not there":       {`{a: {b: x, c: 1}}`, `{a: {c: 1}}`, "a.b", `wanted "x", got nothing`},
		"a field too many":           {`{a: {c: 1}}`, `{a: {b: x, c: 1}}`, "a.b", `wanted nothing, got "x"`},
		"an item too many":           {`{a: [x]}`, `{a: [x, z]}`, "a", "wanted a list of 1, got [x z]"},
		"another item":               {`{a: [x, {b: c}]}`, `{a: [x, {b: d}]}`, "a[1].b", `wanted "c", got "d"`},
		"no list":                    {`{a: [x]}`, `{a: x}`, "a", `wanted a list of 1, got "x"`},
		"no object":                  {`{a: {b: x}}`, `{a: x}`, "a", `wanted an object, got "x"`},
		"an empty object of none":    {`{a: {b: {}, c: 1}}`, `{a: {c: 1}}`, "a.b", "wanted an object, got nothing"},
		"none of an empty list":      {`{a: {c: 1}}`, `{a: {b: [], c: 1}}`, "a.b", "wanted nothing, got []"},
		"empty fields of the object": {`{a: {}, metadata: {labels: {}}}`, `{b: [], metadata: {annotations: {}}}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			path, why := difference(object(g, tc.wanted), object(g, tc.got))
			g.Expect([]string{path, why}).To(Equal([]string{tc.path, tc.why}))
		})
	}
}

// object reads an object with whole numbers, as input does.
func object(g Gomega, text string) map[string]any {
	written, err := yaml.YAMLToJSON([]byte(strings.TrimSpace("kind: A\nof: " + text)))
	g.Expect(err).NotTo(HaveOccurred())
	docs := input.Parse("a.yaml", written)
	g.Expect(docs).To(HaveLen(1))
	out, _ := docs[0].Content["of"].(map[string]any)
	return out
}

// Whatever the translation does, what is rendered is compared with the manifests: a manifest that asks for something else is told with its line and field.
func TestWhatIsNotRenderedIsTold(t *testing.T) {
	const manifests = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {a: b}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: shop}\ndata: {a: Yg==}\n"
	for name, tc := range map[string]struct {
		change func(wanted *derive.Wanted)
		want   string
	}{
		"as it is": {func(*derive.Wanted) {}, "1 resource: 0 errors, 1 remark\n"},
		"another value": {
			func(w *derive.Wanted) { w.Content["data"] = map[string]any{"a": "c"} },
			`shop.yaml:4: error: ConfigMap "shop": data.a: the resource does not render this manifest: wanted "c", got "b"`,
		},
		"a label": {
			func(w *derive.Wanted) {
				w.Content["metadata"] = map[string]any{"name": "shop", "labels": map[string]any{"x": "z"}}
			},
			`shop.yaml:3: error: ConfigMap "shop": metadata.labels: the resource does not render this manifest: wanted an object, got nothing`,
		},
		"an object of none": {
			func(w *derive.Wanted) { w.Doc.Content["metadata"] = map[string]any{"name": "blog"} },
			`shop.yaml:1: error: ConfigMap "blog": the resource does not render this manifest: it is not made`,
		},
		"a Secret": {
			func(w *derive.Wanted) { w.Content["data"] = map[string]any{"a": "hunter22"} },
			`shop.yaml:9: error: Secret "shop": data.a: the resource does not render this manifest: it has another value`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := &made{Draft: &draft.Draft{}, flags: &flags{now: noon}, kind: derive.Kind{Group: "example.com", Version: "v1", Name: "Website"}}
			m.translate([]derive.Instance{{Docs: input.Parse("shop.yaml", []byte(manifests))}})
			at := 0
			if name == "a Secret" {
				at = 1
			}
			tc.change(&m.resources[0].Wanted[at])
			g.Expect(m.compile(context.Background())).To(Succeed())
			var out, notes strings.Builder
			err := m.write(&out, &notes)
			g.Expect(notes.String()).To(And(ContainSubstring(tc.want), Not(ContainSubstring("hunter22"))))
			g.Expect(err != nil).To(Equal(strings.Contains(notes.String(), "1 error")), "the exit code")
			g.Expect(err != nil).To(Equal(name != "as it is"))
		})
	}
}
