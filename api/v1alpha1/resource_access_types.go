package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// IngressFields are the short fields of `ingresses`.
//
// Makes `networking.k8s.io/v1` Ingresses. "The Service" is the box's only Service. Where there are several, `service` names
// one by its id; where there is none, give `serviceName` and `servicePort`.
//
// +kubebuilder:object:generate=false
type IngressFields struct {
	// Host of the rule.
	// Default: every host.
	// Example: host: "{{ .spec.host }}"
	Host string `json:"host,omitempty"`
	// Path of the rule.
	// Default: `/`.
	// Example: path: /api
	Path string `json:"path,omitempty"`
	// PathType is Prefix, Exact or ImplementationSpecific.
	// Default: Prefix.
	// Example: pathType: Exact
	PathType networkingv1.PathType `json:"pathType,omitempty"`
	// Service is the id of the Service where the requests go, by its name and port. Not together with `serviceName`.
	// Default: the box's only Service.
	// Example: service: site
	Service string `json:"service,omitempty"`
	// ServiceName is where the requests go.
	// Default: the Service.
	// Example: serviceName: web
	ServiceName string `json:"serviceName,omitempty"`
	// ServicePort is its port, by number or name.
	// Default: the Service's first port.
	// Example: servicePort: http
	ServicePort *intstr.IntOrString `json:"servicePort,omitempty"`
	// ClassName is the ingress class.
	// Default: the cluster's default class.
	// Example: className: nginx
	ClassName *string `json:"className,omitempty"`
	// TLS are certificates: Secrets by host.
	// Example: tls: [{hosts: ["{{ .spec.host }}"], secretName: "{{ .metadata.name }}-tls"}]
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
	// Rules are several hosts or paths. Not together with `host`, `path`, `pathType`, `service`, `serviceName` and `servicePort`.
	// Default: one, of these fields.
	// Example: rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix,
	// backend: {service: {name: web, port: {number: 80}}}}]}}]
	Rules []networkingv1.IngressRule `json:"rules,omitempty"`
}

// NetworkPolicyFields are the short fields of `networkpolicies`.
//
// Makes `networking.k8s.io/v1` NetworkPolicies. "The workload" is the box's only Deployment, StatefulSet or DaemonSet. Where
// there are several, `workload` names one by its id; where there is none, give `podSelector`.
//
// +kubebuilder:object:generate=false
type NetworkPolicyFields struct {
	// Workload is the id of the workload whose pods the policy is for. Not together with `podSelector`.
	// Default: the box's only workload.
	// Example: workload: web
	Workload string `json:"workload,omitempty"`
	// PodSelector says which pods the policy is for. `{}`: all pods of the namespace.
	// Default: the pods of the workload.
	// Example: podSelector: {matchLabels: {app.kubernetes.io/name: web}}
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
	// PolicyTypes are Ingress and Egress: the directions in which only what the rules name may pass.
	// Default: Ingress, and Egress where there are rules of it; Kubernetes' own.
	// Example: policyTypes: [Ingress, Egress]
	PolicyTypes []networkingv1.PolicyType `json:"policyTypes,omitempty"`
	// Ingress are rules for what may come in. `[{}]`: everything.
	// Default: nothing may, where `policyTypes` has Ingress.
	// Example: ingress: [{from: [{podSelector: {}}], ports: [{port: 8080}]}]
	Ingress []networkingv1.NetworkPolicyIngressRule `json:"ingress,omitempty"`
	// Egress are rules for what may go out. `[{}]`: everything.
	// Default: nothing may, where `policyTypes` has Egress.
	// Example: egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]
	Egress []networkingv1.NetworkPolicyEgressRule `json:"egress,omitempty"`
}

