package e2e_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// counted counts the looks of a box that came to a result, from the series that the manager exports.
func (p *process) counted(g Gomega, box, result string) float64 {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, f := range families {
		if f.GetName() != "orkestra_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["box"] == box && labels["result"] == result {
				total += m.GetCounter().GetValue()
			}
		}
	}
	return total
}

// more waits until a box has come to a result so many more times.
func more(ctx context.Context, box, result string, times float64) {
	GinkgoHelper()
	before := manager.counted(Default, box, result)
	Eventually(func(g Gomega) {
		g.Expect(manager.counted(g, box, result)).To(BeNumerically(">=", before+times), "%s", result)
	}).WithContext(ctx).Should(Succeed())
}

// fails waits until a resource shows an error, and checks all conditions: stalled for a reason, or retried if that is empty.
func (w *world) fails(ctx context.Context, name, reason, text string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		obj := w.get(ctx, g, name)
		g.Expect(condition(obj, v1alpha1.ConditionReady)).To(And(HaveField("Status", metav1.ConditionFalse),
			HaveField("Reason", v1alpha1.ReasonReconcileError), HaveField("Message", ContainSubstring(text))))
		reconciling, stalled := condition(obj, v1alpha1.ConditionReconciling), condition(obj, v1alpha1.ConditionStalled)
		if reason == "" {
			g.Expect(reconciling).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonRetrying)))
			g.Expect(stalled).To(HaveField("Status", metav1.ConditionFalse))
			return
		}
		g.Expect(reconciling).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonSettled)))
		g.Expect(stalled).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", reason),
			HaveField("Message", ContainSubstring(text))))
	}).WithContext(ctx).Should(Succeed())
}

