package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// denyingWebhook refuses every ConfigMap of the world that has a value, and quotes the value in the given words.
func (w *world) denyingWebhook(ctx context.Context, words func(value string) *metav1.Status) {
	GinkgoHelper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		var configMap corev1.ConfigMap
		if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, &configMap) != nil {
			http.Error(rw, "no review of a ConfigMap", http.StatusBadRequest)
			return
		}
		value := configMap.Data["value"]
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: value == "", Result: words(value)}
		rw.Header().Set("Content-Type", "application/json")
		if json.NewEncoder(rw).Encode(review) != nil {
			return // the API server has hung up
		}
	}))
	DeferCleanup(server.Close)
	effects, scope := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.NamespacedScope
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.id},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "deny.example.com", SideEffects: &effects, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}, Scope: &scope},
			}},
		}},
	}
	Expect(kube.Create(ctx, hook)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, hook))).To(Succeed()) })
	Eventually(func() error {
		return kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}, Data: map[string]string{"value": "x"}}, client.DryRunAll)
	}).WithContext(ctx).Should(MatchError(ContainSubstring("deny.example.com")), "the webhook is in force")
}

// quotingPolicy makes a policy that refuses Secrets with a message that quotes what they hold.
func (w *world) quotingPolicy(ctx context.Context) {
	GinkgoHelper()
	fail := admissionregistrationv1.Fail
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.id},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "!has(object.data)", MessageExpression: "'exceeded quota: ' + string(object.data.word)"}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.id},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: w.id, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, obj := range []client.Object{policy, binding} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, obj))).To(Succeed()) })
	}
	Eventually(func() error {
		return kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}, Data: map[string][]byte{"word": []byte("x")}}, client.DryRunAll)
	}).WithContext(ctx).Should(MatchError(ContainSubstring("exceeded quota: ")), "the policy is in force")
}

var _ = Describe("The words of an admission webhook", func() {
	const secret = "hunter2"
	It("are not shown of a Secret that a box makes; the policy is named", func(ctx context.Context) {
		w := newWorld(ctx)
		w.quotingPolicy(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {secrets: [{data: {word: "`+secret+`"}}]}}`))
		w.website(ctx, "web", `{}`)
		w.fails(ctx, "web", v1alpha1.ReasonAdmissionDenied, `the ValidatingAdmissionPolicy "`+w.id+`" refuses it; its words are not shown`)
		shown, err := json.Marshal(w.get(ctx, Default, "web").Object["status"])
		Expect(err).NotTo(HaveOccurred())
		Expect(string(shown)).NotTo(Or(ContainSubstring(secret), ContainSubstring(base64.StdEncoding.EncodeToString([]byte(secret)))))
	})

	DescribeTable("never show what a Secret holds, however they sound", func(ctx context.Context, words func(value string) *metav1.Status, reason string) {
		w := newWorld(ctx)
		w.denyingWebhook(ctx, words)
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "theirs"}, StringData: map[string]string{"word": secret}})).To(Succeed())
		w.running(ctx, w.box(ctx, `{cross: [{name: s, apiVersion: v1, kind: Secret, selector: {name: theirs}}],
			onReconcile: {configmaps: [{data: {value: "{{ b64dec .cross.s.data.word }}"}}]}}`))
		w.website(ctx, "web", `{}`)
		w.fails(ctx, "web", reason, "its words are not shown, because they may quote what is not the resource's own")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Failing).To(HaveLen(1)) })

		shown, err := json.Marshal(w.get(ctx, Default, "web").Object["status"])
		Expect(err).NotTo(HaveOccurred())
		Expect(string(shown)).NotTo(ContainSubstring(secret))
		shown, err = json.Marshal(getHealth(ctx, Default, w.id).Status)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(shown)).NotTo(ContainSubstring(secret))
		var events corev1.EventList
		Expect(kube.List(ctx, &events, client.InNamespace(w.namespace))).To(Succeed())
		Expect(events.Items).NotTo(ContainElement(HaveField("Message", ContainSubstring(secret))))
	},
		Entry("like those of the authorizer", func(value string) *metav1.Status {
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: `User "u" cannot create resource "` + value + `" in API group ""`}
		}, v1alpha1.ReasonAdmissionDenied),
		Entry("like those of a quota", func(value string) *metav1.Status {
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "exceeded quota: " + value}
		}, v1alpha1.ReasonAdmissionDenied),
		Entry("like those of the storage", func(value string) *metav1.Status {
			return &metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: value + " has been modified"}
		}, ""),
	)
})
