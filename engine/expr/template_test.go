package expr

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/test/fixtures"
)

// A single expression keeps its own value; text around it makes a string.
func TestEval_values(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want any
	}{
		"a literal":                         {"nginx:1.27", "nginx:1.27"},
		"a literal with a brace":            {"{x} { }", "{x} { }"},
		"a whole number":                    {"{{ .spec.replicas }}", int64(3)},
		"trimmed delimiters":                {" \n{{- .spec.replicas -}}\t ", int64(3)},
		"a comment beside it":               {"{{/* how many */}}{{ .spec.replicas }}", int64(3)},
		"parentheses":                       {"{{ (.spec.replicas) }}", int64(3)},
		"a float":                           {"{{ .spec.ratio }}", 0.5},
		"a boolean":                         {"{{ .spec.tls }}", true},
		"a list":                            {"{{ .spec.hosts }}", []any{"a.example.com", "b.example.com"}},
		"a map":                             {"{{ .spec.labels }}", map[string]any{"app": "web"}},
		"a text":                            {"{{ .metadata.name }}", "web"},
		"a number constant":                 {"{{ 5 }}", int64(5)},
		"a text constant":                   {`{{ "{{" }}`, "{{"},
		"nil of a function":                 {"{{ first (list) }}", nil},
		"a function's int":                  {"{{ len .spec.hosts }}", int64(2)},
		"a function's strings":              {`{{ splitList "," "a,b" }}`, []any{"a", "b"}},
		"a time":                            {`{{ toDate "2006-01-02" "2026-01-02" }}`, "2026-01-02T00:00:00Z"},
		"untrimmed spaces are text":         {" {{ .spec.replicas }}", " 3"},
		"text after it":                     {"{{ .spec.replicas }}x", "3x"},
		"two expressions are text":          {"{{ .spec.replicas }}{{ .spec.replicas }}", "33"},
		"if is text":                        {"{{ if true }}{{ .spec.replicas }}{{ end }}", "3"},
		"a variable makes text":             {"{{ $x := .spec.replicas }}{{ $x }}", "3"},
		"a definition beside it":            {`{{ define "x" }}{{ end }}{{ .spec.replicas }}`, int64(3)},
		"numbers in text as in JSON":        {"{{ 1.0 }} {{ 1000000.0 }} {{ .spec.ratio }} {{ mulf 1e6 10 }}", "1 1000000 0.5 10000000"},
		"large numbers keep their digits":   {"{{ add 9007199254740993 1 }}", int64(9007199254740994)},
		"a map in text":                     {"x: {{ .spec.database }}", `x: {"Size":"big","name":"db"}`},
		"a list in text":                    {"x: {{ .spec.hosts }}", `x: ["a.example.com","b.example.com"]`},
		"no HTML escapes in text":           {`x{{ list "<&>" }}`, `x["<&>"]`},
		"shortcuts":                         {"{{ .Name }} {{ .Namespace }} {{ .Labels.app }} {{ len .Annotations }} {{ .Status.phase }}", "web team-a web 1 Running"},
		"capitals below Spec":               {"{{ .Spec.Replicas }} {{ .Spec.Database.Name }}", "3 db"},
		"the exact key comes first":         {"{{ .Spec.Database.Size }}", "big"},
		"capitals below a variable of Spec": {"{{ $d := .Spec.Database }}{{ $d.Name }}", "db"},
		"a shortcut read by way of a call":  {`{{ define "n" }}{{ .Name }}{{ end }}{{ template "n" . }}`, "web"},
		"a root inside a loop":              {"{{ range .spec.hosts }}{{ $.spec.replicas }}{{ . }};{{ end }}", "3a.example.com;3b.example.com;"},
		"keys and values in order":          {"{{ range $k, $v := .spec.database }}{{ $k }}={{ $v }};{{ end }}", "Size=big;name=db;"},
		"a count":                           {"{{ range 3 }}{{ . }}{{ end }}", "012"},
		"a count from the data":             {"{{ range $i := .spec.replicas }}{{ $i }}{{ end }}", "012"},
		"range, else":                       {"{{ range list }}x{{ else }}none{{ end }}", "none"},
		"break and continue":                {"{{ range until 9 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}", "02"},
		"with rebinds dot":                  {"{{ with .spec.database }}{{ .name }}{{ end }}", "db"},
		"with, else with":                   {"{{ with .spec.absent }}a{{ else with .spec.title }}{{ . }}{{ end }}", "Hello"},
		"an assignment in a loop":           {"{{ $n := 0 }}{{ range .spec.hosts }}{{ $n = add $n 1 }}{{ end }}{{ $n }}", "2"},
		"block":                             {`{{ block "b" .spec }}{{ .replicas }}{{ end }}`, "3"},
		"a template with part of the data":  {`{{ define "h" }}[{{ .name }}]{{ end }}{{ template "h" .spec.database }}`, "[db]"},
		"variables do not enter a template": {`{{ define "h" }}{{ $.name }}{{ end }}{{ with .spec.database }}{{ template "h" . }}{{ end }}`, "db"},
		"a shortcut by way of a variable":   {"{{ $x := . }}{{ $x = . }}{{ $x.Name }}{{ $x.Spec.Replicas }}", "web3"},
		"all the roots":                     {"{{ range $k, $v := . }}{{ $k }} {{ end }}", "apiVersion box children kind metadata spec status "},
		"a field of a result":               {`{{ (get .spec "database").name }}`, "db"},
		"an element by index":               {"{{ (index .spec.env 0).name }}", "A"},
		"eq of whole and other numbers":     {"{{ eq .spec.replicas 3.0 }}", true},
		"and, or give values":               {`{{ and .spec.tls .spec.title }}`, "Hello"},
		"or does not go on":                 {`{{ or .spec.tls (fail "never") }}`, true},
		"all the data":                      {"{{ len (toJson .) | lt 10 }}", true},
		"text that looks like a template":   {"{{ .spec.trap }}", "{{ .spec.replicas }}"},
		"such text inside text":             {"x{{ .spec.trap | upper }}", "x{{ .SPEC.REPLICAS }}"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v, err := evaluate(t, tc.text)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want == nil {
				g.Expect(v).To(BeNil())
				return
			}
			g.Expect(v).To(Equal(tc.want))
		})
	}
}

