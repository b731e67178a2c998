package check

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/kinds"
)

// clusterScopedKinds and namespacedKinds are kinds of Kubernetes that no key stands for, with and without namespaces. What is in neither list
// is known only where an API server, or the CRDs beside the boxes, can be asked.
var (
	clusterScopedKinds = map[string][]string{
		"":                             {"Node", "PersistentVolume"},
		"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
		"apiextensions.k8s.io":         {"CustomResourceDefinition"},
		"apiregistration.k8s.io":       {"APIService"},
		"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
		"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
		"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
		"node.k8s.io":                  {"RuntimeClass"},
		"resource.k8s.io":              {"DeviceClass", "ResourceSlice"},
		"scheduling.k8s.io":            {"PriorityClass"},
		"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	}
	namespacedKinds = map[string][]string{
		"":                    {"Endpoints", "Event", "Pod", "PodTemplate", "ReplicationController"},
		appsv1.GroupName:      {"ControllerRevision", "ReplicaSet"},
		"coordination.k8s.io": {"Lease"},
		"discovery.k8s.io":    {"EndpointSlice"},
		"events.k8s.io":       {"Event"},
		"resource.k8s.io":     {"ResourceClaim", "ResourceClaimTemplate"},
		"storage.k8s.io":      {"CSIStorageCapacity"},
	}
)

// Keyed finds the built-in kind that has a key of its own in a box. ok is false for all others.
func Keyed(gvk schema.GroupVersionKind) (kind kinds.Kind, ok bool) {
	k, ok := kinds.Lookup(kinds.PluralOf(gvk))
	return k, ok && k.GVK.GroupKind() == gvk.GroupKind()
}

// Scope says whether the objects of a kind live in namespaces; empty where that is not known, as of kinds that are not installed yet.
// mapper asks an API server; nil: only what Kubernetes itself has is known.
func Scope(gvk schema.GroupVersionKind, mapper meta.RESTMapper) meta.RESTScopeName {
	k, ok := Keyed(gvk)
	switch {
	case ok && k.ClusterScoped, slices.Contains(clusterScopedKinds[gvk.Group], gvk.Kind):
		return meta.RESTScopeNameRoot
	case ok, slices.Contains(namespacedKinds[gvk.Group], gvk.Kind):
		return meta.RESTScopeNameNamespace
	case mapper == nil:
		return ""
	}
	m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return "" // it is checked when it is written
	}
	return m.Scope.Name()
}
