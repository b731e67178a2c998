package operatorbox

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// strict is a box whose rules the API server is to enforce.
func strict(t *testing.T, spec string) *v1alpha1.OperatorBox {
	t.Helper()
	box := shop(websitesCRD)
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(spec), &box.Spec)).To(Succeed())
	box.Spec.CRD.Name = websitesCRD
	return box
}

const strictRules = `
admission: {validation: true, mutation: true}
mutation: {rules: [{field: spec.size, default: 1}]}
validation: {rules: [{field: spec.mode, in: [a, b]}, {field: spec.size, lessThan: 9, action: warn}]}
`

// site is a resource with a mode.
func site(mode string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"mode": mode}}}
}

// actions are what the binding of the policy that refuses does; nil: there is none.
func (p *process) actions(t *testing.T) []admissionregistrationv1.ValidationAction {
	t.Helper()
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	err := p.kube.Get(t.Context(), types.NamespacedName{Name: "orkestra-shop"}, binding)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return binding.Spec.ValidationActions
}

// policies are the names of all policies and bindings.
func (p *process) policies(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, list := range []client.ObjectList{
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
		&admissionregistrationv1.MutatingAdmissionPolicyList{}, &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
	} {
		NewWithT(t).Expect(p.kube.List(t.Context(), list)).To(Succeed())
		switch list := list.(type) {
		case *admissionregistrationv1.ValidatingAdmissionPolicyList:
			for _, o := range list.Items {
				out = append(out, "v "+o.Name)
			}
		case *admissionregistrationv1.ValidatingAdmissionPolicyBindingList:
			for _, o := range list.Items {
				out = append(out, "vb "+o.Name)
			}
		case *admissionregistrationv1.MutatingAdmissionPolicyList:
			for _, o := range list.Items {
				out = append(out, "m "+o.Name)
			}
		case *admissionregistrationv1.MutatingAdmissionPolicyBindingList:
			for _, o := range list.Items {
				out = append(out, "mb "+o.Name)
			}
		}
	}
	return out
}

var allOfShop = []string{
	"v orkestra-shop", "v orkestra-shop-warn", "vb orkestra-shop", "vb orkestra-shop-warn", "m orkestra-shop", "mb orkestra-shop",
}

func TestABoxThatAsksForItHasPolicies(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, anyFields(), strict(t, strictRules))
	p.engine.living = []*unstructured.Unstructured{site("a"), site("c")}
	box, _ := p.serves(t, "shop")
	g.Expect(p.policies(t)).To(ConsistOf(allOfShop))
	g.Expect(p.actions(t)).To(ConsistOf(admissionregistrationv1.Deny))
	g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix("True Enforced: "))
	g.Expect(box.Status.Admission).To(HaveValue(And(
		HaveField("Enforced", true), HaveField("Policies", HaveLen(3)), HaveField("Rules", HaveLen(3)),
		HaveField("Existing", HaveValue(Equal(v1alpha1.AdmissionExisting{Total: 2, Breaking: 1}))))))
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "orkestra-shop"}, policy)).To(Succeed())
	g.Expect(metav1.IsControlledBy(policy, box)).To(BeTrue(), "it goes with the box, whatever becomes of the manager")

	again, _ := p.serves(t, "shop")
	g.Expect(again.ResourceVersion).To(Equal(box.ResourceVersion), "nothing changed")
}

// TestRulesAreAuditedUntilTheLivingWereJudged: and what was enforced before a restart goes on.
func TestRulesAreAuditedUntilTheLivingWereJudged(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, anyFields(), strict(t, strictRules))
	p.engine.filling = true
	box, _ := p.serves(t, "shop")
	g.Expect(p.actions(t)).To(ConsistOf(admissionregistrationv1.Audit))
	g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix("False CountingResources: "))
	g.Expect(box.Status.Admission.Enforced).To(BeFalse())
	p.engine.filling = false
	p.serves(t, "shop")
	g.Expect(p.actions(t)).To(ConsistOf(admissionregistrationv1.Deny))

	p.engine.filling, p.engine.plans = true, nil
	p.restart()
	box, _ = p.serves(t, "shop")
	g.Expect(p.actions(t)).To(ConsistOf(admissionregistrationv1.Deny))
	g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix("True Enforced: "))

	box.Spec.Validation.Rules[0].In.Raw = []byte(`["a"]`)
	box.Generation++
	g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "orkestra-shop"}, policy)).To(Succeed())
	box, _ = p.serves(t, "shop")
	after := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "orkestra-shop"}, after)).To(Succeed())
	g.Expect(after.Spec).To(Equal(policy.Spec), "the former rules hold until the new ones may")
	g.Expect(p.actions(t)).To(ConsistOf(admissionregistrationv1.Deny))
	g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(And(HavePrefix("False CountingResources: "), HaveSuffix("those of the former spec are")))
	p.engine.filling = false
	p.serves(t, "shop")
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "orkestra-shop"}, after)).To(Succeed())
	g.Expect(after.Spec).NotTo(Equal(policy.Spec))
}

