package policies

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	apiserveradmission "k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/api/v1alpha1"
	config "github.com/orkspace/orkestra/config/policies"
)

// answer is what a policy says of a request.
type answer struct {
	judged  bool   // its validations were asked
	refusal string // empty: it passes
	failed  string // an expression could not be evaluated
}

// request is what the API server asks a policy about: a creation where there is no object before, and a deletion where there is none after.
type request struct {
	who     string // the user; empty: tenant
	box     string // the box for which the manager says that it asks
	manager string // the field manager
	of      string // what is written, such as deployments.apps or services/status
	before  string // the object before, in YAML
	after   string // the object after
	may     string // the rights of the user, with ", " between them: VERB RESOURCE [NAMESPACE/NAME]
	want    string // how the refusal begins, after the name of the policy
}

// judge is a policy that is ready to judge requests, by the packages of the API server.
type judge struct {
	validating.Validator
	policy     *admissionregistrationv1.ValidatingAdmissionPolicy
	matcher    generic.PolicyMatcher
	interfaces apiserveradmission.ObjectInterfaces
}

// newJudge compiles a policy, as an API server of the oldest version does that has policies.
func newJudge(name string, spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) (*judge, error) {
	compiler, err := admissioncel.NewCompositedCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 30)))
	if err != nil {
		return nil, err
	}
	options := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range spec.Variables {
		if r := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, options, environment.NewExpressions); r.Error != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, r.Error)
		}
	}
	var conditions, tests, messages []admissioncel.ExpressionAccessor
	for i := range spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&spec.MatchConditions[i]))
	}
	for _, v := range spec.Validations {
		tests = append(tests, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		messages = append(messages, nil)
		if v.MessageExpression != "" {
			messages[len(messages)-1] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	compile := func(all []admissioncel.ExpressionAccessor, options admissioncel.OptionalVariableDeclarations) (admissioncel.ConditionEvaluator, error) {
		evaluator := compiler.CompileCondition(all, options, environment.NewExpressions)
		if errs := evaluator.CompilationErrors(); len(errs) > 0 {
			return nil, errs[0]
		}
		return evaluator, nil
	}
	matches, err := compile(conditions, options)
	if err != nil {
		return nil, err
	}
	answers, err := compile(tests, options)
	if err != nil {
		return nil, err
	}
	texts, err := compile(messages, admissioncel.OptionalVariableDeclarations{})
	if err != nil {
		return nil, err
	}
	audits, err := compile(nil, options)
	if err != nil {
		return nil, err
	}
	matcher := matchconditions.NewMatcher(matches, spec.FailurePolicy, "policy", "validate", name)
	spec = spec.DeepCopy()
	spec.MatchConstraints = completed(spec.MatchConstraints)
	namespaces := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, namespace := range []string{"team", config.Namespace} {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{corev1.LabelMetadataName: namespace}}}
		if err := namespaces.Add(object); err != nil {
			return nil, err
		}
	}
	return &judge{
		Validator:  validating.NewValidator(answers, matcher, audits, texts, spec.FailurePolicy, nil),
		policy:     &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *spec},
		matcher:    generic.NewPolicyMatcher(matching.NewMatcher(corelisters.NewNamespaceLister(namespaces), nil)),
		interfaces: apiserveradmission.NewObjectInterfacesFromScheme(runtime.NewScheme()),
	}, nil
}

// answer judges a request.
func (j *judge) answer(ctx context.Context, attributes apiserveradmission.Attributes, rights []right) (answer, error) {
	matches, gvr, gvk, err := j.matcher.DefinitionMatches(attributes, j.interfaces, validating.NewValidatingAdmissionPolicyAccessor(j.policy))
	if err != nil || !matches {
		return answer{}, err
	}
	versioned, err := apiserveradmission.NewVersionedAttributes(attributes, gvk, j.interfaces)
	if err != nil {
		return answer{}, err
	}
	result := j.Validate(ctx, gvr, versioned, nil, &corev1.Namespace{}, celconfig.RuntimeCELCostBudget, authorizer.AuthorizerFunc(granted(rights)))
	out := answer{judged: len(result.Decisions) > 0}
	for _, d := range result.Decisions {
		switch {
		case d.Evaluation == validating.EvalError:
			out.failed = d.Message
		case d.Action == validating.ActionDeny && out.refusal == "":
			out.refusal = d.Message
		}
	}
	return out, nil
}

// right is what RBAC grants: a name or a namespace that is empty stands for all.
type right struct{ verb, resource, namespace, name string }

// granted decides by rights.
func granted(rights []right) func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		resource := a.GetResource()
		if a.GetSubresource() != "" {
			resource += "/" + a.GetSubresource()
		}
		if a.GetAPIGroup() != "" {
			resource += "." + a.GetAPIGroup()
		}
		for _, r := range rights {
			if r.verb == a.GetVerb() && r.resource == resource && (r.namespace == "" || r.namespace == a.GetNamespace()) && (r.name == "" || r.name == a.GetName()) {
				return authorizer.DecisionAllow, "", nil
			}
		}
		return authorizer.DecisionNoOpinion, "", nil
	}
}

// rights are those that a request says.
func (r request) rights(tb testing.TB) []right {
	tb.Helper()
	var all []right
	for text := range strings.SplitSeq(r.may, ", ") {
		if text == "" {
			continue
		}
		fields := strings.Fields(text)
		if len(fields) < 2 || len(fields) > 3 {
			tb.Fatalf("%q is no right: wanted VERB RESOURCE [NAMESPACE/NAME]", text)
		}
		granted := right{verb: fields[0], resource: fields[1]}
		if len(fields) == 3 {
			granted.namespace, granted.name, _ = strings.Cut(fields[2], "/")
		}
		all = append(all, granted)
	}
	return all
}

