package input

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	yamlv3 "go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

func TestParseFindsDocumentsAndLines(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string // the name of each document and its line
	}{
		"one":                      {"name: a", []string{"a 1"}},
		"nothing":                  {"\n# only a comment\n---\n", nil},
		"a byte order mark":        {"\xef\xbb\xbfname: a", []string{"a 1"}},
		"a marker first":           {"---\nname: a\n---\n\nname: b\n", []string{"a 2", "b 5"}},
		"text behind the marker":   {"--- # first\nname: a\n--- {name: b}\n", []string{"a 2", "b 3"}},
		"the end of a document":    {"name: a\n...\n# between\n---\nname: b\n", []string{"a 1", "b 5"}},
		"lines of Windows":         {"---\r\nname: a\r\n---\r\nname: b\r\n", []string{"a 2", "b 4"}},
		"a line in a block scalar": {"text: |\n  a\n  ---\n  b\nname: a\n", []string{"a 1"}},
		"no marker":                {"name: a\n----\n", []string{"! 2"}},
		"not an object":            {"[a]\n---\na\n---\n5\n", []string{" 1", " 3", " 5"}},
		"not YAML":                 {"name: a\n---\nx: y: z\n---\nname: c\n", []string{"a 1", "! 3", "c 5"}},
		"JSON with tabs":           {"{\n\t\"name\": \"a\"\n}\n", []string{"a 1"}},
		"not JSON":                 {"{\n\t\"name\": \"a\n}\n", []string{"! 2"}},
		"a list":                   {"kind: FooList\nitems:\n- name: a\n- [b]\n- name: c\n- kind: List\n  items:\n  - name: d", []string{"a 3", "c 5", "d 8"}},
		"the words of YAML 1.1":    {"name: a\nyes: no\n", []string{"a 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var got []string
			for _, doc := range Parse("f", []byte(tc.text)) {
				if doc.Wrong != nil {
					got = append(got, "! "+string(rune('0'+doc.Wrong.Line)))
					continue
				}
				got = append(got, text(doc.Content["name"])+" "+string(rune('0'+doc.Line())))
			}
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

// The commonest mistake of people who begin: YAML takes a template without quotes for a map.
func TestTemplatesWithoutQuotes(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		line int // 0: it is another mistake
	}{
		"alone":                         {"a: 1\nb:\n  image: {{ .spec.image }}\nc: 2\n", 3},
		"in a second document":          {"a: 1\n---\nimage: {{ .spec.image }}\n", 3},
		"with a default":                {"a: 1\nimage: {{ .spec.image | default \"b\" }}\n", 2},
		"and a text behind it":          {"a: 1\nb:\n  name: {{ .metadata.name }}-b\n  c: 1\n", 3},
		"and a text behind, at the end": {"a: 1\nname: {{ .metadata.name }}-b", 2},
		"two of them":                   {"a: {{ if .x }}y{{ end }}\n", 1},
		"an item":                       {"a:\n- {{ .x }}\n", 2},
		"an item with a text behind it": {"a:\n- b\n- {{ .x }}-b\n", 3},
		"in a list":                     {"a: [{{ .x }}]\n", 1},
		"a key of an item":              {"a:\n- name: {{ .x }}-b\n", 2},
		"quoted, and something else":    {"a: '{{ .x }}'\nb: [\n", 0},
		"in a block, and another":       {"a: |\n  {{ .x }}\n  x\nb: [\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			docs := Parse("f", []byte(tc.text))
			wrong := docs[len(docs)-1].Wrong
			g.Expect(wrong).NotTo(BeNil())
			g.Expect(wrong.Message).To(HavePrefix("not YAML: "))
			if tc.line == 0 {
				g.Expect(wrong.Message).NotTo(ContainSubstring("needs quotes"))
				return
			}
			g.Expect(wrong.Message).To(ContainSubstring("a template that begins with {{ needs quotes"))
			g.Expect(wrong.Line).To(Equal(tc.line))
		})
	}
}

// The parser names no line of an anchor that is not known.
func TestLineOfAnUnknownAnchor(t *testing.T) {
	docs := Parse("f", []byte("a: 1\n---\nb: &x 1\nc: *x\nd: [*nope]\ne: *nope\n"))
	NewWithT(t).Expect(docs[1].Wrong).To(Equal(&Mistake{Message: "not YAML: unknown anchor 'nope' referenced", Line: 5}))
}

func TestPathsAreReadByTheDocument(t *testing.T) {
	g := NewWithT(t)
	doc := Parse("f", []byte(`
spec:
  labels:
    app.kubernetes.io/name: a
    app: b
    "x[0]": c
  list:
  - name: &anchor
      deep: d
  - name: *anchor
`))[0]
	for path, want := range map[string]struct {
		path string
		line int
	}{
		"":                                    {"", 2},
		"spec":                                {"spec", 2},
		"spec.labels.app":                     {"spec.labels.app", 5},
		"spec.labels[app]":                    {"spec.labels.app", 5},
		"spec.labels.app.kubernetes.io/name":  {"spec.labels[app.kubernetes.io/name]", 4},
		"spec.labels[app.kubernetes.io/name]": {"spec.labels[app.kubernetes.io/name]", 4},
		"spec.labels[x[0]]":                   {"spec.labels[x[0]]", 6},
		"spec[labels][app]":                   {"spec.labels.app", 5},
		"spec.list[0].name.deep":              {"spec.list[0].name.deep", 9},
		"spec.list[1].name.deep":              {"spec.list[1].name.deep", 9},
		"spec.list[1].missing[a/b].more":      {"spec.list[1].missing[a/b].more", 10},
		"spec.list[7]":                        {"spec.list[7]", 7},
		"spec.nothing.at[3].all":              {"spec.nothing.at[3].all", 2},
		"spec..labels.":                       {"spec.labels", 3},
		"spec.[":                              {"spec", 2},
	} {
		t.Run(path, func(t *testing.T) {
			g := NewWithT(t)
			steps := parsePath(path, doc.Content)
			g.Expect(pathString(steps)).To(Equal(want.path))
			line, _ := doc.places.at(steps)
			g.Expect(line).To(Equal(want.line))
		})
	}
	line, column := (*places)(nil).at(nil)
	g.Expect([]int{line, column}).To(Equal([]int{0, 0}))
	g.Expect((*places)(nil).keys()).To(BeEmpty())
}

func TestTypeErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"fits": {"{group: a, names: {plural: b}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]}", nil},
		"null": {"{group: null, versions: null, names: {plural: null}}", nil},
		"unknown fields, at any depth": {
			"{gruop: a, names: {Plural: b}, versions: [{name: v1}, {nam: v1}]}",
			[]string{
				`x.gruop: Forbidden: unknown field, did you mean "group"?`,
				`x.names.Plural: Forbidden: unknown field, did you mean "plural"?`,
				`x.versions[1].nam: Forbidden: unknown field, did you mean "name"?`,
			},
		},
		"wrong types": {
			"{group: 1, names: [], versions: [{served: yes please}, a], preserveUnknownFields: 1.5}",
			[]string{
				`x.group: Invalid value: "integer": want string`,
				`x.names: Invalid value: "array": want object`,
				`x.preserveUnknownFields: Invalid value: "number": want boolean`,
				`x.versions[0].served: Invalid value: "string": want boolean`,
				`x.versions[1]: Invalid value: "string": want object`,
			},
		},
		"schemas in schemas": {
			`{versions: [{schema: {openAPIV3Schema: {
				properties: {a: {items: {typ: string}}, b: {items: [{typ: string}]}},
				additionalProperties: {typ: string}, default: {typ: a}, enum: [{typ: a}]}}}, {schema: {openAPIV3Schema: {additionalProperties: true}}}]}`,
			[]string{
				`x.versions[0].schema.openAPIV3Schema.additionalProperties.typ: Forbidden: unknown field, did you mean "type"?`,
				`x.versions[0].schema.openAPIV3Schema.properties[a].items.typ: Forbidden: unknown field, did you mean "type"?`,
				`x.versions[0].schema.openAPIV3Schema.properties[b].items[0].typ: Forbidden: unknown field, did you mean "type"?`,
			},
		},
		"a list in place of a schema": {
			"{versions: [{schema: {openAPIV3Schema: {additionalProperties: [], dependencies: {a: [b], c: {typ: d}}}}}]}",
			[]string{
				`x.versions[0].schema.openAPIV3Schema.additionalProperties: Invalid value: "array": want object`,
				`x.versions[0].schema.openAPIV3Schema.dependencies[c].typ: Forbidden: unknown field, did you mean "type"?`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(tc.text, "\t", " ")))
			g.Expect(err).NotTo(HaveOccurred())
			var value any
			g.Expect(utiljson.Unmarshal(b, &value)).To(Succeed())
			var got []string
			for _, e := range TypeErrors(value, reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec](), field.NewPath("x")) {
				got = append(got, e.Error())
			}
			slices.Sort(got)
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