// PDBFields are the short fields of `pdbs`.
//
// Makes `policy/v1` PodDisruptionBudgets. "The workload" is the box's only Deployment, StatefulSet or DaemonSet. Where there are
// several, `workload` names one by its id; where there is none, give `selector`. One of `minAvailable` and `maxUnavailable` is required.
//
// +kubebuilder:object:generate=false
type PDBFields struct {
	// MinAvailable is the number or percentage of pods that must stay when nodes are drained. Not together with `maxUnavailable`.
	// Example: minAvailable: 50%
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// MaxUnavailable is the number or percentage of pods that may be away.
	// Example: maxUnavailable: 1
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// Workload is the id of the workload whose pods it is for. Not together with `selector`.
	// Default: the box's only workload.
	// Example: workload: web
	Workload string `json:"workload,omitempty"`
	// Selector says which pods. `{}`: all pods of the namespace.
	// Default: the pods of the workload.
	// Example: selector: {matchLabels: {app.kubernetes.io/name: web}}
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// HPAFields are the short fields of `hpas`.
//
// Makes `autoscaling/v2` HorizontalPodAutoscalers. "The workload" is the box's only Deployment or StatefulSet. Where there are
// several, `workload` names one by its id; where there is none, give `target`.
//
// +kubebuilder:object:generate=false
type HPAFields struct {
	// Workload is the id of the workload that is scaled: a Deployment or StatefulSet. Not together with `target`.
	// Default: the box's only workload.
	// Example: workload: web
	Workload string `json:"workload,omitempty"`
	// Target is what is scaled. Other kinds than its own go under `spec.scaleTargetRef`.
	// Default: the workload.
	// Example: target: {kind: Deployment, name: "{{ .metadata.name }}"}
	Target *HPATarget `json:"target,omitempty"`
	// MinReplicas is the lowest number of pods.
	// Default: 1, Kubernetes' own.
	// Example: minReplicas: 2
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// MaxReplicas is the highest number of pods.
	// Default: required, unless `spec` has it.
	// Example: maxReplicas: 10
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// CPU is the wanted use of CPU, as a percentage of what the pods request.
	// Default: 80 where there is neither `memory` nor `metrics`, Kubernetes' own.
	// Example: cpu: 75
	CPU *int32 `json:"cpu,omitempty"`
	// Memory is the wanted use of memory, as a percentage of what the pods request.
	// Example: memory: 80
	Memory *int32 `json:"memory,omitempty"`
	// Metrics are further ones, after `cpu` and `memory`.
	// Example: metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 512Mi}}}]
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
	// Behavior says how fast it may go up and down.
	// Default: Kubernetes' own.
	// Example: behavior: {scaleDown: {stabilizationWindowSeconds: 600}}
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}

// HPATarget names what an HPA scales.
//
// +kubebuilder:object:generate=false
type HPATarget struct {
	// Kind is Deployment, StatefulSet, ReplicaSet or ReplicationController.
	// Default: required.
	Kind string `json:"kind"`
	// Name of the object.
	// Default: required.
	Name string `json:"name"`
}

// RoleFields are the short fields of `roles`.
//
// Makes `rbac.authorization.k8s.io/v1` Roles. They have no `spec`. They grant rights: the manager needs `--allow-granting-kinds`,
// and must itself have every right that the rules give.
//
// +kubebuilder:object:generate=false
type RoleFields struct {
	// Rules say what may be done.
	// Default: nothing may.
	// Example: rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`
}

// ClusterRoleFields are the short fields of `clusterroles`.
//
// Makes `rbac.authorization.k8s.io/v1` ClusterRoles. They have no `spec`, and are cluster-scoped: the name of a namespaced
// resource's must hold `{{ .metadata.namespace }}`. They grant rights: the manager needs `--allow-granting-kinds`, and must
// itself have every right that the rules give.
//
// +kubebuilder:object:generate=false
type ClusterRoleFields struct {
	RoleFields `json:",inline"`
}

// RoleBindingFields are the short fields of `rolebindings`.
//
// Makes `rbac.authorization.k8s.io/v1` RoleBindings. They have no `spec`. They grant rights: the manager needs
// `--allow-granting-kinds`, and must itself have every right that the role gives.
//
// +kubebuilder:object:generate=false
type RoleBindingFields struct {
	// RoleRef is the role: `kind` (Role or ClusterRole) and `name`. It can't be changed any more.
	// Default: required.
	// Example: roleRef: {kind: Role, name: "{{ .metadata.name }}-reader"}
	RoleRef *rbacv1.RoleRef `json:"roleRef,omitempty"`
	// Subjects are who gets the rights. A ServiceAccount without a namespace is in the binding's.
	// Example: subjects: [{kind: ServiceAccount, name: "{{ .metadata.name }}"}]
	Subjects []rbacv1.Subject `json:"subjects,omitempty"`
}

// ClusterRoleBindingFields are the short fields of `clusterrolebindings`.
//
// Makes `rbac.authorization.k8s.io/v1` ClusterRoleBindings. They have no `spec`, and are cluster-scoped: the name of a namespaced
// resource's must hold `{{ .metadata.namespace }}`. They grant rights: the manager needs `--allow-granting-kinds`, and must
// itself have every right that the role gives.
//
// +kubebuilder:object:generate=false
type ClusterRoleBindingFields struct {
	// RoleRef is the role: `kind` (ClusterRole) and `name`. It can't be changed any more.
	// Default: required.
	// Example: roleRef: {kind: ClusterRole, name: view}
	RoleRef *rbacv1.RoleRef `json:"roleRef,omitempty"`
	// Subjects are who gets the rights. A ServiceAccount needs its namespace here.
	// Example: subjects: [{kind: ServiceAccount, name: "{{ .metadata.name }}", namespace: "{{ .metadata.namespace }}"}]
	Subjects []rbacv1.Subject `json:"subjects,omitempty"`
}

// PatchFields are the short fields of `patches`.
//
// Sets fields of objects that others own, and takes them back. Only in `onReconcile`.
//
// +kubebuilder:object:generate=false
type PatchFields struct {
	// Target is the object that is patched. It is never made: the patch waits for it.
	// Default: required.
	// Example: target: {apiVersion: v1, kind: ConfigMap, name: settings}
	Target PatchTarget `json:"target"`

	// Patch holds the fields, as they stand in the object: labels, annotations, and all that is not metadata or status. A list whose entries have
	// keys takes the entries that it names, and leaves the others.
	// Default: required.
	// Example: patch: {data: {url: "http://{{ .metadata.name }}"}}
	Patch map[string]any `json:"patch"`

	// Force takes fields that other managers hold with other values, and gives them back when the patch is taken back. Their former values are kept
	// in an annotation of the resource. No template; not for Secrets.
	// Default: false.
	// Example: force: true
	Force bool `json:"force,omitempty"`
}

// PatchTarget names the object that a patch is for.
//
// +kubebuilder:object:generate=false
type PatchTarget struct {
	// APIVersion of the object, such as apps/v1; no template.
	// Default: required.
	APIVersion string `json:"apiVersion"`

	// Kind of the object; no template.
	// Default: required.
	Kind string `json:"kind"`

	// Name of the object; may be a template.
	// Default: required.
	Name string `json:"name"`

	// Namespace of the object; may be a template. Default: the resource's. A template may only lead into a namespace that lets the resource in:
	// annotation orkestra.orkspace.io/allow-from.
	Namespace string `json:"namespace,omitempty"`
}

// ManifestFields are the short fields of `resources`.
//
// Makes objects of any kind, such as kinds of your own.
//
// +kubebuilder:object:generate=false
type ManifestFields struct {
	// Manifest is the whole object. Every value but `apiVersion` and `kind` may be a template, or one template action gives all of it,
	// as a map: `"{{ .spec.template }}"`. No `status`, and in the metadata nothing that the API server or Orkestra sets, such as
	// `ownerReferences`.
	// Default: required.
	// Example: manifest: {apiVersion: policy.example.com/v1, kind: Rule, metadata: {name: "{{ .metadata.name }}-rule"}}
	Manifest map[string]any `json:"manifest"`

	// Kinds are the kinds that the object may have, at most 16, each as its apiVersion and kind. A must for a `manifest` that is one template,
	// and refused beside any other.
	// Example: kinds: [v1/ConfigMap, apps/v1/Deployment, example.com/v1/Widget]
	Kinds []string `json:"kinds,omitempty"`
}