var _ = Describe("An error of a resource", func() {
	// evaluated waits for looks that skip, and checks that no cycle was evaluated meanwhile.
	evaluatedOnce := func(ctx context.Context, w *world, before float64) {
		GinkgoHelper()
		more(ctx, w.id, "skipped", 2)
		Expect(manager.evaluations(Default, w.id)).To(Equal(before))
	}

	permanent := map[string]struct{ box, bad, reason, message string }{
		"validation": {
			`validation: {rules: [{field: spec.replicas, operator: lte, value: "10", message: "at most ten"}, {field: spec.image, operator: exists}]}`,
			`{replicas: 11}`, v1alpha1.ReasonValidationFailed,
			`validation: spec.replicas: at most ten (found 11); spec.image: wanted a value, found absent`,
		},
		"template": {
			`onReconcile: {configmaps: [{data: {a: "{{ .spec.mode }}"}}]}`,
			`{}`, v1alpha1.ReasonTemplateError,
			`onReconcile: configmaps: data.a: evaluating {{ .spec.mode }}: spec.mode: no such field in this resource; where it may be absent, use default or if`,
		},
		"type": {
			`onReconcile: {deployments: [{image: x, replicas: "{{ .spec.mode }}"}]}`,
			`{mode: many}`, v1alpha1.ReasonTemplateError,
			`onReconcile: deployments: replicas: want 32-bit integer, got string "many"`,
		},
		"normalize": {
			`normalize: {spec: {replicas: "{{ .spec.mode }}"}}`,
			`{mode: many}`, v1alpha1.ReasonTemplateError,
			`normalize: spec.replicas: wanted integer, got string "many"`,
		},
		"condition": {
			`onReconcile: {configmaps: [{data: {a: b}, when: [{field: spec.memory, greaterThan: "{{ .spec.mode }}"}]}]}`,
			`{memory: 5, mode: many}`, v1alpha1.ReasonConditionError,
			`onReconcile: configmaps: when: `,
		},
		"budget": {
			`onReconcile: {configmaps: [{data: {a: "{{ range $i := until 200 }}{{ range $j := until 200 }}x{{ end }}{{ end }}"}}]}`,
			`{}`, v1alpha1.ReasonBudgetExceeded,
			`over the iterations limit of a template (10000)`,
		},
	}
	for name, tc := range permanent {
		It("that only a change can mend is not tried again before: "+name, func(ctx context.Context) {
			w := newWorld(ctx)
			w.running(ctx, w.box(ctx, "resync: 1s\n"+tc.box))
			w.website(ctx, "web", tc.bad)
			w.fails(ctx, "web", tc.reason, tc.message)
			// A cycle is counted a moment after its status is written.
			Eventually(func(g Gomega) { g.Expect(manager.evaluations(g, w.id)).To(BeEquivalentTo(1)) }).WithContext(ctx).Should(Succeed())
			before := manager.evaluations(Default, w.id)
			evaluatedOnce(ctx, w, before)
			healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Failing).To(HaveLen(1)) })

			By("changing an input")
			Expect(kube.Patch(ctx, w.ref("web"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)))).To(Succeed())
			Eventually(func(g Gomega) { g.Expect(manager.evaluations(g, w.id)).To(Equal(before + 1)) }).WithContext(ctx).Should(Succeed())
			w.website(ctx, "web", `{image: "nginx:1", replicas: 1, memory: 5, mode: "3"}`)
			if tc.reason != v1alpha1.ReasonBudgetExceeded {
				w.settled(ctx, "web")
			}
		})
	}

	It("that the API server refuses is asked for again once per resync, and counts once", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 2s, onReconcile: {services: [{port: "{{ .spec.port }}", selector: {a: b}}]}}`))
		w.website(ctx, "web", `{port: 70000}`)
		w.fails(ctx, "web", v1alpha1.ReasonInvalidChild, `onReconcile: applying Service "web": Service "web" is invalid: [spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535`)
		more(ctx, w.id, "refused", 3)
		skipped := manager.counted(Default, w.id, "skipped")
		asked := manager.counted(Default, w.id, "refused")
		more(ctx, w.id, "refused", 2)
		Expect(manager.counted(Default, w.id, "skipped")-skipped).To(BeNumerically("<=", manager.counted(Default, w.id, "refused")-asked),
			"every look that resync asks for evaluates")
		w.website(ctx, "web", `{port: 80}`)
		w.settled(ctx, "web")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.SuccessCount).To(BeNumerically(">=", 1))
			g.Expect(s.FailureCount).To(BeEquivalentTo(1), "once per input, not once per resync")
		})
	})

	for _, reason := range []metav1.StatusReason{metav1.StatusReasonInvalid, metav1.StatusReasonForbidden} {
		It("that a policy refuses is asked for again once per resync: "+string(reason), func(ctx context.Context) {
			w := newWorld(ctx)
			policy, binding := denying(w, reason)
			Expect(kube.Create(ctx, policy)).To(Succeed())
			Expect(kube.Create(ctx, binding)).To(Succeed())
			DeferCleanup(func(ctx context.Context) {
				Expect(client.IgnoreNotFound(kube.Delete(ctx, binding))).To(Succeed())
				Expect(client.IgnoreNotFound(kube.Delete(ctx, policy))).To(Succeed())
			})
			Eventually(func() error {
				return kube.Create(ctx, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}, Data: map[string]string{"value": "forbidden"},
				}, client.DryRunAll)
			}).WithContext(ctx).Should(HaveOccurred(), "the policy is in force")

			w.running(ctx, w.box(ctx, `{resync: 1s, onReconcile: {configmaps: [{data: {value: "{{ .spec.mode }}"}}]}}`))
			w.website(ctx, "web", `{mode: forbidden}`)
			w.fails(ctx, "web", v1alpha1.ReasonAdmissionDenied, "denied request: this value can")
			more(ctx, w.id, "refused", 2)
			Expect(kube.Delete(ctx, binding)).To(Succeed())
			w.settled(ctx, "web")
		})
	}

	It("about a quota is retried until there is room", func(ctx context.Context) {
		w := newWorld(ctx)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"services": resource.MustParse("0")}},
		}
		Expect(kube.Create(ctx, quota)).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, quota, "none")
			g.Expect(quota.Status.Hard).NotTo(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
		w.running(ctx, w.box(ctx, `{resync: 1s, onReconcile: {services: [{port: 80, selector: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.fails(ctx, "web", "", `exceeded quota: none, requested: services=1, limited: services=0`)
		more(ctx, w.id, "transient", 3)
		Expect(kube.Delete(ctx, quota)).To(Succeed())
		w.settled(ctx, "web")
	})

	It("about a namespace that is being deleted is retried until it is back", func(ctx context.Context) {
		w := newWorld(ctx)
		namespace := w.namespace + "-other"
		create := func() {
			GinkgoHelper()
			Eventually(func() error {
				return kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			}).WithContext(ctx).Should(Succeed())
		}
		create()
		holder := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "holder", Finalizers: []string{"e2e.test/hold"}}}
		Expect(kube.Create(ctx, holder)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))).To(Succeed())
		})
		Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		w.running(ctx, w.box(ctx, `{resync: 1s, onReconcile: {services: [{namespace: `+namespace+`, port: 80, selector: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.fails(ctx, "web", "", `unable to create new content in namespace `+namespace+` because it is being terminated`)
		more(ctx, w.id, "transient", 3)
		Expect(kube.Patch(ctx, holder, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		create()
		w.settled(ctx, "web")
	})

	It("about a kind that is not installed is retried until it is", func(ctx context.Context) {
		// Worlds go in the reverse order: while the box is there, it makes anew what the other world removes.
		other, w := newWorldWithoutCRD(ctx), newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 1s, onReconcile: {resources: [{manifest: {apiVersion: `+other.group+`/v1, kind: Website, spec: {image: x}}}]}}`))
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionTrue, v1alpha1.ReasonCompiled,
			other.group+"/v1 has no kind Website on this API server yet: its children are made when it is installed")
		w.website(ctx, "web", `{}`)
		w.fails(ctx, "web", "", `no matches for kind "Website" in version "`+other.group+`/v1"`)
		more(ctx, w.id, "transient", 3)
		Expect(kube.Create(ctx, other.crd())).To(Succeed())
		w.settled(ctx, "web")

		By("watching it from then on")
		child := other.ref("web")
		child.SetNamespace(w.namespace)
		Expect(kube.Patch(ctx, child, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"image":"y"}}`)))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
			g.Expect(child.Object["spec"]).To(HaveKeyWithValue("image", "x"))
		}).WithContext(ctx).Should(Succeed())
	})
})

// denying is a policy that forbids a value of ConfigMaps in a world's namespace.
func denying(w *world, reason metav1.StatusReason) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	rule := admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}
	operations := []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.id + "-" + strings.ToLower(string(reason))},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: operations, Rule: rule,
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: `!has(object.data) || !('value' in object.data) || object.data['value'] != 'forbidden'`,
				Message:    "this value cannot be used", Reason: &reason,
			}},
		},
	}
	return policy, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

var _ = Describe("The rights of the manager", func() {
	const account = "system:serviceaccount:orkestra-system:orkestra"

	grant := func(ctx context.Context, name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		GinkgoHelper()
		role := &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"orkestra.orkspace.io/aggregate-to-manager": "true"}},
			Rules:      rules,
		}
		Expect(kube.Create(ctx, role)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, role))).To(Succeed()) })
		return role
	}

	It("are those of its roles; a box says what is missing, and goes on when that is granted", func(ctx context.Context) {
		w := newWorld(ctx)
		_, err := cluster.Kubectl(ctx, "apply", "-f", "../../config/default/namespace.yaml")
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.Kubectl(ctx, "apply", "-k", "../../config/rbac")
		Expect(err).NotTo(HaveOccurred())
		impersonate := func(s *settings) { s.config.Impersonate.UserName = account }
		replaceManager(impersonate)
		slices := rbacv1.PolicyRule{
			APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"},
			Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
		}

		By("naming every right that the box lacks, before anything is watched")
		w.box(ctx, `{resync: 1s, onReconcile: {configmaps: [{data: {a: b}}], resources: [{manifest: {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [192.0.2.1], hostname: "{{ .spec.mode }}"}]}}]}}`)
		missing := fmt.Sprintf("the manager may not create/delete/get/list/patch/watch endpointslices.discovery.k8s.io, get/list/patch/watch websites.%[1]s, "+
			"update websites.%[1]s/finalizers, patch websites.%[1]s/status", w.group)
		advice := `; name an account for the box in spec.serviceAccountRef: show what grants it with "kubectl get operatorbox ` + w.id +
			` -o yaml | orkestra rbac -f - --cluster --account NAMESPACE/NAME", read that, and apply it; or, for all boxes without one, grant it with a ClusterRole labeled orkestra.orkspace.io/aggregate-to-manager: "true"`
		boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonForbidden, missing+advice)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonForbidden, missing+advice)
		boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonForbidden, missing)
		inState(ctx, w.id, v1alpha1.HealthPending, v1alpha1.ReasonForbidden)
		Expect(manager.requests.reads(0, "/"+w.group+"/v1/websites")).To(BeEmpty())

		By("granting them")
		grant(ctx, w.id+"-resources",
			rbacv1.PolicyRule{APIGroups: []string{w.group}, Resources: []string{"websites"}, Verbs: []string{"get", "list", "watch", "patch"}},
			rbacv1.PolicyRule{APIGroups: []string{w.group}, Resources: []string{"websites/status"}, Verbs: []string{"patch"}},
			rbacv1.PolicyRule{APIGroups: []string{w.group}, Resources: []string{"websites/finalizers"}, Verbs: []string{"update"}})
		role := grant(ctx, w.id+"-slices", slices)
		w.running(ctx, w.id)
		boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionTrue, v1alpha1.ReasonGranted, "no right is missing")
		for _, name := range names(5) {
			w.website(ctx, name, `{mode: a}`)
			w.settled(ctx, name)
		}

		By("taking one away while the box runs")
		Expect(kube.Delete(ctx, role)).To(Succeed())
		Eventually(func(g Gomega) {
			out, err := cluster.Kubectl(ctx, "auth", "can-i", "patch", "endpointslices", "-n", w.namespace, "--as", account)
			g.Expect(err).To(HaveOccurred(), out)
		}).WithContext(ctx).Should(Succeed())
		reviews := func(mark int) int { return len(manager.requests.since(mark, "/selfsubjectaccessreviews")) }
		mark := manager.requests.mark()
		for _, name := range names(5) {
			w.website(ctx, name, `{mode: b}`)
			w.fails(ctx, name, v1alpha1.ReasonForbidden, `cannot patch resource "endpointslices" in API group "discovery.k8s.io" in the namespace "`+w.namespace+`"`)
		}
		// A cycle is counted after it has written the status.
		Eventually(func(g Gomega) { g.Expect(manager.counted(g, w.id, "permission")).To(BeNumerically(">=", 5)) }).WithContext(ctx).Should(Succeed())
		before := manager.counted(Default, w.id, "permission")
		more(ctx, w.id, "skipped", 10)
		Expect(manager.counted(Default, w.id, "permission")).To(Equal(before), "no evaluation while the right is missing")
		Expect(reviews(mark)).To(BeNumerically("<=", 50), "reviews are not made for each look")
		boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonForbidden, "endpointslices.discovery.k8s.io")

		By("giving it back")
		again := grant(ctx, w.id+"-again", slices)
		for _, name := range names(5) {
			w.settled(ctx, name)
		}

		By("starting again without it: what there is of the children is not known, so that a deletion has to wait, and says so")
		Expect(kube.Delete(ctx, again)).To(Succeed())
		Eventually(func(g Gomega) {
			_, err := cluster.Kubectl(ctx, "auth", "can-i", "list", "endpointslices", "--as", account)
			g.Expect(err).To(HaveOccurred())
		}).WithContext(ctx).Should(Succeed())
		manager.stop()
		manager = startManager(cluster.Config(), impersonate)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonForbidden, "endpointslices.discovery.k8s.io")
		gone := names(5)[0]
		Expect(kube.Delete(ctx, w.ref(gone))).To(Succeed())
		w.shows(ctx, gone, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonForbidden, `cannot list resource "endpointslices"`)
		grant(ctx, w.id+"-last", slices)
		w.vanished(ctx, gone)
		w.running(ctx, w.id)
	})
})
