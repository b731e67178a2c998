package expr

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/test/fixtures"
)

func list(items *roots.Schema) roots.Schema {
	return roots.Schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}
}

func mapOf(values *roots.Schema) roots.Schema {
	return roots.Schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: values, Allows: values == nil}}
}

// object describes an object whose fields are text.
func object(fields ...string) *roots.Schema {
	properties := make(map[string]roots.Schema, len(fields))
	for _, f := range fields {
		properties[f] = roots.Schema{Type: "string"}
	}
	return &roots.Schema{Type: "object", Properties: properties}
}

// websites is the schema that these tests check paths against.
func websites() *roots.Schema {
	spec := object("image", "title")
	spec.Properties["replicas"] = roots.Schema{Type: "integer"}
	spec.Properties["port"] = roots.Schema{XIntOrString: true}
	spec.Properties["tls"] = *object("secret")
	spec.Properties["hosts"] = list(&roots.Schema{Type: "string"})
	spec.Properties["env"] = list(object("name", "value"))
	spec.Properties["labels"] = mapOf(&roots.Schema{Type: "string"})
	spec.Properties["users"] = mapOf(object("role"))
	spec.Properties["anything"] = roots.Schema{Type: "object", XPreserveUnknownFields: new(true)}
	spec.Properties["open"] = mapOf(nil)
	spec.Properties["template"] = roots.Schema{Type: "object", XEmbeddedResource: true, Properties: map[string]roots.Schema{"spec": *object("a")}}
	spec.Properties["Odd"] = roots.Schema{Type: "string"}
	return &roots.Schema{Type: "object", Properties: map[string]roots.Schema{
		"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": {Type: "object"},
		"spec": *spec, "status": *object("phase"),
	}}
}

