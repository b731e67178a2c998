package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/test/fixtures"
)

// Each of these would be too much; each must end with an error that names its limit, and soon.
func TestLimits(t *testing.T) {
	doubling := func(step string) string {
		return `{{ $x := "0123456789" }}{{ range until 100 }}{{ $x = ` + step + ` }}{{ end }}{{ $x | len }}`
	}
	growing := func(start, step, end string) string {
		return `{{ $x := ` + start + ` }}{{ range until 9000 }}{{ $x = ` + step + ` }}{{ end }}{{ ` + end + ` }}`
	}
	const big = `(repeat 1000000 "a")`
	for name, tc := range map[string]struct {
		text  string
		limit budget.Limit
	}{
		"text that is written":         {`{{ range until 9000 }}` + strings.Repeat("x", 1000) + `{{ end }}`, budget.Output},
		"values that are written":      {`{{ range until 9000 }}{{ repeat 1000 "x" }}{{ end }}`, budget.Output},
		"repeat":                       {`{{ repeat 999999999 "x" }}`, budget.Output},
		"repeat of repeat":             {`{{ repeat 2000 (repeat 2000 "x") }}`, budget.Output},
		"repeat, overflowing":          {`{{ repeat 9223372036854775807 "xx" }}`, budget.Output},
		"print":                        {doubling("print $x $x"), budget.Output},
		"printf":                       {doubling(`printf "%s%s" $x $x`), budget.Output},
		"printf with widths":           {`{{ printf (repeat 5000 "%1000d") }}`, ""},
		"cat":                          {doubling("cat $x $x"), budget.Output},
		"join":                         {`{{ join ` + big + ` (until 10000) }}`, budget.Output},
		"replace":                      {`{{ replace "a" (repeat 1000000 "b") (repeat 100000 "a") }}`, budget.Output},
		"replace of nothing":           {`{{ replace "" (repeat 1000000 "b") (repeat 100000 "a") }}`, budget.Output},
		"regexReplaceAll":              {`{{ regexReplaceAll "" (repeat 20000 "a") (repeat 1000000 "b") }}`, budget.Output},
		"regexReplaceAll, groups":      {`{{ regexReplaceAll "(a+)" (repeat 100000 "a") (repeat 500000 "$1") }}`, budget.Output},
		"regexReplaceAllLiteral":       {`{{ regexReplaceAllLiteral "a" (repeat 20000 "a") (repeat 1000000 "b") }}`, budget.Output},
		"indent":                       {`{{ indent 1000000 (repeat 100000 "\n") }}`, budget.Output},
		"nindent":                      {`{{ nindent 2000000 "a" }}`, budget.Output},
		"wrapWith":                     {`{{ wrapWith 1 (repeat 1000000 "b") (repeat 100000 "a") }}`, budget.Output},
		"quote":                        {`{{ quote (repeat 800000 "\x00") | len }}`, budget.Output},
		"html":                         {`{{ html (repeat 900000 "<") | len }}`, budget.Output},
		"b64enc":                       {`{{ b64enc (repeat 900000 "x") | len }}`, budget.Output},
		"split":                        {`{{ split "a" (repeat 20000 "a") }}`, budget.Iterations},
		"until":                        {`{{ until 10001 }}`, budget.Iterations},
		"until, negative":              {`{{ until -10001 }}`, budget.Iterations},
		"untilStep":                    {`{{ untilStep 0 1000000 3 }}`, budget.Iterations},
		"seq":                          {`{{ seq 1 99999 }}`, budget.Iterations},
		"range over a number":          {`{{ range 999999999 }}{{ end }}`, budget.Iterations},
		"range inside range":           {`{{ range until 9000 }}{{ range until 9000 }}{{ end }}{{ end }}`, budget.Iterations},
		"a template without end":       {`{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, budget.Depth},
		"two of them":                  {`{{ define "x" }}{{ template "y" . }}{{ end }}{{ define "y" }}{{ template "x" .spec }}{{ end }}{{ template "x" . }}`, ""},
		"a tree of templates":          {`{{ define "x" }}{{ if lt . 20 }}{{ template "x" (add1 .) }}{{ template "x" (add1 .) }}{{ end }}{{ end }}{{ template "x" 0 }}`, budget.Iterations},
		"lists that grow":              {growing(`list 1`, `concat $x $x`, `len $x`), budget.Memory},
		"lists in lists":               {growing(`list`, `list $x`, `toJson $x`), budget.Nesting},
		"lists that hold a list twice": {growing(`list 1`, `list $x $x`, `toJson $x`), ""},
		"lists that share, copied":     {`{{ $x := list "abcdefgh" }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ toYaml $x }}`, budget.Output},
		"lists that share, printed":    {`{{ $x := list "abcdefgh" }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`, budget.Output},
		"lists that share, equal":      {`{{ $x := list "abcdefgh" }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ deepEqual $x $x }}`, budget.Output},
		"maps that hold themselves":    {growing(`dict "a" 1`, `set $x "b" $x`, `toJson $x`), ""},
		"merge of itself":              {growing(`dict "a" 1`, `merge $x (dict "self" $x)`, `toJson $x`), ""},
		"work":                         {`{{ $x := ` + big + ` }}{{ range until 9999 }}{{ $_ := sha512sum $x }}{{ end }}`, budget.Work},
		"work, without a loop":         {`{{ $x := ` + big + ` }}` + strings.Repeat(`{{ $_ := sha512sum $x }}`, 9000), budget.Work},
		"a pattern that is slow":       {`{{ regexMatch "(x{1,900}){1,1}y" (repeat 500000 "x") }}`, budget.Search},
		"matches that are slow":        {`{{ regexFindAll "a.*b|a" ` + big + ` -1 | len }}`, budget.Search},
		"regexFindAllGroups":           {`{{ regexFindAllGroups (print (repeat 900 "()") "a") -1 (repeat 900 "a") }}`, budget.Memory},
		"regexFindAllNamed":            {`{{ regexFindAllNamed (print (repeat 900 "()") "(?P<x>a)") -1 (repeat 900 "a") }}`, budget.Memory},
		"deep JSON":                    {`{{ fromJson (repeat 5000 "[") }}`, ""},
		"deep JSON, closed":            {`{{ fromJson (print (repeat 5000 "[") (repeat 5000 "]")) }}`, budget.Nesting},
		"deep YAML":                    {`{{ fromYaml (repeat 9000 "[") }}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			start := time.Now()
			c, err := NewScope(nil).Compile(tc.text)
			g.Expect(err).NotTo(HaveOccurred())
			b := budget.Until(func() error { return nil }) // on a busy machine time could be up first
			v, err := c.eval(b, fixtures.Sample())
			g.Expect(err).To(HaveOccurred(), "%.100v", v)
			g.Expect(len(err.Error())).To(BeNumerically("<", 256))
			if tc.limit != "" {
				over, ok := errors.AsType[*budget.ExceededError](err)
				g.Expect(ok).To(BeTrue(), err.Error())
				g.Expect(over.Limit).To(Equal(tc.limit))
				g.Expect(err).To(MatchError(ContainSubstring("over the " + string(tc.limit) + " limit of a template (")))
			}
			if took := time.Since(start); took > 3*time.Second {
				t.Logf("took %s", took)
			}
		})
	}
}

