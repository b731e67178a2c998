package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// unenforced waits until a box says why its rules are not enforced.
func (w *world) unenforced(ctx context.Context, name, reason, message string) *v1alpha1.OperatorBox {
	GinkgoHelper()
	var box *v1alpha1.OperatorBox
	Eventually(func(g Gomega) {
		box = getBox(ctx, g, name)
		g.Expect(boxCondition(box, v1alpha1.ConditionAdmissionEnforced)).To(HaveValue(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message)))))
	}).WithContext(ctx).Should(Succeed())
	return box
}

// bindingOf reads the binding of the policy by which a box refuses.
func bindingOf(ctx context.Context, g Gomega, box string) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	g.Expect(kube.Get(ctx, types.NamespacedName{Name: "orkestra-" + box}, binding)).To(Succeed())
	return binding
}

var _ = Describe("The policies of a box", func() {
	const rules = "admission: {validation: true, mutation: true}\n" +
		"mutation: {rules: [{field: spec.replicas, default: 2}]}\n" +
		"validation: {rules: [{field: spec.mode, in: [a, b]}, {field: spec.port, lessThan: 9, action: warn}]}\n"

	It("go when it is suspended, goes back to a spec without them, or is deleted, and come with the box that takes its place", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, rules)
		w.enforcing(ctx, name)
		w.denied(ctx, name, `{mode: c}`, "spec.mode: wanted one of a, b, found c")
		w.box(ctx, rules+"suspend: true\n")
		noPolicies(ctx, name)
		w.admitted(ctx, `{mode: c}`)
		w.unenforced(ctx, name, v1alpha1.ReasonSuspended, "it has no policies")

		w.box(ctx, rules)
		w.enforcing(ctx, name)
		w.box(ctx, "validation: {rules: [{field: spec.mode, in: [a, b]}]}\n")
		noPolicies(ctx, name)
		w.running(ctx, name)
		Expect(getBox(ctx, Default, name).Status.Admission).To(BeNil())

		w.box(ctx, rules)
		w.enforcing(ctx, name)
		next := w.boxNamed(ctx, w.id+"-next", "admission: {validation: true}\nvalidation: {rules: [{field: spec.mode, in: [z]}]}\n")
		w.unenforced(ctx, next, v1alpha1.ReasonCRDClaimed, "it has no policies")
		noPolicies(ctx, next)
		w.deleteBox(ctx, name)
		noPolicies(ctx, name)
		w.enforcing(ctx, next)
		w.denied(ctx, next, `{mode: c}`, "spec.mode: wanted one of z, found c")
	})

	It("take up a changed rule without a moment in which nothing is enforced", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, rules)
		w.enforcing(ctx, name)
		w.denied(ctx, name, `{mode: c}`, "spec.mode: wanted one of a, b, found c")
		watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		watched, err := watcher.Watch(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}, client.MatchingLabels{v1alpha1.LabelBox: name})
		Expect(err).NotTo(HaveOccurred())
		defer watched.Stop()
		before := policyOf(ctx, Default, name).UID
		w.box(ctx, `{admission: {validation: true}, validation: {rules: [{field: spec.mode, in: [a]}]}}`)
		w.denied(ctx, name, `{mode: b}`, "spec.mode: wanted one of a, found b")
		Expect(policyOf(ctx, Default, name).UID).To(Equal(before))
		Expect(kube.Get(ctx, types.NamespacedName{Name: "orkestra-" + name + "-warn"}, &admissionregistrationv1.ValidatingAdmissionPolicy{})).NotTo(Succeed())
		for {
			select {
			case e := <-watched.ResultChan():
				binding, _ := e.Object.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding)
				if binding.Name == "orkestra-"+name {
					Expect(binding.Spec.ValidationActions).To(ConsistOf(admissionregistrationv1.Deny))
				}
				continue
			default:
			}
			break
		}
	})

	It("leave alone what has their name, and are made when that goes", func(ctx context.Context) {
		w := newWorld(ctx)
		foreign := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "orkestra-" + w.id}}
		foreign.Spec.Validations = []admissionregistrationv1.Validation{{Expression: "true"}}
		foreign.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{"CREATE"},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"nobody.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"things"}},
			}}}}
		Expect(kube.Create(ctx, foreign)).To(Succeed())
		name := w.box(ctx, rules)
		w.unenforced(ctx, name, v1alpha1.ReasonPolicyNameTaken, "ValidatingAdmissionPolicy/orkestra-"+name+" exists and is nobody's of Orkestra")
		w.running(ctx, name)
		Expect(boxCondition(getBox(ctx, Default, name), v1alpha1.ConditionCompiled)).To(HaveField("Status", metav1.ConditionTrue))
		Expect(policyOf(ctx, Default, name).UID).To(Equal(foreign.UID))
		Expect(kube.Delete(ctx, foreign)).To(Succeed())
		w.enforcing(ctx, name)
		w.deleteBox(ctx, name)
		noPolicies(ctx, name)
	})

	It("only audit while requireClean is set and a resource breaks a rule", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `{validation: {rules: [{field: spec.mode, in: [a, b]}]}}`)
		w.running(ctx, name)
		w.website(ctx, "bad", `{mode: c}`)
		w.shows(ctx, "bad", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "found c")
		w.box(ctx, `{admission: {validation: true, requireClean: true}, validation: {rules: [{field: spec.mode, in: [a, b]}]}}`)
		box := w.unenforced(ctx, name, v1alpha1.ReasonResourcesBreakRules, "1 of 1 resources break a rule")
		Expect(box.Status.Admission).To(HaveValue(And(HaveField("Enforced", false), HaveField("Existing.Breaking", BeEquivalentTo(1)))))
		Expect(bindingOf(ctx, Default, name).Spec.ValidationActions).To(ConsistOf(admissionregistrationv1.Audit))
		w.website(ctx, "bad", `{mode: a}`)
		w.enforcing(ctx, name)
		Expect(bindingOf(ctx, Default, name).Spec.ValidationActions).To(ConsistOf(admissionregistrationv1.Deny))
	})

	It("cost no request while nothing changes", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, "resync: 1s\n"+rules)
		w.enforcing(ctx, name)
		w.admitted(ctx, `{mode: a}`) // the API server sets defaults in a new kind when it has taken up its schema
		// It may still refuse one while it takes up the next version of it.
		Eventually(func() error { return w.create(ctx, "web", `{mode: a}`) }).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		manager.resting(ctx, name)
		mark := manager.requests.mark()
		Eventually(func() error {
			return kube.Patch(ctx, w.ref("web"), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":"b"}}`)))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		manager.resting(ctx, name)
		Expect(manager.requests.since(mark, "admissionregistration")).To(BeEmpty())
	})

	It("are taken away by the next process, and by the API server when the box goes without one", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		name, gone := w.box(ctx, rules), other.box(ctx, rules)
		w.enforcing(ctx, name)
		other.enforcing(ctx, gone)
		manager.stop()
		stopped := true
		DeferCleanup(func() {
			if stopped {
				manager = startManager(cluster.Config())
			}
		})
		w.box(ctx, `{validation: {rules: [{field: spec.mode, in: [a, b]}]}}`)
		Expect(kube.Delete(ctx, getBox(ctx, Default, gone))).To(Succeed())
		box := getBox(ctx, Default, gone)
		box.Finalizers = nil
		Expect(kube.Update(ctx, box)).To(Succeed(), "somebody takes the finalizer off")
		noPolicies(ctx, gone)
		Expect(policyOf(ctx, Default, name).Name).NotTo(BeEmpty(), "nobody runs who would take it away")
		manager = startManager(cluster.Config())
		stopped = false
		noPolicies(ctx, name)
	})
})
