package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/rollback"
)

// granting are the kinds that grant rights, or change what the API server or a manager does: all of a group where none is named.
var granting = map[string][]string{
	"":                             {"Node", "PersistentVolume"}, // a volume may be any folder of a node
	"rbac.authorization.k8s.io":    nil,
	"admissionregistration.k8s.io": nil,
	"apiextensions.k8s.io":         nil,
	"apiregistration.k8s.io":       nil,
	"certificates.k8s.io":          nil,
	"coordination.k8s.io":          {"Lease"}, // who holds one leads, ours too
	v1alpha1.GroupName:             nil,
}

// grantingSecrets are the types of Secrets that the API server fills with, or takes as, a credential of its own.
var grantingSecrets = []string{string(corev1.SecretTypeServiceAccountToken), string(corev1.SecretTypeBootstrapToken)}

// podSecurity begins the labels by which a Namespace says what its Pods may do.
const podSecurity = "pod-security.kubernetes.io/"

const grantingFlag = "start the manager with --allow-granting-kinds to let boxes make it"

func grantsRights(gvk schema.GroupVersionKind) bool {
	listed, found := granting[gvk.Group]
	return found && (listed == nil || slices.Contains(listed, gvk.Kind))
}

// knownToCluster says whether a cluster-scoped kind is one of Kubernetes that grants nothing. Of others nobody knows what they do.
func knownToCluster(gvk schema.GroupVersionKind) bool {
	k, ok := keyed(gvk)
	return ok && k.ClusterScoped || slices.Contains(wholeCluster[gvk.Group], gvk.Kind)
}

// grantingPart names what of an object grants rights, though its kind does not; empty: nothing.
func grantingPart(obj *unstructured.Unstructured) string {
	switch obj.GroupVersionKind().GroupKind() {
	case secretKind.GroupKind():
		// A type that is no string is refused by the API server.
		if kind, _, _ := unstructured.NestedString(obj.Object, fieldType); slices.Contains(grantingSecrets, kind) {
			return "a Secret of type " + kind
		}
	case namespaceKind.GroupKind():
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

// mayMake reports declarations that security.md forbids. What templates make is checked again when it is rendered.
func (c *compiler) mayMake(d *declaration, in *v1alpha1.Declaration, short map[string]any, at *field.Path) {
	d.mayGrant = c.env.AllowGrantingKinds
	root := c.scopeOf(d.gvk) == meta.RESTScopeNameRoot
	switch part := grantingPart(c.asWritten(d, in, short)); {
	case d.mayGrant:
	case grantsRights(d.gvk):
		c.fail(field.Forbidden(at, fmt.Sprintf("%s grants rights; %s", d.gvk.Kind, grantingFlag)))
	case root && !knownToCluster(d.gvk):
		c.fail(field.Forbidden(at, unknownToCluster(d)))
	case part != "":
		c.fail(field.Forbidden(at, fmt.Sprintf("%s grants rights; %s", part, grantingFlag)))
	}
	if d.gvk.GroupKind() == c.env.CRD.Kind.GroupKind() && c.env.CRD.Name != "" {
		c.fail(field.Forbidden(at, fmt.Sprintf("a box can't make children of the kind that it serves (%s): it would never end", d.gvk.Kind)))
	}
	if root && c.env.CRD.Namespaced && !readsNamespace(d) {
		written := ""
		if d.name != nil {
			written = d.name.String()
		}
		c.fail(field.Invalid(at.Child("name"), written, sharedName(d)))
	}
}

func unknownToCluster(d *declaration) string {
	return fmt.Sprintf("%s is a cluster-scoped kind that may grant rights; %s", d.gvk.Kind, grantingFlag)
}

// DefinitionGrants says what of a box's definition needs the operator's leave: a webhook through which every object of the kind goes,
// and a CRD that somebody else made.
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

// asWritten is a declaration's object as far as it is written out.
func (c *compiler) asWritten(d *declaration, in *v1alpha1.Declaration, short map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	body := short
	if d.kind.GVK.Empty() {
		body, _ = short["manifest"].(map[string]any)
	}
	if kind, ok := body[fieldType].(string); ok {
		obj.Object[fieldType] = kind
	}
	metadata, _ := body["metadata"].(map[string]any)
	labels, annotations := textsIn(metadata["labels"]), textsIn(metadata["annotations"])
	for _, more := range []map[string]v1alpha1.LimitedString{c.box.Spec.CommonLabels, in.Labels} {
		for key, value := range more {
			labels[key] = string(value)
		}
	}
	for _, more := range []map[string]v1alpha1.LimitedString{c.box.Spec.CommonAnnotations, in.Annotations} {
		for key, value := range more {
			annotations[key] = string(value)
		}
	}
	obj.SetGroupVersionKind(d.gvk)
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return obj
}

// checkGrants refuses a rendered object that grants rights, which could not be told when the box was compiled.
func (d *declaration) checkGrants(obj *unstructured.Unstructured, namespaced bool) error {
	if d.mayGrant {
		return nil
	}
	if !namespaced && !knownToCluster(d.gvk) {
		return permanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("%s", unknownToCluster(d)))
	}
	if part := grantingPart(obj); part != "" {
		return permanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("%s grants rights; %s", part, grantingFlag))
	}
	return nil
}
