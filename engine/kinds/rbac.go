package kinds

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

func rbacKinds() []Kind {
	clusterRoles := planned("clusterroles", "clusterrole", rankRole, rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	clusterRoleBindings := planned("clusterrolebindings", "clusterrolebinding", rankRole, rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"))
	clusterRoles.ClusterScoped, clusterRoleBindings.ClusterScoped = true, true
	return []Kind{
		clusterRoles,
		clusterRoleBindings,
		planned("roles", "role", rankRole, rbacv1.SchemeGroupVersion.WithKind("Role")),
		planned("rolebindings", "rolebinding", rankRole, rbacv1.SchemeGroupVersion.WithKind("RoleBinding")),
	}
}