func TestRequireCleanWaitsForTheLiving(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, anyFields(), strict(t, "admission: {validation: true, requireClean: true}\nvalidation: {rules: [{field: spec.mode, in: [a, b]}]}"))
	p.engine.living = []*unstructured.Unstructured{site("c"), site("a")}
	box, result := p.serves(t, "shop")
	g.Expect(p.actions(t)).To(ConsistOf(admissionregistrationv1.Audit))
	g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix("False ResourcesBreakRules: 1 of 2 resources break a rule"))
	g.Expect(result.RequeueAfter).NotTo(BeZero())
	p.engine.living = []*unstructured.Unstructured{site("b"), site("a")}
	box, _ = p.serves(t, "shop")
	g.Expect(p.actions(t)).To(ConsistOf(admissionregistrationv1.Deny))
	g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix("True"))
	g.Expect(box.Status.Admission.Existing).To(HaveValue(Equal(v1alpha1.AdmissionExisting{Total: 2})))
}

// TestPoliciesGoWithWhatTheBoxDoes: suspended, without admission, deleted, or with its CRD at another box.
func TestPoliciesGoWithWhatTheBoxDoes(t *testing.T) {
	for name, change := range map[string]func(*process, *v1alpha1.OperatorBox){
		"suspended": func(_ *process, b *v1alpha1.OperatorBox) { b.Spec.Suspend = true },
		"unasked":   func(_ *process, b *v1alpha1.OperatorBox) { b.Spec.Admission = nil },
		"drained":   func(p *process, _ *v1alpha1.OperatorBox) { p.drained = true; p.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newProcess(t, anyFields(), strict(t, strictRules))
			box, _ := p.serves(t, "shop")
			g.Expect(p.policies(t)).To(ConsistOf(allOfShop))
			change(p, box)
			box.Generation++
			g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
			box, _ = p.serves(t, "shop")
			g.Expect(p.policies(t)).To(BeEmpty())
			if box.Spec.Admission == nil {
				g.Expect(box.Status.Admission).To(BeNil())
				g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(BeEmpty())
			} else {
				g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix("False"))
			}
		})
	}
	t.Run("deleted", func(t *testing.T) {
		g := NewWithT(t)
		p := newProcess(t, anyFields(), strict(t, strictRules))
		box, _ := p.serves(t, "shop")
		g.Expect(p.kube.Delete(t.Context(), box)).To(Succeed())
		p.serves(t, "shop")
		g.Expect(p.policies(t)).To(BeEmpty())
	})
	t.Run("a spec that does not compile", func(t *testing.T) {
		g := NewWithT(t)
		p := newProcess(t, anyFields(), strict(t, strictRules))
		box, _ := p.serves(t, "shop")
		box.Spec.Validation.Rules[0].In = nil
		box.Generation++
		g.Expect(p.kube.Update(t.Context(), box)).To(Succeed())
		box, _ = p.serves(t, "shop")
		g.Expect(condition(box, v1alpha1.ConditionCompiled)).To(HavePrefix("False"))
		g.Expect(p.policies(t)).To(ConsistOf(allOfShop), "the former spec goes on")
		p.engine.plans = nil
		p.restart()
		box, _ = p.serves(t, "shop")
		g.Expect(p.policies(t)).To(ConsistOf(allOfShop), "the revision of before does")
		g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix("True"))
	})
	t.Run("a box that may not run", func(t *testing.T) {
		g := NewWithT(t)
		p := newProcess(t, anyFields(), strict(t, strictRules))
		p.serves(t, "shop")
		p.engine.plans = nil
		p.denied["patch websites.demo.example.com"] = true
		p.restart()
		box, _ := p.serves(t, "shop")
		g.Expect(p.policies(t)).To(ConsistOf(allOfShop), "nobody asked for their end")
		g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix("False Forbidden: the box does not run its spec: the policies stay as they are"))
		g.Expect(box.Status.Admission.Enforced).To(BeTrue())
	})
}

