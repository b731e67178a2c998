package manifests_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ways are the ways to install Orkestra.
func ways(t *testing.T) map[string]objects {
	t.Helper()
	return map[string]objects{
		"chart": helm(t), "chart with everything": helm(t, everything...), "kustomize": kustomize(t, "default"),
		"kustomize with prometheus": kustomize(t, "prometheus"),
	}
}

// TestRestricted checks what the pod security standard "restricted" demands, and a read-only root.
func TestRestricted(t *testing.T) {
	for name, rendered := range ways(t) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			pod := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec
			g.Expect(pod.HostNetwork || pod.HostPID || pod.HostIPC).To(BeFalse())
			for _, volume := range pod.Volumes {
				g.Expect(volume.Secret).NotTo(BeNil(), "nothing of the node is mounted")
			}
			g.Expect(pod.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()))
			g.Expect(pod.SecurityContext.RunAsUser).To(HaveValue(BeEquivalentTo(65532)))
			g.Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
			g.Expect(pod.InitContainers).To(BeEmpty())
			g.Expect(pod.Containers).To(HaveLen(1))
			context := pod.Containers[0].SecurityContext
			g.Expect(context.AllowPrivilegeEscalation).To(HaveValue(BeFalse()))
			g.Expect(context.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
			g.Expect(context.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")))
			g.Expect(context.Capabilities.Add).To(BeEmpty())
			g.Expect(context.Privileged).To(BeNil())
			for _, port := range pod.Containers[0].Ports {
				g.Expect(port.HostPort).To(BeZero())
			}
		})
	}
}

func TestNamespaceIsRestricted(t *testing.T) {
	space := only[corev1.Namespace](t, kustomize(t, "default"), "Namespace")
	NewWithT(t).Expect(space.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
}

func TestDeployment(t *testing.T) {
	for name, rendered := range ways(t) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := only[appsv1.Deployment](t, rendered, "Deployment")
			pod := deployment.Spec.Template.Spec
			container := pod.Containers[0]
			g.Expect(pod.ServiceAccountName).To(Equal(rendered.ofKind("ServiceAccount")[0].GetName()))
			g.Expect(container.Args[0]).To(Equal("manager"))
			g.Expect(container.Command).To(BeEmpty(), "the image's entry point is the binary")
			g.Expect(container.Env).To(ContainElement(corev1.EnvVar{
				Name:      "POD_NAMESPACE",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
			}))
			if strings.HasPrefix(name, "chart") { // kustomize serves no page
				g.Expect(container.Env).To(ContainElement(corev1.EnvVar{
					Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}},
				}), "where other replicas reach this one")
			}
			g.Expect(container.Resources.Requests).To(HaveKey(corev1.ResourceCPU))
			g.Expect(container.Resources.Limits).To(HaveKey(corev1.ResourceMemory))
			g.Expect(container.Env).To(ContainElement(corev1.EnvVar{
				Name: "GOMEMLIMIT", Value: strconv.FormatInt(container.Resources.Limits.Memory().Value()*9/10, 10),
			}))
			ports := map[string]int32{}
			for _, port := range container.Ports {
				ports[port.Name] = port.ContainerPort
			}
			delete(ports, "web") // of the chart alone
			g.Expect(ports).To(Equal(map[string]int32{"metrics": 8443, "probes": 8081}))
			g.Expect(container.LivenessProbe.HTTPGet.Path).To(Equal("/healthz"))
			g.Expect(container.ReadinessProbe.HTTPGet.Path).To(Equal("/readyz"))
			g.Expect(container.StartupProbe.HTTPGet).To(Equal(container.LivenessProbe.HTTPGet))
			g.Expect(container.StartupProbe.PeriodSeconds * container.StartupProbe.FailureThreshold).To(BeEquivalentTo(120))
			g.Expect(container.LivenessProbe.HTTPGet.Port.StrVal).To(Equal("probes"))
			g.Expect(container.ReadinessProbe.HTTPGet.Port.StrVal).To(Equal("probes"))
			service := service(t, rendered, "orkestra-metrics")
			g.Expect(service.Spec.Ports[0].TargetPort.StrVal).To(Equal("metrics"))
			g.Expect(matches(t, *deployment.Spec.Selector, deployment.Spec.Template.Labels)).To(BeTrue())
			for key, value := range service.Spec.Selector {
				g.Expect(deployment.Spec.Template.Labels).To(HaveKeyWithValue(key, value))
			}
		})
	}
}

// TestGracePeriod checks that reconciles which run can end before the kubelet kills the manager.
func TestGracePeriod(t *testing.T) {
	g := NewWithT(t)
	rendered := helm(t)
	value, ok := flag(t, rendered, "shutdown-timeout")
	g.Expect(ok).To(BeTrue())
	shutdown, err := time.ParseDuration(value)
	g.Expect(err).NotTo(HaveOccurred())
	grace := only[appsv1.Deployment](t, rendered, "Deployment").Spec.Template.Spec.TerminationGracePeriodSeconds
	g.Expect(time.Duration(*grace) * time.Second).To(BeNumerically(">", shutdown))
	kustomized := only[appsv1.Deployment](t, kustomize(t, "default"), "Deployment").Spec.Template.Spec.TerminationGracePeriodSeconds
	g.Expect(kustomized).To(HaveValue(Equal(*grace)))
}

func TestCRDs(t *testing.T) {
	g := NewWithT(t)
	const kind = "CustomResourceDefinition"
	fromChart, fromKustomize := helm(t).ofKind(kind), kustomize(t, "default").ofKind(kind)
	g.Expect(fromChart.names()).To(HaveLen(2))
	g.Expect(fromChart.names()).To(Equal(fromKustomize.names()))
	for _, object := range fromChart {
		got := typed[apiextensionsv1.CustomResourceDefinition](t, object)
		g.Expect(got.Annotations).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"), got.Name)
		for _, other := range fromKustomize {
			if other.GetName() == got.Name {
				g.Expect(got.Spec).To(Equal(typed[apiextensionsv1.CustomResourceDefinition](t, other).Spec), got.Name)
			}
		}
	}
	g.Expect(helm(t, "crds.install=false").ofKind(kind)).To(BeEmpty())
}
