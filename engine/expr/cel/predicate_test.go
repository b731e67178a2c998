package cel_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/cel"
	"github.com/orkspace/orkestra/engine/expr/roots"
)

// Expressions of one place may be compiled and evaluated at the same time.
func TestEnv_concurrent(t *testing.T) {
	env := cel.NewEnv(roots.NewSet(websites()))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, text := range []string{"self.spec.replicas > 1", "self.spec.env.all(e, has(e.name))", "self.spec.nope == 1", "self.spec.labels.a == 'b'"} {
				p, err := env.Compile(text)
				if bad := strings.Contains(text, "nope"); bad != (err != nil) || bad && !strings.Contains(err.Error(), "spec.nope: no such field") {
					t.Errorf("%s: %v", text, err)
				}
				if err == nil {
					_, _ = p.Eval(t.Context(), testData()) // only that it races with nobody
				}
			}
		})
	}
	all.Wait()
}

// The error of one expression is not that of the next, which misses a field of the same name elsewhere.
func TestEnv_errorsAreOfTheirExpression(t *testing.T) {
	g := NewWithT(t)
	env := cel.NewEnv(roots.NewSet(websites()))
	_, err := env.Compile("self.spec.nam == ''")
	g.Expect(err).To(MatchError(ContainSubstring("spec.nam: no such field")))
	_, err = env.Compile("self.metadata.nam == ''")
	g.Expect(err).To(MatchError(ContainSubstring(`metadata.nam: no such field in the CRD's schema, did you mean "name"?`)))
	_, err = env.Compile("self.spec.image == ''")
	g.Expect(err).NotTo(HaveOccurred())
}

// Of several mistakes the first one in the text is told.
func TestEnv_firstMistake(t *testing.T) {
	g := NewWithT(t)
	_, err := testScope().CompileCEL("self.spec.image == 'a' &&\n  self.spec.b == 1 && self.spec.c == 2")
	g.Expect(err).To(MatchError(HavePrefix("line 2, column 12: spec.b: no such field")))
	_, err = testScope().CompileCEL("a == b")
	g.Expect(err).To(MatchError(HavePrefix("column 1: a: no such variable or function")))
}

// Without a schema any field may be there, and a root of its own is read by its name.
func TestEnv_withoutSchema(t *testing.T) {
	g := NewWithT(t)
	scope := expr.NewScope(nil).WithRoots("item", "cross")
	data := expr.Data{"spec": map[string]any{"a": map[string]any{"b": int64(1)}}, "item": "x", "cross": map[string]any{"db": map[string]any{"ready": true}}}
	for text, want := range map[string]bool{
		"self.spec.a.b == 1": true, "item == 'x'": true, "cross.db.ready": true, "has(self.spec.c)": false, "has(cross.other)": false, "self.spec.a.b == 2": false,
		"self.spec.?x.?y.orValue(5) == 5": true, "dyn(self.spec) == {'a': {'b': 1}}": true,
	} {
		p, err := scope.CompileCEL(text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(p.Eval(t.Context(), data)).To(Equal(want), text)
	}
	p, err := scope.CompileCEL("has(cross.db)")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Eval(t.Context(), expr.Data{})).To(BeFalse(), "a root without content is empty")
}

// What is hidden in a place is not part of self there either.
func TestEnv_hiddenRoots(t *testing.T) {
	g := NewWithT(t)
	scope := testScope().WithoutRoots("status", "children")
	data := testData()
	data["status"] = map[string]any{"phase": "Running"}
	p, err := scope.CompileCEL("dyn(self).all(k, k != 'status')")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Eval(t.Context(), data)).To(BeTrue())
	for text, want := range map[string]string{
		"self.status.phase == 'x'": "status is not available here: this step runs before it is read", "children.anything.k == 'v'": "children is not available here",
	} {
		_, err := scope.CompileCEL(text)
		g.Expect(err).To(MatchError(ContainSubstring(want)), text)
	}
}

// The caller's cancellation is the caller's error, with its cause.
func TestPredicate_cause(t *testing.T) {
	g := NewWithT(t)
	p, err := testScope().CompileCEL("self.spec.replicas > 1")
	g.Expect(err).NotTo(HaveOccurred())
	cause := errors.New("the box was deleted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = p.Eval(ctx, testData())
	g.Expect(err).To(MatchError(cause))
}

// An evaluation changes nothing of the data, though schemas give values other types.
func TestPredicate_leavesTheDataAlone(t *testing.T) {
	g := NewWithT(t)
	data := testData()
	for _, text := range []string{"self.spec.ratios.map(r, r + 1.0).size() == 2", "self.spec.ratio > 0.5 && self.spec.every > duration('1s')", "dyn(self) == dyn(self)"} {
		p, err := testScope().CompileCEL(text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(p.Eval(t.Context(), data)).To(BeTrue(), text)
	}
	g.Expect(data).To(Equal(testData()))
}
