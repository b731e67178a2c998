package pipeline

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiserveradmission "k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/admission"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/when"
	"github.com/orkspace/orkestra/test/fixtures"
)

// policyEnv is what the API server compiles policies with.
var policyEnv = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// compiledPolicy is a policy as the API server compiles it, by its own packages.
func compiledPolicy(
	tb testing.TB, variables []admissionregistrationv1.Variable, conditions []admissionregistrationv1.MatchCondition,
) (*admissioncel.CompositedCompiler, matchconditions.Matcher) {
	tb.Helper()
	compiler, err := admissioncel.NewCompositedCompiler(policyEnv())
	if err != nil {
		tb.Fatal(err)
	}
	options := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range variables {
		if err := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, options, environment.StoredExpressions).Error; err != nil {
			tb.Fatalf("variable %s: %v\n%s", v.Name, err, v.Expression)
		}
	}
	var accessors []admissioncel.ExpressionAccessor
	for i := range conditions {
		accessors = append(accessors, (*matchconditions.MatchCondition)(&conditions[i]))
	}
	fails := admissionregistrationv1.Fail
	return compiler, matchconditions.NewMatcher(compiler.CompileCondition(accessors, options, environment.StoredExpressions), &fails, "policy", "validate", "test")
}

func validatorOf(tb testing.TB, spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) validating.Validator {
	tb.Helper()
	compiler, matcher := compiledPolicy(tb, spec.Variables, spec.MatchConditions)
	var tests, messages []admissioncel.ExpressionAccessor
	for _, v := range spec.Validations {
		tests = append(tests, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	with, without := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}, admissioncel.OptionalVariableDeclarations{}
	return validating.NewValidator(compiler.CompileCondition(tests, with, environment.StoredExpressions), matcher,
		compiler.CompileCondition(nil, with, environment.StoredExpressions), compiler.CompileCondition(messages, without, environment.StoredExpressions),
		spec.FailurePolicy, nil)
}

// request is the creation of a resource, or its update from what it was.
func request(tb testing.TB, obj, old *unstructured.Unstructured) *apiserveradmission.VersionedAttributes {
	tb.Helper()
	crd := websites(tb)
	var attributes apiserveradmission.Attributes
	if old == nil {
		attributes = apiserveradmission.NewAttributesRecord(obj, nil, crd.Kind, obj.GetNamespace(), obj.GetName(), crd.Resource, "", apiserveradmission.Create, &metav1.CreateOptions{}, false, nil)
	} else {
		attributes = apiserveradmission.NewAttributesRecord(obj, old, crd.Kind, obj.GetNamespace(), obj.GetName(), crd.Resource, "", apiserveradmission.Update, &metav1.UpdateOptions{}, false, nil)
	}
	versioned, err := apiserveradmission.NewVersionedAttributes(attributes, crd.Kind, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return versioned
}

// judged gives the messages of the validations that a request breaks, and those that could not be evaluated.
func judged(tb testing.TB, v validating.Validator, obj, old *unstructured.Unstructured) (messages, errs []string) {
	tb.Helper()
	crd := websites(tb)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: obj.GetNamespace()}}
	for _, d := range v.Validate(context.Background(), crd.Resource, request(tb, obj, old), nil, namespace, celconfig.RuntimeCELCostBudget, nil).Decisions {
		switch d.Evaluation {
		case validating.EvalError:
			errs = append(errs, d.Message)
		case validating.EvalDeny:
			messages = append(messages, d.Message)
		case validating.EvalAdmit:
		}
	}
	return messages, errs
}