// The places in which something may be absent, and what comes out.
func TestEval_absentIsAllowed(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want any
	}{
		"default":                         {`{{ default "x" .spec.no }}`, "x"},
		"default in a pipe":               {`{{ .spec.no | default "x" }}`, "x"},
		"default of null":                 {`{{ .spec.nothing | default "x" }}`, "x"},
		"default of a whole path":         {`{{ default "x" .spec.no.way.at.all }}`, "x"},
		"default below a scalar":          {`{{ default "x" .spec.replicas.no }}`, "x"},
		"default of an absent root":       {`{{ default "x" .children.none.status }}`, "x"},
		"a function in between":           {`{{ .spec.no | upper | default "x" }}`, "x"},
		"arguments of arguments":          {`{{ default 5 (add 1 (mul 2 .spec.no)) }}`, int64(5)},
		"coalesce":                        {`{{ coalesce .spec.no .spec.nothing "x" }}`, "x"},
		"empty":                           {`{{ empty .spec.no }}`, true},
		"hasKey":                          {`{{ hasKey .spec.no "x" }}`, false},
		"hasKey in the pipe's order":      {`{{ .spec | hasKey "title" }}`, true},
		"ternary":                         {`{{ ternary "a" "b" .spec.no }}`, "b"},
		"get":                             {`{{ get .spec.no "x" }}`, nil},
		"get in text":                     {`<{{ get .spec.no "x" }}>`, "<>"},
		"get of a map, the key first":     {`{{ .spec.database | get "name" }}`, "db"},
		"get of nothing, the key first":   {`{{ .children.none | get "status" }}`, nil},
		"if":                              {`{{ if .spec.no }}a{{ else }}b{{ end }}`, "b"},
		"if in parentheses":               {`{{ if (and .spec.tls .spec.no) }}a{{ else }}b{{ end }}`, "b"},
		"if with a comparison":            {`{{ if gt .spec.no 3 }}a{{ else }}b{{ end }}`, "b"},
		"if eq":                           {`{{ if eq .spec.no "x" }}a{{ else }}b{{ end }}`, "b"},
		"if ne":                           {`{{ if ne .spec.no "x" }}a{{ else }}b{{ end }}`, "a"},
		"if len":                          {`{{ if len .spec.no }}a{{ else }}b{{ end }}`, "b"},
		"else if":                         {`{{ if .spec.no }}a{{ else if .spec.nix }}b{{ else }}c{{ end }}`, "c"},
		"with":                            {`{{ with .spec.no }}a{{ else }}b{{ end }}`, "b"},
		"with a variable":                 {`{{ with $x := .spec.no }}a{{ else }}b{{ end }}`, "b"},
		"and":                             {`{{ and .spec.no true }}`, nil},
		"or":                              {`{{ or .spec.no "x" }}`, "x"},
		"not":                             {`{{ not .spec.no }}`, true},
		"index":                           {`{{ index .spec.database "no" | default "x" }}`, "x"},
		"index outside a list":            {`{{ default "x" (index .spec.hosts 9) }}`, "x"},
		"a field of a result":             {`{{ default "x" (get .spec "no").name }}`, "x"},
		"a field of a variable":           {`{{ $d := .spec.database }}{{ default "x" $d.no }}`, "x"},
		"a field of an element":           {`{{ range .spec.env }}{{ .value | default "-" }}{{ end }}`, "1-"},
		"a range over what may be absent": {`{{ range $k, $v := default dict .spec.no }}x{{ else }}none{{ end }}`, "none"},
		"below a changed dot":             {`{{ with .spec }}{{ default "x" .no }}{{ end }}`, "x"},
		"in a template":                   {`{{ define "d" }}{{ default "x" .no }}{{ end }}{{ template "d" .spec }}`, "x"},
		"readyReplicas":                   {`{{ readyReplicas .children.none }}`, int64(0)},
		"desiredReplicas":                 {`{{ desiredReplicas .children.none }}`, int64(0)},
		"desiredReplicas without a field": {`{{ desiredReplicas (dict "spec" (dict)) }}`, int64(1)},
		"isReady":                         {`{{ isReady .children.none }}`, false},
		"hasCondition":                    {`{{ hasCondition "Ready" .children.none }}`, false},
		"serviceLoadBalancerIP":           {`{{ serviceLoadBalancerIP .children.none }}`, ""},
		"label":                           {`{{ label "app" .children.none }}`, ""},
		"a helper in a pipe":              {`{{ .children.none | readyReplicas }}`, int64(0)},
		"a helper on something else":      {`{{ readyReplicas "x" }}`, int64(0)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v, err := evaluate(t, tc.text)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want == nil {
				g.Expect(v).To(BeNil())
				return
			}
			g.Expect(v).To(Equal(tc.want))
		})
	}
}

