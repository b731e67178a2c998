package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiserveradmission "k8s.io/apiserver/pkg/admission"
)

// mutant is a policy that lacks something.
type mutant struct {
	what string
	spec *admissionregistrationv1.ValidatingAdmissionPolicySpec
}

// TestNothingCanBeTakenOutOfAPolicy takes each part out of each policy, one at a time, and wants the answer to one of the requests in the
// tables to change. So every condition, resource, verb and name in a policy is there for a request that somebody has written down.
func TestNothingCanBeTakenOutOfAPolicy(t *testing.T) {
	tables := requests()
	for name, spec := range guards(t) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			original, err := newJudge(name, spec)
			g.Expect(err).NotTo(HaveOccurred())
			trial := newTrial(t, tables[name], original)
			tried := 0
			for _, m := range mutants(t, spec) {
				j, err := newJudge(name, m.spec)
				if err != nil {
					continue // it makes no sense, so nobody can write it
				}
				tried++
				why, known := withoutEffect()[name+", "+m.what]
				switch noticed := trial.notices(t, j); {
				case known && noticed:
					t.Errorf("%s: a request is judged otherwise, so it is not true that %s", m.what, why)
				case !known && !noticed:
					t.Errorf("%s: no request is judged otherwise: write one to the table that is", m.what)
				}
			}
			g.Expect(tried).To(BeNumerically(">", 10))
		})
	}
}

// trial is a table of requests, with the answers of a policy.
type trial struct {
	titles     []string
	attributes []apiserveradmission.Attributes
	rights     [][]right
	answers    []answer
}

func newTrial(t *testing.T, table map[string]request, original *judge) *trial {
	t.Helper()
	out := &trial{titles: slices.Sorted(maps.Keys(table))}
	for i, title := range out.titles {
		out.attributes, out.rights = append(out.attributes, table[title].attributes(t)), append(out.rights, table[title].rights(t))
		said, err := original.answer(t.Context(), out.attributes[i], out.rights[i])
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		out.answers = append(out.answers, said)
	}
	return out
}

// notices says whether a policy answers otherwise.
func (tr *trial) notices(t *testing.T, j *judge) bool {
	t.Helper()
	for i := range tr.titles {
		said, err := j.answer(t.Context(), tr.attributes[i], tr.rights[i])
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if said != tr.answers[i] {
			return true
		}
	}
	return false
}

// mutants gives a policy without each of its parts.
func mutants(t *testing.T, spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) []mutant {
	t.Helper()
	out, same := constraintMutants(spec), map[string]int{}
	add := func(what, text string, place func(*admissionregistrationv1.ValidatingAdmissionPolicySpec) *string) {
		for _, v := range variants(t, text) {
			m := mutant{what: what + ", " + v.what, spec: spec.DeepCopy()}
			if same[m.what]++; same[m.what] > 1 {
				m.what += fmt.Sprintf(" (%d)", same[m.what])
			}
			*place(m.spec) = v.text
			out = append(out, m)
		}
	}
	for i, c := range spec.MatchConditions {
		add("condition "+c.Name, c.Expression, func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) *string {
			return &s.MatchConditions[i].Expression
		})
	}
	for i, v := range spec.Variables {
		add("variable "+v.Name, v.Expression, func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) *string {
			return &s.Variables[i].Expression
		})
	}
	for i, v := range spec.Validations {
		add(fmt.Sprintf("validation %d", i), v.Expression, func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) *string {
			return &s.Validations[i].Expression
		})
	}
	return out
}

// constraintMutants gives a policy without each resource, verb and exception, and for all namespaces.
func constraintMutants(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) []mutant {
	var out []mutant
	add := func(what string, change func(*admissionregistrationv1.MatchResources)) {
		m := mutant{what: what, spec: spec.DeepCopy()}
		change(m.spec.MatchConstraints)
		out = append(out, m)
	}
	lists := map[string]func(*admissionregistrationv1.MatchResources) []admissionregistrationv1.NamedRuleWithOperations{
		"rule": func(m *admissionregistrationv1.MatchResources) []admissionregistrationv1.NamedRuleWithOperations {
			return m.ResourceRules
		},
		"exception": func(m *admissionregistrationv1.MatchResources) []admissionregistrationv1.NamedRuleWithOperations {
			return m.ExcludeResourceRules
		},
	}
	for kind, list := range lists {
		for i, r := range list(spec.MatchConstraints) {
			for j, verb := range r.Operations {
				add(fmt.Sprintf("%s %d without %s", kind, i, verb), func(m *admissionregistrationv1.MatchResources) {
					list(m)[i].Operations = slices.Delete(list(m)[i].Operations, j, j+1)
				})
			}
			for j, resource := range r.Resources {
				add(fmt.Sprintf("%s %d without %s", kind, i, resource), func(m *admissionregistrationv1.MatchResources) {
					list(m)[i].Resources = slices.Delete(list(m)[i].Resources, j, j+1)
				})
			}
			for j, group := range r.APIGroups {
				add(fmt.Sprintf("%s %d without group %s", kind, i, group), func(m *admissionregistrationv1.MatchResources) {
					list(m)[i].APIGroups = slices.Delete(list(m)[i].APIGroups, j, j+1)
				})
			}
		}
	}
	if spec.MatchConstraints.NamespaceSelector != nil {
		add("all namespaces", func(m *admissionregistrationv1.MatchResources) { m.NamespaceSelector = nil })
	}
	return out
}

