package cel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
)

func list(items *roots.Schema) roots.Schema {
	return roots.Schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}
}

func mapOf(values *roots.Schema) roots.Schema {
	return roots.Schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: values, Allows: values == nil}}
}

// websites is the schema that these tests check paths against.
func websites() *roots.Schema {
	spec := object("image", "title")
	spec.Properties["replicas"] = roots.Schema{Type: "integer"}
	spec.Properties["port"] = roots.Schema{XIntOrString: true}
	spec.Properties["tls"] = *object("secret")
	spec.Properties["hosts"] = list(&roots.Schema{Type: "string"})
	spec.Properties["env"] = list(object("name", "value"))
	spec.Properties["labels"] = mapOf(&roots.Schema{Type: "string"})
	spec.Properties["users"] = mapOf(object("role"))
	spec.Properties["anything"] = roots.Schema{Type: "object", XPreserveUnknownFields: new(true)}
	spec.Properties["open"] = mapOf(nil)
	spec.Properties["template"] = roots.Schema{Type: "object", XEmbeddedResource: true, Properties: map[string]roots.Schema{"spec": *object("a")}}
	spec.Properties["Odd"] = roots.Schema{Type: "string"}
	return &roots.Schema{Type: "object", Properties: map[string]roots.Schema{
		"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": {Type: "object"},
		"spec": *spec, "status": *object("phase"),
	}}
}

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

// object describes an object whose fields are text.
func object(fields ...string) *roots.Schema {
	properties := make(map[string]roots.Schema, len(fields))
	for _, f := range fields {
		properties[f] = roots.Schema{Type: "string"}
	}
	return &roots.Schema{Type: "object", Properties: properties}
}

// testScope is the scope that these tests compile in: the CRD of the other tests, a child that is known and one that is not.
func testScope() *expr.Scope {
	crd := websites()
	spec := crd.Properties["spec"]
	spec.Properties["ratio"] = roots.Schema{Type: "number"}
	spec.Properties["ratios"] = list(&roots.Schema{Type: "number"})
	spec.Properties["until"] = roots.Schema{Type: "string", Format: "date-time"}
	spec.Properties["every"] = roots.Schema{Type: "string", Format: "duration"}
	spec.Properties["raw"] = roots.Schema{Type: "string", Format: "byte"}
	spec.Properties["a-b"] = roots.Schema{Type: "string"}
	spec.Properties["maybe"] = roots.Schema{Type: "string", Nullable: true}
	status := &roots.Schema{Type: "object", Properties: map[string]roots.Schema{"phase": {Type: "string"}}}
	status.Properties["ready"] = roots.Schema{Type: "integer"}
	return expr.NewScope(crd).WithNames("children", map[string]*roots.Schema{
		"deployment": {Type: "object", Properties: map[string]roots.Schema{"status": *status, "data": *roots.Hidden("what a Secret holds can't be read here")}},
		"anything":   nil,
	})
}

func testData() expr.Data {
	return expr.Data{
		"apiVersion": "demo.example.com/v1", "kind": "Website",
		"metadata": map[string]any{"name": "web", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": map[string]any{"app": "web"}},
		"spec": map[string]any{"replicas": int64(3), "image": "caddy", "ratio": int64(2), "ratios": []any{int64(1), 0.5}, "until": "2026-03-01T00:00:00Z",
			"every": "90s", "raw": "aGk=", "a-b": "dash", "maybe": nil, "port": "http", "anything": map[string]any{"x": int64(1)},
			"env":    []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "B"}},
			"labels": map[string]any{"a": "b"}, "users": map[string]any{"me": map[string]any{"role": "admin"}}},
		"box":      map[string]any{"name": "website", "revision": "website-1"},
		"children": map[string]any{"deployment": map[string]any{"status": map[string]any{"ready": int64(2)}}, "anything": map[string]any{"k": "v"}},
	}
}

