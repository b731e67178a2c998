package rbac

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/identity"
)

// aggregated is the label by which Kubernetes adds the rules of a ClusterRole to those of the manager.
const aggregated = "orkestra.orkspace.io/aggregate-to-manager"

// need is what a box needs of its account, and beside it of the manager.
type need struct {
	box     string
	account identity.Account
	rules   []v1alpha1.RequiredRule
	feeds   []rbacv1.PolicyRule
}

// roleName is what the roles of a box and their bindings are called. A Role is in a namespace, so that boxes of one account have roles of
// their own, which go with them.
func (n need) roleName() string { return "orkestra-box-" + n.box }

// objects gives the account, the role for all namespaces, and that of each namespace, each with its binding; and what the manager needs.
func (n need) objects() []runtime.Object {
	everywhere, places := n.byNamespace()
	objects := []runtime.Object{&corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: rbacv1.ServiceAccountKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: n.account.Namespace, Name: n.account.Name},
	}}
	if len(everywhere) > 0 {
		role := &rbacv1.ClusterRole{TypeMeta: typeOf("ClusterRole"), ObjectMeta: n.meta(""), Rules: everywhere}
		objects = append(objects, role, &rbacv1.ClusterRoleBinding{
			TypeMeta: typeOf("ClusterRoleBinding"), ObjectMeta: n.meta(""), RoleRef: n.ref("ClusterRole"), Subjects: n.subjects(),
		})
	}
	for _, namespace := range slices.Sorted(maps.Keys(places)) {
		role := &rbacv1.Role{TypeMeta: typeOf("Role"), ObjectMeta: n.meta(namespace), Rules: places[namespace]}
		objects = append(objects, role, &rbacv1.RoleBinding{
			TypeMeta: typeOf("RoleBinding"), ObjectMeta: n.meta(namespace), RoleRef: n.ref("Role"), Subjects: n.subjects(),
		})
	}
	return append(objects, n.manager(n.feeds))
}

// manager is the role that gives the manager rules for the box.
func (n need) manager(rules []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{TypeMeta: typeOf("ClusterRole"), ObjectMeta: n.meta(""), Rules: rules}
	role.Name += "-manager"
	role.Labels = map[string]string{aggregated: "true"}
	return role
}

// OfManager gives the role by which the manager has the rights that a box without an account needs.
func OfManager(box string, required []v1alpha1.RequiredRule) map[string]any {
	rules := make([]rbacv1.PolicyRule, 0, len(required))
	for i := range required {
		rules = append(rules, required[i].PolicyRule)
	}
	return unique([]runtime.Object{need{box: box}.manager(rules)})[0]
}

// byNamespace gives the rules for all namespaces, and those of each that rules name.
func (n need) byNamespace() (everywhere []rbacv1.PolicyRule, places map[string][]rbacv1.PolicyRule) {
	places = map[string][]rbacv1.PolicyRule{}
	for i := range n.rules {
		rule := n.rules[i].PolicyRule
		if len(n.rules[i].Namespaces) == 0 {
			everywhere = append(everywhere, rule)
		}
		for _, namespace := range n.rules[i].Namespaces {
			places[namespace] = append(places[namespace], rule)
		}
	}
	return everywhere, places
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func (n need) meta(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: n.roleName()}
}

func (n need) ref(kind string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: n.roleName()}
}

func (n need) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: n.account.Namespace, Name: n.account.Name}}
}

// unique gives objects as they are written, each once: boxes may share an account.
func unique(objects []runtime.Object) []map[string]any {
	var out []map[string]any
	seen := map[string]bool{}
	for _, obj := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			// The types are those of Kubernetes: this can't fail at run time, or every test would show it.
			panic(err)
		}
		written := unstructured.Unstructured{Object: content}
		key := fmt.Sprintf("%s %s/%s", written.GetKind(), written.GetNamespace(), written.GetName())
		if seen[key] {
			continue
		}
		seen[key] = true
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		out = append(out, content)
	}
	return out
}