// What the schema rules out is an error when the template is compiled, with the nearest valid name.
func TestCompile_errors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a field":                        {"{{ .spec.replcas }}", `column 4: spec.replcas: no such field in the CRD's schema, did you mean "replicas"?`},
		"a deep field":                   {"{{ .spec.tls.secrte }}", `spec.tls.secrte: no such field in the CRD's schema, did you mean "secret"?`},
		"nothing near":                   {"{{ .spec.zzzzzz }}", `spec.zzzzzz: no such field in the CRD's schema`},
		"a field of the status":          {"{{ .status.phas }}", `status.phas: no such field in the CRD's schema, did you mean "phase"?`},
		"a field of the metadata":        {"{{ .metadata.nmae }}", `metadata.nmae: no such field in the CRD's schema, did you mean "name"?`},
		"a capital in a small place":     {"{{ .spec.Image }}", `spec.Image: no such field in the CRD's schema, did you mean "image"?`},
		"a shortcut":                     {"{{ .Spec.Replcas }}", `spec.replcas: no such field in the CRD's schema, did you mean "replicas"?`},
		"below an integer":               {"{{ .spec.replicas.foo }}", "spec.replicas.foo: spec.replicas is of type integer, which has no fields"},
		"below int-or-string":            {"{{ .spec.port.foo }}", "spec.port.foo: spec.port is an integer or a string, which has no fields"},
		"below a text of a map":          {"{{ .spec.labels.a.b }}", "spec.labels.a.b: spec.labels.a is of type string"},
		"below a root that is text":      {"{{ .kind.x }}", "kind.x: kind is of type string"},
		"a field of a list":              {"{{ .spec.env.name }}", "spec.env.name: spec.env is a list; take an element of it with index, or range over it"},
		"a field of an element":          {"{{ range .spec.env }}{{ .nam }}{{ end }}", `spec.env[].nam: no such field in the CRD's schema, did you mean "name"?`},
		"an element's variable":          {"{{ range $i, $e := .spec.env }}{{ $e.nam }}{{ end }}", `spec.env[].nam: no such field`},
		"a map's element":                {"{{ range $k, $u := .spec.users }}{{ $u.rol }}{{ end }}", `spec.users[].rol: no such field`},
		"below with":                     {"{{ with .spec.tls }}{{ .secrte }}{{ end }}", `spec.tls.secrte: no such field`},
		"the root below with":            {"{{ with .spec.tls }}{{ $.sepc.x }}{{ end }}", `.sepc: no such name in a template, did you mean "spec"?`},
		"a variable":                     {"{{ $t := .spec.tls }}{{ $t.secrte }}", `spec.tls.secrte: no such field`},
		"index":                          {`{{ index .spec.env 0 "nam" }}`, `spec.env[0].nam: no such field`},
		"get":                            {`{{ get .spec "replcas" }}`, `spec.replcas: no such field`},
		"get, the key first":             {`{{ .spec | get "replcas" }}`, `spec.replcas: no such field`},
		"a place where it may be absent": {`{{ default 1 .spec.replcas }}`, `spec.replcas: no such field`},
		"inside a template":              {`{{ define "x" }}{{ .spec.replcas }}{{ end }}{{ template "x" . }}`, `spec.replcas: no such field`},
		"in a template never called":     {`{{ define "x" }}{{ uper .a }}{{ end }}{{ .kind }}`, `unknown function "uper"`},
		"the same beside text":           {`{{ define "x" }}{{ uper .a }}{{ end }}x`, `unknown function "uper"`},
		"in a branch never taken":        {"{{ if false }}{{ .spec.replcas }}{{ end }}", "spec.replcas: no such field"},
		"an embedded object":             {"{{ .spec.template.metadata.nmae }}", `spec.template.metadata.nmae: no such field in the CRD's schema, did you mean "name"?`},
		"a root":                         {"{{ .sepc.x }}", `.sepc: no such name in a template, did you mean "spec"?`},
		"a root of a loop":               {"{{ .item }}", ".item: there is one only inside a forEach"},
		"a root of a rollback":           {"{{ .previous.spec }}", ".previous: there is one only inside onRollback"},
		"the box":                        {"{{ .box.nme }}", `box.nme: no such field`},
		"a function":                     {"a {{ uper .spec.title }}", `column 6: unknown function "uper", did you mean "upper"?`},
		"a function on another line":     {"a\n  {{ uper .spec.title }}", `line 2, column 6: unknown function "uper"`},
		"our own functions":              {`{{ __read $ 0 }}`, `unknown function "__read"`},
		"call":                           {`{{ call .spec.title }}`, `function "call" is not available`},
		"a random function":              {"{{ randAlphaNum 8 }}", "column 4: function \"randAlphaNum\" gives another result each time; such functions are allowed only under `once: true`"},
		"the clock":                      {"{{ now }}", "depends on the clock"},
		"the environment":                {`{{ env "HOME" }}`, "reads what is outside the resource"},
		"the network":                    {`{{ getHostByName "x" }}`, "reads what is outside the resource"},
		"Helm's":                         {`{{ include "x" . }}`, "is Helm's"},
		"too few arguments":              {`{{ trimSuffix "x" }}`, "trimSuffix needs 2 arguments, not 1: trimSuffix SUFFIX TEXT"},
		"too many, with a pipe":          {`{{ .spec.title | trimSuffix "x" "y" }}`, "trimSuffix needs 2 arguments, not 3"},
		"too few of many":                {`{{ and }}`, "and needs at least 1 argument, not 0"},
		"no function":                    {`{{ .spec.title "x" }}`, ".spec.title is not a function, so it takes no arguments"},
		"a pipe into a field":            {`{{ "x" | .spec.title }}`, "no"},
		"nil":                            {`{{ nil }}`, "nil"},
		"a complex number":               {`{{ 1i }}`, "1i is not a number that can be used here"},
		"a key is no field":              {`{{ index .Spec.Tls "Secret" }}`, "spec.tls.Secret: no such field"},
		"a variable outside its block":   {"{{ $t := .spec.tls }}{{ if true }}{{ $t := .spec.anything }}{{ $t.free }}{{ end }}{{ $t.free }}", "spec.tls.free: no such field"},
		"an unknown template":            {`{{ template "x" . }}`, `template "x" is not defined in this text`},
		"itself":                         {`x{{ template "(this text)" . }}`, "is not defined in this text"},
		"a variable in parentheses":      {`{{ add 1 ($x := 1) }}`, "a variable cannot be declared inside parentheses"},
		"not closed":                     {"{{ .spec.title", "unclosed action"},
		"not closed, line":               {"a\n{{ if true }}\nb", "line 3, column 2: unexpected EOF"},
		"an unknown variable":            {"{{ $x }}", `undefined variable "$x"`},
		"break outside a loop":           {"{{ break }}", "{{break}} outside {{range}}"},
		"nested too deeply":              {strings.Repeat("{{ if true }}", 200) + strings.Repeat("{{ end }}", 200), "over the nesting limit of a template (100 levels)"},
		"parentheses too deep":           {"{{ " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + " }}", "over the nesting limit"},
		"too long":                       {strings.Repeat("{{ 1 }}", 1<<16), "longer than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := NewScope(websites()).Compile(tc.text)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(err.Error()).NotTo(ContainSubstring("template: "))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
}