func TestCEL(t *testing.T) {
	scope := testScope()
	for text, want := range map[string]bool{
		"self.spec.replicas == 3":                                                    true,
		"self.spec.replicas > 3 || self.kind != 'Website'":                           false,
		"self.metadata.namespace == 'team'":                                          true,
		"self.metadata.__namespace__ == 'team'":                                      true,
		"self.spec.a__dash__b == 'dash'":                                             true,
		"self.spec.`a-b` == 'dash'":                                                  true,
		"has(self.spec.title)":                                                       false,
		"has(self.spec.maybe)":                                                       false,
		"self.spec.?title.orValue('none') == 'none'":                                 true,
		"self.spec.?tls.?secret.hasValue()":                                          false,
		"self.spec.ratio * 2.0 == 4.0":                                               true,
		"self.spec.ratios.all(r, r <= 1.0)":                                          true,
		"self.spec.until < timestamp('2026-04-01T00:00:00Z')":                        true,
		"timestamp(self.metadata.creationTimestamp).getFullYear() == 2026":           true,
		"self.spec.every == duration('1m30s')":                                       true,
		"string(self.spec.raw) == 'hi'":                                              true,
		"self.spec.env.exists(e, e.name == 'B' && !has(e.value))":                    true,
		"self.spec.env.map(e, e.name) == ['A', 'B']":                                 true,
		"self.spec.labels['a'] == 'b' && 'a' in self.spec.labels":                    true,
		"self.spec.users.all(k, self.spec.users[k].role == 'admin')":                 true,
		"self.spec.anything.x == 1":                                                  true,
		"self.spec.port == 'http'":                                                   true,
		"quantity('1Gi').isGreaterThan(quantity('500Mi'))":                           true,
		"isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.0.0.1')":              true,
		"isURL('https://a.example.com')":                                             true,
		"semver('1.2.3').isLessThan(semver('1.3.0'))":                                true,
		"'a1b22'.findAll('[0-9]+') == ['1', '22']":                                   true,
		"['b', 'a'].sort() == ['a', 'b'] && ['a'].join('-') == 'a'":                  true,
		"'a-b'.replace('-', '+') == 'a+b' && [1, 1].distinct() == [1]":               true,
		"'%s-%d'.format(['a', 1]) == 'a-1' && [[1], [2]].flatten() == [1, 2]":        true,
		"sets.contains(['a', 'b'], ['a']) && !sets.intersects(['a'], ['b'])":         true,
		"children.deployment.status.ready == 2":                                      true,
		"children.anything.k == 'v'":                                                 true,
		"has(children.anything.no)":                                                  false,
		"box.name == 'website'":                                                      true,
		"self.spec.image == 'x' ? false : self.spec.replicas in [1, 3]":              true,
		"[self].exists(self, has(self.spec))":                                        true,
		"self.spec.env.all(e, has(e.value)) || self.spec.anything.?y.orValue(1) > 0": true,
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := scope.CompileCEL(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Eval(t.Context(), testData())).To(Equal(want))
			g.Expect(p.String()).To(Equal(text))
		})
	}
}

// What is wrong with an expression is said when it is compiled, with its place and the nearest name.
func TestCEL_compileErrors(t *testing.T) {
	scope := testScope().WithoutRoots("status")
	for text, want := range map[string]string{
		"self.spec.replcas > 1":                         `column 10: spec.replcas: no such field in the CRD's schema, did you mean "replicas"?`,
		"true &&\n  self.spec.replcas > 1":              `line 2, column 12: spec.replcas: no such field`,
		"self.spec.env.all(e, e.nam == 'a')":            `spec.env[].nam: no such field in the CRD's schema, did you mean "name"?`,
		"self.spec.users.all(k, self.spec.users[k].rl)": `spec.users[].rl: no such field`,
		"has(self.spec.titel)":                          `spec.titel: no such field in the CRD's schema, did you mean "title"?`,
		"self.metadata.nmae == ''":                      `metadata.nmae: no such field in the CRD's schema, did you mean "name"?`,
		"self.sepc.x":                                   `self.sepc: the resource has no such field, did you mean "spec"?`,
		"self.children.x":                               `self.children: children is a variable of its own: write children`,
		"self.status.phase == ''":                       `status is not available here`,
		"spec.replicas > 1":                             `spec: the resource is self: write self.spec`,
		"slef.spec.x":                                   `slef: no such variable or function, did you mean "self"?`,
		"item.x == 1":                                   `.item: there is one only inside a forEach`,
		"previous.spec.x == 1":                          `.previous: there is one only inside onRollback`,
		"cross.db.x == 1":                               `cross: no such variable or function`,
		"children.deploymnt.status.x == 1":              `children.deploymnt: this box declares no such child, did you mean "deployment"?`,
		"children.deployment.status.redy == 1":          `children.deployment.status.redy: there is no such field, did you mean "ready"?`,
		"children.deployment.data.x == ''":              `children.deployment.data: what a Secret holds can't be read here`,
		"self.spec.replicas":                            `yields int, where true or false is wanted`,
		"'a'":                                           `yields string, where true or false is wanted`,
		"self.spec.image + 1 == ''":                     `column 17: found no matching overload for '_+_' applied to '(string, int)'`,
		"self.spec == 1":                                `'(the object self.spec, int)'`,
		"self.spec.image.matches('(')":                  `invalid matches argument`,
		"size()":                                        `found no matching overload for 'size'`,
		"self.spec.image.startWith('x')":                `startWith: no such variable or function, did you mean "startsWith"?`,
		"now() > timestamp('2026-01-01T00:00:00Z')":     `now: no such variable or function`,
		"self.spec.":                                    `column 11: Syntax error`,
		strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300):    `recursion limit exceeded`,
		"optional.of(1)" + strings.Repeat(".optMap(a, a)", 6) + " == 1": `it has 6 calls of optMap and optFlatMap; at most 5 are allowed`,
		"lists.range(10000000).size() > 0":                              `over the cost limit of a CEL expression (1000000 units)`,
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := scope.CompileCEL(text)
			g.Expect(err).To(MatchError(ContainSubstring(want)))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
}

