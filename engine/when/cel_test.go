package when

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
)

func celScope() *expr.Scope {
	return expr.NewScope(schema()).WithChildren("web", "secret").WithRoots("cross", "external", "item")
}

func compileTest(t *testing.T, text string) (*Condition, field.ErrorList) {
	t.Helper()
	return Compile(read[v1alpha1.Test](t, text), celScope(), field.NewPath("when").Index(0))
}

// A false expression names what it read, as far as it may be shown.
func TestCEL_verdicts(t *testing.T) {
	d := data(t, `{spec: {replicas: 5, name: web, free: {max: 3, list: [a, b], many: {x: 1}, long: `+strings.Repeat("x", 200)+`}},
		metadata: {name: n}, children: {web: {status: {num: 1}}, secret: {data: {token: hunter2}, metadata: {name: s}}}, cross: {db: {spec: {x: hidden}}}, item: {x: 1}}`)
	for text, want := range map[string]struct {
		truth, absent, waits bool
		actual               string
	}{
		`{cel: "self.spec.replicas <= self.spec.free.max"}`:               {actual: "self.spec.replicas is 5, self.spec.free.max is 3"},
		`{cel: "self.spec.replicas <= self.spec.free.max", negate: true}`: {truth: true, actual: "self.spec.replicas is 5, self.spec.free.max is 3"},
		`{cel: "has(self.spec.free.no)"}`:                                 {actual: "self.spec.free.no is absent"},
		`{cel: "self.spec.free.list.exists(x, x == 'c')"}`:                {actual: "self.spec.free.list is [a, b]"},
		`{cel: "self.spec.free.many.x == 2"}`:                             {actual: "self.spec.free.many.x is 1"},
		`{cel: "self.spec.free.many == {}"}`:                              {actual: "self.spec.free.many is object"},
		`{cel: "self.spec.free.long == 'x'"}`:                             {actual: "self.spec.free.long is " + strings.Repeat("x", 63) + "…"},
		`{cel: "children.web.status.num == 2"}`:                           {waits: true, actual: "children.web.status.num is 1"},
		`{cel: "children.web.status.no == 2"}`:                            {waits: true, absent: true, actual: "children.web.status.no is absent"},
		`{cel: "children.web.status.no == 2", negate: true}`:              {waits: true, absent: true, actual: "children.web.status.no is absent"},
		`{cel: "children.secret.data.token == 'x'"}`:                      {waits: true, actual: "children.secret.data.token is a string"},
		`{cel: "cross.db.spec.x == 'y'"}`:                                 {waits: true, actual: "cross.db.spec.x is a string"},
		`{cel: "cross.none.spec.x == 'y'"}`:                               {waits: true, absent: true, actual: "cross.none.spec.x is absent"},
		`{cel: "item.x == 2"}`:                                            {actual: "item.x is a number"},
		`{cel: "1 == 2"}`:                                                 {actual: "false"},
		`{cel: "self.spec.replicas == 5"}`:                                {truth: true, actual: "self.spec.replicas is 5"},
		`{cel: "[1,2,3,4,5,6,7].exists(i, self.spec.replicas == i * 10) || self.spec.name == 'a' || self.spec.free.max == 1 || self.spec.free.list == [] || has(self.spec.tls) || self.kind == 'x' || self.apiVersion == 'x'"}`: {
			actual: "self.spec.replicas is 5, self.spec.name is web, self.spec.free.max is 3, self.spec.free.list is [a, b], self.spec.tls is absent, self.kind is Web, …"},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			c, errs := compileTest(t, text)
			g.Expect(errs).To(BeEmpty())
			d["kind"], d["apiVersion"] = "Web", "v1"
			v, err := c.Eval(t.Context(), d, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(v.True).To(Equal(want.truth))
			g.Expect(v.Absent).To(Equal(want.absent))
			g.Expect(v.Actual).To(Equal(want.actual))
			g.Expect(c.Waits()).To(Equal(want.waits))
			g.Expect(v.NextFlip.IsZero()).To(BeTrue())
			g.Expect(string(c.Operator())).To(BeEmpty())
		})
	}
}

func TestCEL_errors(t *testing.T) {
	for text, want := range map[string]string{
		`{cel: "self.spec.replcas > 1"}`:           `when[0].cel: Invalid value: "self.spec.replcas > 1": column 10: spec.replcas: no such field in the CRD's schema, did you mean "replicas"?`,
		`{cel: "self.spec.replicas"}`:              `when[0].cel: Invalid value: "self.spec.replicas": yields int, where true or false is wanted`,
		`{cel: "true", field: spec.name}`:          `when[0].field: Forbidden: cel stands alone: write the comparison in it`,
		`{cel: "true", operator: exists}`:          `when[0].operator: Forbidden: cel stands alone`,
		`{cel: "true", value: 1}`:                  `when[0].value: Forbidden: cel stands alone`,
		`{cel: "true", valueType: int}`:            `when[0].valueType: Forbidden: cel stands alone`,
		`{cel: "true", greaterThan: 1, equals: 2}`: `[when[0].equals: Forbidden: cel stands alone: write the comparison in it, when[0].greaterThan: Forbidden: cel stands alone`,
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			c, errs := compileTest(t, text)
			g.Expect(c).To(BeNil())
			g.Expect(errs.ToAggregate()).To(MatchError(ContainSubstring(want)))
		})
	}
}

