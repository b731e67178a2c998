package manifests_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestTheRightsOfThePage: it asks who somebody is and what they may do, and lists events for them, which no cache has.
func TestTheRightsOfThePage(t *testing.T) {
	g := NewWithT(t)
	for _, object := range helm(t, "web.enabled=true").ofKind("ClusterRole") {
		if object.GetName() != "orkestra-web-auth" {
			continue
		}
		rules, _, err := unstructured.NestedSlice(object.Object, "rules")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rules).To(ConsistOf(
			map[string]any{"apiGroups": []any{"authentication.k8s.io"}, "resources": []any{"tokenreviews"}, "verbs": []any{"create"}},
			map[string]any{"apiGroups": []any{"authorization.k8s.io"}, "resources": []any{"subjectaccessreviews"}, "verbs": []any{"create"}},
			map[string]any{"apiGroups": []any{""}, "resources": []any{"events"}, "verbs": []any{"list"}},
		))
		return
	}
	t.Fatalf("there is no %T of the page", rbacv1.ClusterRole{})
}

// TestTheValuesOfTheGuides: the chart takes what the guides to the page show.
func TestTheValuesOfTheGuides(t *testing.T) {
	g := NewWithT(t)
	var shown [][]string
	for _, name := range []string{"control-center", "sign-in", "sign-in-dex", "sign-in-keycloak", "sign-in-entra-id"} {
		guide, err := os.ReadFile("../../docs/how-to/" + name + ".md")
		g.Expect(err).NotTo(HaveOccurred())
		values := regexp.MustCompile("(?s)```yaml\n(web:\n.*?)```").FindAllStringSubmatch(string(guide), -1)
		g.Expect(values).NotTo(BeEmpty(), name)
		shown = append(shown, values...)
	}
	for _, one := range shown {
		values, err := yaml.YAMLToJSON([]byte(one[1]))
		g.Expect(err).NotTo(HaveOccurred())
		var said struct {
			Web json.RawMessage `json:"web"`
		}
		g.Expect(json.Unmarshal(values, &said)).To(Succeed())
		_, served := flag(t, helm(t, "web="+string(said.Web)), "web-bind-address")
		g.Expect(served).To(BeTrue(), one[1])
	}
}

// TestThePageIsOnAndLetsNobodyInByItself: the chart serves it, and says of nobody that they may see it without saying who they are.
func TestThePageIsOnAndLetsNobodyInByItself(t *testing.T) {
	g := NewWithT(t)
	rendered := helm(t)
	address, served := flag(t, rendered, "web-bind-address")
	g.Expect(served).To(BeTrue())
	g.Expect(address).To(Equal(":9443"))
	for _, lets := range []string{"web-anonymous-user", "web-proxy-ca-file", "web-oidc-issuer-url"} {
		_, has := flag(t, rendered, lets)
		g.Expect(has).To(BeFalse(), lets)
	}
	_, served = flag(t, helm(t, "web.enabled=false"), "web-bind-address")
	g.Expect(served).To(BeFalse())
}

// TestWhoReachesThePage: the port of the page is open to its own peers, and the Service leads to it.
func TestWhoReachesThePage(t *testing.T) {
	g := NewWithT(t)
	rendered := helm(t, "web.enabled=true", "networkPolicy.enabled=true", `networkPolicy.webFrom=[{"namespaceSelector": {"matchLabels": {"a": "b"}}}]`)
	policy := only[networkingv1.NetworkPolicy](t, rendered, "NetworkPolicy")
	g.Expect(policy.Spec.Ingress).To(HaveLen(3), "helm test has a rule of its own")
	g.Expect(policy.Spec.Ingress[0].Ports[0].Port.String()).To(Equal("metrics"))
	g.Expect(policy.Spec.Ingress[0].From).To(BeEmpty())
	g.Expect(policy.Spec.Ingress[1].Ports[0].Port.String()).To(Equal("web"))
	g.Expect(policy.Spec.Ingress[1].From).To(HaveExactElements(HaveField("NamespaceSelector.MatchLabels", HaveKeyWithValue("a", "b")),
		HaveField("PodSelector.MatchLabels", HaveKeyWithValue("app.kubernetes.io/component", "manager"))), "and other replicas")
	container := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec.Containers[0]
	g.Expect(container.Ports).To(ContainElement(And(HaveField("Name", "web"), HaveField("ContainerPort", BeEquivalentTo(9443)))))
	alone := only[networkingv1.NetworkPolicy](t, helm(t, "metrics.enabled=false", "web.enabled=true", "networkPolicy.enabled=true"), "NetworkPolicy")
	g.Expect(alone.Spec.Ingress).To(HaveLen(2))

	mounted := only[appsv1.Deployment](t, helm(t, `web={"enabled": true, "certSecret": "cert"}`), "Deployment").Spec.Template.Spec
	g.Expect(mounted.Volumes).To(ContainElement(HaveField("Secret.SecretName", "cert")))
	g.Expect(mounted.Containers[0].VolumeMounts).To(ContainElement(HaveField("MountPath", "/etc/orkestra/web")))

	proxied := only[appsv1.Deployment](t, helm(t, `web={"enabled": true, "proxy": {"caSecret": "ca"}}`), "Deployment").Spec.Template.Spec
	g.Expect(proxied.Volumes).To(ContainElement(And(HaveField("Secret.SecretName", "ca"), HaveField("Secret.Items", HaveExactElements(HaveField("Key", "ca.crt"))))))
	g.Expect(proxied.Containers[0].VolumeMounts).To(ContainElement(HaveField("MountPath", "/etc/orkestra/web-proxy")))

	signs := `web={"enabled": true, "hosts": ["a"], "oidc": {"issuer": "https://a", "clientID": "c", "secret": "s", "caSecret": "ca", "publicClient": %t}}`
	with := only[appsv1.Deployment](t, helm(t, fmt.Sprintf(signs, false)), "Deployment").Spec.Template.Spec
	g.Expect(with.Volumes).To(ContainElements(
		And(HaveField("Secret.SecretName", "s"), HaveField("Secret.Items", HaveExactElements(HaveField("Key", "session-key"), HaveField("Key", "client-secret")))),
		And(HaveField("Secret.SecretName", "ca"), HaveField("Secret.Items", HaveExactElements(HaveField("Key", "ca.crt"))))))
	g.Expect(with.Containers[0].VolumeMounts).To(ContainElements(HaveField("MountPath", "/etc/orkestra/web-oidc"), HaveField("MountPath", "/etc/orkestra/web-oidc-ca")))
	public := helm(t, fmt.Sprintf(signs, true))
	g.Expect(only[appsv1.Deployment](t, public, "Deployment").Spec.Template.Spec.Volumes).To(ContainElement(And(HaveField("Secret.SecretName", "s"), HaveField("Secret.Items", HaveExactElements(HaveField("Key", "session-key"))))))
	_, has := flag(t, public, "web-oidc-client-secret-file")
	g.Expect(has).To(BeFalse())
}