// variant is an expression that lacks something.
type variant struct{ what, text string }

// variants gives an expression as something constant, negated, and without each of its parts.
func variants(t *testing.T, text string) []variant {
	t.Helper()
	out := []variant{{"negated", "!(" + text + ")"}}
	for _, constant := range []string{"true", "false", "[]", "{}", "''"} {
		if constant != text {
			out = append(out, variant{constant, constant})
		}
	}
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true)) // without macros, so that the tree is the text
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	parse := func() *ast.AST {
		tree, errs := p.Parse(common.NewTextSource(text))
		NewWithT(t).Expect(errs.GetErrors()).To(BeEmpty(), text)
		return tree
	}
	var places []int64
	ast.PreOrderVisit(parse().Expr(), ast.NewExprVisitor(func(e ast.Expr) { places = append(places, e.ID()) }))
	for _, id := range places {
		for n := 0; ; n++ {
			tree := parse()
			var lost ast.Expr
			ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
				if e.ID() == id && lost == nil {
					lost = lessen(e, n)
				}
			}))
			if lost == nil {
				break
			}
			without, err := parser.Unparse(lost, ast.NewSourceInfo(nil))
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			changed, err := parser.Unparse(tree.Expr(), ast.NewSourceInfo(nil))
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			out = append(out, variant{"without " + strings.ReplaceAll(without, "\n", " "), changed})
		}
	}
	return out
}

// lessen takes the n-th part out of an expression: one side of what is joined, one way of a choice, a negation, an element of a list, a
// part of what the authorizer is asked, a filter. It gives what was taken out, or nothing where there is no such part.
func lessen(e ast.Expr, n int) ast.Expr {
	factory := ast.NewExprFactory()
	switch e.Kind() {
	case ast.ListKind:
		elements := e.AsList().Elements()
		if n >= len(elements) {
			return nil
		}
		lost := elements[n]
		e.SetKindCase(factory.NewList(e.ID(), slices.Delete(slices.Clone(elements), n, n+1), nil))
		return lost
	case ast.CallKind:
		kept, lost := lessened(factory, e, e.AsCall(), n)
		if lost != nil {
			e.SetKindCase(kept)
		}
		return lost
	default:
		return nil
	}
}

// lessened gives what may stand in place of a call, and what is lost with it.
func lessened(factory ast.ExprFactory, e ast.Expr, call ast.CallExpr, n int) (kept, lost ast.Expr) {
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr, operators.Add:
		if n < 2 {
			return args[1-n], args[n]
		}
	case operators.Conditional:
		if n < 2 {
			return args[2-n], args[1+n]
		}
	case operators.LogicalNot:
		if n == 0 {
			return args[0], factory.CopyExpr(e)
		}
	case "namespace", "name", "subresource", "group", "filter", "substring":
		if n == 0 {
			return call.Target(), args[0]
		}
	}
	return nil, nil
}

// withoutEffect are the parts that may be taken out of a policy without an answer that changes, and why they are there.
func withoutEffect() map[string]string {
	const absent = "what is not there has no fields: that is said for readers"
	return map[string]string{
		"box-account, variable account, without {}":                                    absent,
		"box-account, variable former, without {}":                                     absent,
		"box-account, variable formerCRD, without {}":                                  absent,
		`box-account, variable formerResource, without ""`:                             absent,
		`box-account, validation 2, without request.operation == "CREATE"`:             absent,
		"box-crd, variable formerCRD, without {}":                                      absent,
		`health-crd, variable crd, without ""`:                                         absent,
		`health-crd, variable former, without ""`:                                      absent,
		"grants, rule 0 without namespaces":                                            "namespaces/* stands for namespaces, too",
		"statuses, condition changes, without object.?spec.?operatorBoxRef.hasValue()": absent,
		`statuses, variable keeper, without request.operation == "UPDATE"`:             absent,
		"marks, variable free, without []":                                             "the value is true here: TestSkipCleanupMayBeForbidden has the other",
	}
}
