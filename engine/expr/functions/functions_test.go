package functions_test

import (
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/test/fixtures"
)

func evaluate(t *testing.T, text string) (any, error) {
	t.Helper()
	c, err := randomScope().Compile(text)
	if err != nil {
		t.Fatalf("compiling %q: %v", text, err)
	}
	return c.Eval(t.Context(), fixtures.Sample())
}

// expectGiven evaluates expressions, and compares what they give as JSON; floats say so, since 2.0 is 2 in JSON. Where an error is expected, it stands
// behind an exclamation mark, without the expression.
func expectGiven(t *testing.T, cases map[string]string) {
	t.Helper()
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			message, wantsError := strings.CutPrefix(want, "! ")
			c, err := randomScope().Compile("{{ " + text + " }}")
			var v any
			if err == nil {
				v, err = c.Eval(t.Context(), fixtures.Sample())
			}
			if wantsError {
				g.Expect(err).To(MatchError(HaveSuffix(message)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			got, err := value.JSON(v, "")
			g.Expect(err).NotTo(HaveOccurred())
			if _, isFloat := v.(float64); isFloat {
				got += " as a float"
			}
			g.Expect(got).To(Equal(want))
		})
	}
}

// randomScope allows the random functions too.
func randomScope() *expr.Scope {
	return expr.NewScope(nil).WithRandom(rand.Reader, func() time.Time { return time.Date(2026, 3, 25, 10, 0, 0, 0, time.UTC) })
}

// Every example in the function table gives what the table says.
func TestFuncs_examples(t *testing.T) {
	for _, fn := range functions.All() {
		t.Run(fn.Name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(fn.Doc).To(HaveSuffix("."))
			g.Expect(fn.Example).To(ContainSubstring(fn.Name))
			v, err := evaluate(t, fn.Example)
			g.Expect(err).NotTo(HaveOccurred())
			got, err := value.Print(v)
			g.Expect(err).NotTo(HaveOccurred())
			if v == nil {
				got = ""
			}
			g.Expect(got).To(Equal(fn.Result))
		})
	}
}

func TestFuncs_namesAreUnique(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for _, fn := range functions.All() {
		for _, name := range append([]string{fn.Name}, fn.Aliases...) {
			g.Expect(seen).NotTo(HaveKey(name))
			seen[name] = true
		}
	}
	g.Expect(slices.Sorted(maps.Keys(seen))).To(Equal(slices.Sorted(slices.Values(functions.Names()))))
}

func TestKubeFuncs(t *testing.T) {
	workload := func(spec, status map[string]any) map[string]any {
		status["observedGeneration"] = int64(2)
		return map[string]any{"metadata": map[string]any{"generation": int64(2)}, "spec": spec, "status": status}
	}
	all := func(n int64) map[string]any {
		return map[string]any{"replicas": n, "updatedReplicas": n, "availableReplicas": n, "readyReplicas": n}
	}
	oldPods, unseen := all(2), workload(map[string]any{"replicas": int64(2)}, all(2))
	oldPods["replicas"] = int64(3)
	unseen["status"].(map[string]any)["observedGeneration"] = int64(1)
	data := expr.Data{"children": map[string]any{
		"done": workload(map[string]any{"replicas": int64(2)}, all(2)), "some": workload(map[string]any{"replicas": int64(3)}, all(2)),
		"old": workload(map[string]any{"replicas": int64(2)}, oldPods), "unseen": unseen,
		"zero": workload(map[string]any{"replicas": int64(0)}, map[string]any{}), "unsaid": workload(map[string]any{}, all(1)),
		"daemon": workload(map[string]any{}, map[string]any{"desiredNumberScheduled": int64(4), "numberReady": int64(3),
			"numberAvailable": int64(4), "updatedNumberScheduled": int64(4)}),
		"job": map[string]any{"status": map[string]any{"active": int64(1), "conditions": []any{map[string]any{"type": "Failed", "status": "False"}}}},
		"pvc": map[string]any{"status": map[string]any{"phase": "Bound"}},
	}}
	for text, want := range map[string]any{
		"rolloutComplete .children.done": true, "rolloutComplete .children.some": false, "rolloutComplete .children.old": false,
		"rolloutComplete .children.unseen": false, "rolloutComplete .children.zero": true, "rolloutComplete .children.unsaid": true,
		"rolloutComplete .children.daemon": true, "rolloutComplete .children.none": false,
		"desiredReplicas .children.zero": int64(0), "desiredReplicas .children.unsaid": int64(1), "desiredReplicas .children.daemon": int64(4),
		"readyReplicas .children.daemon": int64(3), "jobActive .children.job": true, "jobFailed .children.job": false, "jobSucceeded .children.job": false,
		"pvcBound .children.pvc": true, "isReady .children.done": false,
	} {
		g := NewWithT(t)
		c, err := expr.NewScope(nil).Compile("{{ " + text + " }}")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Eval(t.Context(), data)).To(Equal(want), text)
	}
}

// The same template and the same data give the same, and the data stays as it was.
func TestFuncs_arePure(t *testing.T) {
	for _, fn := range functions.All() {
		if functions.Named(fn.Name).Draws() {
			continue
		}
		g := NewWithT(t)
		c, err := expr.NewScope(nil).Compile(fn.Example)
		g.Expect(err).NotTo(HaveOccurred(), fn.Name)
		data := fixtures.Sample()
		first, err := c.Eval(t.Context(), data)
		g.Expect(err).NotTo(HaveOccurred(), fn.Name)
		again, err := c.Eval(t.Context(), data)
		g.Expect(err).NotTo(HaveOccurred(), fn.Name)
		g.Expect(value.Same(first, again)).To(BeTrue(), fn.Name)
		g.Expect(data).To(Equal(fixtures.Sample()), fn.Name)
	}
}

// An alias is the same function by another name.
func TestFuncs_aliases(t *testing.T) {
	g := NewWithT(t)
	aliases := 0
	for _, fn := range functions.All() {
		for _, alias := range fn.Aliases {
			aliases++
			g.Expect(functions.Named(alias)).To(BeIdenticalTo(functions.Named(fn.Name)), alias)
		}
	}
	g.Expect(aliases).To(BeNumerically(">", 50))
}

// The list is the caller's: changing it changes no function.
func TestAll_isACopy(t *testing.T) {
	g := NewWithT(t)
	for _, fn := range functions.All() {
		if len(fn.Aliases) > 0 {
			fn.Aliases[0] = "changed"
		}
	}
	for _, fn := range functions.All() {
		g.Expect(fn.Aliases).NotTo(ContainElement("changed"))
		g.Expect(fn.Group).NotTo(BeEmpty())
		g.Expect(fn.Usage).To(HavePrefix(fn.Name))
	}
}