func TestTypesThatAreAnIntegerOrAString(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"a string":   {"25%", ""},
		"an integer": {int64(-2147483648), ""},
		"too large":  {int64(2147483648), "x: Invalid value: 2147483648: want a string, or an integer from -2147483648 to 2147483647"},
		"a number":   {1.5, `x: Invalid value: "number": want integer or string`},
		"a list":     {[]any{}, `x: Invalid value: "array": want integer or string`},
		"a boolean":  {true, `x: Invalid value: "boolean": want integer or string`},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			for _, e := range Mismatches(tc.value, reflect.TypeFor[*intstr.IntOrString](), field.NewPath("x")) {
				got += e.Error()
			}
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}

func TestOneMessageForOneMistake(t *testing.T) {
	at := field.NewPath("spec")
	unknown := field.Forbidden(at.Child("feild"), `unknown field, did you mean "field"?`)
	broken := field.Invalid(at, field.OmitValueType{}, "give exactly one of field and cel")
	for name, tc := range map[string]struct {
		found *Findings
		want  []string
	}{
		"a rule over an object with a misspelled field": {
			collect(finding{source: FromSchema, err: unknown}, finding{source: fromRules, err: broken}), []string{"spec.feild"},
		},
		"what a misspelled field was meant to be": {
			collect(finding{source: FromSchema, err: unknown}, finding{source: FromCompile, err: field.Required(at.Child("field"), "")}), []string{"spec.feild"},
		},
		"another field that is missing": {
			collect(finding{source: FromSchema, err: unknown}, finding{source: FromCompile, err: field.Required(at.Child("value"), "")}),
			[]string{"spec.feild", "spec.value"},
		},
		"the compiler knows more than the schema": {
			collect(finding{source: FromSchema, err: field.Invalid(at.Child("a"), "x", "pattern")}, finding{source: FromCompile, err: field.Invalid(at.Child("a"), "x", "better")}),
			[]string{"spec.a better"},
		},
		"what is missing is missing": {
			collect(finding{source: FromSchema, err: field.Required(at.Child("a"), "missing")}, finding{source: FromCompile, err: field.Invalid(at.Child("a"), "", "empty")}),
			[]string{"spec.a missing"},
		},
		"a rule that the compiler explains": {
			collect(finding{source: fromRules, err: broken}, finding{source: FromCompile, err: field.Required(at.Child("field"), "say what is tested")}),
			[]string{"spec.field say what is tested"},
		},
		"a rule beside another mistake": {
			collect(finding{source: fromRules, err: broken}, finding{source: FromCompile, err: field.Invalid(at.Child("field"), "x", "no such field")}),
			[]string{"spec give exactly one of field and cel", "spec.field no such field"},
		},
		"a rule of the root": {collect(finding{source: fromRules, err: field.Invalid(nil, field.OmitValueType{}, "too long")}), []string{" too long"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var got []string
			for _, f := range tc.found.distinct() {
				if unknownName.MatchString(f.err.Detail) || f.err.Detail == "" {
					got = append(got, f.path)
				} else {
					got = append(got, f.path+" "+f.err.Detail)
				}
			}
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

func collect(found ...finding) *Findings {
	var out Findings
	for _, f := range found {
		out.Add(f.source, f.err)
	}
	return &out
}

func TestMessages(t *testing.T) {
	at := field.NewPath("spec", "a")
	for name, tc := range map[string]struct {
		err  *field.Error
		want string
	}{
		"forbidden":              {field.Forbidden(at, "not here"), "not here"},
		"required":               {field.Required(at, "say what"), "Required value: say what"},
		"invalid":                {field.Invalid(at, "x", "spec.a in body should be short"), `Invalid value: "x": should be short`},
		"of the validator":       {field.TypeInvalid(at, "string", `spec.a in body must be of type integer: "string"`), "want integer, got string"},
		"of the kinds":           {field.TypeInvalid(at, "array", "want object"), "want object, got array"},
		"not supported":          {field.NotSupported(at, "Newer", []string{"Never", "Always"}), `Unsupported value: "Newer", did you mean "Never"? (supported: Never, Always)`},
		"not supported, far off": {field.NotSupported(at, "x", []string{"Never", "Always"}), `Unsupported value: "x" (supported: Never, Always)`},
		"several lines":          {field.Invalid(at, "x\ny", "one\n  two"), `Invalid value: "x\ny": one two`},
		"a long value":           {field.Invalid(at, strings.Repeat("ä", 300), "long"), `Invalid value: "` + strings.Repeat("ä", 199) + `…": long`},
		"internal":               {field.InternalError(at, errors.New("boom")), "Internal error: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(message(tc.err)).To(Equal(tc.want))
		})
	}
}

func TestMistakesAreTheSameWhenAskedTwice(t *testing.T) {
	g := NewWithT(t)
	doc := Parse("f", []byte("spec: {crdd: {}}\n"))[0]
	found := NewFindings(doc.Content)
	found.Add(FromSchema, field.Forbidden(field.NewPath("spec", "crdd"), `unknown field, did you mean "crd"?`))
	found.Add(FromSchema, field.Required(field.NewPath("spec", "crd"), ""))
	first := found.Mistakes(doc)
	g.Expect(first).To(HaveLen(1), "what is missing was only misspelled")
	g.Expect(found.Mistakes(doc)).To(Equal(first))
}

// TestKeysAreWhatIsWritten, or there is a mistake: the reader of YAML that counts is asked for each of them.
func TestKeysAreWhatIsWritten(t *testing.T) {
	for _, key := range []string{
		"n", "N", "no", "No", "NO", "y", "Y", "yes", "on", "OFF", "True", "FALSE", "true", "false", "null", "~", "Null", "010", "0o10", "0x1f", "0b1", "1_000", "1.0", "1.50", "1e3",
		"1e400", ".inf", "12345678901234567890", "-0", "+1", "12:30:45", "2026-01-01", "8080", "a", "a.b/c", "a b", "!!str no", `"no"`, "'n'", "<<x",
	} {
		t.Run(key, func(t *testing.T) {
			g := NewWithT(t)
			var written yamlv3.Node
			g.Expect(yamlv3.Unmarshal([]byte(key), &written)).To(Succeed())
			var read map[string]map[string]any
			err := yaml.Unmarshal([]byte("a: {"+key+": x}"), &read)
			docs := Parse("a.yaml", []byte("\na:\n  "+key+": x\n"))
			g.Expect(docs).To(HaveLen(1))
			mistakes := docs[0].Keys()
			if docs[0].Wrong != nil {
				mistakes = []Mistake{*docs[0].Wrong}
			}
			if _, same := read["a"][written.Content[0].Value]; err == nil && same {
				g.Expect(mistakes).To(BeEmpty())
				return
			}
			g.Expect(mistakes).To(ConsistOf(And(HaveField("Line", 3), HaveField("Message", HaveSuffix("quote it: "+strconv.Quote(key))))))
		})
	}
}

func TestValuesThatAreReadAsAnotherText(t *testing.T) {
	g := NewWithT(t)
	docs := Parse("a.yaml", []byte("a: [no, false, 1.10, 1.1, 010, 10, 2026-01-01, ~, \"no\", !!str no, &x on, *x]\nb: {<<: {c: y}}\n"))
	g.Expect(docs).To(HaveLen(1))
	var read []string
	for _, m := range docs[0].Respelled() {
		read = append(read, m.Path+" "+strings.TrimSuffix(m.Message, " where text is meant"))
	}
	g.Expect(read).To(Equal([]string{
		`a[0] no is read as false, by kubectl, too; write false, or "no"`, `a[2] 1.10 is read as 1.1, by kubectl, too; write 1.1, or "1.10"`,
		`a[4] 010 is read as 8, by kubectl, too; write 8, or "010"`, `a[10] on is read as true, by kubectl, too; write true, or "on"`,
		`b[<<].c y is read as true, by kubectl, too; write true, or "y"`,
	}))
}
