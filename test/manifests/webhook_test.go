package manifests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	webhookName = "orkestra-webhook"
	webhookOn   = "trust.webhook.enabled=true"
	certManager = `trust.webhook.certificate="cert-manager"`
)

// webhook gives the objects of the webhook alone.
func webhook(t *testing.T, values ...string) objects {
	t.Helper()
	var found objects
	for _, o := range helm(t, append(values, webhookOn)...) {
		if o.GetLabels()["app.kubernetes.io/component"] == "webhook" {
			found = append(found, o)
		}
	}
	return found
}

func TestTheWebhookIsOffByDefault(t *testing.T) {
	g := NewWithT(t)
	for name, rendered := range ways(t) {
		for _, o := range rendered {
			g.Expect(o.GetName()).NotTo(ContainSubstring("webhook"), name)
			g.Expect(o.GetKind()).NotTo(Equal("ValidatingWebhookConfiguration"), name)
		}
	}
	off, on := helm(t), helm(t, webhookOn)
	g.Expect(len(on)-len(off)).To(Equal(len(webhook(t))), "every object of it has its label")
}

// TestTheRightsOfTheWebhook: it reads boxes and CRDs; with its own certificates it also writes one Secret and one configuration, by name.
func TestTheRightsOfTheWebhook(t *testing.T) {
	reads := []rbacv1.PolicyRule{
		{APIGroups: []string{"orkestra.orkspace.io"}, Resources: []string{"operatorboxes"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "list"}},
	}
	keeps := []string{"get", "list", "watch", "update"}
	own := []rbacv1.PolicyRule{
		{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"}, ResourceNames: []string{webhookName}, Verbs: keeps},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{webhookName + "-certificate"}, Verbs: keeps},
	}
	reviews := []rbacv1.PolicyRule{
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
	}
	for name, tc := range map[string]struct {
		values []string
		want   []rbacv1.PolicyRule
	}{
		"self-signed":          {nil, slices.Concat(reads, own, reviews)},
		"cert-manager":         {[]string{certManager}, slices.Concat(reads, reviews)},
		"without metrics":      {[]string{certManager, "metrics.enabled=false"}, reads},
		"with the trial scope": {[]string{`rbac.scope="cluster"`}, slices.Concat(reads, own, reviews)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rendered := webhook(t, tc.values...)
			var rules []rbacv1.PolicyRule
			for _, o := range rendered.ofKind("ClusterRole", "Role") {
				rules = append(rules, typed[rbacv1.ClusterRole](t, o).Rules...)
			}
			g.Expect(rules).To(ConsistOf(tc.want))
			for _, o := range rendered.ofKind("ClusterRoleBinding", "RoleBinding") {
				g.Expect(typed[rbacv1.RoleBinding](t, o).Subjects).To(ConsistOf(rbacv1.Subject{Kind: "ServiceAccount", Name: webhookName, Namespace: namespace}))
			}
			// Nothing else of the release is bound to the account.
			for _, o := range helm(t, append(tc.values, webhookOn)...).ofKind("ClusterRoleBinding", "RoleBinding") {
				for _, s := range typed[rbacv1.RoleBinding](t, o).Subjects {
					if o.GetLabels()["app.kubernetes.io/component"] == "webhook" {
						g.Expect(s.Name).To(Equal(webhookName), o.GetName())
					} else {
						g.Expect(s.Name).NotTo(Equal(webhookName), o.GetName())
					}
				}
			}
		})
	}
}

func TestTheCertificateOfTheWebhook(t *testing.T) {
	t.Run("self-signed", func(t *testing.T) {
		g := NewWithT(t)
		rendered := webhook(t)
		secret := only[corev1.Secret](t, rendered, "Secret")
		g.Expect(secret.Data).To(BeEmpty(), "an upgrade must not take away what the process has written")
		g.Expect(secret.StringData).To(BeEmpty())
		args := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec.Containers[0].Args
		g.Expect(args).To(ContainElements("webhook", "--certificate-secret="+secret.Name, "--webhook-configuration="+webhookName, "--certificate-names="+webhookName+"."+namespace+".svc"))
		config := only[admissionregistrationv1.ValidatingWebhookConfiguration](t, rendered, "ValidatingWebhookConfiguration")
		g.Expect(config.Annotations).NotTo(HaveKey("cert-manager.io/inject-ca-from"))
		g.Expect(config.Webhooks[0].ClientConfig.CABundle).To(BeEmpty())
		g.Expect(rendered.ofKind("Certificate", "Issuer")).To(BeEmpty())
	})
	t.Run("cert-manager", func(t *testing.T) {
		g := NewWithT(t)
		rendered := webhook(t, certManager)
		g.Expect(rendered.ofKind("Secret", "Role")).To(BeEmpty())
		g.Expect(rendered.ofKind("Issuer")).To(HaveLen(1))
		spec := rendered.ofKind("Certificate")[0].Object["spec"]
		g.Expect(spec).To(And(HaveKeyWithValue("secretName", webhookName+"-certificate"), HaveKeyWithValue("dnsNames", ConsistOf(webhookName+"."+namespace+".svc"))))
		pod := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec
		g.Expect(pod.Volumes[0].Secret.SecretName).To(Equal(webhookName + "-certificate"))
		g.Expect(pod.Containers[0].Args).To(ContainElement("--cert-dir=" + pod.Containers[0].VolumeMounts[0].MountPath))
		config := only[admissionregistrationv1.ValidatingWebhookConfiguration](t, rendered, "ValidatingWebhookConfiguration")
		g.Expect(config.Annotations).To(HaveKeyWithValue("cert-manager.io/inject-ca-from", namespace+"/"+webhookName))
		g.Expect(webhook(t, certManager, `trust.webhook.issuerRef={"name": "company", "kind": "ClusterIssuer"}`).ofKind("Issuer")).To(BeEmpty())
	})
}

