package kinds

import (
	"reflect"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
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
			build:  buildRole,
		},
		{
			Key: keyClusterRoleBindings, Singular: "clusterrolebinding", Rank: rankRole, ClusterScoped: true,
			GVK:    rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
			fields: reflect.TypeFor[v1alpha1.ClusterRoleBindingFields](),
			check:  func(c *checker) { c.checkBinding(clusterRoles); c.checkSubjectNamespaces() },
			build:  buildBinding,
		},
		{
			Key: keyRoles, Singular: "role", Rank: rankRole,
			GVK:    rbacv1.SchemeGroupVersion.WithKind("Role"),
			fields: reflect.TypeFor[v1alpha1.RoleFields](),
			build:  buildRole,
		},
		{
			Key: keyRoleBindings, Singular: "rolebinding", Rank: rankRole,
			GVK:    rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
			fields: reflect.TypeFor[v1alpha1.RoleBindingFields](),
			check:  func(c *checker) { c.checkBinding(bothRoles) },
			build:  buildBinding,
		},
	}
}

func buildRole(_ Declared, short map[string]any) (map[string]any, error) {
	return pick(short, nameRules), nil
}

// checkBinding asks for a role of one of these kinds.
func (c *checker) checkBinding(roles []string) {
	if !c.has(nameRoleRef) {
		c.require(nameRoleRef, "a role: {kind: "+roles[len(roles)-1]+", name: …}")
		return
	}
	ref := asObject(c.short[nameRoleRef])
	if ref == nil {
		return // a template, or not an object, which the shape reports
	}
	at := c.at.Child(nameRoleRef)
	c.checkChoice(at.Child(nameKind), ref[nameKind], roles)
	if ref[nameName] == nil || ref[nameName] == "" {
		c.errs = append(c.errs, field.Required(at.Child(nameName), "the name of the role"))
	}
}

// checkChoice reports a value that is not one of several; a template may become one.
func (c *checker) checkChoice(at *field.Path, v any, valid []string) {
	text, isText := v.(string)
	switch {
	case v == nil || isText && text == "":
		c.errs = append(c.errs, field.Required(at, oneOf(valid)))
	case isText && !c.templated(text) && !slices.Contains(valid, text):
		c.errs = append(c.errs, field.NotSupported(at, text, valid))
	}
}

// checkSubjectNamespaces: where the binding has no namespace, none can be taken from it.
func (c *checker) checkSubjectNamespaces() {
	list, ok := c.short[nameSubjects].([]any)
	if !ok {
		return
	}
	for i, v := range list {
		subject := asObject(v)
		if subject[nameKind] == rbacv1.ServiceAccountKind && (subject[nameNamespace] == nil || subject[nameNamespace] == "") {
			c.errs = append(c.errs, field.Required(c.at.Child(nameSubjects).Index(i).Child(nameNamespace), "the namespace of the ServiceAccount"))
		}
	}
}

// buildBinding writes out what the API server would fill in, and gives ServiceAccounts the binding's namespace.
func buildBinding(d Declared, short map[string]any) (map[string]any, error) {
	object := pick(short, nameRoleRef, nameSubjects)
	ref := asObject(object[nameRoleRef])
	if ref == nil {
		return nil, &FieldError{Path: nameRoleRef, Want: "a role", Got: gotNothing}
	}
	if ref["apiGroup"] == nil || ref["apiGroup"] == "" {
		ref["apiGroup"] = rbacv1.GroupName
	}
	subjects, ok := object[nameSubjects].([]any)
	if !ok {
		return object, nil
	}
	for _, v := range subjects {
		subject := asObject(v)
		if subject[nameKind] == rbacv1.ServiceAccountKind && (subject[nameNamespace] == nil || subject[nameNamespace] == "") && d.Namespace != "" {
			subject[nameNamespace] = d.Namespace
		}
	}
	return object, nil
}