// What the schema allows, or does not know, compiles.
func TestCompile_pathsThatMayBe(t *testing.T) {
	for _, text := range []string{
		"{{ .spec.image }}", "{{ .spec.tls.secret }}", "{{ .spec.labels.anything }}", "{{ .spec.users.me.role }}", "{{ .spec.anything.a.b }}",
		"{{ .spec.open.a.b }}", "{{ .spec.template.metadata.name }}", "{{ .spec.template.spec.a }}", "{{ .spec.template.kind }}", "{{ .children.x.y.z }}",
		"{{ .metadata.labels.app }}", "{{ .metadata.annotations.x }}", "{{ .Spec.TLS }}", "{{ .Spec.Odd }}", "{{ .Spec.Tls.Secret }}", "{{ .Spec.Anything.Foo }}",
		"{{ range .spec.env }}{{ .name }}{{ end }}", "{{ range .spec.hosts }}{{ . }}{{ end }}", `{{ (index .spec.env 0).name }}`, `{{ (index .metadata.ownerReferences 0).uid }}`,
		"{{ range .metadata.managedFields }}{{ .manager }}{{ end }}", "{{ .box.name }}{{ .box.revision }}", "{{ range . }}{{ .x }}{{ end }}",
		"{{ range .spec.tls }}{{ .x }}{{ end }}", `{{ define "x" }}{{ .anything }}{{ end }}{{ template "x" .spec }}`,
		"{{ $x := .spec.tls }}{{ $x = .spec.anything }}{{ $x.free }}",
		"{{ $x := .spec.tls }}{{ if true }}{{ $x = .spec.anything }}{{ end }}{{ $x.free }}",
	} {
		want := NewWithT(t)
		if text == "{{ .Spec.TLS }}" {
			_, err := NewScope(websites()).Compile(text)
			want.Expect(err).To(MatchError(ContainSubstring(`did you mean "tls"`)))
			continue
		}
		_, err := NewScope(websites()).Compile(text)
		want.Expect(err).NotTo(HaveOccurred(), text)
	}
}

