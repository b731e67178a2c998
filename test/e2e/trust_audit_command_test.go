package e2e_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("orkestra audit", func() {
	It("says what a box has that it should not have, and who could write it today", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.account(ctx, children("", "configmaps"))
		// found gives the findings of the world's box.
		found := func(g Gomega, args ...string) map[string]string {
			out, _ := orkestra(ctx, append([]string{"audit", w.id, "--box-namespaces", a.namespace, "-o", "json"}, args...)...)
			var answer struct {
				Notes []string `json:"notes"`
				Items []struct {
					ActsAs   string `json:"actsAs"`
					Findings []struct {
						Reason  string `json:"reason"`
						Message string `json:"message"`
					} `json:"findings"`
				} `json:"items"`
			}
			g.Expect(json.Unmarshal([]byte(out), &answer)).To(Succeed(), out)
			g.Expect(answer.Notes).To(BeEmpty())
			g.Expect(answer.Items).To(HaveLen(1))
			all := map[string]string{}
			for _, f := range answer.Items[0].Findings {
				all[f.Reason] += f.Message + "\n"
			}
			return all
		}
		w.website(ctx, "large", `{replicas: 50}`)
		w.website(ctx, "small", `{replicas: 1}`)
		w.running(ctx, w.box(ctx, a.ref()+`
validation: {rules: [{field: spec.replicas, operator: lte, value: 10}]}
onReconcile: {configmaps: [{data: {a: b}}]}
`))
		finds := func(matcher types.GomegaMatcher, args ...string) {
			GinkgoHelper()
			Eventually(func(g Gomega) { g.Expect(found(g, args...)).To(matcher) }).WithContext(ctx).Should(Succeed())
		}
		finds(And(HaveLen(1), HaveKeyWithValue(v1alpha1.ReasonResourcesBreakRules, ContainSubstring(w.namespace+"/large: "))))

		By("somebody who may write boxes, and nothing more")
		tenant := w.tenant(ctx)
		finds(And(
			HaveKeyWithValue("box-account", ContainSubstring(tenant.name+" may not impersonate ServiceAccount "+a.namespace+"/"+a.name)),
			HaveKeyWithValue("box-crd", ContainSubstring("may not operate "+w.crdName())), Not(HaveKey(v1alpha1.ReasonForbidden))), "--as", tenant.name)
		tenant.may(ctx, rule(w.group, "operate", "websites"))
		tenant.mayIn(ctx, a.namespace, impersonating(a.name))
		finds(HaveLen(1), "--as", tenant.name)

		By("an account that lost a right")
		a.grant(ctx, w.usualRules()...)
		finds(HaveKeyWithValue(v1alpha1.ReasonForbidden, ContainSubstring("create configmaps")))

		By("an account that was made again")
		a.remove(ctx)
		finds(HaveKey(v1alpha1.ReasonAccountMissing))
		a.make(ctx)
		finds(HaveKeyWithValue(v1alpha1.ReasonAccountChanged, ContainSubstring("was deleted and made again")))

		By("the same for a manager that lets boxes use no such account")
		out, code := orkestra(ctx, "audit", w.id, "--box-namespaces", w.namespace)
		Expect(code).To(Equal(1))
		Expect(out).To(ContainSubstring(v1alpha1.ReasonAccountNotAllowed))
	})
})