// Everywhere else it is an error that names the whole path.
func TestEval_absentIsAnError(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"alone":                     {"{{ .spec.no }}", "spec.no: no such field in this resource"},
		"in text":                   {"x{{ .spec.no }}", "spec.no: no such field in this resource"},
		"null":                      {"{{ .spec.nothing }}", "spec.nothing: no such field"},
		"deep":                      {"{{ .spec.no.way }}", "spec.no.way: no such field"},
		"below a scalar":            {"{{ .spec.title.x }}", "spec.title.x: no such field in this resource (spec.title is a string)"},
		"a shortcut":                {"{{ .Spec.No }}", "spec.No: no such field"},
		"a child":                   {"{{ .children.none.status }}", "children.none.status: no such child or field yet"},
		"an argument":               {`{{ upper .spec.no }}`, "spec.no: no such field"},
		"the default's own text":    {`{{ printf "%s" .spec.no }}`, "spec.no: no such field"},
		"a variable":                {"{{ $x := .spec.database }}{{ $x.no }}", "spec.database.no: no such field"},
		"a declared variable":       {"{{ $x := .spec.no }}{{ $x }}", "spec.no: no such field"},
		"with":                      {"{{ with .spec.database }}{{ .no }}{{ end }}", "spec.database.no: no such field"},
		"the root below with":       {"{{ with .spec.database }}{{ $.spec.no }}{{ end }}", "spec.no: no such field"},
		"an element":                {"{{ range .spec.env }}{{ .value }}{{ end }}", "spec.env[].value: no such field"},
		"an element's variable":     {"{{ range $e := .spec.env }}{{ $e.value }}{{ end }}", "spec.env[].value: no such field"},
		"range itself":              {"{{ range .spec.no }}{{ end }}", "spec.no: no such field"},
		"inside a template":         {`{{ define "x" }}{{ .spec.no }}{{ end }}{{ template "x" . }}`, "spec.no: no such field"},
		"inside, with a part":       {`{{ define "x" }}{{ .no }}{{ end }}{{ template "x" .spec }}`, "no: no such field"},
		"a template's argument":     {`{{ define "x" }}{{ end }}{{ template "x" .spec.no }}`, "spec.no: no such field"},
		"a result":                  {`{{ (get .spec "no").x }}`, "spec.no.x: no such field"},
		"index":                     {`{{ index .spec.database "no" }}`, "spec.database.no: no such field"},
		"index of a list":           {`{{ index .spec.hosts 7 }}`, "spec.hosts[7]: no such field"},
		"index with another key":    {`{{ index .spec.hosts (len .spec.env) }}`, "the element that index asks for: no value"},
		"nothing in text":           {`x{{ first (list) }}`, "no value"},
		"nothing as an argument":    {`{{ upper (first (list)) }}`, "argument 1 of upper: no value"},
		"the body of an if":         {`{{ if true }}{{ .spec.no }}{{ end }}`, "spec.no: no such field"},
		"after a function that may": {`{{ coalesce .spec.no | upper }}`, "argument 1 of upper: no value"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := evaluate(t, tc.text)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(roots.IsAbsent(err)).To(BeTrue())
			g.Expect(err).To(MatchError(HavePrefix("evaluating ")))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
}

func TestEval_errors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"the expression as written":   {"a {{   .spec.title|toInt }} b", "evaluating {{ .spec.title|toInt }}: toInt: a string is no number"},
		"the line":                    {"a\nb {{ toInt .spec.title }}", "evaluating line 2: {{ toInt .spec.title }}: "},
		"a long one is cut":           {`{{ toInt (printf "%s-%s-%s-%s-%s" .spec.title .spec.title .spec.title .spec.title "x") }}`, "…: toInt"},
		"a wrong type":                {"{{ upper .spec.replicas }}", "upper: argument 1 must be a string, not a number; use toString"},
		"a text for a number":         {`{{ repeat .spec.title "x" }}`, "repeat: argument 1 must be a whole number, not a string; use toInt"},
		"range over text":             {"{{ range .spec.title }}{{ end }}", "range needs a list, a map or a whole number, not a string"},
		"fail":                        {`{{ fail "bad size" }}`, "fail: bad size"},
		"a library error":             {`{{ semverCompare "x y z" .spec.title }}`, "semverCompare: cannot work on these arguments"},
		"a pattern":                   {`{{ regexMatch "a(" "a" }}`, "regexMatch: the pattern is not valid: missing closing )"},
		"division by zero":            {"{{ div 1 0 }}", "div: division by zero"},
		"the rest of a zero":          {"{{ mod 1 0 }}", "mod: division by zero"},
		"too large":                   {"{{ mul 9223372036854775807 2 }}", "mul: the result is no whole number of 64 bits"},
		"too large a sum":             {"{{ add 9223372036854775807 1 }}", "add: the result is no whole number"},
		"a division of floats":        {"{{ divf 1 0 }}", "divf: division by zero"},
		"a float without end":         {"{{ mulf 1e308 10 }}", "mulf: the result is not a finite number"},
		"different types":             {`{{ eq .spec.title 1 }}`, "eq: cannot compare a string with a number"},
		"maps have no order":          {`{{ lt .spec.labels .spec.labels }}`, "lt: cannot compare a map with a map"},
		"JSON":                        {`{{ fromJson .spec.title }}`, "fromJson: the text is not valid JSON"},
		"YAML with aliases":           {`{{ fromYaml "a: &x 1\nb: *x" }}`, "fromYaml: the YAML has aliases"},
		"set on the resource":         {`{{ set .spec.labels "a" "b" }}`, "set: the map is not the template's own; take a copy with deepCopy"},
		"unset on the resource":       {`{{ unset .spec.labels "app" }}`, "unset: the map is not the template's own"},
		"printf, too few":             {`{{ printf "%s %s" "a" }}`, "printf: there are fewer values than verbs"},
		"printf, too many":            {`{{ printf "%s" "a" "b" }}`, "printf: there are more values than verbs"},
		"printf, type":                {`{{ printf "%d" "a" }}`, "printf: %d cannot format a string"},
		"printf, verb":                {`{{ printf "%[1]s" "a" }}`, "printf: %[ is no verb that can be used"},
		"printf, star":                {`{{ printf "%*d" 1 1 }}`, "printf: %* is no verb that can be used"},
		"printf, a wide one":          {`{{ printf "%1001d" 1 }}`, "printf: a width in the format is over 1000"},
		"printf, width":               {`{{ printf "%999999999d" 1 }}`, "printf: a width in the format is over 1000"},
		"a panic in a function":       {`{{ urlJoin (dict "scheme" 1) }}`, "urlJoin: cannot work on these arguments"},
		"bounds":                      {`{{ slice .spec.hosts 1 9 }}`, "slice: the bounds are outside the value, whose length is 2"},
		"a variable of another block": {`{{ if false }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}`, "undefined variable: $x"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := evaluate(t, tc.text)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(err).To(MatchError(HavePrefix("evaluating ")))
			g.Expect(roots.IsAbsent(err)).To(BeFalse())
		})
	}
}

