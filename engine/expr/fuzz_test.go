package expr

import (
	"runtime"
	"testing"
	"time"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/test/fixtures"
)

// Whatever the text, nothing panics, and an evaluation ends in time and within reason.
func FuzzTemplate(f *testing.F) {
	for _, fn := range functions.All() {
		f.Add(fn.Example)
	}
	for _, seed := range []string{
		"", "x", "{{", "}}", "{{ . }}", "{{ $ }}", "{{ .spec.replicas }}", "{{- .spec.x -}}", "{{ .spec.hosts | join \",\" }}",
		"{{ range $i, $e := .spec.env }}{{ $i }}{{ $e.name }}{{ else }}x{{ end }}", "{{ with .spec.tls }}{{ . }}{{ else with .kind }}{{ . }}{{ end }}",
		"{{ if and .spec.tls (gt .spec.replicas 1) }}a{{ else if .spec.no }}b{{ end }}", `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
		"{{ $x := 1 }}{{ range until 5 }}{{ $x = add $x . }}{{ break }}{{ continue }}{{ end }}{{ $x }}", `{{ block "b" .spec }}{{ .replicas }}{{ end }}`,
		`{{ $d := dict "a" 1 }}{{ $_ := set $d "b" $d }}{{ $d }}`, `{{ printf "%5.2f|%-9s|%q|%x" 1.5 "a" "b" 10 }}`, "{{ (index .spec.env 0).name | upper }}",
		"{{ get (get .spec \"database\") \"name\" }}", "{{ .Spec.Database.Name }}{{ .Name }}", "{{ 0x1p-2 }}{{ 'a' }}{{ 1_000 }}{{ -0 }}{{ 1e308 }}", "{{ nil }}{{ true }}{{ `raw` }}",
		`{{ list 1 "a" nil true 1.5 (dict) (list) | toYaml | fromYaml | first }}`, "{{/* c */}}{{ break }}", "{{ slice .spec.title 1 2 }}{{ slice .spec.hosts 1 }}",
		`{{ round 1.5 -400 }}{{ untilStep 0 9223372036854775807 9223372036854775806 }}{{ trunc -9223372036854775808 "a" }}{{ substr -5 -9 "abc" }}`,
		`{{ abbrevboth 99 9 "abcdefghijklmnop" }}{{ wrap -1 "a b" }}{{ chunk 0 (list 1) }}{{ splitn "," -1 "a" }}{{ regexSplit "a*" "baaac" 0 }}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		var before, after runtime.MemStats
		for _, scope := range []*Scope{NewScope(nil), NewScope(websites())} {
			c, err := scope.Compile(text)
			if err != nil {
				continue
			}
			_ = c.Paths()
			d := fixtures.Sample()
			runtime.ReadMemStats(&before)
			start := time.Now()
			v, err := c.Eval(t.Context(), d)
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%q took %s", text, took)
			}
			runtime.ReadMemStats(&after)
			if used := after.Sys - before.Sys; after.Sys > before.Sys && used > 1<<30 {
				t.Errorf("%q took %d MiB", text, used>>20)
			}
			if err == nil && budget.Weight(v, 4*budget.MaxOutput) > 4*budget.MaxOutput {
				t.Errorf("%q gives too much", text)
			}
		}
		_, _ = NewScope(nil).CompilePath(text)
	})
}
