package cel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/cel"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/test/fixtures"
)

// yields evaluates an expression, and gives what it yields or what it fails with, as text.
func yields(t *testing.T, text string, data expr.Data) string {
	t.Helper()
	e, err := cel.NewEnv(roots.NewSet(websites()).WithUnchecked(roots.Cross)).CompileExpression(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := e.Eval(t.Context(), data)
	return fmt.Sprintf("%v %v", out, err)
}

// A loop walks the keys of a map in order, wherever the map comes from.
func TestLoopsWalkMapsInOrder(t *testing.T) {
	data := testData()
	labels, below := map[string]any{}, map[string]any{}
	for key := range strings.SplitSeq("h g f e d c b a", " ") {
		labels[key], below[key] = strings.ToUpper(key), map[string]any{"v": key + key}
	}
	data["spec"].(map[string]any)["labels"], data["spec"].(map[string]any)["open"] = labels, below
	data["children"] = map[string]any{"anything": map[string]any{"data": labels}}
	data["cross"] = map[string]any{"db": map[string]any{"status": labels}}
	const keys, pairs = "[a b c d e f g h]", "[a=A b=B c=C d=D e=E f=F g=G h=H]"
	written := "{'c': 1, 'a': 2, 'h': 3, 'b': 4, 'g': 5, 'd': 6, 'f': 7, 'e': 8}"
	for text, want := range map[string]string{
		"self.spec.labels.map(k, k)":                                                                       keys,
		"self.spec.labels.map(k, k + '=' + self.spec.labels[k])":                                           pairs,
		"self.spec.labels.map(k, k != 'b', k)":                                                             "[a c d e f g h]",
		"self.spec.labels.filter(k, k > 'b')":                                                              "[c d e f g h]",
		"self.spec.labels.transformList(k, v, k + '=' + v)":                                                pairs,
		"self.spec.labels.transformList(k, v, v > 'C', v)":                                                 "[D E F G H]",
		"self.spec.open.transformList(k, v, v.v)":                                                          "[aa bb cc dd ee ff gg hh]",
		"self.spec.open.map(k, self.spec.open[k].v)":                                                       "[aa bb cc dd ee ff gg hh]",
		"self.spec.labels.transformMap(k, v, k + v).map(k, k)":                                             keys,
		"self.spec.labels.transformMapEntry(k, v, {v: k}).transformList(k, v, v + '=' + k)":                pairs,
		"self.spec.?labels.optMap(m, m.map(k, k)).orValue([])":                                             keys,
		"self.spec.?labels.orValue({}).map(k, k)":                                                          keys,
		"[self.spec.labels, self.spec.labels].map(m, m.map(k, k))[1]":                                      keys,
		"(has(self.spec.labels) ? self.spec.labels : {}).map(k, k)":                                        keys,
		"dyn(self.spec.labels).map(k, k)":                                                                  keys,
		"children.anything.data.map(k, k + '=' + children.anything.data[k])":                               pairs,
		"cross.db.status.map(k, k)":                                                                        keys,
		written + ".map(k, k)":                                                                             keys,
		written + ".transformList(k, v, v)":                                                                "[2 4 1 6 8 7 5 3]",
		"{self.spec.labels['b']: 1, 'A': 2, self.spec.labels['c']: 3}.map(k, k)":                           "[A B C]",
		"self.spec.labels.transformMap(k, v, 1 / (k == 'c' || k == 'g' ? 0 : 1))":                          "",
		"{'a': dyn(0.0 / 0.0), 'b': dyn({1: 2}), 'c': dyn(1.0 / 0.0), 'd': dyn(18446744073709551615u)}":    "",
		"{'x': {'a': dyn(0.0 / 0.0), 'b': dyn(1.0 / 0.0), 'c': dyn(-1.0 / 0.0), 'd': dyn({true: false})}}": "",
		"dyn({'b': 1, 2: 2, true: 3, 'a': 4, 10: 5, false: 6, 1u: 7, 1: 8}).map(k, string(k))":             "[false true 1 1 2 10 a b]",
		"dyn({'b': 1, 2: 2, true: 3, 'a': 4, 10: 5, false: 6, 1u: 7, 1: 8}).transformList(k, v, v)":        "[6 3 8 7 2 5 4 1]",
		"{dyn([2]): 'x', dyn([1]): 'y', dyn(null): 'z'}.transformList(k, v, v)":                            "[y x z]",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			first := yields(t, text, data)
			if want != "" {
				g.Expect(first).To(Equal(want + " <nil>"))
			}
			for range 30 {
				g.Expect(yields(t, text, data)).To(Equal(first))
			}
		})
	}
}

// The order is that of the loops of templates.
func TestLoopsOfCELAndOfTemplatesHaveOneOrder(t *testing.T) {
	for seed := range uint64(50) {
		g := NewWithT(t)
		d := fixtures.NewDice(seed)
		data, keys := testData(), map[string]any{}
		for range d.IntN(40) {
			keys[fixtures.Pick(d, fixtures.Texts)+fixtures.Pick(d, fixtures.Texts)] = d.Value(1)
		}
		data["spec"].(map[string]any)["open"] = keys
		template, err := testScope().Compile(`{{ range $k, $v := .spec.open }}{{ $k }}|{{ end }}`)
		g.Expect(err).NotTo(HaveOccurred())
		want, err := template.Eval(t.Context(), data)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yields(t, "self.spec.open.map(k, k + '|').join('')", data)).To(Equal(fmt.Sprint(want) + " <nil>"))
	}
}