// What stands in children may be secret, so messages never show values.
func TestEval_errorsShowNoValues(t *testing.T) {
	const secret = "s3cr3t"
	data := Data{"spec": map[string]any{}, "children": map[string]any{"x": map[string]any{
		"text": secret, "list": []any{secret}, "map": map[string]any{"k": secret}, "json": "{" + secret}}}
	uses := []string{"toInt", "toFloat64", "toBool", "toOctal", "toDuration", "add 1", "addf 1", "round 1", "fromJson", "fromYaml", "b64dec", "b32dec",
		"semver", `semverCompare ">1"`, "urlParse", "urlJoin", "regexMatch \"(\"", `toDate "2006"`, "range1", "first", "keys", "dict 1 2 | merge",
		"until", "index .spec", `index "x"`, "lt 1", "eq 1", `printf "%d"`, "max 1", "chunk 1", "has 1", "len", "slice", "upper", "fail1", "seq", `dig "a" "b"`}
	for _, use := range uses {
		for _, field := range []string{"text", "list", "map", "json", "text.x", "map.k.z", "no"} {
			read := ".children.x." + field
			text := fmt.Sprintf("{{ %s | %s }}", read, use)
			switch use {
			case "range1":
				text = fmt.Sprintf("{{ range %s }}{{ .x.y }}{{ end }}", read)
			case "fail1":
				text = fmt.Sprintf("{{ (%s).a.b.c }}", read)
			}
			c, err := NewScope(nil).Compile(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if _, err := c.Eval(t.Context(), data); err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s shows a value: %v", text, err)
			}
		}
	}
}

