package manifests_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// rightsRow is a row of the table of rights: role, API group, resources, verbs, why.
var rightsRow = regexp.MustCompile("(?m)^\\| ((?:Cluster)?Role) `([a-z-]+)` \\| (core|`[a-z0-9.]+`) \\| (.+) \\| ([a-z, ]+) \\| .+ \\|$")

// quoted is what stands between back quotes.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestTheRightsOfTheManagerAreDocumented compares what the chart gives the manager by default with the page that says why, both ways.
func TestTheRightsOfTheManagerAreDocumented(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations", "rights.md"))
	g.Expect(err).NotTo(HaveOccurred())
	documented := sets.New[string]()
	for _, row := range rightsRow.FindAllStringSubmatch(string(page), -1) {
		group := strings.Trim(strings.TrimPrefix(row[3], "core"), "`")
		listed, names, _ := strings.Cut(row[4], " named ")
		rule := rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: strings.Split(row[5], ", ")}
		for _, m := range quoted.FindAllStringSubmatch(listed, -1) {
			rule.Resources = append(rule.Resources, m[1])
		}
		for _, m := range quoted.FindAllStringSubmatch(names, -1) {
			rule.ResourceNames = append(rule.ResourceNames, m[1])
		}
		documented.Insert(spelled(row[1]+"/"+row[2], rule)...)
	}
	given := sets.New[string]()
	rendered := helm(t)
	all := roles(t, rendered)
	for _, name := range rolesOfTheManager(t, rendered) {
		for _, rule := range all[name].rules {
			given.Insert(spelled(name, rule)...)
		}
	}
	g.Expect(sets.List(given.Difference(documented))).To(BeEmpty(), "given, and not in docs/operations/rights.md")
	g.Expect(sets.List(documented.Difference(given))).To(BeEmpty(), "in docs/operations/rights.md, and not given")
}

// rolesOfTheManager are those that are bound to its account.
func rolesOfTheManager(t *testing.T, rendered objects) []string {
	t.Helper()
	var out []string
	for _, object := range rendered.ofKind("ClusterRoleBinding", "RoleBinding") {
		binding := typed[rbacv1.ClusterRoleBinding](t, object) // a RoleBinding has the same fields
		for _, subject := range binding.Subjects {
			if subject.Kind == rbacv1.ServiceAccountKind && subject.Name == "orkestra" {
				out = append(out, binding.RoleRef.Kind+"/"+binding.RoleRef.Name)
			}
		}
	}
	return out
}

// spelled gives each right of a rule as one text.
func spelled(role string, rule rbacv1.PolicyRule) []string {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{"any"}
	}
	var out []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range names {
				for _, verb := range rule.Verbs {
					out = append(out, strings.Join([]string{role, verb, group, resource, name}, " "))
				}
			}
		}
	}
	return out
}
