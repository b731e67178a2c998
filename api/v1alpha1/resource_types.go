package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The types in this file hold the short fields of each kind, after their templates are rendered. They are decoded
// strictly: an unknown field is an error. They are no part of the CRD's schema (design: api.md, "Resource groups").

// PodFields are the short fields that every kind with a pod template has.
//
// +kubebuilder:object:generate=false
type PodFields struct {
	// Image of the main container.
	Image string `json:"image,omitempty"`
	// Command of the main container.
	Command []string `json:"command,omitempty"`
	// Args of the main container.
	Args []string `json:"args,omitempty"`
	// Port is the one port of the main container.
	Port *int32 `json:"port,omitempty"`
	// Ports of the main container.
	Ports []corev1.ContainerPort `json:"ports,omitempty"`
	// Env of the main container.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom of the main container.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Resources of the main container: requests and limits.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Probes of the main container.
	Probes *Probes `json:"probes,omitempty"`
	// Volumes of the pod.
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// VolumeMounts of the main container.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// ServiceAccountName of the pod.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// ImagePullSecrets of the pod.
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// NodeSelector of the pod.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations of the pod.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// PodLabels are labels of the pod, besides the selector's.
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// PodAnnotations are annotations of the pod.
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	// SecurityContext of the main container.
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// PodSecurityContext is the security context of the pod.
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// InitContainers of the pod.
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// Sidecars are further containers of the pod.
	Sidecars []corev1.Container `json:"sidecars,omitempty"`
}

// Probes are the probes of the main container.
//
// +kubebuilder:object:generate=false
type Probes struct {
	// Liveness restarts the container when it fails.
	Liveness *corev1.Probe `json:"liveness,omitempty"`
	// Readiness takes the pod out of Services when it fails.
	Readiness *corev1.Probe `json:"readiness,omitempty"`
	// Startup holds the other probes back until it succeeds.
	Startup *corev1.Probe `json:"startup,omitempty"`
}

// DeploymentFields are the short fields of `deployments`.
//
// +kubebuilder:object:generate=false
type DeploymentFields struct {
	PodFields `json:",inline"`
	// Replicas of the Deployment. Default: Kubernetes' own, 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// Strategy by which pods are replaced.
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`
}

// ServiceFields are the short fields of `services`.
//
// +kubebuilder:object:generate=false
type ServiceFields struct {
	// Type of the Service. Default: Kubernetes' own, ClusterIP.
	Type corev1.ServiceType `json:"type,omitempty"`
	// Port that the Service listens on. Default: the workload's port, then 80.
	Port *int32 `json:"port,omitempty"`
	// TargetPort is the pods' port, by number or name. Default: the workload's port, then port.
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`
	// Ports, where there are several. Not with port, targetPort or protocol.
	Ports []corev1.ServicePort `json:"ports,omitempty"`
	// Protocol of port. Default: Kubernetes' own, TCP.
	Protocol corev1.Protocol `json:"protocol,omitempty"`
	// Selector of the pods. Default: those of the box's only workload.
	Selector map[string]string `json:"selector,omitempty"`
	// Headless Services have no cluster IP.
	Headless bool `json:"headless,omitempty"`
}

// ConfigMapFields are the short fields of `configmaps`.
//
// +kubebuilder:object:generate=false
type ConfigMapFields struct {
	// Data by key, as text.
	Data map[string]string `json:"data,omitempty"`
	// BinaryData by key, in base64.
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
	// Immutable ConfigMaps can't be changed, only made again.
	Immutable *bool `json:"immutable,omitempty"`
}

// JobFields are the short fields of `jobs`.
//
// +kubebuilder:object:generate=false
type JobFields struct {
	// Image of the container.
	Image string `json:"image,omitempty"`
	// Command of the container.
	Command []string `json:"command,omitempty"`
	// Args of the container.
	Args []string `json:"args,omitempty"`
	// Env of the container.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom of the container.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// BackoffLimit is the number of retries. Default: 3.
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// TTLSecondsAfterFinished removes the Job this long after it finished, and after its completion was noted.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// ActiveDeadlineSeconds ends the Job after this time.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// Parallelism is the number of pods that run at the same time.
	Parallelism *int32 `json:"parallelism,omitempty"`
	// Completions is the number of pods that must succeed.
	Completions *int32 `json:"completions,omitempty"`
	// ServiceAccountName of the pod.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Resources of the container: requests and limits.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Volumes of the pod.
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// VolumeMounts of the container.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Replace makes the Job again when what it would run has changed.
	Replace bool `json:"replace,omitempty"`
	// FailurePolicy says what a failed Job does, in onDelete only: Block (default) or Continue.
	FailurePolicy JobFailurePolicy `json:"failurePolicy,omitempty"`
}

// JobFailurePolicy says what a failed clean-up Job does to the deletion of its resource.
type JobFailurePolicy string

// The failure policies of a clean-up Job.
const (
	JobFailureBlock    JobFailurePolicy = "Block"
	JobFailureContinue JobFailurePolicy = "Continue"
)

// IngressFields are the short fields of `ingresses`.
//
// +kubebuilder:object:generate=false
type IngressFields struct {
	// Host of the rule. Empty: every host.
	Host string `json:"host,omitempty"`
	// Path of the rule. Default: "/".
	Path string `json:"path,omitempty"`
	// PathType of the rule. Default: Prefix.
	PathType networkingv1.PathType `json:"pathType,omitempty"`
	// ServiceName is the backend. Default: the box's only Service.
	ServiceName string `json:"serviceName,omitempty"`
	// ServicePort is the backend's port, by number or name. Default: the Service's first port.
	ServicePort *intstr.IntOrString `json:"servicePort,omitempty"`
	// ClassName is the ingress class.
	ClassName *string `json:"className,omitempty"`
	// TLS certificates by host.
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
	// Rules, where there are several. Not with host, path, pathType, serviceName or servicePort.
	Rules []networkingv1.IngressRule `json:"rules,omitempty"`
}

// ManifestFields are the short fields of `resources`.
//
// +kubebuilder:object:generate=false
type ManifestFields struct {
	// Manifest is a whole object of any kind. Every leaf may be a template.
	Manifest map[string]any `json:"manifest"`
}