// An error of an evaluation names the place, and never what children hold.
func TestCEL_evalErrors(t *testing.T) {
	data := testData()
	data["children"].(map[string]any)["anything"] = map[string]any{"token": "hunter2", "n": int64(0)}
	for text, want := range map[string]struct {
		message string
		absent  bool
	}{
		"self.spec.title == ''":                                         {"spec.title: no such field in this resource; where it may be absent, use has(self.spec.title) or an optional field (.?)", true},
		"self.spec.maybe == ''":                                         {"spec.maybe: no such field", true},
		"has(self.spec.title) || self.spec.maybe == ''":                 {"spec.maybe: no such field", true},
		"has(self.spec.tls.secret)":                                     {"spec.tls: no such field in this resource; where it may be absent, use has(self.spec.tls)", true},
		"self.spec.?title.orValue('') == '' && self.status.phase == ''": {"status: no such field in this resource; where it may be absent, use has(self.status)", true},
		"self.spec.env[5].name == ''":                                   {"spec.env[5]: no such field", true},
		"self.spec.env.all(e, e.value == '1')":                          {"spec.env[1].value: no such field in this resource; where it may be absent, use has(self.spec.env[1].value)", true},
		"children.deployment.status.phase == ''":                        {"children.deployment.status.phase: no such child or field yet", true},
		"children.anything[children.anything.token] > 0":                {"children.anything['…']: no such child or field yet", true},
		"int(children.anything.token) > 0":                              {"CEL can't work on these values", false},
		"1 / children.anything.n > 0":                                   {"division by zero", false},
		"children.anything.token > 1":                                   {"no such overload", false},
		"int(self.spec.image) > 0":                                      {"type conversion error from 'string' to 'int'", false},
		"dyn(self.spec.image)":                                          {"it yields string, where true or false is wanted", false},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := testScope().CompileCEL(text)
			g.Expect(err).NotTo(HaveOccurred())
			_, err = p.Eval(t.Context(), data)
			g.Expect(err).To(MatchError(And(ContainSubstring(want.message), HavePrefix("evaluating cel "))))
			g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
			g.Expect(roots.IsAbsent(err)).To(Equal(want.absent))
		})
	}
}

// Each of these would cost too much: they end with an error that names the limit.
func TestCEL_costLimit(t *testing.T) {
	hosts := make([]any, 50_000)
	for i := range hosts {
		hosts[i] = fmt.Sprint("host-", i)
	}
	data := expr.Data{"spec": map[string]any{"image": strings.Repeat("a", 1_000_000), "hosts": hosts}}
	for _, text := range []string{
		"lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))",
		"lists.range(self.spec.hosts.size() * 1000).size() > 1",
		"self.spec.hosts.all(a, self.spec.hosts.exists(b, a == b))",
		"self.spec.image.replace('a', self.spec.image).size() > 1",
		"self.spec.image.replace('', self.spec.image).size() > 1",
		"lists.range(9000).map(i, self.spec.image).join(',').size() > 1",
		"'%s'.format([lists.range(9000).map(i, self.spec.image)]).size() > 1",
		"lists.range(1000).map(i, self.spec.hosts).flatten().size() > 1",
		"self.spec.hosts.distinct().size() > 1",
		"sets.contains(self.spec.hosts, self.spec.hosts)",
		"sets.equivalent(self.spec.hosts, self.spec.hosts)",
		"sets.intersects(self.spec.hosts, ['no'] + self.spec.hosts.map(h, h + 'x'))",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := testScope().CompileCEL(text)
			g.Expect(err).NotTo(HaveOccurred())
			_, err = p.Eval(t.Context(), data)
			over, ok := errors.AsType[*budget.ExceededError](err)
			g.Expect(ok).To(BeTrue(), "%v", err)
			g.Expect(over.Limit).To(Equal(budget.Cost))
			g.Expect(err).To(MatchError(HaveSuffix("over the cost limit of a CEL expression (1000000 units)")))
		})
	}
}

