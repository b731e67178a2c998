package pipeline

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

// wholeCluster and perNamespace are kinds of Kubernetes that no key stands for, with and without namespaces. What is in neither list
// is known only where an API server, or the CRDs beside the boxes, can be asked.
var (
	wholeCluster = map[string][]string{
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
	perNamespace = map[string][]string{
		"":                    {"Endpoints", "Event", "Pod", "PodTemplate", "ReplicationController"},
		appsv1.GroupName:      {"ControllerRevision", "ReplicaSet"},
		"coordination.k8s.io": {"Lease"},
		"discovery.k8s.io":    {"EndpointSlice"},
		"events.k8s.io":       {"Event"},
		"resource.k8s.io":     {"ResourceClaim", "ResourceClaimTemplate"},
		"storage.k8s.io":      {"CSIStorageCapacity"},
	}
)

// keyed finds the key that stands for a kind.
func keyed(gvk schema.GroupVersionKind) (kinds.Kind, bool) {
	k, ok := kinds.Lookup(kinds.PluralOf(gvk))
	return k, ok && k.GVK.GroupKind() == gvk.GroupKind()
}

// scopeOf says whether the objects of a kind live in namespaces; empty where that is not known, as of kinds that are not
// installed yet.
func (c *compiler) scopeOf(gvk schema.GroupVersionKind) meta.RESTScopeName {
	k, ok := keyed(gvk)
	switch {
	case ok && k.ClusterScoped, slices.Contains(wholeCluster[gvk.Group], gvk.Kind):
		return meta.RESTScopeNameRoot
	case ok, slices.Contains(perNamespace[gvk.Group], gvk.Kind):
		return meta.RESTScopeNameNamespace
	case c.env.Mapper == nil:
		return ""
	}
	m, err := c.env.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return "" // it is checked when it is written
	}
	return m.Scope.Name()
}

// place checks where the object of a declaration goes: a cluster-scoped one has no namespace, and one that has one must be told
// it where the resource has none.
func (c *compiler) place(d *declaration, in *v1alpha1.Declaration, short map[string]any, at *field.Path) {
	where, written := at.Child("namespace"), in.Namespace
	if d.kind.GVK.Empty() && written == "" {
		where, written = manifestMeta(short, "namespace", at)
	}
	switch scope := c.scopeOf(d.gvk); {
	case scope == meta.RESTScopeNameRoot && written != "":
		c.fail(field.Forbidden(where, fmt.Sprintf("a %s is cluster-scoped and goes into no namespace; remove it", d.gvk.Kind)))
	case scope == meta.RESTScopeNameNamespace && written == "" && c.env.CRD.Name != "" && !c.env.CRD.Namespaced:
		c.fail(field.Required(where, fmt.Sprintf("the resources are cluster-scoped: say in which namespace the %s goes", d.gvk.Kind)))
	default:
		c.literalNamespace(written, where)
	}
}

// crossPlace checks what the selector says of the place of the objects. What another box serves is known only when it runs.
func (c *compiler) crossPlace(s *crossSource, in *v1alpha1.CrossSource, at *field.Path) {
	c.literalName(s.kind, in.Selector.Name, at.Child("name"))
	checkLabels(c, in.Selector.MatchLabels, at.Child("matchLabels"))
	switch scope := c.scopeOf(s.kind); {
	case in.Box == "" && scope == meta.RESTScopeNameRoot && in.Selector.Namespace != "":
		c.fail(field.Forbidden(at.Child("namespace"), fmt.Sprintf("a %s is cluster-scoped and is in no namespace; remove it", s.kind.Kind)))
	case in.Box == "" && scope == meta.RESTScopeNameNamespace && in.Selector.Namespace == "" && s.object != nil &&
		!c.env.CRD.Namespaced && c.env.CRD.Name != "":
		c.fail(field.Required(at.Child("namespace"), "the resources are cluster-scoped: say in which namespace the object is"))
	default:
		c.literalNamespace(in.Selector.Namespace, at.Child("namespace"))
	}
}

// manifestMeta gives a text of a manifest's metadata, empty where it has none, and where it stands.
func manifestMeta(short map[string]any, name string, at *field.Path) (*field.Path, string) {
	manifest, _ := short["manifest"].(map[string]any)
	metadata, _ := manifest["metadata"].(map[string]any)
	text, _ := metadata[name].(string)
	return at.Child("manifest", "metadata", name), text
}
