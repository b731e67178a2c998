package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/rollback"
)

// granting are the kinds that grant rights, or change what the API server or a manager does: all of a group where none is named.
var granting = map[string][]string{
	"":                             {"Node", "PersistentVolume"}, // a volume may be any folder of a node
	rbacv1.GroupName:               nil,
	"admissionregistration.k8s.io": nil,
	"apiextensions.k8s.io":         nil,
	"apiregistration.k8s.io":       nil,
	"certificates.k8s.io":          nil,
	"coordination.k8s.io":          {"Lease"}, // the holder of a Lease leads, also among our own managers
	v1alpha1.GroupName:             nil,
}

// grantingSecrets are the types of Secrets that the API server fills with, or takes as, a credential of its own.
var grantingSecrets = []string{string(corev1.SecretTypeServiceAccountToken), string(corev1.SecretTypeBootstrapToken)}

// podSecurity is the prefix of the labels of Pod Security Admission, by which a Namespace says what its Pods may do.
const podSecurity = "pod-security.kubernetes.io/"

const grantingFlag = "start the manager with --allow-granting-kinds to let boxes make it"

func grantsRights(gvk schema.GroupVersionKind) bool {
	listed, found := granting[gvk.Group]
	return found && (listed == nil || slices.Contains(listed, gvk.Kind))
}

// knownToCluster says whether a cluster-scoped kind is one of Kubernetes that grants nothing. What other kinds do is not known.
func knownToCluster(gvk schema.GroupVersionKind) bool {
	k, ok := Keyed(gvk)
	return ok && k.ClusterScoped || slices.Contains(clusterScopedKinds[gvk.Group], gvk.Kind)
}

// grantingPart names what of an object grants rights, though its kind does not; empty: nothing.
func grantingPart(obj *unstructured.Unstructured) string {
	switch obj.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Secret"}:
		// A type that is no string is refused by the API server.
		if kind, _, _ := unstructured.NestedString(obj.Object, "type"); slices.Contains(grantingSecrets, kind) {
			return "a Secret of type " + kind
		}
	case schema.GroupKind{Kind: "Namespace"}:
		labels := obj.GetLabels()
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if strings.HasPrefix(key, podSecurity) && !strictest(labels[key]) {
				return fmt.Sprintf("a Namespace whose label %s is not the strictest", key)
			}
		}
		if _, found := obj.GetAnnotations()[v1alpha1.AnnotationAllowFrom]; found {
			return "a Namespace with the annotation " + v1alpha1.AnnotationAllowFrom
		}
	case rollback.Kind.GroupKind():
		// Boxes and resources go back to what such an object holds.
		for _, key := range slices.Sorted(maps.Keys(marksOf(obj))) {
			if strings.HasPrefix(key, v1alpha1.GroupName+"/") {
				return "a ControllerRevision with the mark " + key
			}
		}
	}
	return ""
}

// strictest says whether a label of Pod Security sets the strictest level, or the newest version of a level: it can only take rights
// away.
func strictest(value string) bool { return value == "restricted" || value == "latest" }

func marksOf(obj *unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	maps.Copy(all, obj.GetLabels())
	maps.Copy(all, obj.GetAnnotations())
	return all
}

// GrantsRights says why an object may not be made by a box unless the operator allows it: its kind, or a part of it, grants rights, or it
// is not known whether a cluster-scoped kind does. It is empty where nothing is in the way. What templates make is asked again when it is rendered.
func GrantsRights(obj *unstructured.Unstructured, clusterScoped bool) string {
	gvk := obj.GroupVersionKind()
	switch part := grantingPart(obj); {
	case grantsRights(gvk):
		return fmt.Sprintf("%s grants rights; %s", gvk.Kind, grantingFlag)
	case clusterScoped && !knownToCluster(gvk):
		return fmt.Sprintf("%s is a cluster-scoped kind that may grant rights; %s", gvk.Kind, grantingFlag)
	case part != "":
		return fmt.Sprintf("%s grants rights; %s", part, grantingFlag)
	default:
		return ""
	}
}

// DefinitionGrants says what of a box's definition needs the operator's leave: a webhook through which every object of the kind goes,
// and the change of a CRD that the box did not make.
func DefinitionGrants(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) *field.Error {
	at := field.NewPath("spec", "crd")
	switch {
	case crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter:
		return field.Forbidden(at.Child("definition", "conversion"), "a conversion webhook sees and changes every object of the kind; start the manager with --allow-granting-kinds to let boxes set one")
	case box.Spec.CRD.Adopt == v1alpha1.AdoptIfUnowned:
		return field.Forbidden(at.Child("adopt"), "a CRD that somebody else made may be changed only where the manager runs with --allow-granting-kinds")
	default:
		return nil
	}
}
