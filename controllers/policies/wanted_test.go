package policies

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	config "github.com/orkspace/orkestra/config/policies"
)

type (
	policy        = admissionregistrationv1.ValidatingAdmissionPolicy
	policyBinding = admissionregistrationv1.ValidatingAdmissionPolicyBinding
)

// installed gives the policy marks of a release, and its binding, as the API server has them.
func installed(t *testing.T, namespace string) (*policy, *policyBinding) {
	t.Helper()
	want, err := wanted("marks", namespace)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	p := &policy{ObjectMeta: metav1.ObjectMeta{Name: "mine-marks", Labels: map[string]string{v1alpha1.LabelPolicy: "marks"}}, Spec: *want.DeepCopy()}
	p.Spec.MatchConstraints = completed(p.Spec.MatchConstraints)
	b := &policyBinding{ObjectMeta: metav1.ObjectMeta{Name: "any"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: p.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Audit, admissionregistrationv1.Deny},
	}}
	return p, b
}

func TestEveryPolicyIsRead(t *testing.T) {
	g := NewWithT(t)
	g.Expect(config.Names()).To(HaveLen(11))
	for _, name := range config.Names() {
		want, err := wanted(name, "mine")
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(want.Validations).NotTo(BeEmpty(), name)
	}
	leases, err := wanted("leases", "mine")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(leases.MatchConstraints.NamespaceSelector.MatchLabels).To(HaveKeyWithValue("kubernetes.io/metadata.name", "mine"))
	_, err = wanted("box", "mine")
	g.Expect(err).To(MatchError(`there is no policy "box": wanted one of box-account, box-annotations, box-crd, box-shape, grants, health-crd, leases, marks, revisions, statuses, templates`))
}

func TestJudge(t *testing.T) {
	const there = `ValidatingAdmissionPolicy "mine-marks": `
	for name, tc := range map[string]struct {
		change func(p *policy, b *policyBinding)
		want   string
	}{
		"as it is installed":  {func(*policy, *policyBinding) {}, ""},
		"values of the chart": {func(p *policy, _ *policyBinding) { p.Spec.Variables[0].Expression = `["any"]` }, ""},
		"another message":     {func(p *policy, _ *policyBinding) { p.Spec.Validations[0].MessageExpression = "'no'" }, ""},
		"a binding that matches": {func(_ *policy, b *policyBinding) {
			b.Spec.MatchResources = completed(&admissionregistrationv1.MatchResources{})
		}, ""},
		"fails open": {func(p *policy, _ *policyBinding) { p.Spec.FailurePolicy = new(admissionregistrationv1.Ignore) },
			there + "spec.failurePolicy is Ignore, wanted Fail"},
		"parameters": {func(p *policy, _ *policyBinding) { p.Spec.ParamKind = &admissionregistrationv1.ParamKind{} },
			there + "spec.paramKind is set, wanted none"},
		"a namespace is left out": {func(p *policy, _ *policyBinding) {
			p.Spec.MatchConstraints.NamespaceSelector.MatchLabels = map[string]string{"a": "b"}
		}, there + "spec.matchConstraints is not that of this version"},
		"a condition more": {func(p *policy, _ *policyBinding) {
			p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: "never", Expression: "false"})
		}, there + "spec.matchConditions is not that of this version"},
		"a variable": {func(p *policy, _ *policyBinding) { p.Spec.Variables[1].Expression = "true" }, there + "spec.variables is not that of this version"},
		"a rule less": {func(p *policy, _ *policyBinding) { p.Spec.Validations = p.Spec.Validations[1:] },
			there + "spec.validations is not that of this version"},
		"not bound": {func(_ *policy, b *policyBinding) { b.Spec.PolicyName = "other" },
			there + "no ValidatingAdmissionPolicyBinding has it deny everywhere"},
		"bound to warn": {func(_ *policy, b *policyBinding) {
			b.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
		}, there + "no ValidatingAdmissionPolicyBinding has it deny everywhere"},
		"bound in some namespaces": {func(_ *policy, b *policyBinding) {
			b.Spec.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
		}, there + "no ValidatingAdmissionPolicyBinding has it deny everywhere"},
		"on its way out": {func(p *policy, _ *policyBinding) { p.DeletionTimestamp = &metav1.Time{} },
			"there is no ValidatingAdmissionPolicy with the label orkestra.orkspace.io/policy=marks"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, b := installed(t, "mine")
			want, err := wanted("marks", "mine")
			g.Expect(err).NotTo(HaveOccurred())
			tc.change(p, b)
			text, _ := found{policies: []*policy{p}, bindings: []*policyBinding{b}}.judge("marks", want)
			g.Expect(text).To(Equal(tc.want))
		})
	}
	t.Run("one of two releases is enough", func(t *testing.T) {
		g := NewWithT(t)
		p, b := installed(t, "mine")
		old := p.DeepCopy()
		old.Name, old.Spec.Validations = "old-marks", nil
		want, err := wanted("marks", "mine")
		g.Expect(err).NotTo(HaveOccurred())
		text, there := found{policies: []*policy{old, p}, bindings: []*policyBinding{b}}.judge("marks", want)
		g.Expect(there).To(BeTrue())
		g.Expect(text).To(BeEmpty())
	})
}