func TestScope_roots(t *testing.T) {
	g := NewWithT(t)
	base := NewScope(nil)
	inLoop := base.WithRoots("item", "index", "key", "user")
	_, err := inLoop.Compile("{{ .item.x }}{{ .index }}{{ .key }}{{ .user }}")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = base.Compile("{{ .item }}")
	g.Expect(err).To(HaveOccurred(), "the first scope has not changed")
	early := base.WithoutRoots("children", "status")
	_, err = early.Compile("{{ .children.x }}")
	g.Expect(err).To(MatchError(ContainSubstring("children is not available here: ")))
	_, err = early.Compile("{{ .Status.x }}")
	g.Expect(err).To(MatchError(ContainSubstring("status is not available here: ")))
	_, err = early.CompilePath("children.x")
	g.Expect(err).To(MatchError(ContainSubstring("children is not available here: ")))
	_, err = early.WithRoots("children").Compile("{{ .children.x }}")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = early.Compile("{{ .childs.x }}")
	g.Expect(err).To(MatchError(ContainSubstring("no such name in a template")), "a hidden root is not suggested")
	g.Expect(err).NotTo(MatchError(ContainSubstring("children")))
	_, err = NewScope(&roots.Schema{Type: "object", Properties: map[string]roots.Schema{"spec": {Type: "object"}}}).Compile("{{ .status.x }}")
	g.Expect(err).To(MatchError(ContainSubstring("status.x: no such field in the CRD's schema")), "a CRD without a status")
}

func TestSchemaAt(t *testing.T) {
	g := NewWithT(t)
	s := NewScope(websites())
	for text, want := range map[string]string{"spec.replicas": "integer", "spec.env[3].name": "string", "spec.labels['a/b']": "string",
		"metadata.generation": "integer", "metadata.labels.x": "string", "spec.env": "array"} {
		path, err := value.ParsePath(text)
		g.Expect(err).NotTo(HaveOccurred())
		node, err := s.SchemaAt(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(node.Type).To(Equal(want), text)
	}
	for _, path := range []Path{{"spec", "anything", "x"}, {"children", "x"}, {"spec", "open", "x"}} {
		g.Expect(s.SchemaAt(path)).To(BeNil())
	}
	_, err := s.SchemaAt(nil)
	g.Expect(err).To(HaveOccurred())
	_, err = s.SchemaAt(Path{"spec", "hosts", "x"})
	g.Expect(err).To(MatchError(ContainSubstring("spec.hosts is a list")))
}

func TestPaths(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want string
	}{
		"a literal":               {"x", ""},
		"sorted and unique":       {"{{ .spec.title }}{{ .metadata.name }}{{ .spec.title }}", "metadata.name spec.title"},
		"shortcuts":               {"{{ .Name }}{{ .Spec.Image }}", "metadata.name spec.image"},
		"a case not known":        {"{{ .Spec.Anything.Foo.Bar }}", "spec.anything"},
		"arguments":               {"{{ default .spec.title .spec.image }}", "spec.image spec.title"},
		"every branch":            {"{{ if .spec.tls }}{{ .spec.title }}{{ else }}{{ .spec.image }}{{ end }}", "spec.image spec.title spec.tls"},
		"with":                    {"{{ with .spec.tls }}{{ .secret }}{{ end }}", "spec.tls spec.tls.secret"},
		"a variable":              {"{{ $t := .spec.tls }}{{ $t.secret }}", "spec.tls spec.tls.secret"},
		"elements":                {"{{ range .spec.env }}{{ .name }}{{ end }}", "spec.env"},
		"elements by index":       {"{{ (index .spec.env 0).name }}", "spec.env spec.env[0] spec.env[0].name"},
		"get":                     {`{{ get .children.cronjob "status" "lastScheduleTime" }}`, "children.cronjob children.cronjob.status.lastScheduleTime"},
		"a helper":                {"{{ readyReplicas .children.deployment }}", "children.deployment"},
		"a key that is no name":   {`{{ index .metadata.annotations "a.b/c" }}`, "metadata.annotations metadata.annotations['a.b/c']"},
		"a template":              {`{{ define "x" }}{{ .secret }}{{ end }}{{ template "x" .spec.tls }}`, "spec.tls"},
		"all the data":            {"{{ toJson . }}", "apiVersion box children kind metadata spec status"},
		"a template with all":     {`{{ define "x" }}{{ .spec.title }}{{ end }}{{ template "x" . }}`, "apiVersion box children kind metadata spec spec.title status"},
		"a variable that changes": {"{{ $t := .spec.tls }}{{ $t = .spec.anything }}{{ $t.x }}", "spec.anything spec.tls"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, err := NewScope(websites()).Compile(tc.text)
			g.Expect(err).NotTo(HaveOccurred())
			var got []string
			for _, p := range c.Paths() {
				got = append(got, p.String())
			}
			g.Expect(strings.Join(got, " ")).To(Equal(tc.want))
		})
	}
}

