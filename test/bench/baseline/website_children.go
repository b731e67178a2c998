package baseline

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
)

const port = 8080

// selected are the labels by which Pods are found.
func selected(owner *unstructured.Unstructured) map[string]string {
	return map[string]string{"app.kubernetes.io/name": owner.GetName(), "app.kubernetes.io/instance": owner.GetName()}
}

// marks are the labels of a child.
func marks() map[string]string { return map[string]string{LabelManaged: "true"} }

func owned(owner *unstructured.Unstructured) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(owner.GetAPIVersion()).WithKind(owner.GetKind()).WithName(owner.GetName()).WithUID(owner.GetUID()).
		WithController(true).WithBlockOwnerDeletion(true)
}

func deploymentOf(owner *unstructured.Unstructured, site *website) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(selected(owner))).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(selected(owner)).WithSpec(podOf(site)))
	if site.Spec.Autoscaling == nil {
		spec = spec.WithReplicas(*site.Spec.Replicas) // else the autoscaler sets them
	}
	return appsv1ac.Deployment(owner.GetName(), owner.GetNamespace()).WithLabels(marks()).WithOwnerReferences(owned(owner)).WithSpec(spec)
}

func podOf(site *website) *corev1ac.PodSpecApplyConfiguration {
	container := corev1ac.Container().WithName("main").WithImage(site.Spec.Image).
		WithPorts(corev1ac.ContainerPort().WithContainerPort(port).WithProtocol(corev1.ProtocolTCP)).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")})).
		WithSecurityContext(corev1ac.SecurityContext().WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).WithRunAsNonRoot(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithReadinessProbe(corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/").WithPort(intstr.FromInt32(port)))).
		WithLivenessProbe(corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromInt32(port)))).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("tmp").WithMountPath("/tmp"))
	return corev1ac.PodSpec().
		WithSecurityContext(corev1ac.PodSecurityContext().WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(container).
		WithVolumes(corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
}

func serviceOf(owner *unstructured.Unstructured) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(owner.GetName(), owner.GetNamespace()).WithLabels(marks()).WithOwnerReferences(owned(owner)).
		WithSpec(corev1ac.ServiceSpec().WithSelector(selected(owner)).
			WithPorts(corev1ac.ServicePort().WithPort(80).WithProtocol(corev1.ProtocolTCP).WithTargetPort(intstr.FromInt32(port))))
}

func ingressOf(owner *unstructured.Unstructured, site *website) *networkingv1ac.IngressApplyConfiguration {
	backend := networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
		WithName(owner.GetName()).WithPort(networkingv1ac.ServiceBackendPort().WithNumber(80)))
	return networkingv1ac.Ingress(owner.GetName(), owner.GetNamespace()).WithLabels(marks()).WithOwnerReferences(owned(owner)).
		WithSpec(networkingv1ac.IngressSpec().WithRules(networkingv1ac.IngressRule().WithHost(site.Spec.Host).
			WithHTTP(networkingv1ac.HTTPIngressRuleValue().WithPaths(
				networkingv1ac.HTTPIngressPath().WithPath("/").WithPathType(networkingv1.PathTypePrefix).WithBackend(backend)))))
}

func budgetOf(owner *unstructured.Unstructured) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(owner.GetName(), owner.GetNamespace()).WithLabels(marks()).WithOwnerReferences(owned(owner)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().WithMaxUnavailable(intstr.FromInt32(1)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selected(owner))))
}

func autoscalerOf(owner *unstructured.Unstructured, site *website) *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration {
	target := autoscalingv2ac.MetricTarget().WithType(autoscalingv2.UtilizationMetricType).WithAverageUtilization(site.Spec.Autoscaling.CPU)
	return autoscalingv2ac.HorizontalPodAutoscaler(owner.GetName(), owner.GetNamespace()).WithLabels(marks()).WithOwnerReferences(owned(owner)).
		WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().
			WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().WithAPIVersion("apps/v1").WithKind("Deployment").WithName(owner.GetName())).
			WithMinReplicas(*site.Spec.Replicas).WithMaxReplicas(site.Spec.Autoscaling.MaxReplicas).
			WithMetrics(autoscalingv2ac.MetricSpec().WithType(autoscalingv2.ResourceMetricSourceType).
				WithResource(autoscalingv2ac.ResourceMetricSource().WithName(corev1.ResourceCPU).WithTarget(target))))
}
