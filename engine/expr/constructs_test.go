package expr

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"

	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/test/fixtures"
)

// The constructs of text/template mean what they mean there, but for what this package changes.
func TestConstructs(t *testing.T) {
	for text, want := range map[string]string{
		// if and with
		`{{ if .spec.tls }}a{{ end }}`:                                                  "a",
		`{{ if .spec.no }}a{{ end }}`:                                                   "",
		`{{ if .spec.no }}a{{ else }}b{{ end }}`:                                        "b",
		`{{ if .spec.no }}a{{ else if .spec.tls }}b{{ else }}c{{ end }}`:                "b",
		`{{ if .spec.no.x.y }}a{{ else }}b{{ end }}`:                                    "b",
		`{{ if and .spec.tls (not .spec.no) }}a{{ end }}`:                               "a",
		`{{ if or .spec.no .spec.tls }}a{{ end }}`:                                      "a",
		`{{ if and .spec.no .spec.no.x }}a{{ else }}b{{ end }}`:                         "b",
		`{{ if eq .spec.title "Hello" }}a{{ end }}`:                                     "a",
		`{{ if "" }}a{{ else }}b{{ end }}`:                                              "b",
		`{{ if 0 }}a{{ else }}b{{ end }}`:                                               "b",
		`{{ if list }}a{{ else }}b{{ end }}`:                                            "b",
		`{{ if $x := .spec.title }}{{ $x }}{{ end }}`:                                   "Hello",
		`{{ with .spec.database }}{{ .name }}{{ end }}`:                                 "db",
		`{{ with .spec.no }}{{ .name }}{{ else }}none{{ end }}`:                         "none",
		`{{ with .spec.no }}a{{ else with .spec.title }}{{ . }}{{ end }}`:               "Hello",
		`{{ with .spec.database }}{{ $.spec.title }}{{ end }}`:                          "Hello",
		`{{ with $x := .spec.title }}{{ $x }}{{ . }}{{ end }}`:                          "HelloHello",
		`{{ with .spec }}{{ with .database }}{{ .name }}{{ end }}{{ .title }}{{ end }}`: "dbHello",
		// range
		`{{ range .spec.hosts }}<{{ . }}>{{ end }}`:                                            "<a.example.com><b.example.com>",
		`{{ range .spec.no }}a{{ else }}none{{ end }}`:                                         "! spec.no: no such field in this resource",
		`{{ range default list .spec.no }}a{{ else }}none{{ end }}`:                            "none",
		`{{ range $i, $h := .spec.hosts }}{{ $i }}{{ $h }};{{ end }}`:                          "0a.example.com;1b.example.com;",
		`{{ range $h := .spec.hosts }}{{ $h }};{{ end }}`:                                      "a.example.com;b.example.com;",
		`{{ range $k, $v := .spec.labels }}{{ $k }}={{ $v }}{{ end }}`:                         "app=web",
		`{{ range $k, $_ := dict "b" 1 "a" 2 "c" 3 }}{{ $k }}{{ end }}`:                        "abc",
		`{{ range .spec.env }}{{ .name }}{{ end }}`:                                            "AB",
		`{{ range .spec.env }}{{ .value }}{{ end }}`:                                           "! spec.env[].value: no such field in this resource",
		`{{ range .spec.env }}{{ default "-" .value }}{{ end }}`:                               "1-",
		`{{ range until 5 }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}`:               "012",
		`{{ range until 5 }}{{ if eq . 3 }}{{ continue }}{{ end }}{{ . }}{{ end }}`:            "0124",
		`{{ range until 2 }}{{ range until 2 }}{{ . }}{{ end }};{{ end }}`:                     "01;01;",
		`{{ range list list (list 1 2) }}{{ range . }}{{ . }}{{ else }}none{{ end }}{{ end }}`: "none12",
		`{{ range 2 }}{{ . }}{{ end }}`:                                                        "01",
		`{{ range -1 }}{{ . }}{{ else }}none{{ end }}`:                                         "none",
		`{{ range "abc" }}{{ . }}{{ end }}`:                                                    "! range needs a list, a map or a whole number, not a string",
		`{{ range true }}{{ . }}{{ end }}`:                                                     "! range needs a list, a map or a whole number, not a boolean",
		`{{ range 1.5 }}{{ . }}{{ end }}`:                                                      "! range needs a list, a map or a whole number, not a number",
		`{{ $sum := 0 }}{{ range list 1 2 3 }}{{ $sum = add $sum . }}{{ end }}{{ $sum }}`:      "6",
		`{{ $last := "" }}{{ range .spec.hosts }}{{ $last = . }}{{ end }}{{ $last }}`:          "b.example.com",
		`{{ range $i, $e := .spec.env }}{{ $e.name }}{{ end }}`:                                "AB",
		`{{ range . }}x{{ end }}`:                                                              "xxxxxxx",
		// variables
		`{{ $x := 1 }}{{ $x }}`:                                            "1",
		`{{ $x := 1 }}{{ $x = 2 }}{{ $x }}`:                                "2",
		`{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}`: "21",
		`{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}`:          "2",
		`{{ $d := .spec.database }}{{ $d.name }}`:                          "db",
		`{{ $d := .spec.database }}{{ $d.no }}`:                            "! spec.database.no: no such field in this resource",
		`{{ $d := .spec.database }}{{ $d = .spec.labels }}{{ $d.app }}`:    "web",
		`{{ $x := .spec.no }}{{ $x }}`:                                     "! spec.no: no such field in this resource",
		`{{ $x := default "d" .spec.no }}{{ $x }}`:                         "d",
		`{{ $x, $y := 1 }}`:                                                "! compiling: too many declarations",
		`{{ $x }}`:                                                         "! compiling: undefined variable",
		// pipelines
		`{{ .spec.title | upper | quote }}`:             `"HELLO"`,
		`{{ .spec.title | replace "l" "L" | trunc 4 }}`: "HeLL",
		`{{ .spec.no | default "x" | upper }}`:          "X",
		`{{ .spec.no | upper | default "x" }}`:          "x",
		`{{ (.spec.title | upper) | lower }}`:           "hello",
		`{{ list 1 2 | join "," }}`:                     "1,2",
		`{{ 1 | add 2 | add 3 }}`:                       "6",
		`{{ "a" | printf "%s-%s" "b" }}`:                "b-a",
		`{{ .spec.title | 5 }}`:                         "! compiling: non executable command in pipeline",
		`{{ .spec.title "x" }}`:                         "! compiling: .spec.title is not a function, so it takes no arguments",
		`{{ nil }}`:                                     "! compiling: nil alone is no expression",
		`{{ "a" | .spec.title }}`:                       "! compiling: .spec.title is not a function, so it takes no arguments",
		`{{ (index .spec.hosts 0) }}`:                   "a.example.com",
		`{{ (index .spec.env 0).name }}`:                "A",
		`{{ (dict "a" (dict "b" "c")).a.b }}`:           "c",
		`{{ (dict "a" 1).b }}`:                          "! b: no such field in this resource",
		`{{ (.spec.database).name }}`:                   "db",
		`{{ (.spec.title).x }}`:                         "! spec.title.x: no such field in this resource (spec.title is a string)",
		// templates of one's own
		`{{ define "x" }}<{{ . }}>{{ end }}{{ template "x" 1 }}{{ template "x" "a" }}`:                             "<1><a>",
		`{{ define "x" }}{{ .spec.title }}{{ end }}{{ template "x" . }}`:                                           "Hello",
		`{{ define "x" }}{{ .title }}{{ end }}{{ template "x" .spec }}`:                                            "Hello",
		`{{ define "x" }}{{ $.title }}{{ end }}{{ template "x" .spec }}`:                                           "Hello",
		`{{ define "x" }}a{{ end }}{{ template "x" }}`:                                                             "a",
		`{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ . }}{{ end }}{{ template "a" 5 }}`:        "5",
		`{{ define "n" }}{{ if gt . 0 }}{{ . }}{{ template "n" (sub . 1) }}{{ end }}{{ end }}{{ template "n" 3 }}`: "321",
		`{{ block "x" .spec }}{{ .title }}{{ end }}`:                                                               "Hello",
		`{{ template "y" . }}`: `! compiling: template "y" is not defined in this text`,
		`{{ define "x" }}{{ .spec.title }}{{ end }}{{ template "x" .spec }}`: "! spec.title: no such field in this resource",
		// comments, spaces and delimiters
		"a{{/* no */}}b":       "ab",
		"a {{- /* no */ -}} b": "ab",
		"a {{ 1 }} b":          "a 1 b",
		"a {{- 1 }} b":         "a1 b",
		"a {{ 1 -}} b":         "a 1b",
		"a\n{{- range until 2 }}\n- {{ . }}\n{{- end }}": "a\n- 0\n- 1",
		"}} {":                  "}} {",
		`{{ "{{" }}x{{ "}}" }}`: "{{x}}",
		"{{ `a\nb` }}!":         "a\nb!",
		`{{ 'a' }}`:             "97",
		`{{ 0x10 }}`:            "16",
		`{{ 1_000 }}`:           "1000",
		`{{ 1e3 }}`:             "1000",
		`{{ 1i }}`:              "! compiling: 1i is not a number that can be used here",
		`{{ true }}`:            "true",
		`{{`:                    "! compiling: unclosed action",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			message, fails := strings.CutPrefix(want, "! ")
			c, err := NewScope(nil).Compile(text)
			if refused, compiling := strings.CutPrefix(message, "compiling: "); fails && compiling {
				g.Expect(err).To(MatchError(ContainSubstring(refused)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			v, err := c.Eval(t.Context(), fixtures.Sample())
			if fails {
				g.Expect(err).To(MatchError(ContainSubstring(message)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			shown, err := value.Print(v)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shown).To(Equal(want))
		})
	}
}

// A template of text and paths alone takes a shorter way, which gives the same.
func TestConcat_isTheSameAsExecuting(t *testing.T) {
	for _, text := range []string{
		"a-{{ .spec.title }}", "{{ .metadata.name }}-{{ .spec.replicas }}.{{ .metadata.namespace }}", "{{ .spec.tls }}{{ .spec.ratio }}", "x{{ .spec.hosts }}",
		"x{{ .spec.database }}", "x{{ .spec.no }}", "x{{ .spec.title.x }}", "{{ .Name }}/{{ .Spec.Title }}", "x{{ .children.deployment.metadata.labels.app }}", "x{{ .spec.nothing }}",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			short, err := NewScope(nil).Compile(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(short.parts).NotTo(BeNil(), "it does not take the shorter way")
			long, err := NewScope(nil).Compile(text + `{{ "" }}`)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(long.parts).To(BeNil())
			v, shortErr := short.Eval(t.Context(), fixtures.Sample())
			w, longErr := long.Eval(t.Context(), fixtures.Sample())
			g.Expect(v).To(matchOrNil(w))
			if longErr != nil {
				g.Expect(shortErr).To(MatchError(longErr.Error()))
				return
			}
			g.Expect(shortErr).NotTo(HaveOccurred())
		})
	}
}

// matchOrNil is Equal, for nil too.
func matchOrNil(want any) gomegatypes.GomegaMatcher {
	if want == nil {
		return BeNil()
	}
	return Equal(want)
}
