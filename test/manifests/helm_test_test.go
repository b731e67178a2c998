package manifests_test

import (
	"net/url"
	"slices"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/cmd/orkestra/probe"
)

// helmTest gives what helm test makes.
func helmTest(t *testing.T, values ...string) objects {
	t.Helper()
	out, err := helmTemplate(t, values...)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(decode(t, out), func(o *unstructured.Unstructured) bool { return o.GetAnnotations()[hookAnnotation] != "test" })
}

// TestHelmTest: a Pod that is as restricted as the manager asks the manager whether it is ready, and the NetworkPolicy lets it.
func TestHelmTest(t *testing.T) {
	g := NewWithT(t)
	values := append(slices.Clone(everything), "healthProbe.port=9001", `priorityClassName="high"`)
	made, rendered := helmTest(t, values...), helm(t, values...)
	g.Expect(made.names()).To(Equal([]string{"Pod/orkestra-test", "Service/orkestra-test"}))
	for _, object := range made {
		g.Expect(object.GetAnnotations()).To(HaveKeyWithValue("helm.sh/hook-delete-policy", "before-hook-creation,hook-succeeded"))
		g.Expect(object.GetNamespace()).To(Equal(namespace))
		for _, label := range standardLabels {
			g.Expect(object.GetLabels()).To(HaveKey(label), object.GetKind())
		}
	}
	deployment := only[appsv1.Deployment](t, rendered, "Deployment")
	manager := deployment.Spec.Template
	service, pod := only[corev1.Service](t, made, "Service"), only[corev1.Pod](t, made, "Pod")
	g.Expect(service.Spec.Selector).To(Equal(deployment.Spec.Selector.MatchLabels))
	g.Expect(pod.Spec.SecurityContext).To(Equal(manager.Spec.SecurityContext))
	g.Expect(pod.Spec.PriorityClassName).To(Equal("high"))
	g.Expect(pod.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	container := pod.Spec.Containers[0]
	g.Expect(container.Image).To(Equal(manager.Spec.Containers[0].Image))
	g.Expect(container.SecurityContext).To(Equal(manager.Spec.Containers[0].SecurityContext))
	g.Expect(container.Command).To(BeEmpty(), "there is no shell")

	// What it asks is served: the URL leads to the Service, whose port leads to that of the probes.
	g.Expect(container.Args[0]).To(Equal(probe.NewCommand().Name()))
	asked, err := url.Parse(container.Args[1])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked.Hostname()).To(Equal(service.Name + "." + namespace + ".svc"))
	g.Expect(asked.Port()).To(Equal(strconv.Itoa(int(service.Spec.Ports[0].Port))))
	g.Expect(asked.Path).To(Equal(manager.Spec.Containers[0].ReadinessProbe.HTTPGet.Path))
	g.Expect(service.Spec.Ports[0].TargetPort.StrVal).To(Equal("probes"))
	g.Expect(probe.NewCommand().ParseFlags(container.Args[2:])).To(Succeed())

	// Nothing else selects the Pod, and the NetworkPolicy lets it in.
	policy := only[networkingv1.NetworkPolicy](t, rendered, "NetworkPolicy")
	g.Expect(matches(t, *deployment.Spec.Selector, pod.Labels)).To(BeFalse())
	g.Expect(policy.Spec.Ingress).To(ContainElement(And(
		HaveField("Ports", ConsistOf(HaveField("Port.StrVal", "probes"))),
		HaveField("From", ConsistOf(WithTransform(func(peer networkingv1.NetworkPolicyPeer) bool { return matches(t, *peer.PodSelector, pod.Labels) }, BeTrue()))),
	)))
	g.Expect(helmTest(t, "replicaCount=0")).To(BeEmpty())
}