// A pattern that may not be searched by is told apart from a template that takes too long, and what to do is said.
func TestPatternsOverTheirLimits(t *testing.T) {
	for text, want := range map[string]string{
		`{{ regexMatch (print "(" (repeat 4000 "a") "){500}") "a" }}`: "over the pattern limit of a template (16384 instructions): repeat less, since {1,900} counts 900 times",
		`{{ regexMatch "(x{1,900}){1,1}y" (repeat 500000 "x") }}`:     "over the search limit of a template (instructions of the pattern times bytes of the text: 4194304): search in less text, or by a pattern that repeats less",
	} {
		t.Run(text, func(t *testing.T) {
			c, err := NewScope(nil).Compile(text)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			_, err = c.Eval(t.Context(), Data{})
			NewWithT(t).Expect(err).To(MatchError(HaveSuffix(": " + want)))
		})
	}
}

// What is just inside a limit works.
func TestLimits_inside(t *testing.T) {
	for name, text := range map[string]string{
		"output":     `{{ repeat 1048576 "x" }}`,
		"iterations": `{{ range until 10000 }}{{ end }}`,
		"depth":      `{{ define "x" }}{{ if lt (len .) 31 }}{{ template "x" (append . 1) }}{{ end }}{{ end }}{{ template "x" (list) }}`,
		"nesting":    `{{ $x := list }}{{ range until 90 }}{{ $x = list $x }}{{ end }}{{ toJson $x }}`,
		"a wide one": `{{ printf "%1000d" 1 }}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := evaluate(t, text)
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// A tree is one evaluation: its leaves share the limits.
func TestLimits_areOfTheWholeTree(t *testing.T) {
	g := NewWithT(t)
	leaves := make([]any, 12)
	for i := range leaves {
		leaves[i] = `{{ repeat 100000 "x" }}`
	}
	v, errs := NewScope(nil).CompileValue(leaves, field.NewPath("spec"))
	g.Expect(errs).To(BeEmpty())
	_, err := v.Eval(t.Context(), fixtures.Sample())
	g.Expect(err).To(MatchError(ContainSubstring("[10]: evaluating")))
	g.Expect(err).To(MatchError(ContainSubstring("over the output limit of a template (1 MiB)")))
	for _, text := range []string{"{{ .spec.big }}", "x{{ .spec.big }}", "{{ .spec.list }}", "x{{ .spec.list }}", "{{ .spec.map }}"} {
		for i := range leaves {
			leaves[i] = text
		}
		v, errs = NewScope(nil).CompileValue(leaves, field.NewPath("spec"))
		g.Expect(errs).To(BeEmpty())
		big := strings.Repeat("x", 100_000)
		_, err = v.Eval(t.Context(), Data{"spec": map[string]any{"big": big, "list": []any{big}, "map": map[string]any{big: 1}}})
		g.Expect(err).To(MatchError(ContainSubstring("over the output limit")), text)
	}
}

// What is not counted as work ends when the time is up.
func TestLimits_time(t *testing.T) {
	g := NewWithT(t)
	c, err := NewScope(nil).Compile(`{{ range until 9000 }}{{ range until 9000 }}{{ end }}{{ end }}`)
	g.Expect(err).NotTo(HaveOccurred())
	checks := 0
	b := budget.Until(func() error {
		if checks++; checks > 100 {
			return budget.Over(budget.Time)
		}
		return nil
	})
	_, err = c.eval(b, fixtures.Sample())
	g.Expect(err).To(MatchError(HaveSuffix("over the time limit of a template (1s)")))
}

// A deadline of the caller's is the caller's error, not a budget that was exceeded.
func TestLimits_callersDeadline(t *testing.T) {
	g := NewWithT(t)
	c, err := NewScope(nil).Compile(`{{ $x := repeat 1000000 "a" }}{{ range until 9999 }}{{ $_ := sha512sum $x }}{{ end }}`)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Eval(ctx, fixtures.Sample())
	g.Expect(err).To(MatchError(context.DeadlineExceeded))
}

func BenchmarkEval(b *testing.B) {
	leaves := map[string]any{}
	for i := range 10 {
		leaves[fmt.Sprint("a", i)] = "{{ .spec.replicas }}"
		leaves[fmt.Sprint("b", i)] = "{{ .metadata.name }}-x"
		leaves[fmt.Sprint("c", i)] = `{{ .spec.no | default "x" }}`
	}
	for name, text := range map[string]string{
		"literal": "nginx", "path": "{{ .spec.replicas }}", "text": "{{ .metadata.name }}-x",
		"pipe5": `{{ .spec.title | trim | lower | replace "l" "r" | trunc 3 | quote }}`,
		"range": `{{ range .spec.env }}{{ .name }},{{ end }}`,
	} {
		c, err := NewScope(nil).Compile(text)
		if err != nil {
			b.Fatal(err)
		}
		run(b, name, c.Eval)
	}
	v, errs := NewScope(nil).CompileValue(leaves, nil)
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	run(b, "tree30", v.Eval)
}

func run(b *testing.B, name string, eval func(context.Context, Data) (any, error)) {
	b.Helper()
	d := fixtures.Sample()
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := eval(b.Context(), d); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	s := NewScope(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Compile(`{{ .spec.title | trim | default "x" }}-{{ .Name }}`); err != nil {
			b.Fatal(err)
		}
	}
}