// mapsOf are expressions that are a map, and doneWith is what is done with one. Those that fail must always fail alike.
var (
	mapsOf = []string{"self.spec.open", "self.spec.labels", "self.spec.users", "dyn(self.spec.anything)", "{'z': 1, 'y': 'b', 'x': [1], 3: 2, 2: 1, true: 0}",
		"self.spec.open.transformMap(k, v, k)", "self.spec.labels.transformMap(k, v, {v: k, k: v, 'a': k})", "{'one': self.spec.open, 'two': self.spec.labels}"}
	doneWith = []string{"%s.map(k, k)", "%s.map(k, string(k) + 'x')", "%s.filter(k, k != 'a')", "%s.transformList(k, v, v)", "%s.transformList(k, v, [k, v])",
		"%s.transformList(k, v, v.map(w, w))", "%s.map(k, 1 / 0)", "%s.transformList(k, v, v.absent)", "%s.transformList(k, v, int(string(v)))",
		"%s.transformMapEntry(k, v, {'a': k, 'b': v, 'c': v})", "%s.transformMapEntry(k, v, {string(v): k})", "%s.exists(k, v, int(v) > 3)", "%s.all(k, int(k) > 0)",
		"%s.existsOne(k, v, v.b == 'c')", "%s.transformMap(k, v, duration(string(v)))", "%s.map(k, k).map(k, {k: k}).map(m, m.map(k, k))", "%s",
		"{dyn('r'): %s}.transformList(k, v, v)", "%s == self.spec.open", "'%%s'.format([%s])"}
)

// However often an expression is evaluated on the same data, it gives one result.
func TestAnExpressionOverRandomMapsHasOneResult(t *testing.T) {
	evaluated := 0
	for seed := range uint64(300) {
		d := fixtures.NewDice(seed)
		data := testData()
		for _, field := range []string{"open", "labels", "users", "anything"} {
			keys := map[string]any{}
			for range d.IntN(12) {
				keys[fixtures.Pick(d, fixtures.Texts)] = d.Value(2)
			}
			data["spec"].(map[string]any)[field] = keys
		}
		text := fmt.Sprintf(fixtures.Pick(d, doneWith), fixtures.Pick(d, mapsOf))
		e, err := cel.NewEnv(roots.NewSet(websites())).CompileExpression(text)
		if err != nil {
			continue // of this type there is no such loop
		}
		evaluated++
		var results []string
		for range 20 {
			out, err := e.Eval(t.Context(), data)
			results = append(results, fmt.Sprint(out, err))
		}
		if slices.Sort(results); results[0] != results[len(results)-1] {
			t.Errorf("seed %d: %s gives\n%s\nand\n%s", seed, text, results[0], results[len(results)-1])
		}
	}
	NewWithT(t).Expect(evaluated).To(BeNumerically(">", 200))
}

// Sorting is charged: what walks a large map again and again comes to an end.
func TestWalkingMapsInOrderIsCharged(t *testing.T) {
	g := NewWithT(t)
	data, many := testData(), map[string]any{}
	for i := range 20_000 {
		many[fmt.Sprint("key-", i)] = "v"
	}
	data["spec"].(map[string]any)["labels"] = many
	g.Expect(yields(t, "self.spec.labels.map(k, k).size()", data)).To(Equal("20000 <nil>"))
	over := ContainSubstring("over the cost limit")
	g.Expect(yields(t, "[1, 2, 3].all(i, self.spec.labels.exists(k, true))", data)).To(Equal("true <nil>"))
	g.Expect(yields(t, "lists.range(6).all(i, self.spec.labels.exists(k, true))", data)).To(over)
}

// BenchmarkLoops walks thirty elements.
func BenchmarkLoops(b *testing.B) {
	labels, env := map[string]any{}, []any{}
	for i := range 30 {
		name := fmt.Sprint("key-", i)
		labels[name], env = "v", append(env, map[string]any{"name": name, "value": "v"})
	}
	data := testData()
	data["spec"].(map[string]any)["labels"], data["spec"].(map[string]any)["env"] = labels, env
	for name, text := range map[string]string{
		"list": "self.spec.env.map(e, e.name)", "list with index": "self.spec.env.transformList(i, e, e.value)", "all of a list": "self.spec.env.all(e, e.value == 'v')",
		"map": "self.spec.labels.map(k, k)", "map with values": "self.spec.labels.transformList(k, v, v)", "all of a map": "self.spec.labels.all(k, k != '')",
		"a map as it is": "self.spec.labels", "no loop": "self.spec.replicas + 1",
	} {
		e, err := cel.NewEnv(roots.NewSet(websites())).CompileExpression(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Eval(b.Context(), data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