// attributes are the request as the API server shows it to policies.
func (r request) attributes(tb testing.TB) apiserveradmission.Attributes {
	tb.Helper()
	read := func(text string) runtime.Object {
		if text == "" {
			return nil
		}
		object := boxOf(tb, text)
		object.SetAPIVersion("any/v1")
		object.SetKind("Any")
		return object
	}
	before, after := read(r.before), read(r.after)
	var options runtime.Object = &metav1.UpdateOptions{FieldManager: r.manager}
	verb, living := apiserveradmission.Update, after
	switch {
	case before == nil:
		verb, options = apiserveradmission.Create, &metav1.CreateOptions{FieldManager: r.manager}
	case after == nil:
		verb, options, living = apiserveradmission.Delete, &metav1.DeleteOptions{}, before
	}
	name, namespace := "", ""
	if object, ok := living.(*unstructured.Unstructured); ok {
		name, namespace = object.GetName(), object.GetNamespace()
	}
	resource, group, _ := strings.Cut(r.of, ".")
	if plain, subresource, sub := strings.Cut(r.of, "/"); sub {
		subresource, group, _ = strings.Cut(subresource, ".")
		resource = plain + "/" + subresource
	}
	resource, subresource, _ := strings.Cut(resource, "/")
	if resource == "namespaces" {
		namespace = name // so the API server has it
	}
	info := &user.DefaultInfo{Name: "tenant"}
	if r.who != "" {
		info.Name = r.who
	}
	if r.who != "" && r.who != outsideUser {
		info.Extra = map[string][]string{user.CredentialIDKey: {"x"}} // as ServiceAccounts have it
	}
	if r.box != "" {
		info.Extra = map[string][]string{v1alpha1.GroupName + "/box": {r.box}}
	}
	return apiserveradmission.NewAttributesRecord(after, before, schema.GroupVersionKind{Group: "any", Version: "v1", Kind: "Any"}, namespace, name,
		schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, subresource, verb, options, false, info)
}

// requests are those by which each policy is tried.
func requests() map[string]map[string]request {
	return map[string]map[string]request{
		"box-account": boxAccountRequests(), "box-annotations": boxAnnotationsRequests(), "box-crd": boxCRDRequests(), "grants": grantsRequests(),
		"health-crd": healthCRDRequests(),
		"leases":     leasesRequests(), "marks": marksRequests(), "revisions": revisionsRequests(), "statuses": statusesRequests(), "templates": templatesRequests(),
	}
}

// guards are the policies that guard something: all but the one that knows mistakes, which has tests of its own. The values name a manager
// outside of the cluster, and a controller that copies.
func guards(tb testing.TB) map[string]*admissionregistrationv1.ValidatingAdmissionPolicySpec {
	tb.Helper()
	all := map[string]*admissionregistrationv1.ValidatingAdmissionPolicySpec{}
	for _, name := range config.Names() {
		if name == boxShape {
			continue
		}
		spec, err := wanted(name, config.Namespace)
		NewWithT(tb).Expect(err).NotTo(HaveOccurred())
		set(spec, "managers", "['"+managerUser+"', '"+outsideUser+"']")
		set(spec, "controllers", "['copier']")
		all[name] = spec
	}
	return all
}

// set changes a variable that the values of the chart decide.
func set(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec, name, expression string) {
	for i := range spec.Variables {
		if spec.Variables[i].Name == name {
			spec.Variables[i].Expression = expression
		}
	}
}

// TestPoliciesJudge has the policies, as they are installed, judge requests by the packages of the API server. No policy may have an
// expression that can't be evaluated for any of them: that would refuse what it does not mean.
func TestPoliciesJudge(t *testing.T) {
	judges := map[string]*judge{}
	for name, spec := range guards(t) {
		j, err := newJudge(name, spec)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		judges[name] = j
	}
	tables := requests()
	NewWithT(t).Expect(tables).To(HaveLen(len(judges)))
	for policy, table := range tables {
		for title, r := range table {
			t.Run(policy+" "+title, func(t *testing.T) {
				g := NewWithT(t)
				attributes, rights := r.attributes(t), r.rights(t)
				for name, j := range judges {
					said, err := j.answer(t.Context(), attributes, rights)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(said.failed).To(BeEmpty(), name)
					switch {
					case name != policy:
					case r.want == "":
						g.Expect(said.refusal).To(BeEmpty())
					default:
						g.Expect(said.refusal).To(HavePrefix(policy + ": " + r.want))
					}
				}
			})
		}
	}
}

// TestSkipCleanupMayBeForbidden judges by the policy marks of a release that leaves onDelete to nobody.
func TestSkipCleanupMayBeForbidden(t *testing.T) {
	g := NewWithT(t)
	marks := guards(t)["marks"]
	set(marks, "allowSkipCleanup", "false")
	j, err := newJudge("marks", marks)
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range people() {
		said, err := j.answer(t.Context(), marksRequests()["people set the annotation "+name].attributes(t), nil)
		g.Expect(err).NotTo(HaveOccurred())
		if name == "skip-cleanup" {
			g.Expect(said.refusal).To(HavePrefix("marks: the annotation orkestra.orkspace.io/skip-cleanup is set, changed and removed by boxes alone"))
			continue
		}
		g.Expect(said.refusal).To(BeEmpty(), name)
	}
}
