package kinds

import (
	"reflect"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

const (
	nameRoleRef  = "roleRef"
	nameSubjects = "subjects"
)

// roleKinds are the kinds of roles that each kind of binding may refer to.
var (
	bothRoles    = []string{"ClusterRole", "Role"}
	clusterRoles = []string{"ClusterRole"}
)

func rbacKinds() []Kind {
	return []Kind{
		{
			Key: keyClusterRoles, Singular: "clusterrole", Rank: rankRole, ClusterScoped: true,
			GVK:    rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
			fields: reflect.TypeFor[v1alpha1.ClusterRoleFields](),
			build:  alone(buildRole),
		},
		{
			Key: keyClusterRoleBindings, Singular: "clusterrolebinding", Rank: rankRole, ClusterScoped: true,
			GVK:    rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
			fields: reflect.TypeFor[v1alpha1.ClusterRoleBindingFields](),
			check:  func(c *shape.Checker) { checkBinding(c, clusterRoles); checkSubjectNamespaces(c) },
			build:  buildBinding,
		},
		{
			Key: keyRoles, Singular: "role", Rank: rankRole,
			GVK:    rbacv1.SchemeGroupVersion.WithKind("Role"),
			fields: reflect.TypeFor[v1alpha1.RoleFields](),
			build:  alone(buildRole),
		},
		{
			Key: keyRoleBindings, Singular: "rolebinding", Rank: rankRole,
			GVK:    rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
			fields: reflect.TypeFor[v1alpha1.RoleBindingFields](),
			check:  func(c *shape.Checker) { checkBinding(c, bothRoles) },
			build:  buildBinding,
		},
	}
}

func buildRole(short map[string]any) (map[string]any, error) {
	return pick(short, nameRules), nil
}

// checkBinding asks for a role of one of these kinds.
func checkBinding(c *shape.Checker, roles []string) {
	if !c.Has(nameRoleRef) {
		c.Missing(nameRoleRef, "a role: {kind: "+roles[len(roles)-1]+", name: …}")
		return
	}
	ref := shape.Object(c.Short[nameRoleRef])
	if ref == nil {
		return // a template, or not an object, which the shape reports
	}
	at := c.At.Child(nameRoleRef)
	c.Choice(at.Child(nameKind), ref[nameKind], roles)
	if ref[nameName] == nil || ref[nameName] == "" {
		c.Found = append(c.Found, field.Required(at.Child(nameName), "the name of the role"))
	}
}

// checkSubjectNamespaces asks for the namespace of each ServiceAccount. A ClusterRoleBinding has no namespace that could be taken instead.
func checkSubjectNamespaces(c *shape.Checker) {
	list, ok := c.Short[nameSubjects].([]any)
	if !ok {
		return
	}
	for i, v := range list {
		subject := shape.Object(v)
		if subject[nameKind] == rbacv1.ServiceAccountKind && (subject[nameNamespace] == nil || subject[nameNamespace] == "") {
			c.Found = append(c.Found, field.Required(c.At.Child(nameSubjects).Index(i).Child(nameNamespace), "the namespace of the ServiceAccount"))
		}
	}
}

// buildBinding writes out what the API server would fill in, and gives ServiceAccounts the binding's namespace.
func buildBinding(d Declared, short map[string]any) (map[string]any, error) {
	object := pick(short, nameRoleRef, nameSubjects)
	ref := shape.Object(object[nameRoleRef])
	if ref == nil {
		return nil, shape.Missing(nameRoleRef, "a role")
	}
	if ref["apiGroup"] == nil || ref["apiGroup"] == "" {
		ref["apiGroup"] = rbacv1.GroupName
	}
	subjects, ok := object[nameSubjects].([]any)
	if !ok {
		return object, nil
	}
	for _, v := range subjects {
		subject := shape.Object(v)
		if subject[nameKind] == rbacv1.ServiceAccountKind && (subject[nameNamespace] == nil || subject[nameNamespace] == "") && d.Namespace != "" {
			subject[nameNamespace] = d.Namespace
		}
	}
	return object, nil
}