func TestCEL_reads(t *testing.T) {
	scope := testScope().WithRoots("item")
	for text, want := range map[string]struct{ reads, needs string }{
		"self.spec.replicas > 1":                                          {"self.spec.replicas=spec.replicas", "spec.replicas"},
		"self.metadata.__namespace__ == 'x'":                              {"self.metadata.namespace=metadata.namespace", "metadata.namespace"},
		"self.spec.a__dash__b == 'x'":                                     {"self.spec.a-b=spec.a-b", "spec.a-b"},
		"has(self.spec.title) && self.kind == 'x'":                        {"self.spec.title=spec.title self.kind=kind", "spec.title kind"},
		"self.spec.env[0].name == self.spec.env[self.spec.replicas].name": {"self.spec.env[0].name=spec.env[0].name self.spec.env=spec.env self.spec.replicas=spec.replicas", "spec.env[0].name spec.env"},
		"self.spec.env.all(e, e.name != item.name)":                       {"self.spec.env=spec.env item.name=item.name", ""},
		"self.spec.env.all(item, item.name != 'x')":                       {"self.spec.env=spec.env", ""},
		"self.spec.labels['x/y'] == 'z'":                                  {"self.spec.labels['x/y']=spec.labels['x/y']", "spec.labels['x/y']"},
		"self.spec.?tls.?secret.orValue('') == ''":                        {"self.spec.tls.secret=spec.tls.secret", ""},
		"children.deployment.status.ready > 0 || true":                    {"children.deployment.status.ready=children.deployment.status.ready", ""},
		"children.anything.a.b == 1 && self.spec.tls.secret == ''":        {"children.anything.a.b=children.anything.a.b self.spec.tls.secret=spec.tls.secret", "children.anything.a.b spec.tls.secret"},
		"children.anything == self":                                       {"children.anything=children.anything self.apiVersion=apiVersion self.kind=kind self.metadata=metadata self.spec=spec self.status=status", "children.anything"},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := scope.CompileCEL(text)
			g.Expect(err).NotTo(HaveOccurred())
			var reads, needs []string
			for _, r := range p.Reads() {
				reads = append(reads, r.Text+"="+r.Path.String())
			}
			for _, n := range p.Needs() {
				needs = append(needs, n.String())
			}
			g.Expect(strings.Join(reads, " ")).To(Equal(want.reads))
			g.Expect(strings.Join(needs, " ")).To(Equal(want.needs))
		})
	}
}

// One predicate serves many goroutines, and the context of the caller ends an evaluation with the caller's error.
func TestCEL_concurrentAndCancelled(t *testing.T) {
	g := NewWithT(t)
	scope := testScope()
	p, err := scope.CompileCEL("self.spec.env.all(e, e.name != 'x') && self.spec.ratio > 1.0")
	g.Expect(err).NotTo(HaveOccurred())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if truth, err := p.Eval(context.Background(), testData()); err != nil || !truth {
					t.Errorf("got %v, %v", truth, err)
				}
				if _, err := scope.CompileCEL("self.spec.replicas == 1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the leader is another one")
	cancel(reason)
	_, err = p.Eval(ctx, testData())
	g.Expect(err).To(MatchError(reason))
}

// BenchmarkCompileCEL compiles fifty expressions, as a large box has them, each in a scope of its own.
func BenchmarkCompileCEL(b *testing.B) {
	scope := testScope()
	for b.Loop() {
		for i := range 50 {
			if _, err := scope.WithRoots("item").CompileCEL(fmt.Sprintf("self.spec.replicas > %d && has(item.x)", i)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Each of these took half a minute or gigabytes, or would not have ended.
func TestHostile_cel(t *testing.T) {
	links := func(start, step string, n int) string { return start + strings.Repeat(".map(x, "+step+")", n) }
	many := make([]any, 100_000)
	for i := range many {
		many[i] = int64(i)
	}
	data := expr.Data{"spec": map[string]any{"many": many, "image": strings.Repeat("a", 200_000)}}
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
			p, err := expr.NewScope(nil).CompileCEL(text)
			if err != nil { // CEL has seen it by itself
				g.Expect(err).To(MatchError(ContainSubstring("over the cost limit")))
				return
			}
			bytes := taken(func() { _, err = p.Eval(t.Context(), data) })
			over, ok := errors.AsType[*budget.ExceededError](err)
			g.Expect(ok).To(BeTrue(), "%v", err)
			g.Expect(over.Limit).To(Equal(budget.Cost))
			g.Expect(bytes).To(BeNumerically("<", maxTaken))
		})
	}
}

// What no honest expression needs is found when the box is applied.
func TestHostile_celShape(t *testing.T) {
	g := NewWithT(t)
	_, err := expr.NewScope(nil).CompileCEL("5 in [[1, 2]]" + strings.Repeat(".map(x, x + x)", 30) + "[0]")
	g.Expect(err).To(MatchError("it has 30 loops (all, exists, exists_one, map, filter and the like); at most 16 are allowed"))
	_, err = expr.NewScope(nil).CompileCEL("self.spec.x.matches('(" + strings.Repeat("a", 2000) + "){900}')")
	g.Expect(err).To(MatchError(HavePrefix("the pattern \"(aaa")))
}