// patched gives a resource as the API server stores it, after its defaults.
func patched(tb testing.TB, spec *admissionregistrationv1.MutatingAdmissionPolicySpec, obj *unstructured.Unstructured) *unstructured.Unstructured {
	tb.Helper()
	compiler, matcher := compiledPolicy(tb, spec.Variables, spec.MatchConditions)
	versioned := request(tb, obj, nil)
	ctx := compiler.CreateContext(context.Background())
	if match := matcher.Match(ctx, versioned, nil, nil); match.Error != nil || !match.Matches {
		tb.Fatalf("the request is not judged: %v", match.Error)
	}
	options := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true, HasPatchTypes: true}
	for _, m := range spec.Mutations {
		patcher := patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}, options, environment.StoredExpressions))
		out, err := patcher.Patch(ctx, patch.Request{
			MatchedResource: websites(tb).Resource, VersionedAttributes: versioned, Namespace: &corev1.Namespace{},
			ObjectInterfaces: apiserveradmission.NewObjectInterfacesFromScheme(nil),
		}, celconfig.RuntimeCELCostBudget)
		if err != nil {
			tb.Fatalf("%v\n%s", err, m.JSONPatch.Expression)
		}
		versioned.UpdateObject(out)
	}
	return versioned.VersionedObject.Object().(*unstructured.Unstructured)
}

// reconciled gives what the reconcile says of a resource: the error, and the warnings.
func reconciled(plan *Plan, obj *unstructured.Unstructured) (denied string, warned []string) {
	r := plan.NewRun(obj, now, newPorts().ports())
	for _, s := range plan.stages {
		switch s.(type) {
		case normalize, mutation, validation:
			if _, err := s.Run(context.Background(), r); err != nil {
				return err.Error(), nil
			}
		}
	}
	for _, e := range r.Events {
		warned = append(warned, e.Message)
	}
	return "", warned
}

// ruledFields are those of which the random rules speak.
var ruledFields = []string{"spec.any", "spec.any", "spec.any.x", "spec.any[0]", "spec.any['my-key']", "spec.image", "spec.replicas", "spec.tls", "spec.tags", "spec.tags[1]", "spec.database", "spec.database.size", "spec.database.name", "spec", "metadata.name", "metadata.labels.tier", "metadata.annotations['a.b/c']"}

// dice makes random rules and resources.
type dice struct{ fixtures.Dice }

// resource is one whose typed fields are of their types, as the schema wants. It is what the API server gives to a policy.
func (d dice) resource(tb testing.TB) *unstructured.Unstructured {
	tb.Helper()
	obj := website(tb, "")
	spec := map[string]any{}
	maybe := func(key string, v any) {
		if d.IntN(4) > 0 {
			spec[key] = v
		}
	}
	maybe("any", d.Value(2))
	maybe("image", fixtures.Pick(d.Dice, fixtures.Texts))
	maybe("replicas", fixtures.Pick(d.Dice, []any{int64(0), int64(1), int64(5), int64(10), int64(3600), 3.0, int64(-3)}))
	maybe("tls", d.IntN(2) == 0)
	maybe("tags", []any{fixtures.Pick(d.Dice, fixtures.Texts), fixtures.Pick(d.Dice, fixtures.Texts)})
	maybe("database", map[string]any{"size": fixtures.Pick(d.Dice, []any{int64(1), int64(10)}), "name": fixtures.Pick(d.Dice, fixtures.Texts)})
	if d.IntN(20) > 0 {
		obj.Object["spec"] = spec
	}
	if d.IntN(2) == 0 {
		obj.SetLabels(map[string]string{"tier": fixtures.Pick(d.Dice, []string{"dev", "prod", "5"})})
		obj.SetAnnotations(map[string]string{"a.b/c": fixtures.Pick(d.Dice, fixtures.Texts)})
	}
	return obj
}

// kept is a resource as the API server gives it back: whole floats are integers.
func kept(tb testing.TB, obj *unstructured.Unstructured) *unstructured.Unstructured {
	tb.Helper()
	raw, err := obj.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(raw); err != nil {
		tb.Fatal(err)
	}
	return out
}

// randomBox compiles a box of random rules, of which those that have mistakes are left out.
func randomBox(tb testing.TB, d dice) *Plan {
	tb.Helper()
	box := boxOf(tb, "admission: {validation: true, mutation: true}")
	box.Spec.Validation = &v1alpha1.ValidationSpec{}
	for len(box.Spec.Validation.Rules) < 4 {
		rule := d.Rule()
		box.Spec.Validation.Rules = append(box.Spec.Validation.Rules, rule)
		if _, errs := Compile(box, Env{CRD: websites(tb)}); len(errs) > 0 {
			box.Spec.Validation.Rules = box.Spec.Validation.Rules[:len(box.Spec.Validation.Rules)-1]
		}
	}
	plan, errs := Compile(box, Env{CRD: websites(tb)})
	if len(errs) > 0 {
		tb.Fatal(errs.ToAggregate())
	}
	return plan
}

