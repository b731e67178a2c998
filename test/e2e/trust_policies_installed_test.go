package e2e_test

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	config "github.com/orkspace/orkestra/config/policies"
)

// installed reads the series of a policy that the manager relies on.
func (p *process) installed(g Gomega, policy string) float64 {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "orkestra_policy_installed" && m.GetLabel()[0].GetValue() == policy {
				return m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

var _ = Describe("Policies that the manager relies on", func() {
	It("are watched: every box says what is wrong with them, and goes on", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}}`))
		Expect(boxCondition(getBox(ctx, Default, w.id), v1alpha1.ConditionPoliciesInstalled)).To(BeNil(), "a manager that relies on none")
		relied := slices.DeleteFunc(config.Names(), func(name string) bool { return name == boxShape }) // not in force everywhere: see installPolicies
		replaceManager(func(s *settings) { s.orkestra.RequirePolicies = relied })
		shows := func(status metav1.ConditionStatus, reason, text string) {
			GinkgoHelper()
			boxShows(ctx, w.id, v1alpha1.ConditionPoliciesInstalled, status, reason, text)
		}
		inForce := func() {
			GinkgoHelper()
			shows(metav1.ConditionTrue, v1alpha1.ReasonInstalled, fmt.Sprintf("the %d policies that the manager relies on are in force", len(relied)))
			for _, name := range relied {
				Eventually(func(g Gomega) { g.Expect(manager.installed(g, name)).To(Equal(1.0), name) }).WithContext(ctx).Should(Succeed())
			}
		}
		inForce()

		By("taking one out")
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		Expect(kube.Get(ctx, types.NamespacedName{Name: "orkestra-marks"}, binding)).To(Succeed())
		Expect(kube.Delete(ctx, binding)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { installPolicies(ctx) })
		shows(metav1.ConditionFalse, v1alpha1.ReasonPoliciesChanged,
			`ValidatingAdmissionPolicy "orkestra-marks": no ValidatingAdmissionPolicyBinding has it deny everywhere: upgrade the chart (trust.policies)`)
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "orkestra-grants"}}
		Expect(kube.Delete(ctx, policy)).To(Succeed())
		shows(metav1.ConditionFalse, v1alpha1.ReasonPoliciesMissing, "there is no ValidatingAdmissionPolicy with the label orkestra.orkspace.io/policy=grants")
		Expect(manager.installed(Default, "grants")).To(BeZero())
		Expect(manager.installed(Default, "leases")).To(Equal(1.0))

		By("a box that goes on")
		w.website(ctx, "web", `{mode: x}`)
		w.settled(ctx, "web")
		w.running(ctx, w.id)

		By("putting them back, and changing what one says")
		installPolicies(ctx)
		inForce()
		w.merge(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "orkestra-revisions"}}, `{"spec":{"failurePolicy":"Ignore"}}`)
		shows(metav1.ConditionFalse, v1alpha1.ReasonPoliciesChanged, `ValidatingAdmissionPolicy "orkestra-revisions": spec.failurePolicy is Ignore, wanted Fail`)
		w.merge(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "orkestra-revisions"}}, `{"spec":{"failurePolicy":"Fail"}}`)
		inForce()

		By("nothing that costs requests while nothing changes")
		nothingSent(ctx, w, "web")

		By("relying on none again")
		replaceManager()
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionPoliciesInstalled)).To(BeNil())
		}).WithContext(ctx).Should(Succeed())
	})

	It("can't be told of by a manager that may not look", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.id + "-blind"
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"", "apps", "apiextensions.k8s.io", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", v1alpha1.GroupName, w.group}, Resources: []string{"*"}, Verbs: []string{"*"}},
		}}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		}
		for _, obj := range []client.Object{role, binding} {
			Expect(kube.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, obj)).To(Succeed()) })
		}
		replaceManager(func(s *settings) {
			s.config.Impersonate.UserName = name
			s.orkestra.RequirePolicies = []string{"marks"}
		})
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		boxShows(ctx, w.id, v1alpha1.ConditionPoliciesInstalled, metav1.ConditionUnknown, v1alpha1.ReasonForbidden, "the manager may not watch policies")
	})
})
