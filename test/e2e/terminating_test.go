package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A namespace that is being deleted", func() {
	It("gets no event of a resource that is still there: nothing can be made in it", func(ctx context.Context) {
		w := newWorld(ctx)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-going", Labels: map[string]string{"e2e": w.id}}}
		Expect(kube.Create(ctx, ns)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, ns))).To(Succeed()) })
		policy, binding := denying(w, metav1.StatusReasonForbidden)
		policy.Spec.MatchConstraints.NamespaceSelector.MatchLabels = ns.Labels
		rule := &policy.Spec.MatchConstraints.ResourceRules[0]
		rule.Operations, rule.Rule = []admissionv1.OperationType{admissionv1.Delete}, admissionv1.Rule{
			APIGroups: []string{w.group}, APIVersions: []string{"*"}, Resources: []string{"websites"},
		}
		policy.Spec.Validations[0].Expression = "false"
		for _, obj := range []client.Object{policy, binding} {
			Expect(kube.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
		}
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {configmaps: [{data: {a: b}}]}}`))
		web := w.websiteIn(ctx, ns.Name, "web", nil)
		ready := func(status metav1.ConditionStatus, text string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
				g.Expect(condition(web, v1alpha1.ConditionReady)).To(And(HaveField("Status", status), HaveField("Message", ContainSubstring(text))))
			}).WithContext(ctx).Should(Succeed())
		}
		ready(metav1.ConditionTrue, "")
		Eventually(func() error { return kube.Delete(ctx, web, client.DryRunAll) }).WithContext(ctx).Should(MatchError(ContainSubstring("cannot be used")))
		told := func(namespace string) []request {
			return manager.requests.writes(0, "/namespaces/"+namespace+"/events")
		}
		Eventually(func() []request { return told(ns.Name) }).WithContext(ctx).Should(HaveLen(1), "that it is reconciled")

		Expect(kube.Delete(ctx, ns)).To(Succeed())
		ready(metav1.ConditionFalse, "because it is being terminated")
		w.website(ctx, "later", `{}`)
		Eventually(func() []request { return told(w.namespace) }).WithContext(ctx).Should(HaveLen(1))
		Expect(told(ns.Name)).To(HaveLen(1))
		Expect(kube.Delete(ctx, binding)).To(Succeed())
	})
})