func TestWhatTheWebhookIsAskedFor(t *testing.T) {
	g := NewWithT(t)
	rendered := webhook(t, "networkPolicy.enabled=true")
	config := only[admissionregistrationv1.ValidatingWebhookConfiguration](t, rendered, "ValidatingWebhookConfiguration")
	hook := config.Webhooks[0]
	g.Expect(hook.FailurePolicy).To(HaveValue(Equal(admissionregistrationv1.Ignore)))
	g.Expect(hook.SideEffects).To(HaveValue(Equal(admissionregistrationv1.SideEffectClassNone)))
	g.Expect(hook.Rules).To(HaveLen(1))
	g.Expect(hook.Rules[0].Resources).To(Equal([]string{"operatorboxes"}), "no subresource: the manager writes the status")
	g.Expect(hook.MatchConditions).To(HaveLen(1))
	failing := only[admissionregistrationv1.ValidatingWebhookConfiguration](t, webhook(t, `trust.webhook.failurePolicy="Fail"`), "ValidatingWebhookConfiguration")
	g.Expect(failing.Webhooks[0].FailurePolicy).To(HaveValue(Equal(admissionregistrationv1.Fail)))

	deployment := only[appsv1.Deployment](t, rendered, "Deployment")
	service := only[corev1.Service](t, rendered, "Service")
	g.Expect(hook.ClientConfig.Service.Name).To(Equal(service.Name))
	labels := deployment.Spec.Template.Labels
	for key, value := range service.Spec.Selector {
		g.Expect(labels).To(HaveKeyWithValue(key, value))
	}
	g.Expect(matches(t, *deployment.Spec.Selector, labels)).To(BeTrue())
	g.Expect(matches(t, *only[policyv1.PodDisruptionBudget](t, rendered, "PodDisruptionBudget").Spec.Selector, labels)).To(BeTrue())
	g.Expect(matches(t, only[networkingv1.NetworkPolicy](t, rendered, "NetworkPolicy").Spec.PodSelector, labels)).To(BeTrue())
	for _, o := range helm(t).ofKind("Deployment") {
		g.Expect(matches(t, *typed[appsv1.Deployment](t, o).Spec.Selector, labels)).To(BeFalse(), "the manager's selector is another")
	}
	context := deployment.Spec.Template.Spec.Containers[0].SecurityContext
	g.Expect(context.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
	g.Expect(context.AllowPrivilegeEscalation).To(HaveValue(BeFalse()))
}

// TestTheWebhookJudgesAsTheManager: what decides whether a box compiles is the same for both.
func TestTheWebhookJudgesAsTheManager(t *testing.T) {
	g := NewWithT(t)
	rendered := helm(t, webhookOn, `external.only=["a.example.com"]`, `trust.egress.only={"boxes": {"a": ["b.example.com"]}, "accounts": {}}`, `extraArgs=["--allow-granting-kinds", "--context=other"]`)
	var decides [][]string
	for _, o := range rendered.ofKind("Deployment") {
		args := typed[appsv1.Deployment](t, o).Spec.Template.Spec.Containers[0].Args
		decides = append(decides, slices.DeleteFunc(args, func(arg string) bool {
			return !strings.HasPrefix(arg, "--external-only") && !strings.HasPrefix(arg, "--egress-rules") && !strings.HasPrefix(arg, "--allow-granting-kinds")
		}))
	}
	g.Expect(decides).To(HaveLen(2))
	g.Expect(decides[0]).To(HaveLen(3))
	g.Expect(decides[0]).To(ConsistOf(decides[1]))
}

// TestReplicasAreSpread: over nodes and zones where there are some, and each Deployment counts its own Pods alone.
func TestReplicasAreSpread(t *testing.T) {
	strict := `topologySpreadConstraints=[{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"a": "b"}}}]`
	for name, rendered := range map[string]objects{"chart": helm(t, webhookOn), "kustomize": kustomize(t, "default")} {
		for _, o := range rendered.ofKind("Deployment") {
			t.Run(name+"/"+o.GetName(), func(t *testing.T) {
				g := NewWithT(t)
				template := typed[appsv1.Deployment](t, o).Spec.Template
				var over []string
				for _, constraint := range template.Spec.TopologySpreadConstraints {
					over = append(over, constraint.TopologyKey)
					g.Expect(constraint.WhenUnsatisfiable).To(Equal(corev1.ScheduleAnyway))
					g.Expect(constraint.LabelSelector).NotTo(BeNil(), "it would count no Pod")
					g.Expect(matches(t, *constraint.LabelSelector, template.Labels)).To(BeTrue())
					for _, other := range rendered.ofKind("Deployment") {
						if other.GetName() != o.GetName() {
							g.Expect(matches(t, *constraint.LabelSelector, typed[appsv1.Deployment](t, other).Spec.Template.Labels)).To(BeFalse())
						}
					}
				}
				g.Expect(over).To(Equal([]string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}))
			})
		}
	}
	g := NewWithT(t)
	for _, o := range helm(t, webhookOn, strict).ofKind("Deployment") {
		g.Expect(typed[appsv1.Deployment](t, o).Spec.Template.Spec.TopologySpreadConstraints).To(ConsistOf(corev1.TopologySpreadConstraint{
			MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		}), "what is said stays")
	}
	for _, o := range helm(t, webhookOn, "topologySpreadConstraints=[]").ofKind("Deployment") {
		g.Expect(typed[appsv1.Deployment](t, o).Spec.Template.Spec.TopologySpreadConstraints).To(BeEmpty())
	}
}

