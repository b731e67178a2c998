package expr

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions"
)

// slowByNature are functions that make keys and hash passwords: they are charged for seconds that a test has not got.
const slowByNature = "genPrivateKey genCA genCAWithKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey bcrypt htpasswd derivePassword"

// composer writes templates that call functions at random, on values that are large or grow.
type composer struct {
	random *rand.Rand
	names  []string
}

func (c *composer) pick(from ...string) string { return from[c.random.IntN(len(from))] }

// argument is a value of any size, mostly of the type that is wanted.
func (c *composer) argument(depth int, want reflect.Kind) string {
	if depth > 0 && c.random.IntN(3) == 0 {
		return "(" + c.call(depth-1) + ")"
	}
	switch want {
	case reflect.Int, reflect.Int64, reflect.Float64:
		return c.pick("1", "7", "-1", "1000", "(len $x)")
	case reflect.String:
		return c.pick(".text", `"a"`, `""`, `","`, `"a.*|b"`, `(repeat 5000 "a,")`, "(toString $x)")
	case reflect.Slice:
		return c.pick(".list", "(until 2000)", "(list $x $y)", "(list .map .list .text)")
	case reflect.Map:
		return c.pick(".map", `(dict "a" $x)`, "(deepCopy .map)")
	default:
		return c.pick("$x", "$y", ".list", ".map", ".text", "1", `"a"`, `(dict "a" $x)`)
	}
}

func (c *composer) call(depth int) string {
	name := c.pick(c.names...)
	params, variadic := functions.Named(name).Params()
	n := len(params)
	if variadic {
		n = max(n-1+c.random.IntN(4), 1)
	}
	words := []string{name}
	for i := range n {
		words = append(words, c.argument(depth, params[min(i, len(params)-1)].Kind()))
	}
	return strings.Join(words, " ")
}

// template gives a few calls in a loop, each of which may read what the former ones gave.
func (c *composer) template() string {
	var b strings.Builder
	b.WriteString(`{{ $x := .list }}{{ $y := .text }}{{ range $_ := until 400 }}{{ with $ }}`)
	for range 1 + c.random.IntN(3) {
		fmt.Fprintf(&b, "{{ %s = %s }}", c.pick("$x", "$y"), c.pick("list $x $y ("+c.call(2)+")", c.call(2), c.call(1)))
	}
	b.WriteString(`{{ end }}{{ end }}{{ $x }}{{ $y }}`)
	return b.String()
}

// Whatever functions are composed, what an evaluation takes and does is a small multiple of what it is charged, and that is limited.
func TestCompose(t *testing.T) {
	c := &composer{random: rand.New(rand.NewPCG(1, 2))}
	for _, fn := range functions.All() {
		if !slices.Contains(strings.Fields(slowByNature), fn.Name) {
			c.names = append(c.names, fn.Name)
		}
	}
	numbers, fields := make([]any, 5000), map[string]any{}
	for i := range numbers {
		numbers[i] = int64(i)
		fields[fmt.Sprint("key-", i)] = strings.Repeat("v", i%50)
	}
	data := Data{"list": numbers, "map": fields, "text": strings.Repeat("some text, ", 5000)}
	scope := NewScope(nil).WithRandom(zeros{}, func() time.Time { return time.Unix(0, 0) }).WithRoots("list", "map", "text")
	refused := map[budget.Limit]int{}
	for range 400 {
		text := c.template()
		compiled, err := scope.Compile(text)
		if err != nil {
			continue
		}
		g := NewWithT(t)
		b := budget.Until(func() error { return nil }) // the work alone must end it
		bytes := taken(func() { _, err = compiled.eval(b, data) })
		memory, work := b.Used()
		g.Expect(memory).To(BeNumerically("<=", budget.MaxMemory), text)
		g.Expect(work).To(BeNumerically("<=", budget.MaxWork), text)
		// What is charged as work leaves a little garbage as well.
		g.Expect(bytes).To(BeNumerically("<", 24*memory+4*work+12*budget.MaxOutput), text)
		if failed, ok := err.(*siteError); ok { //nolint:errorlint // The outermost one.
			if over, ok := failed.err.(*budget.ExceededError); ok { //nolint:errorlint // As above.
				refused[over.Limit]++
			}
		}
	}
	g := NewWithT(t)
	for _, limit := range []budget.Limit{budget.Memory, budget.Output, budget.Nesting} {
		g.Expect(refused[limit]).To(BeNumerically(">", 5), "%v", refused)
	}
}

// zeros is a source of randomness that gives the same each time.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