// TestABoxThatNeverAskedShowsNothing: not even one that can't run, while the policies of others are watched.
func TestABoxThatNeverAskedShowsNothing(t *testing.T) {
	g := NewWithT(t)
	pages := anyFields()
	pages.Name, pages.UID, pages.Spec.Names.Plural, pages.Spec.Names.Kind = "pages.demo.example.com", "pages", "pages", "Page"
	p := newProcess(t, anyFields(), pages, strict(t, strictRules))
	p.serves(t, "shop")
	other := strict(t, "validation: {rules: [{field: spec.mode}]}")
	other.Name, other.UID, other.Spec.CRD.Name = "other", "other", pages.Name
	g.Expect(p.kube.Create(t.Context(), other)).To(Succeed())
	box, _ := p.serves(t, "other")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("False"))
	g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(BeEmpty())
	g.Expect(box.Status.Admission).To(BeNil())
}

func TestWhyRulesAreNotEnforced(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, p *process)
		says    string
		has     []string
	}{
		"without the right": {func(_ *testing.T, p *process) {
			p.denied["create validatingadmissionpolicies.admissionregistration.k8s.io"] = true
		}, "False Forbidden: ", nil},
		"without policies that mutate": {func(_ *testing.T, p *process) {
			p.unserved = map[string]bool{"MutatingAdmissionPolicy": true}
			p.restart()
		},
			"False AdmissionUnsupported: the API server has no MutatingAdmissionPolicy", []string{"v orkestra-shop", "vb orkestra-shop"}},
		"without policies": {func(_ *testing.T, p *process) {
			p.unserved = map[string]bool{"MutatingAdmissionPolicy": true, "ValidatingAdmissionPolicy": true}
			p.restart()
		}, "False AdmissionUnsupported: the API server has no ValidatingAdmissionPolicy", nil},
		"with a name that is taken": {func(t *testing.T, p *process) {
			t.Helper()
			NewWithT(t).Expect(p.kube.Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "orkestra-shop"}})).To(Succeed())
		}, "False PolicyNameTaken: ValidatingAdmissionPolicy/orkestra-shop exists and is nobody's of Orkestra", []string{"v orkestra-shop"}},
		"with the name of a guard": {func(t *testing.T, p *process) {
			t.Helper()
			guard := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "orkestra-shop", Labels: map[string]string{v1alpha1.LabelPolicy: "shop"}}}
			NewWithT(t).Expect(p.kube.Create(t.Context(), guard)).To(Succeed())
		}, "False PolicyNameTaken: ValidatingAdmissionPolicy/orkestra-shop exists and is Orkestra's own policy shop: leave it, and give the box another name", []string{"v orkestra-shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newProcess(t, anyFields(), strict(t, strictRules))
			tc.prepare(t, p)
			box, _ := p.serves(t, "shop")
			g.Expect(condition(box, v1alpha1.ConditionAdmissionEnforced)).To(HavePrefix(tc.says))
			g.Expect(condition(box, v1alpha1.ConditionCompiled)).To(HavePrefix("True"))
			g.Expect(p.policies(t)).To(ConsistOf(tc.has))
		})
	}
}

// TestPoliciesOfAFormerBoxAreReplaced: one of the same name, whose policies nobody has collected yet.
func TestPoliciesOfAFormerBoxAreReplaced(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, anyFields(), strict(t, strictRules))
	p.serves(t, "shop")
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "orkestra-shop"}, policy)).To(Succeed())
	policy.OwnerReferences[0].UID = "former"
	g.Expect(p.kube.Update(t.Context(), policy)).To(Succeed())
	p.serves(t, "shop")
	box, _ := p.serves(t, "shop")
	g.Expect(p.kube.Get(t.Context(), types.NamespacedName{Name: "orkestra-shop"}, policy)).To(Succeed())
	g.Expect(metav1.IsControlledBy(policy, box)).To(BeTrue())
}

// anyFields is a CRD whose resources may have any fields.
func anyFields() *apiextensionsv1.CustomResourceDefinition {
	crd, preserve := websites(), true
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.XPreserveUnknownFields = &preserve
	return crd
}
