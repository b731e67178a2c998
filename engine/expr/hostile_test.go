package expr

import (
	"errors"
	"fmt"
	"runtime/metrics"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/budget"
)

// maxTaken is what an evaluation may take from the heap until it is refused, all garbage included: a few times what it is charged,
// most of which is free again.
const maxTaken = 12 * budget.MaxMemory

// taken gives how many bytes were allocated while f ran.
func taken(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// Each of these is short, and took gigabytes or minutes where functions were not charged for what they do.
func TestHostile_templates(t *testing.T) {
	const big = `(repeat 1000000 "a")`
	twice := func(n int, step string) string {
		return fmt.Sprintf(`{{ $x := list "abcdefgh" }}{{ range until %d }}{{ $x = %s }}{{ end }}`, n, step)
	}
	for name, tc := range map[string]struct {
		text  string
		limit budget.Limit
	}{
		"lists that keep text":      {`{{ $x := list }}{{ range until 10000 }}{{ $x = list $x (repeat 1048576 "a") }}{{ end }}{{ len $x }}`, budget.Memory},
		"maps that keep text":       {`{{ $x := dict }}{{ range $i, $_ := until 10000 }}{{ $_ := set $x (toString $i) (repeat 1000000 "a") }}{{ end }}{{ len $x }}`, budget.Memory},
		"texts that are changed":    {`{{ $x := list }}{{ range until 10000 }}{{ $x = list $x (upper (repeat 500000 "a")) }}{{ end }}{{ len $x }}`, budget.Memory},
		"lists that are appended":   {`{{ $x := until 10000 }}{{ range until 10000 }}{{ $x = append $x 1 }}{{ end }}{{ len $x }}`, budget.Memory},
		"lists of parts":            {`{{ range until 10000 }}{{ $_ := splitList "" ` + big + ` }}{{ end }}`, budget.Memory},
		"chunks":                    {`{{ $x := .spec.many }}{{ $y := list }}{{ range until 10000 }}{{ $y = list $y (chunk 1 $x) }}{{ end }}`, budget.Memory},
		"one list many times":       {`{{ concat ` + strings.Repeat(".spec.many ", 250) + ` | len }}`, budget.Memory},
		"copies":                    {`{{ $y := list }}{{ range until 10000 }}{{ $y = list $y (deepCopy $.spec.many) }}{{ end }}`, budget.Memory},
		"keys":                      {twice(60, "list $x $x") + `{{ dict $x 1 | len }}`, budget.Output},
		"keys of get":               {twice(60, "list $x $x") + `{{ get (dict) $x }}`, budget.Output},
		"keys of index":             {twice(60, "list $x $x") + `{{ default 1 (index (dict "a" 1) $x) }}`, budget.Output},
		"JSON of many small values": {`{{ $x := list }}{{ range until 10000 }}{{ $x = list $x (fromJson (print "[" (repeat 300000 "[],") "1]")) }}{{ end }}`, budget.Memory},
		"YAML of many small values": {`{{ fromYaml (print "[" (repeat 300000 "a,") "a]") | len }}`, budget.Memory},
		"values as YAML":            {`{{ toYaml .spec.many }}`, budget.Memory},
		"quoted twice and more":     {`{{ $x := repeat 200000 "\x00" }}{{ cat ` + strings.Repeat("(quote $x) ", 250) + `}}`, budget.Memory},
		"arguments of a megabyte":   {`{{ $x := ` + big + ` }}{{ quote ` + strings.Repeat("$x ", 250) + `}}`, budget.Output},
		"patterns that multiply":    {`{{ regexMatch (print "(" (repeat 4000 "a") "){500}") "a" }}`, budget.Pattern},
		"patterns again and again":  {`{{ range until 10000 }}{{ $_ := regexMatch "(a{1,200}){1,1}y" (repeat 400 "x") }}{{ end }}`, budget.Memory},
		"without":                   {`{{ range until 10000 }}{{ $_ := without $.spec.many ` + strings.Repeat("1 ", 200) + `}}{{ end }}`, budget.Work},
		"eq":                        {`{{ $x := repeat 4000 "a" }}{{ range until 10000 }}{{ $_ := eq "b" ` + strings.Repeat("$x ", 200) + `}}{{ end }}`, budget.Work},
		"trimAll":                   {`{{ trimAll (repeat 200000 "é") (repeat 200000 "é") }}`, budget.Work},
		"pick":                      {`{{ $x := dict }}{{ range $i, $_ := until 5000 }}{{ $_ := set $x (toString $i) 1 }}{{ end }}{{ range until 10000 }}{{ $_ := pick $x ` + strings.Repeat(`"a" `, 200) + ` }}{{ end }}`, budget.Work},
		"versions":                  {`{{ range until 10000 }}{{ $_ := semverCompare (print ">=1.0.0" (repeat 100 " || >=1.0.0")) "1.0.0" }}{{ end }}`, ""},
		"calls alone":               {`{{ range until 10000 }}` + strings.Repeat(`{{ $_ := len "a" }}`, 1000) + `{{ end }}`, budget.Work},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, err := NewScope(nil).Compile(tc.text)
			g.Expect(err).NotTo(HaveOccurred())
			b := budget.Until(func() error { return nil }) // on a busy machine time could be up first
			many := make([]any, 100_000)
			for i := range many {
				many[i] = int64(i)
			}
			bytes := taken(func() { _, err = c.eval(b, Data{"spec": map[string]any{"many": many}}) })
			g.Expect(err).To(HaveOccurred())
			g.Expect(bytes).To(BeNumerically("<", maxTaken))
			if tc.limit != "" {
				over, ok := errors.AsType[*budget.ExceededError](err)
				g.Expect(ok).To(BeTrue(), err.Error())
				g.Expect(over.Limit).To(Equal(tc.limit), err.Error())
			}
		})
	}
}

// A call has a number of arguments that somebody has written by hand.
func TestHostile_arguments(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []string{"list 1", "without (list 1)", "eq 1", "and 1", "print"} {
		_, err := NewScope(nil).Compile(`{{ ` + name + strings.Repeat(" 1", 80_000) + ` }}`)
		g.Expect(err).To(MatchError(HaveSuffix(" arguments; a call may have at most 256")), name)
	}
	_, err := NewScope(nil).Compile(`{{ list` + strings.Repeat(" 1", 256) + ` }}`)
	g.Expect(err).NotTo(HaveOccurred())
}