func TestEval_leavesTheDataAlone(t *testing.T) {
	for name, text := range map[string]string{
		"deepCopy, then set":  `{{ $m := deepCopy .spec.labels }}{{ $_ := set $m "a" "b" }}{{ $m | toJson }}`,
		"merge":               `{{ merge .spec.labels (dict "a" "b" "app" "c") }}`,
		"mergeOverwrite":      `{{ mergeOverwrite .spec (dict "database" (dict "name" "x")) }}`,
		"merge into an own":   `{{ $d := dict "m" .spec.database }}{{ $_ := mergeOverwrite $d (dict "m" (dict "name" "x")) }}{{ $d }}`,
		"append":              `{{ append .spec.hosts "c" }}`,
		"reverse":             `{{ reverse .spec.hosts }}`,
		"sortAlpha":           `{{ sortAlpha .spec.hosts }}`,
		"compact and without": `{{ without (compact .spec.hosts) "a.example.com" }}`,
		"omit, then set":      `{{ set (omit .spec "hosts") "database" 1 }}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, err := NewScope(nil).Compile(text)
			g.Expect(err).NotTo(HaveOccurred())
			d := fixtures.Sample()
			v, err := c.Eval(t.Context(), d)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(d).To(Equal(fixtures.Sample()))
			// The result is the caller's, so changing it must not reach the data either.
			scribble(v)
			g.Expect(d).To(Equal(fixtures.Sample()))
		})
	}
	t.Run("a single path", func(t *testing.T) {
		g := NewWithT(t)
		c, err := NewScope(nil).Compile("{{ .spec }}")
		g.Expect(err).NotTo(HaveOccurred())
		d := fixtures.Sample()
		v, err := c.Eval(t.Context(), d)
		g.Expect(err).NotTo(HaveOccurred())
		scribble(v)
		g.Expect(d).To(Equal(fixtures.Sample()))
	})
}

func scribble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			scribble(v[k])
			v[k] = "scribble"
		}
	case []any:
		for i := range v {
			scribble(v[i])
			v[i] = "scribble"
		}
	}
}

func TestEval_ownMapsCanBeChanged(t *testing.T) {
	g := NewWithT(t)
	v, err := evaluate(t, `{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ $_ = unset $d "a" }}{{ $_ = merge $d (dict "c" 3 "b" 9) }}{{ $_ = set $d "self" $d }}{{ $_ = merge $d (dict "m" $d) }}{{ toJson $d }}`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(v).To(Equal(`{"b":2,"c":3,"m":{"b":2,"c":3,"self":{"b":2,"c":3}},"self":{"b":2,"c":3}}`))
}

func TestEval_isTheSameEveryTimeAndInParallel(t *testing.T) {
	g := NewWithT(t)
	c, err := NewScope(nil).Compile(`{{ range $k, $v := .spec.database }}{{ $k }}{{ $v }}{{ end }}{{ keys .spec | join "," }}{{ values .spec.database }}{{ toYaml .spec }}`)
	g.Expect(err).NotTo(HaveOccurred())
	want, err := c.Eval(t.Context(), fixtures.Sample())
	g.Expect(err).NotTo(HaveOccurred())
	d := fixtures.Sample()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, err := c.Eval(t.Context(), d); err != nil || got != want {
					t.Errorf("got %v, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestEval_handsOnTheCallersCancellation(t *testing.T) {
	g := NewWithT(t)
	c, err := NewScope(nil).Compile(`{{ range until 9000 }}{{ upper "x" }}{{ end }}`)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Eval(ctx, fixtures.Sample())
	g.Expect(err).To(MatchError(context.Canceled))
	_, isBudget := errors.AsType[*budget.ExceededError](err)
	g.Expect(isBudget).To(BeFalse())
}

// evaluate compiles a template that may draw, and evaluates it with the sample.
func evaluate(t *testing.T, text string) (any, error) {
	t.Helper()
	c, err := NewScope(nil).WithRandom(rand.Reader, time.Now).Compile(text)
	if err != nil {
		t.Fatalf("compiling %q: %v", text, err)
	}
	return c.Eval(t.Context(), fixtures.Sample())
}