// TestTheMonitorOfTheWebhook: Prometheus scrapes it by its Service, and verifies the certificate that it serves with the authority in its Secret.
func TestTheMonitorOfTheWebhook(t *testing.T) {
	monitored := []string{"metrics.serviceMonitor.enabled=true", `metrics.certSecret="metrics-cert"`}
	for name, own := range map[string][]string{"self-signed": nil, "cert-manager": {certManager}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rendered := webhook(t, slices.Concat(monitored, own)...)
			monitors := rendered.ofKind("ServiceMonitor")
			g.Expect(monitors).To(HaveLen(1))
			spec := monitors[0].Object["spec"].(map[string]any)
			selector, _, err := unstructured.NestedStringMap(spec, "selector", "matchLabels")
			g.Expect(err).NotTo(HaveOccurred())
			for _, service := range helm(t, webhookOn).ofKind("Service") {
				g.Expect(matches(t, metav1.LabelSelector{MatchLabels: selector}, service.GetLabels())).To(Equal(service.GetName() == webhookName), service.GetName())
			}
			g.Expect(spec["endpoints"]).To(ConsistOf(And(HaveKeyWithValue("port", "metrics"), HaveKeyWithValue("scheme", "https"),
				HaveKeyWithValue("tlsConfig", Equal(map[string]any{
					"serverName": webhookName + "." + namespace + ".svc",
					"ca":         map[string]any{"secret": map[string]any{"name": webhookName + "-certificate", "key": "ca.crt"}},
				})))))
			container := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec.Containers[0]
			if own != nil {
				g.Expect(container.Args).To(ContainElement("--metrics-cert-dir=" + container.VolumeMounts[0].MountPath))
			} else {
				g.Expect(container.Args).NotTo(ContainElement(HavePrefix("--metrics-cert-dir")), "it serves the certificate that it keeps")
			}
		})
	}
	g := NewWithT(t)
	g.Expect(webhook(t).ofKind("ServiceMonitor")).To(BeEmpty())
	plain := webhook(t, "metrics.serviceMonitor.enabled=true", "metrics.secure=false").ofKind("ServiceMonitor")
	g.Expect(plain).To(HaveLen(1))
	g.Expect(plain[0].Object["spec"].(map[string]any)["endpoints"]).To(ConsistOf(Not(HaveKey("tlsConfig"))))
}

// TestTheServiceLeadsToTheWebhook: the port of the configuration, by the Service, to that where the process listens.
func TestTheServiceLeadsToTheWebhook(t *testing.T) {
	g := NewWithT(t)
	rendered := webhook(t)
	asked := only[admissionregistrationv1.ValidatingWebhookConfiguration](t, rendered, "ValidatingWebhookConfiguration").Webhooks[0].ClientConfig.Service
	g.Expect(asked.Path).To(HaveValue(Equal("/compile")))
	container := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec.Containers[0]
	var listens []string
	for _, port := range only[corev1.Service](t, rendered, "Service").Spec.Ports {
		for _, of := range container.Ports {
			if port.Port == *asked.Port && port.TargetPort.StrVal == of.Name {
				listens = append(listens, fmt.Sprintf("--bind-address=:%d", of.ContainerPort))
			}
		}
	}
	g.Expect(listens).To(HaveLen(1))
	g.Expect(container.Args).To(ContainElement(listens[0]))
}
