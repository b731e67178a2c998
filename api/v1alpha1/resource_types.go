package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// The types in these files hold the short fields of each kind, after their templates are rendered. They are decoded strictly:
// an unknown field is an error. They are no part of the CRD's schema, in which templates would be no valid numbers or lists: a
// declaration takes any field there, and the compiler checks it by these types (docs/reference/box.md, "Resource groups").
//
// Their comments are what users read: `orkestra explain` and docs/reference/declarations.md are made of them. A field says what
// it means, then "Default:" up to the end of that sentence; a field without one has no default. "Example:" comes last.

// PodFields are the short fields that every kind with a pod template has.
//
// +kubebuilder:object:generate=false
type PodFields struct {
	// Image of the container.
	// Default: required, unless `spec` brings the containers.
	// Example: image: "{{ .spec.image }}"
	Image string `json:"image,omitempty"`
	// ContainerName is what the container is called.
	// Default: `main`.
	// Example: containerName: server
	ContainerName string `json:"containerName,omitempty"`
	// Command replaces the image's entry point.
	// Default: the image's.
	// Example: command: [/app/server, --verbose]
	Command []string `json:"command,omitempty"`
	// Args are the arguments.
	// Default: the image's.
	// Example: args: ["--host={{ .spec.host }}"]
	Args []string `json:"args,omitempty"`
	// Port is the container's only port, without a name. Not together with `ports`.
	// Example: port: 8080
	Port *int32 `json:"port,omitempty"`
	// Ports are several ports, or ports with names. Services take the first one.
	// Example: ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}]
	Ports []corev1.ContainerPort `json:"ports,omitempty"`
	// Env are environment variables.
	// Example: env: [{name: HOST, value: "{{ .spec.host }}"}, {name: TOKEN, valueFrom: {secretKeyRef: {name: app, key: token}}}]
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom are variables from all keys of ConfigMaps or Secrets.
	// Example: envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: app}}]
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Resources are requests and limits.
	// Example: resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Probes say whether the container lives, is ready, has started.
	// Example: probes: {readiness: {httpGet: {path: /healthz, port: 8080}}}
	Probes *Probes `json:"probes,omitempty"`
	// Volumes of the pod.
	// Example: volumes: [{name: config, configMap: {name: settings}}, {name: tmp, emptyDir: {}}]
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// VolumeMounts say where the container sees them.
	// Example: volumeMounts: [{name: config, mountPath: /etc/app, readOnly: true}]
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// ServiceAccountName is the account of the pod.
	// Default: the namespace's `default`.
	// Example: serviceAccountName: app
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// ImagePullSecrets are Secrets for private registries.
	// Example: imagePullSecrets: [{name: registry}]
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// NodeSelector are labels that a node must have.
	// Example: nodeSelector: {disk: ssd}
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations are the taints of nodes that the pods tolerate.
	// Example: tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}]
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// PodLabels are labels of the pods, besides the selector's. Those can't be set here.
	// Example: podLabels: {tier: front}
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// PodAnnotations are annotations of the pods.
	// Example: podAnnotations: {prometheus.io/scrape: "true"}
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	// SecurityContext is the security of the container.
	// Example: securityContext: {runAsNonRoot: true, readOnlyRootFilesystem: true}
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// PodSecurityContext is the security of the pod.
	// Example: podSecurityContext: {fsGroup: 1000}
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// InitContainers run before `main`, each with a name of its own.
	// Example: initContainers: [{name: migrate, image: "{{ .spec.image }}", args: [migrate]}]
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// Sidecars run beside `main`, each with a name of its own.
	// Example: sidecars: [{name: proxy, image: registry.example.com/proxy:1, ports: [{containerPort: 8443}]}]
	Sidecars []corev1.Container `json:"sidecars,omitempty"`
}

// Probes are the probes of the main container.
//
// +kubebuilder:object:generate=false
type Probes struct {
	// Liveness: the container is started again when it fails.
	// Example: liveness: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 10}
	Liveness *corev1.Probe `json:"liveness,omitempty"`
	// Readiness: the pod gets no traffic while it fails.
	// Example: readiness: {tcpSocket: {port: 8080}}
	Readiness *corev1.Probe `json:"readiness,omitempty"`
	// Startup: the other two wait until it succeeds.
	// Example: startup: {exec: {command: [/app/ready]}, failureThreshold: 30}
	Startup *corev1.Probe `json:"startup,omitempty"`
}

// DeploymentFields are the short fields of `deployments`.
//
// Makes `apps/v1` Deployments. The container that the short fields describe is called `main`, or by `containerName`.
//
// +kubebuilder:object:generate=false
type DeploymentFields struct {
	PodFields `json:",inline"`
	// Replicas is the number of pods.
	// Default: 1, Kubernetes' own.
	// Example: replicas: "{{ default 2 .spec.replicas }}"
	Replicas *int32 `json:"replicas,omitempty"`
	// Strategy says how pods are replaced.
	// Default: RollingUpdate, Kubernetes' own.
	// Example: strategy: {type: Recreate}
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`
}

// StatefulSetFields are the short fields of `statefulsets`.
//
// Makes `apps/v1` StatefulSets. The container that the short fields describe is called `main`, or by `containerName`. Kubernetes lets nobody change
// `serviceName` and `volumeClaimTemplates` of a StatefulSet that exists.
//
// +kubebuilder:object:generate=false
type StatefulSetFields struct {
	PodFields `json:",inline"`
	// Replicas is the number of pods.
	// Default: 1, Kubernetes' own.
	// Example: replicas: 3
	Replicas *int32 `json:"replicas,omitempty"`
	// Strategy says how pods are replaced; the object calls it `updateStrategy`.
	// Default: RollingUpdate, Kubernetes' own.
	// Example: strategy: {type: OnDelete}
	Strategy *appsv1.StatefulSetUpdateStrategy `json:"strategy,omitempty"`
	// Service is the id of the Service that gives the pods their DNS names. Not together with `serviceName`.
	// Default: the box's only Service.
	// Example: service: peers
	Service string `json:"service,omitempty"`
	// ServiceName is the headless Service that gives the pods their DNS names. "": none.
	// Default: the name of the Service; where there is none, it must be given.
	// Example: serviceName: "{{ .metadata.name }}-peers"
	ServiceName string `json:"serviceName,omitempty"`
	// VolumeClaimTemplates are the volume claims that each pod gets for itself, each with a name. Their `accessModes` are
	// ReadWriteOnce where they have none.
	// Example: volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 10Gi}}}}]
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
}

// DaemonSetFields are the short fields of `daemonsets`.
//
// Makes `apps/v1` DaemonSets: one pod on each node. The container that the short fields describe is called `main`, or by `containerName`.
//
// +kubebuilder:object:generate=false
type DaemonSetFields struct {
	PodFields `json:",inline"`
	// Strategy says how pods are replaced; the object calls it `updateStrategy`.
	// Default: RollingUpdate, Kubernetes' own.
	// Example: strategy: {type: OnDelete}
	Strategy *appsv1.DaemonSetUpdateStrategy `json:"strategy,omitempty"`
}
