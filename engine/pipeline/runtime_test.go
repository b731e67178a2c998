package pipeline

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/boxspec"
)

func TestWhoIsNextInTheQueue(t *testing.T) {
	g := gomega.NewWithT(t)
	env := Env{CRD: websites(t)}
	plan, errs := Compile(boxOf(t, "queue: {fairness: Namespace}"), env)
	g.Expect(messages(errs)).To(gomega.BeEmpty())
	g.Expect(plan.Runtime.Fair).To(gomega.BeTrue())
	none := boxOf(t, "queue: {fairness: None}")
	plan, errs = Compile(none, env)
	g.Expect(messages(errs)).To(gomega.BeEmpty())
	g.Expect(plan.Runtime.Fair).To(gomega.BeFalse())
	g.Expect(boxspec.Revision(none)).To(gomega.Equal(boxspec.Revision(boxOf(t, "{}"))), "to write a default and to leave it out is one box")

	_, errs = Compile(boxOf(t, "queue: {fairness: namespace}"), env)
	g.Expect(messages(errs)).To(gomega.Equal([]string{`spec.queue.fairness: Invalid value: "namespace": wanted one of None, Namespace, did you mean "Namespace"?`}))
	env.CRD.Namespaced = false
	_, errs = Compile(boxOf(t, "queue: {fairness: Namespace}"), env)
	g.Expect(messages(errs)).To(gomega.Equal([]string{`spec.queue.fairness: Invalid value: "Namespace": resources of Website have no namespaces: nobody could take turns`}))
}

// A box that serves deletions alone has the limits of its spec.
func TestAPlanForCleanupHasNoAutoscale(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := Compile(boxOf(t, "autoscale: {conditions: {when: [{field: status.queueDepth, greaterThan: 5}]}, do: {workers: 5}}"), Env{CRD: websites(t)})
	g.Expect(messages(errs)).To(gomega.BeEmpty())
	g.Expect(plan.Runtime.Autoscale).NotTo(gomega.BeNil())
	g.Expect(plan.ForCleanup().Runtime.Autoscale).To(gomega.BeNil())
	g.Expect(plan.Runtime.Autoscale).NotTo(gomega.BeNil(), "a plan never changes")
}