// An absent field of the resource itself is an error: only has() says that it may be.
func TestCEL_absentFieldOfTheResource(t *testing.T) {
	g := NewWithT(t)
	c, errs := compileTest(t, `{cel: "self.spec.name == 'a'"}`)
	g.Expect(errs).To(BeEmpty())
	_, err := c.Eval(t.Context(), data(t, `{spec: {replicas: 1}}`), now)
	g.Expect(err).To(MatchError(`evaluating cel "self.spec.name == 'a'": spec.name: no such field in this resource; ` +
		`where it may be absent, use has(self.spec.name) or an optional field (.?)`))
}

// In a gate an expression is a choice or a wait by what it reads, and the message of a closed gate names the values.
func TestCEL_gates(t *testing.T) {
	d := data(t, `{spec: {replicas: 5}, children: {web: {status: {num: 1}}}}`)
	for text, want := range map[string]struct {
		open, choice bool
		message      string
		needs        string
	}{
		`{when: [{cel: "self.spec.replicas > 9"}, {cel: "children.web.status.num > 9"}]}`: {choice: true,
			message: `cel "self.spec.replicas > 9": self.spec.replicas is 5`, needs: "children.web.status.num"},
		`{when: [{cel: "self.spec.replicas > 1"}, {cel: "children.web.status.num > 9"}]}`: {
			message: `cel "children.web.status.num > 9": children.web.status.num is 1`, needs: "children.web.status.num"},
		`{anyOf: [{cel: "self.spec.replicas > 9"}, {cel: "children.web.status.num == 1"}]}`:        {open: true},
		`{when: [{cel: "children.web.status.num == 2", negate: true}]}`:                            {open: true},
		`{when: [{cel: "has(children.web.status.num) && children.web.status.?x.orValue(1) > 0"}]}`: {open: true, needs: "children.web.status.num"},
		`{when: [{cel: "children.web.status.x > 0 || self.spec.replicas > 1"}]}`:                   {open: true},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			gate, errs := CompileGate(read[v1alpha1.Gate](t, text), celScope(), field.NewPath("spec"))
			g.Expect(errs).To(BeEmpty())
			r, err := gate.Eval(t.Context(), d, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Open).To(Equal(want.open))
			g.Expect(r.Choice).To(Equal(want.choice))
			g.Expect(r.Message()).To(Equal(want.message))
			var needs []string
			for _, p := range gate.Needs() {
				needs = append(needs, p.String())
			}
			g.Expect(strings.Join(needs, " ")).To(Equal(want.needs))
		})
	}
}

// FuzzCEL compiles any text in a scope with a schema, and evaluates it: nothing panics or runs away, and no message shows a secret.
func FuzzCEL(f *testing.F) {
	for _, seed := range []string{
		"self.spec.replicas > 1", "has(self.spec.free.x) && self.spec.ports.all(p, p > 0)", "children.web.status.?num.orValue(0) == 1", "self", "item.x == 1",
		"self.spec.free['a b'].c[0] == dyn(1)", "'a'.replace('a', 'bb').matches('b+')", "lists.range(10).map(i, i * 2).sum() > 3", "quantity('1Gi') == quantity('1024Mi')",
		"optional.of(self.spec.replicas).optMap(r, r + 1).orValue(0) > 1", "self.spec.name.format([1])", "[1, 'a', null][self.spec.replicas]", "{'a': self}.a.spec.tls",
		"sets.contains([1], [2]) ? self.spec.tls : !self.spec.tls", "timestamp('2026-01-01T00:00:00Z') + duration('1h') > timestamp(self.metadata.creationTimestamp)",
		"self.metadata.`name` == 'x'", "int(children.secret.data.token) == 1", "cross.a.b.c", "self.spec.ratio / 0.0 > 1.0", "-9223372036854775808 / -1 > 0", "b'\\xff' == bytes('x')",
	} {
		f.Add(seed)
	}
	scope := celScope()
	d := expr.Data{
		"kind": "Web", "metadata": map[string]any{"name": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
		"spec":     map[string]any{"replicas": int64(2), "ratio": int64(1), "name": "web", "tls": true, "ports": []any{int64(80), int64(443)}, "free": map[string]any{"x": nil, "a b": map[string]any{"c": []any{1.5}}}},
		"children": map[string]any{"web": map[string]any{"status": map[string]any{"num": int64(1)}}, "secret": map[string]any{"data": map[string]any{"token": "hunter2"}}},
		"item":     map[string]any{"x": int64(1)},
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1024 || strings.Contains(text, "hunter") {
			return
		}
		c, errs := Compile(v1alpha1.Test{CEL: text}, scope, fuzzAt)
		if text == "" {
			return
		}
		if len(errs) > 0 {
			if strings.Contains(errs[0].Detail, "\n") || errs[0].Detail == "" {
				t.Fatalf("%q: %v", text, errs)
			}
			return
		}
		v, err := c.Eval(t.Context(), d, fuzzNow)
		again, errAgain := c.Eval(t.Context(), d, fuzzNow)
		if v != again || (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("%q: %v, %v and then %v, %v", text, v, err, again, errAgain)
		}
		shown := v.Broken("") + (Result{Unmet: []Verdict{v}}).Message()
		if err != nil {
			shown += err.Error()
		}
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, "\n") {
			t.Fatalf("%q shows %q", text, shown)
		}
	})
}
