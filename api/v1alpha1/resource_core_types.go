package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServiceFields are the short fields of `services`.
//
// Makes `v1` Services. "The workload" is the box's only Deployment, StatefulSet or DaemonSet. Where there are several, `workload` names
// one by its id; where there is none, give `selector`.
//
// +kubebuilder:object:generate=false
type ServiceFields struct {
	// Type is ClusterIP, NodePort, LoadBalancer or ExternalName.
	// Default: ClusterIP, Kubernetes' own.
	// Example: type: LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// Port is where the Service listens.
	// Default: the workload's first port, else 80.
	// Example: port: 80
	Port *int32 `json:"port,omitempty"`
	// TargetPort is the port of the pods, by number or name.
	// Default: the workload's first port, else `port`.
	// Example: targetPort: http
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`
	// Ports are several ports, or ports with names. Not together with `port`, `targetPort` and `protocol`.
	// Default: one, of these fields.
	// Example: ports: [{name: http, port: 80, targetPort: http}, {name: metrics, port: 9090}]
	Ports []corev1.ServicePort `json:"ports,omitempty"`
	// Protocol is TCP, UDP or SCTP.
	// Default: TCP, Kubernetes' own.
	// Example: protocol: UDP
	Protocol corev1.Protocol `json:"protocol,omitempty"`
	// Workload is the id of the workload whose pods the Service selects, and whose port it takes. Not together with `selector`.
	// Default: the box's only workload.
	// Example: workload: web
	Workload string `json:"workload,omitempty"`
	// Selector says which pods. `{}`: none, for endpoints that others make.
	// Default: the pods of the workload.
	// Example: selector: {app.kubernetes.io/name: web}
	Selector map[string]string `json:"selector,omitempty"`
	// Headless: no cluster IP, so that DNS gives the pods. Not together with another `type` than ClusterIP.
	// Default: false.
	// Example: headless: true
	Headless bool `json:"headless,omitempty"`
}

// ConfigMapFields are the short fields of `configmaps`.
//
// Makes `v1` ConfigMaps. They have no `spec`.
//
// +kubebuilder:object:generate=false
type ConfigMapFields struct {
	// Data is text by key. Numbers and booleans become text; other values need `toJson` or `toYaml`.
	// Example: data: {host: "{{ .spec.host }}", workers: 3}
	Data map[string]string `json:"data,omitempty"`
	// BinaryData is bytes by key, in base64.
	// Example: binaryData: {logo.png: iVBORw0KGgo=}
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
	// Immutable: the content can't be changed any more; to change it, give the ConfigMap another name.
	// Default: false, Kubernetes' own.
	// Example: immutable: true
	Immutable *bool `json:"immutable,omitempty"`
}

// SecretFields are the short fields of `secrets`.
//
// Makes `v1` Secrets. They have no `spec`.
//
// +kubebuilder:object:generate=false
type SecretFields struct {
	// Type of the Secret, which can't be changed any more. Kubernetes asks for certain keys in the types that it knows.
	// Default: Opaque, Kubernetes' own.
	// Example: type: kubernetes.io/basic-auth
	Type corev1.SecretType `json:"type,omitempty"`
	// Data is text by key, as it is: base64 is not for you to make. Numbers and booleans become text; bytes come from `b64dec`.
	// Example: data: {username: app, dsn: "postgres://app@{{ .spec.host }}/app"}
	Data map[string]string `json:"data,omitempty"`
	// Immutable: the content can't be changed any more; to change it, give the Secret another name.
	// Default: false, Kubernetes' own.
	// Example: immutable: true
	Immutable *bool `json:"immutable,omitempty"`
}

// ServiceAccountFields are the short fields of `serviceaccounts`.
//
// Makes `v1` ServiceAccounts. They have no `spec`.
//
// +kubebuilder:object:generate=false
type ServiceAccountFields struct {
	// AutomountToken says whether pods of this account get its token without asking for it.
	// Default: true, Kubernetes' own.
	// Example: automountToken: false
	AutomountToken *bool `json:"automountToken,omitempty"`
	// ImagePullSecrets are Secrets for private registries, for all pods of this account.
	// Example: imagePullSecrets: [{name: registry}]
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
}

// PVCFields are the short fields of `pvcs`.
//
// Makes `v1` PersistentVolumeClaims. A claim stays when a choice gate turns false, unless `whenFalse: Delete` says otherwise.
// Kubernetes lets nobody change a claim that exists, but for a larger `storage` where the storage class allows it.
//
// +kubebuilder:object:generate=false
type PVCFields struct {
	// Storage is the size of the volume.
	// Default: required, unless `spec` has it.
	// Example: storage: 10Gi
	Storage *resource.Quantity `json:"storage,omitempty"`
	// StorageClassName is the storage class. "": none, for volumes that are there already.
	// Default: the cluster's default class.
	// Example: storageClassName: fast
	StorageClassName *string `json:"storageClassName,omitempty"`
	// AccessModes are ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.
	// Default: ReadWriteOnce.
	// Example: accessModes: [ReadWriteMany]
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	// VolumeMode is Filesystem or Block.
	// Default: Filesystem, Kubernetes' own.
	// Example: volumeMode: Block
	VolumeMode *corev1.PersistentVolumeMode `json:"volumeMode,omitempty"`
}

// NamespaceFields are the short fields of `namespaces`.
//
// Makes `v1` Namespaces. They are cluster-scoped: the name of a namespaced resource's must hold `{{ .metadata.namespace }}`. A
// namespace stays when a choice gate turns false, unless `whenFalse: Delete` says otherwise. All that is in it goes with it.
//
// +kubebuilder:object:generate=false
type NamespaceFields struct {
	// Finalizers hold the namespace's deletion back until somebody takes them off. Kubernetes reads them at creation only.
	// Default: kubernetes, which empties the namespace.
	// Example: finalizers: [example.com/archive]
	Finalizers []corev1.FinalizerName `json:"finalizers,omitempty"`
}

// ResourceQuotaFields are the short fields of `resourcequotas`.
//
// Makes `v1` ResourceQuotas.
//
// +kubebuilder:object:generate=false
type ResourceQuotaFields struct {
	// Hard is what all objects of the namespace may use together.
	// Example: hard: {pods: 20, requests.cpu: 4, requests.memory: 8Gi}
	Hard corev1.ResourceList `json:"hard,omitempty"`
	// Scopes are properties of the pods that count: Terminating, NotTerminating, BestEffort, NotBestEffort and others.
	// Default: all pods.
	// Example: scopes: [NotTerminating]
	Scopes []corev1.ResourceQuotaScope `json:"scopes,omitempty"`
	// ScopeSelector says the same with operators and values.
	// Example: scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}
	ScopeSelector *corev1.ScopeSelector `json:"scopeSelector,omitempty"`
}

// LimitRangeFields are the short fields of `limitranges`.
//
// Makes `v1` LimitRanges.
//
// +kubebuilder:object:generate=false
type LimitRangeFields struct {
	// Limits are bounds and defaults for each object of a type: Container, Pod or PersistentVolumeClaim.
	// Default: required, unless `spec` has them.
	// Example: limits: [{type: Container, default: {memory: 128Mi}, max: {memory: 1Gi}}]
	Limits []corev1.LimitRangeItem `json:"limits,omitempty"`
}
