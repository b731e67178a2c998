package docs_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const tenantsPage = "docs/how-to/tenants.md"

// tenantsRole checks that the page on tenants gives the account of the box what the box needs, where it needs it, and nothing else: what
// `orkestra rbac` prints for the box of the page.
func tenantsRole(t *testing.T, bin string) {
	t.Helper()
	var crd, platform, box string
	for _, f := range fences(t, tenantsPage) {
		switch {
		case f.lang != "yaml":
		case strings.Contains(f.text, "kind: CustomResourceDefinition"):
			crd = f.text
		case strings.Contains(f.text, "name: site-operator, namespace: team-a}\nrules:"):
			platform = f.text
		case strings.Contains(f.text, "\nkind: OperatorBox\n"):
			box = f.text
		}
	}
	dir := t.TempDir()
	boxFile, crdFile := filepath.Join(dir, "box.yaml"), filepath.Join(dir, "crd.yaml")
	write(t, boxFile, box)
	write(t, crdFile, crd)
	out, err := exec.CommandContext(t.Context(), bin, "rbac", "-f", boxFile, "--crd", crdFile).CombinedOutput()
	if err != nil {
		t.Fatalf("orkestra rbac: %v\n%s", err, out)
	}
	printed, shown := rightsOfAccount(t, string(out)), rightsOfAccount(t, platform)
	if len(printed) < 10 {
		t.Fatalf("orkestra rbac printed only these rights: %q", printed)
	}
	if !slices.Equal(printed, shown) {
		t.Errorf("%s gives the account other rights than its box needs.\nThe page: %q\norkestra rbac: %q", tenantsPage, shown, printed)
	}
}

// rightsOfAccount gives the rights that manifests give to the account of the page, and to the manager, which have no namespace; each as
// `NAMESPACE: VERB GROUP/RESOURCE`, sorted.
func rightsOfAccount(t *testing.T, manifests string) []string {
	t.Helper()
	rules, roles := map[string][]rbacv1.PolicyRule{}, []string{}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var obj struct {
			rbacv1.Role `json:",inline"`
			Subjects    []rbacv1.Subject `json:"subjects"`
			RoleRef     rbacv1.RoleRef   `json:"roleRef"`
		}
		if err := yaml.Unmarshal([]byte(document), &obj); err != nil {
			t.Fatal(err)
		}
		switch obj.Kind {
		case "Role", "ClusterRole":
			name := obj.Kind + " " + obj.Namespace + " " + obj.Name
			rules[name] = obj.Rules
			if obj.Labels["orkestra.orkspace.io/aggregate-to-manager"] == "true" {
				roles = append(roles, name)
			}
		case "RoleBinding", "ClusterRoleBinding":
			if slices.Contains(obj.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "team-a", Name: "site-operator"}) {
				roles = append(roles, obj.RoleRef.Kind+" "+obj.Namespace+" "+obj.RoleRef.Name)
			}
		}
	}
	var out []string
	for _, role := range roles {
		for _, rule := range rules[role] {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					out = append(out, strings.Split(role, " ")[1]+": "+verb+" "+strings.Join(rule.APIGroups, ",")+"/"+resource+strings.Join(rule.ResourceNames, ","))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
