package expr

import (
	"errors"
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// maxTaken is what an evaluation may take from the heap until it is refused, all garbage included: a few times what it is charged,
// most of which is free again.
const maxTaken = 12 * maxMemory

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
	for name, tc := range map[string]struct{ text, limit string }{
		"lists that keep text":      {`{{ $x := list }}{{ range until 10000 }}{{ $x = list $x (repeat 1048576 "a") }}{{ end }}{{ len $x }}`, limitMemory},
		"maps that keep text":       {`{{ $x := dict }}{{ range $i, $_ := until 10000 }}{{ $_ := set $x (toString $i) (repeat 1000000 "a") }}{{ end }}{{ len $x }}`, limitMemory},
		"texts that are changed":    {`{{ $x := list }}{{ range until 10000 }}{{ $x = list $x (upper (repeat 500000 "a")) }}{{ end }}{{ len $x }}`, limitMemory},
		"lists that are appended":   {`{{ $x := until 10000 }}{{ range until 10000 }}{{ $x = append $x 1 }}{{ end }}{{ len $x }}`, limitMemory},
		"lists of parts":            {`{{ range until 10000 }}{{ $_ := splitList "" ` + big + ` }}{{ end }}`, limitMemory},
		"chunks":                    {`{{ $x := .spec.many }}{{ $y := list }}{{ range until 10000 }}{{ $y = list $y (chunk 1 $x) }}{{ end }}`, limitMemory},
		"one list many times":       {`{{ concat ` + strings.Repeat(".spec.many ", 250) + ` | len }}`, limitMemory},
		"copies":                    {`{{ $y := list }}{{ range until 10000 }}{{ $y = list $y (deepCopy $.spec.many) }}{{ end }}`, limitMemory},
		"keys":                      {twice(60, "list $x $x") + `{{ dict $x 1 | len }}`, limitOutput},
		"keys of get":               {twice(60, "list $x $x") + `{{ get (dict) $x }}`, limitOutput},
		"keys of index":             {twice(60, "list $x $x") + `{{ default 1 (index (dict "a" 1) $x) }}`, limitOutput},
		"JSON of many small values": {`{{ $x := list }}{{ range until 10000 }}{{ $x = list $x (fromJson (print "[" (repeat 300000 "[],") "1]")) }}{{ end }}`, limitMemory},
		"YAML of many small values": {`{{ fromYaml (print "[" (repeat 300000 "a,") "a]") | len }}`, limitMemory},
		"values as YAML":            {`{{ toYaml .spec.many }}`, limitMemory},
		"quoted twice and more":     {`{{ $x := repeat 200000 "\x00" }}{{ cat ` + strings.Repeat("(quote $x) ", 250) + `}}`, limitMemory},
		"arguments of a megabyte":   {`{{ $x := ` + big + ` }}{{ quote ` + strings.Repeat("$x ", 250) + `}}`, limitOutput},
		"patterns that multiply":    {`{{ regexMatch (print "(" (repeat 4000 "a") "){500}") "a" }}`, limitPattern},
		"patterns again and again":  {`{{ range until 10000 }}{{ $_ := regexMatch "(a{1,200}){1,1}y" (repeat 400 "x") }}{{ end }}`, limitMemory},
		"without":                   {`{{ range until 10000 }}{{ $_ := without $.spec.many ` + strings.Repeat("1 ", 200) + `}}{{ end }}`, limitWork},
		"eq":                        {`{{ $x := repeat 4000 "a" }}{{ range until 10000 }}{{ $_ := eq "b" ` + strings.Repeat("$x ", 200) + `}}{{ end }}`, limitWork},
		"trimAll":                   {`{{ trimAll (repeat 200000 "é") (repeat 200000 "é") }}`, limitWork},
		"pick":                      {`{{ $x := dict }}{{ range $i, $_ := until 5000 }}{{ $_ := set $x (toString $i) 1 }}{{ end }}{{ range until 10000 }}{{ $_ := pick $x ` + strings.Repeat(`"a" `, 200) + ` }}{{ end }}`, limitWork},
		"versions":                  {`{{ range until 10000 }}{{ $_ := semverCompare (print ">=1.0.0" (repeat 100 " || >=1.0.0")) "1.0.0" }}{{ end }}`, ""},
		"calls alone":               {`{{ range until 10000 }}` + strings.Repeat(`{{ $_ := len "a" }}`, 1000) + `{{ end }}`, limitWork},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, err := NewScope(nil).Compile(tc.text)
			g.Expect(err).NotTo(HaveOccurred())
			b, done := newBudget(t.Context())
			defer done()
			b.expired = func() error { return nil } // on a busy machine time could be up first
			many := make([]any, 100_000)
			for i := range many {
				many[i] = int64(i)
			}
			bytes := taken(func() { _, err = c.eval(b, Data{"spec": map[string]any{"many": many}}) })
			g.Expect(err).To(HaveOccurred())
			g.Expect(bytes).To(BeNumerically("<", maxTaken))
			if tc.limit != "" {
				budget, ok := errors.AsType[*BudgetError](err)
				g.Expect(ok).To(BeTrue(), err.Error())
				g.Expect(budget.Limit).To(Equal(tc.limit), err.Error())
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

// Each of these took half a minute or gigabytes, or would not have ended.
func TestHostile_cel(t *testing.T) {
	links := func(start, step string, n int) string { return start + strings.Repeat(".map(x, "+step+")", n) }
	many := make([]any, 100_000)
	for i := range many {
		many[i] = int64(i)
	}
	data := Data{"spec": map[string]any{"many": many, "image": strings.Repeat("a", 200_000)}}
	for _, text := range []string{
		"5 in " + links("[self.spec.many]", "x + x", 12) + "[0]",
		links("[self.spec.many]", "x + x", 12) + "[0] == []",
		links("[self.spec.many]", "[x, x]", 8) + " == " + links("[self.spec.many]", "[x, x]", 8),
		links("[self.spec.many]", "[x, x]", 8) + " != " + links("[self.spec.many]", "[x, x]", 8),
		"dyn([1]) in " + links("[self.spec.many]", "dyn([x, x])", 14),
		links("[self.spec.many]", "x + x", 8) + "[0].sort().size() > 1",
		links("[self.spec.many]", "x + x", 8) + "[0].reverse().size() > 1",
		links("[self.spec.many]", "x + x", 8) + "[0].slice(0, 5000000).size() > 1",
		links("[self.spec.many]", "x + x", 8) + "[0].indexOf(-1) > 1",
		"self.spec.many.all(a, self.spec.many.indexOf(-1) == -1)",
		"self.spec.many.all(a, self.spec.many.reverse().size() > 1)",
		"lists.range(100000000).size() > 1",
		"self.spec.image.indexOf(self.spec.image.substring(1, 100000) + 'b') > 1",
		"self.spec.image.split('').size() > 1 && self.spec.image.split('').size() > 1 && self.spec.image.split('').size() > 1",
		"'%.999999999f'.format([1.0]).size() > 1",
		"quantity('1e999999999').isGreaterThan(quantity('1'))",
		"self.spec.image.findAll('a.*b|a').size() > 1",
		"self.spec.image.matches('(' + self.spec.image.substring(0, 4000) + '){500}')",
		"self.spec.many.transformMap(i, v, self.spec.image).size() > 1 && self.spec.many.map(i, self.spec.image + self.spec.image).size() > 1",
	} {
		t.Run(text[max(0, len(text)-60):], func(t *testing.T) {
			g := NewWithT(t)
			p, err := NewScope(nil).CompileCEL(text)
			if err != nil { // CEL has seen it by itself
				g.Expect(err).To(MatchError(ContainSubstring("over the cost limit")))
				return
			}
			bytes := taken(func() { _, err = p.Eval(t.Context(), data) })
			budget, ok := errors.AsType[*BudgetError](err)
			g.Expect(ok).To(BeTrue(), "%v", err)
			g.Expect(budget.Limit).To(Equal(limitCost))
			g.Expect(bytes).To(BeNumerically("<", maxTaken))
		})
	}
}

// What no honest expression needs is found when the box is applied.
func TestHostile_celShape(t *testing.T) {
	g := NewWithT(t)
	_, err := NewScope(nil).CompileCEL("5 in [[1, 2]]" + strings.Repeat(".map(x, x + x)", 30) + "[0]")
	g.Expect(err).To(MatchError("it has 30 loops (all, exists, exists_one, map, filter and the like); at most 16 are allowed"))
	_, err = NewScope(nil).CompileCEL("self.spec.x.matches('(" + strings.Repeat("a", 2000) + "){900}')")
	g.Expect(err).To(MatchError(HavePrefix("the pattern \"(aaa")))
}

// Every function of CEL that is enabled has a price, or only reads the text that it is given: a new one must be looked at.
func TestHostile_celFunctions(t *testing.T) {
	g := NewWithT(t)
	base, err := newCELBase()
	g.Expect(err).NotTo(HaveOccurred())
	known := strings.Fields(linearInText)
	for name := range base.env.Functions() {
		_, priced := celPrices()[name]
		g.Expect(priced || strings.HasPrefix(name, "format.") || slices.Contains(known, name)).To(BeTrue(), "%s has no price", name)
	}
}

// linearInText are functions whose work is that of reading their texts once, or less.
const linearInText = `!_ -_ @not_strictly_false __not_strictly_false__ _%_ _&&_ _*_ _-_ _/_ _<=_ _<_ _>=_ _>_ _?._ _?_:_ _[?_] _[_] _||_
add allowed asApproximateFloat asInteger bool bytes charAt check cidr compareTo contains containsCIDR containsIP double duration dyn endsWith
error errored family fieldSelector first getDate getDayOfMonth getDayOfWeek getDayOfYear getEscapedPath getFullYear getHost getHostname
getHours getMilliseconds getMinutes getMonth getPort getQuery getScheme getSeconds group hasValue int ip ip.isCanonical isCIDR
isLinkLocalMulticast isGlobalUnicast isGreaterThan isIP isInteger isLessThan isLinkLocalUnicast isLoopback isSemver isURL isUnspecified
labelSelector last lowerAscii major masked minor name namespace optional.none optional.of optional.ofNonZeroValue optional.unwrap or
orValue patch path prefixLength reason resource semver serviceAccount sign size startsWith string strings.quote sub subresource substring
string timestamp trim type uint unwrapOpt upperAscii url value`
