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
)

// granting are the kinds that grant rights, or change what the API server or a manager does: all of a group where none is named.
var granting = map[string][]string{
	"":                             {"Node", "PersistentVolume"}, // a volume may be any folder of a node
	rbacv1.GroupName:               nil,
	"admissionregistration.k8s.io": nil,
	"apiextensions.k8s.io":         nil,
	"apiregistration.k8s.io":       nil,
	"certificates.k8s.io":          nil,
	"coordination.k8s.io":          {"Lease"},     // the holder of a Lease leads, also among our own managers
	"storage.k8s.io":               {"CSIDriver"}, // its tokenRequests give a driver the tokens of Pods
	v1alpha1.GroupName:             nil,
}

// grantingSecrets are the types of Secrets that the API server fills with, or takes as, a credential of its own.
var grantingSecrets = []string{string(corev1.SecretTypeServiceAccountToken), string(corev1.SecretTypeBootstrapToken)}

// podSecurity is the prefix of the labels of Pod Security Admission, by which a Namespace says what its Pods may do.
const podSecurity = "pod-security.kubernetes.io/"

const grantingFlag = "start the manager with --allow-granting-kinds to let boxes make it, or name an account that may in spec.serviceAccountRef"

// adminAccess is the label of a Namespace whose Pods may use devices that others hold.
const adminAccess = "resource.kubernetes.io/admin-access"

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
	case schema.GroupKind{Kind: kindNamespace}:
		labels := obj.GetLabels()
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if strings.HasPrefix(key, podSecurity) && !strictest(labels[key]) {
				return fmt.Sprintf("a Namespace whose label %s is not the strictest", key)
			}
		}
		if _, found := labels[adminAccess]; found {
			return "a Namespace with the label " + adminAccess
		}
	}
	return ""
}

// strictest says whether a label of Pod Security sets the strictest level, or the newest version of a level: it can only take rights
// away.
func strictest(value string) bool { return value == "restricted" || value == "latest" }

// Leave says what lets a box make what grants rights.
type Leave struct {
	// Account says that the box acts as an account: what that may do, the API server decides, which lets nobody give more than they have.
	Account bool
	// Flag says that the operator lets boxes that act as the manager make it.
	Flag bool
}

// GrantsRights says why a box may not make an object: its kind, or a part of it, grants rights, or it is not known whether a cluster-scoped
// kind does. It is empty where nothing is in the way. What templates make is asked again when it is rendered.
func GrantsRights(obj *unstructured.Unstructured, clusterScoped bool, leave Leave) string {
	gvk := obj.GroupVersionKind()
	switch part := grantingPart(obj); {
	case leave.Account:
		return ""
	case gvk.Group == v1alpha1.GroupName:
		return fmt.Sprintf("%s grants rights; only an account that has the right may make it: name one in spec.serviceAccountRef", gvk.Kind)
	case leave.Flag:
		return ""
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

// TokenGrants says why a box may not ask for the token of a ServiceAccount: the token gives the rights of that.
func TokenGrants(leave Leave) string {
	if leave.Account || leave.Flag {
		return ""
	}
	return "a token of a ServiceAccount grants its rights; " + grantingFlag
}

// DefinitionGrants says what of a box's definition needs the operator's leave: a webhook through which every object of the kind goes,
// and the change of a CRD that the box did not make.
func DefinitionGrants(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) *field.Error {
	at := field.NewPath("spec", "crd")
	switch {
	case box.Spec.ServiceAccountRef != nil: // the definition is written as the account
		return nil
	case crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter:
		return field.Forbidden(at.Child("definition", "conversion"), "a conversion webhook sees and changes every object of the kind; start the manager with --allow-granting-kinds to let boxes set one, or name an account that may in spec.serviceAccountRef")
	case box.Spec.CRD.Adopt == v1alpha1.AdoptIfUnowned:
		return field.Forbidden(at.Child("adopt"), "a CRD that somebody else made may be changed only where the manager runs with --allow-granting-kinds, or by an account that may: name one in spec.serviceAccountRef")
	default:
		return nil
	}
}
