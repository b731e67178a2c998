package policies

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	config "github.com/orkspace/orkestra/config/policies"
)

// wanted gives a policy as it is to be in force for a manager in a namespace.
func wanted(name, namespace string) (*admissionregistrationv1.ValidatingAdmissionPolicySpec, error) {
	content, err := config.Read(name)
	if err != nil {
		return nil, err
	}
	content = bytes.ReplaceAll(content, []byte(config.Namespace), []byte(namespace))
	first, _, _ := bytes.Cut(content, []byte("\n---\n"))
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if err := yaml.UnmarshalStrict(first, policy); err != nil {
		return nil, fmt.Errorf("reading policy %q: %w", name, err)
	}
	return &policy.Spec, nil
}

// differs says what of a policy in the cluster is not as it is wanted; empty: nothing that decides.
func differs(live, want *admissionregistrationv1.ValidatingAdmissionPolicySpec) string {
	if is, wants := failurePolicy(live), failurePolicy(want); is != wants {
		return fmt.Sprintf("spec.failurePolicy is %s, wanted %s", is, wants)
	}
	if live.ParamKind != nil {
		return "spec.paramKind is set, wanted none"
	}
	for _, part := range []struct {
		path       string
		live, want any
	}{
		{"matchConstraints", completed(live.MatchConstraints), completed(want.MatchConstraints)},
		{"matchConditions", live.MatchConditions, want.MatchConditions},
		{"variables", fixed(live.Variables), fixed(want.Variables)},
		{"validations", rules(live.Validations), rules(want.Validations)},
	} {
		if !equality.Semantic.DeepEqual(part.live, part.want) {
			return "spec." + part.path + " is not that of this version"
		}
	}
	return ""
}

// failurePolicy says what happens to a request that a policy can't judge.
func failurePolicy(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) admissionregistrationv1.FailurePolicyType {
	if spec.FailurePolicy == nil {
		return admissionregistrationv1.Fail
	}
	return *spec.FailurePolicy
}

// completed gives constraints with what the API server fills in.
func completed(in *admissionregistrationv1.MatchResources) *admissionregistrationv1.MatchResources {
	if in == nil {
		return nil
	}
	out := in.DeepCopy()
	if out.MatchPolicy == nil {
		out.MatchPolicy = new(admissionregistrationv1.Equivalent)
	}
	for _, s := range []**metav1.LabelSelector{&out.NamespaceSelector, &out.ObjectSelector} {
		if *s == nil {
			*s = &metav1.LabelSelector{}
		}
	}
	for _, list := range [][]admissionregistrationv1.NamedRuleWithOperations{out.ResourceRules, out.ExcludeResourceRules} {
		for i := range list {
			if list[i].Scope == nil {
				list[i].Scope = new(admissionregistrationv1.AllScopes)
			}
		}
	}
	return out
}

// fixed gives the variables that nobody decides but this version.
func fixed(in []admissionregistrationv1.Variable) []admissionregistrationv1.Variable {
	return slices.DeleteFunc(slices.Clone(in), func(v admissionregistrationv1.Variable) bool { return slices.Contains(config.Settings(), v.Name) })
}

// rules are what validations decide by. Their messages may be anything.
func rules(in []admissionregistrationv1.Validation) []string {
	out := make([]string, 0, len(in))
	for _, v := range in {
		out = append(out, v.Expression)
	}
	return out
}

// enforces says whether a binding puts a policy in force everywhere.
func enforces(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding, policy string) bool {
	return b.Spec.PolicyName == policy && b.Spec.ParamRef == nil && b.DeletionTimestamp == nil &&
		slices.Contains(b.Spec.ValidationActions, admissionregistrationv1.Deny) &&
		(b.Spec.MatchResources == nil || equality.Semantic.DeepEqual(completed(b.Spec.MatchResources), completed(&admissionregistrationv1.MatchResources{})))
}

// found are the policies and bindings of the cluster that carry LabelPolicy.
type found struct {
	policies []*admissionregistrationv1.ValidatingAdmissionPolicy
	bindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding
}

// judge says how a policy stands: why it is not in force as wanted, and whether it is there at all. It is in force where the text is empty.
// Of several policies of one name, as two releases make them, one that is as wanted is enough.
func (f found) judge(name string, want *admissionregistrationv1.ValidatingAdmissionPolicySpec) (text string, there bool) {
	for _, p := range f.policies {
		if p.Labels[v1alpha1.LabelPolicy] != name || p.DeletionTimestamp != nil {
			continue
		}
		there = true
		text = differs(&p.Spec, want)
		bound := slices.ContainsFunc(f.bindings, func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) bool { return enforces(b, p.Name) })
		switch {
		case text != "":
			text = fmt.Sprintf("ValidatingAdmissionPolicy %q: %s", p.Name, text)
		case !bound:
			text = fmt.Sprintf("ValidatingAdmissionPolicy %q: no ValidatingAdmissionPolicyBinding has it deny everywhere", p.Name)
		default:
			return "", true
		}
	}
	if !there {
		text = fmt.Sprintf("there is no ValidatingAdmissionPolicy with the label %s=%s", v1alpha1.LabelPolicy, name)
	}
	return text, there
}

// sentence lists what is wrong, by the names of policies.
func sentence(wrong []string) string {
	return strings.Join(wrong, "; ") + ": upgrade the chart (trust.policies), or apply config/policies of this version; boxes go on"
}