// TestPoliciesAndTheReconcileAgree: what the API server's own packages say of random resources by the policies of random rules is what the
// reconcile says, word by word.
func TestPoliciesAndTheReconcileAgree(t *testing.T) {
	g := gomega.NewWithT(t)
	const boxes, resources = 100, 100
	d := dice{fixtures.NewDice(7, ruledFields...)}
	var denied, warned, passed, unevaluated, left int
	spoken := map[v1alpha1.Operator]int{} // how many rules of a policy compare so
	for range boxes {
		plan := randomBox(t, d)
		compiled := admission.Compile(plan.Admission, true)
		for i, p := range compiled.Places() {
			if p.Where == v1alpha1.RuleInReconcile {
				left++
				continue
			}
			spoken[plan.Admission.Validations[i].Test.Operator()]++
		}
		inPolicy(t, plan, compiled)
		policies := compiled.Policies()
		var deny, warn validating.Validator
		if policies.Deny != nil {
			deny = validatorOf(t, policies.Deny)
		}
		if policies.Warn != nil {
			warn = validatorOf(t, policies.Warn)
		}
		for range resources {
			obj := d.resource(t)
			wantDenied, wantWarned := reconciled(plan, kept(t, obj))
			var gotDenied, gotWarned, errs []string
			if deny != nil {
				gotDenied, errs = judged(t, deny, obj, nil)
			}
			if warn != nil && len(gotDenied)+len(errs) == 0 {
				gotWarned, _ = judged(t, warn, obj, nil)
			}
			about := func() string {
				return fmt.Sprintf("%v\n%v\nrules: %s", obj.Object, errs, d.Raw(rulesOf(plan)).Raw)
			}
			switch {
			case len(errs) > 0:
				unevaluated++
				g.Expect(wantDenied).NotTo(gomega.BeEmpty(), about)
			case wantDenied != "":
				denied++
				g.Expect(strings.Join(gotDenied, "")).To(gomega.Equal(wantDenied), about)
			default:
				passed++
				warned += len(wantWarned)
				g.Expect(gotDenied).To(gomega.BeEmpty(), about)
				g.Expect(gotWarned).To(gomega.Equal(wantWarned), about)
			}
		}
	}
	t.Logf("%d denied, %d passed with %d warnings, %d not evaluated, %d rules in the reconcile alone", denied, passed, warned, unevaluated, left)
	g.Expect(spoken).To(gomega.HaveLen(18), "every operator but those that ask for the time: %v", spoken)
	g.Expect(denied).To(gomega.BeNumerically(">", 1000))
	g.Expect(passed).To(gomega.BeNumerically(">", 1000))
	g.Expect(unevaluated).To(gomega.BeNumerically("<", 100))
}

// inPolicy leaves those rules in a plan that its policies have too.
func inPolicy(tb testing.TB, plan *Plan, compiled *admission.Compiled) {
	tb.Helper()
	places := compiled.Places()
	for i, s := range plan.stages {
		v, ok := s.(validation)
		if !ok {
			continue
		}
		kept := validation{}
		for j, r := range v.rules {
			if places[j].Where == v1alpha1.RuleInReconcile {
				r.gate, r.test = nil, anything(tb)
			}
			kept.rules = append(kept.rules, r)
		}
		plan.stages[i] = kept
	}
}

func rulesOf(plan *Plan) any {
	var out []any
	for _, v := range plan.Admission.Validations {
		form, why := v.Test.Form()
		out = append(out, map[string]any{"form": fmt.Sprintf("%+v", form), "why": why, "gate": len(v.Gate.Groups()), "warn": v.Warn})
	}
	return out
}

// anything is a condition that every resource keeps.
func anything(tb testing.TB) *when.Condition {
	tb.Helper()
	c, errs := when.Compile(v1alpha1.Test{Field: "kind", Operator: v1alpha1.OperatorExists}, expr.NewScope(nil), nil)
	if len(errs) > 0 {
		tb.Fatal(errs.ToAggregate())
	}
	return c
}
