package rendering

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// isNamespaced says whether objects of a kind live in namespaces. Kinds of CRDs are known by what is given, or by the cluster.
func isNamespaced(mapper meta.RESTMapper, kind schema.GroupVersionKind, give string) (bool, error) {
	if clusterScoped, known := builtInScope(kind); known {
		return !clusterScoped, nil
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false, fmt.Errorf("%w; give its CRD %s", err, give)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// clusterScopedKinds are the kinds without namespaces of the API groups that come with Kubernetes. Its Go types do not say so.
var clusterScopedKinds = map[string][]string{
	"":                             {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": nil, // all
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": nil,
	"internal.apiserver.k8s.io":    nil,
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  nil,
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      nil,
}

// builtInScope says whether a kind that comes with Kubernetes has no namespaces; known is false for all other kinds.
func builtInScope(kind schema.GroupVersionKind) (clusterScoped, known bool) {
	if !scheme.Scheme.Recognizes(kind) {
		return false, false
	}
	kinds, some := clusterScopedKinds[kind.Group]
	return some && (kinds == nil || slices.Contains(kinds, kind.Kind)), true
}