func TestTemplate_whatItIs(t *testing.T) {
	g := NewWithT(t)
	s := NewScope(websites())
	compile := func(text string) *Template {
		c, err := s.Compile(text)
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	text, ok := compile("plain").Literal()
	g.Expect(ok).To(BeTrue())
	g.Expect(text).To(Equal("plain"))
	_, ok = compile("{{ .Spec.Image }}").Literal()
	g.Expect(ok).To(BeFalse())
	g.Expect(compile("{{ .Spec.Image }}").String()).To(Equal("{{ .Spec.Image }}"))
	path, ok := compile("{{ .Spec.Image }}").Path()
	g.Expect(ok).To(BeTrue())
	g.Expect(path).To(Equal(Path{"spec", "image"}))
	for _, text := range []string{"plain", "{{ .Spec.Anything.Foo }}", "x{{ .spec.image }}", "{{ upper .spec.image }}", "{{ . }}"} {
		_, ok = compile(text).Path()
		g.Expect(ok).To(BeFalse(), text)
	}
	g.Expect(IsTemplate("a {{ b")).To(BeTrue())
	g.Expect(IsTemplate("a { b")).To(BeFalse())
}

func TestCompilePath(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want any
	}{
		"a path":                         {"spec.replicas", int64(3)},
		"a leading dot":                  {".spec.replicas", int64(3)},
		"a root":                         {"kind", "Website"},
		"a key":                          {"metadata.annotations['a.b/c']", "d"},
		"an element":                     {"spec.env[1].name", "B"},
		"a child":                        {"children.deployment.status.readyReplicas", int64(3)},
		"a shortcut":                     {"Spec.Replicas", int64(3)},
		"absent":                         {"spec.no", nil},
		"absent child":                   {"children.none.status.readyReplicas", nil},
		"null":                           {"spec.nothing", nil},
		"a template":                     {"{{ len .spec.hosts }}", int64(2)},
		"a template of something absent": {"{{ .spec.no }}", nil},
		"a function of something absent": {"{{ upper .spec.no }}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, err := NewScope(nil).CompilePath(tc.text)
			g.Expect(err).NotTo(HaveOccurred())
			v, err := c.Eval(t.Context(), fixtures.Sample())
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want == nil {
				g.Expect(v).To(BeNil())
				return
			}
			g.Expect(v).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	s := NewScope(websites())
	c, err := s.CompilePath("spec.env[0].name")
	g.Expect(err).NotTo(HaveOccurred())
	path, ok := c.Path()
	g.Expect(ok).To(BeTrue())
	g.Expect(path).To(Equal(Path{"spec", "env", "0", "name"}))
	g.Expect(c.Paths()).To(Equal([]Path{{"spec", "env", "0", "name"}}))
	for text, want := range map[string]string{"spec.replcas": `did you mean "replicas"?`, "sepc.x": `did you mean "spec"?`, "": "a path is empty", "spec..x": "a name is missing"} {
		_, err := s.CompilePath(text)
		g.Expect(err).To(MatchError(ContainSubstring(want)))
	}
}

// What says why nothing is drawn also takes the right away.
func TestAScopeThatSaysWhyNothingIsDrawn(t *testing.T) {
	scope := NewScope(nil).WithRandom(zeros{}, time.Now).WithoutRandom("a name stays").WithRoots("item")
	if _, err := scope.Compile("{{ randAlphaNum 8 }}"); err == nil || !strings.HasSuffix(err.Error(), `function "randAlphaNum" gives another result each time; a name stays`) {
		t.Errorf("got %v", err)
	}
}
