package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Validation", func() {
	// three rules, and a child that shows whether anything was applied.
	const rules = `
resync: 24h
validation:
  rules:
  - {field: spec.replicas, operator: lte, value: "10", message: "at most 10 replicas"}
  - {field: spec.mode, in: [a, b]}
  - {field: spec.host, operator: exists, message: "a host is needed"}
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}"
    data: {mode: "{{ .spec.mode }}"}
`

	It("reports every broken rule at once, applies nothing, and heals at once when all is mended", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, rules))
		w.website(ctx, "web", `{replicas: 11, mode: c}`)
		const message = "validation: spec.replicas: at most 10 replicas (found 11); " +
			"spec.mode: wanted one of a, b, found c; spec.host: a host is needed (found absent)"
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, message)
		obj := w.observed(ctx, "web")
		Expect(condition(obj, v1alpha1.ConditionReady)).To(And(HaveField("Status", metav1.ConditionFalse),
			HaveField("Reason", v1alpha1.ReasonReconcileError), HaveField("Message", message)))
		Expect(condition(obj, v1alpha1.ConditionReconciling).Status).To(Equal(metav1.ConditionFalse))
		w.absent(ctx, "web")

		w.website(ctx, "web", `{replicas: 10, mode: c, host: a}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed,
			"validation: spec.mode: wanted one of a, b, found c")
		w.absent(ctx, "web")
		w.website(ctx, "web", `{replicas: 10, mode: b, host: a}`)
		obj = w.settled(ctx, "web")
		Expect(condition(obj, v1alpha1.ConditionStalled).Status).To(Equal(metav1.ConditionFalse))
		w.hasData(ctx, "web", map[string]string{"mode": "b"})
	})

	It("leaves alone what was made when a resource becomes invalid", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, rules))
		w.website(ctx, "web", `{mode: a, host: a}`)
		w.settled(ctx, "web")
		before := w.hasData(ctx, "web", map[string]string{"mode": "a"})
		w.website(ctx, "web", `{mode: b, replicas: 11, host: a}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "at most 10")
		Expect(w.hasData(ctx, "web", map[string]string{"mode": "a"}).ResourceVersion).To(Equal(before.ResourceVersion))
		w.website(ctx, "web", `{mode: b, replicas: 1, host: a}`)
		Expect(w.hasData(ctx, "web", map[string]string{"mode": "b"}).UID).To(Equal(before.UID))
	})

	It("warns by an event, once, and goes on", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
validation:
  rules:
  - {field: spec.replicas, lessThanOrEqual: 3, message: "more than 3 replicas are costly", action: warn}
  - {field: spec.mode, notEquals: old, message: "mode old will go", action: warn}
`+echo))
		w.website(ctx, "web", `{replicas: 5, mode: old}`)
		w.settled(ctx, "web")
		w.seen(ctx, "web", `{"replicas": 5, "mode": "old"}`)
		both := And(ContainSubstring("spec.replicas: more than 3 replicas are costly (found 5)"), ContainSubstring("spec.mode: mode old will go (found old)"))
		Eventually(func(g Gomega) {
			g.Expect(w.notes(ctx, g, "web", "ValidationWarning")).To(ConsistOf(both))
		}).WithContext(ctx).Should(Succeed())

		By("evaluating the same again, and then another warning")
		w.cycle(ctx, "web")
		w.cycle(ctx, "web")
		w.website(ctx, "web", `{replicas: 4, mode: new}`)
		Eventually(func(g Gomega) {
			g.Expect(w.notes(ctx, g, "web", "ValidationWarning")).To(ConsistOf(both, Equal("spec.replicas: more than 3 replicas are costly (found 4)")))
		}).WithContext(ctx).Should(Succeed())
	})

	It("does not try again while nothing changes", func(ctx context.Context) {
		w := newWorld(ctx)
		box := w.box(ctx, `{resync: 1s, validation: {rules: [{field: spec.mode, equals: a}]}}`)
		w.running(ctx, box)
		w.website(ctx, "web", `{mode: b}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "found b")
		before := manager.resting(ctx, box)
		mark := manager.requests.mark()
		for range 2 {
			Expect(manager.resting(ctx, box)).To(Equal(before), "evaluations")
		}
		Expect(manager.requests.since(mark, "/namespaces/"+w.namespace+"/")).To(BeEmpty())
		Eventually(func(g Gomega) {
			h := getHealth(ctx, g, box)
			g.Expect(h.Status.FailureCount).To(BeEquivalentTo(1))
			g.Expect(h.Status.ConsecutiveFailures).To(BeEquivalentTo(1))
			g.Expect(h.Status.LastFailure).To(HaveValue(And(HaveField("Step", "validation"), HaveField("Message", "spec.mode: wanted equals a, found b"))))
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
	})
})
