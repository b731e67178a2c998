package manifests_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// impersonates are the rules of all roles that let the manager act as somebody else, by the role, and by the namespace where it has one.
func impersonates(t *testing.T, rendered objects) map[string][]rbacv1.PolicyRule {
	t.Helper()
	found := map[string][]rbacv1.PolicyRule{}
	for _, object := range rendered.ofKind("ClusterRole", "Role") {
		r := typed[rbacv1.ClusterRole](t, object)
		for _, rule := range r.Rules {
			for _, verb := range rule.Verbs {
				if verb == "impersonate" {
					name := r.Kind + "/" + r.Name + "/" + r.Namespace
					found[name] = append(found[name], rule)
				}
			}
		}
	}
	return found
}

var impersonation = rbacv1.PolicyRule{
	APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"uids", "userextras/orkestra.orkspace.io/box"}, Verbs: []string{"impersonate"},
}

func accountsRule(names ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: names, Verbs: []string{"impersonate"}}}
}

// TestTheManagerImpersonatesNobodyElse: accounts by Role, in the namespaces that are named, and in no other.
func TestTheManagerImpersonatesNobodyElse(t *testing.T) {
	own := map[string][]rbacv1.PolicyRule{
		"ClusterRole/orkestra-impersonation/": {impersonation}, "Role/orkestra-accounts/orkestra-system": accountsRule(),
	}
	for name, tc := range map[string]struct {
		rendered objects
		want     map[string][]rbacv1.PolicyRule
		args     []string
	}{
		"kustomize":                  {rendered: kustomize(t, "default"), want: own},
		"chart":                      {rendered: helm(t), want: own, args: []string{"--box-namespaces=orkestra-system"}},
		"chart for trials":           {rendered: helm(t, `rbac.scope="cluster"`), want: own},
		"accounts that are demanded": {rendered: helm(t, "trust.requireServiceAccount=true"), want: own, args: []string{"--require-service-account"}},
		"namespaces": {
			rendered: helm(t, `trust.boxNamespaces=[{"name": "team-a", "accounts": ["shop", "blog"]}, {"name": "team-b"}]`),
			want: map[string][]rbacv1.PolicyRule{
				"ClusterRole/orkestra-impersonation/": {impersonation},
				"Role/orkestra-accounts/team-a":       accountsRule("shop", "blog"), "Role/orkestra-accounts/team-b": accountsRule(),
			},
			args: []string{"--box-namespaces=team-a", "--box-namespaces=team-b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(impersonates(t, tc.rendered)).To(Equal(tc.want))
			args := only[appsv1.Deployment](t, tc.rendered, "Deployment").Spec.Template.Spec.Containers[0].Args
			for _, arg := range tc.args {
				g.Expect(args).To(ContainElement(arg))
			}
			for role := range tc.want {
				bound := false
				for _, object := range tc.rendered.ofKind("ClusterRoleBinding", "RoleBinding") {
					b := typed[rbacv1.RoleBinding](t, object)
					if b.RoleRef.Kind+"/"+b.RoleRef.Name+"/"+b.Namespace == role {
						g.Expect(b.Subjects).To(ConsistOf(rbacv1.Subject{Kind: "ServiceAccount", Name: "orkestra", Namespace: "orkestra-system"}))
						bound = true
					}
				}
				g.Expect(bound).To(BeTrue(), "%s is bound", role)
			}
		})
	}
}

// TestAccountsAreWatched: an account that was deleted must be noticed.
func TestAccountsAreWatched(t *testing.T) {
	for name, rendered := range map[string]objects{
		"kustomize": kustomize(t, "default"), "chart": helm(t), "chart with names": helm(t, `trust.boxNamespaces=[{"name": "orkestra-system", "accounts": ["shop"]}]`),
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(roles(t, rendered)["Role/orkestra-accounts"].rules).To(ContainElement(rbacv1.PolicyRule{
				APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"get", "list", "watch"},
			}), "of all: a watch of single names is none")
		})
	}
}

// TestRightsAreWatched: with nothing that could be written, and no object's content beside.
func TestRightsAreWatched(t *testing.T) {
	for name, rendered := range map[string]objects{"kustomize": kustomize(t, "default"), "chart": helm(t)} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(roles(t, rendered)["ClusterRole/orkestra-rights"].rules).To(Equal([]rbacv1.PolicyRule{{
				APIGroups: []string{rbacv1.GroupName}, Verbs: []string{"list", "watch"},
				Resources: []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
			}}))
		})
	}
}
