package manifests_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// childKinds are the kinds of the short forms, by API group. Those that grant rights are not among them.
var childKinds = map[string][]string{
	"": {
		"configmaps", "limitranges", "namespaces", "persistentvolumeclaims", "resourcequotas", "secrets", "serviceaccounts", "services",
	},
	"apps":              {"daemonsets", "deployments", "statefulsets"},
	"autoscaling":       {"horizontalpodautoscalers"},
	"batch":             {"cronjobs", "jobs"},
	"networking.k8s.io": {"ingresses", "networkpolicies"},
	"policy":            {"poddisruptionbudgets"},
}

var allVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// childVerbs are what a box needs for its children. They are applied, never updated.
var childVerbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// role is a Role or ClusterRole.
type role struct {
	kind, name string
	rules      []rbacv1.PolicyRule
	selectors  []string // of an aggregated role
	labels     map[string]string
}

func roles(t *testing.T, rendered objects) map[string]role {
	t.Helper()
	found := map[string]role{}
	for _, object := range rendered.ofKind("ClusterRole", "Role") {
		r := typed[rbacv1.ClusterRole](t, object) // a Role has fewer fields
		result := role{kind: r.Kind, name: r.Name, rules: r.Rules, labels: r.Labels}
		if r.AggregationRule != nil {
			for _, selector := range r.AggregationRule.ClusterRoleSelectors {
				for key, value := range selector.MatchLabels {
					result.selectors = append(result.selectors, key+"="+value)
				}
			}
		}
		found[r.Kind+"/"+r.Name] = result
	}
	return found
}

func TestNoWildcards(t *testing.T) {
	for name, rendered := range map[string]objects{
		"chart":                          helm(t),
		"everything but the trial scope": helm(t, append(everything, `rbac.scope="manager"`, "trust.webhook.enabled=true", `trust.boxNamespaces=[{"name": "team", "accounts": ["shop"]}]`)...),
		"kustomize":                      kustomize(t, "default"),
		"prometheus":                     kustomize(t, "prometheus"),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all := roles(t, rendered)
			g.Expect(all).NotTo(BeEmpty())
			for _, r := range all {
				for _, rule := range r.rules {
					for _, part := range slices.Concat(rule.APIGroups, rule.Resources, rule.ResourceNames, rule.NonResourceURLs, rule.Verbs) {
						g.Expect(part).NotTo(ContainSubstring("*"), "%s/%s", r.kind, r.name)
					}
				}
			}
		})
	}
}

func TestTrialScope(t *testing.T) {
	g := NewWithT(t)
	trial := roles(t, helm(t, `rbac.scope="cluster"`))
	g.Expect(trial["ClusterRole/orkestra-trial"].rules).To(Equal([]rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: allVerbs},
	}))
	delete(trial, "ClusterRole/orkestra-trial")
	g.Expect(trial).To(Equal(roles(t, helm(t, `rbac.scope="manager"`))))
}

// TestScopeOfAccounts: where boxes act as accounts, the manager reads, and deletes children whose account is gone.
func TestScopeOfAccounts(t *testing.T) {
	g := NewWithT(t)
	accounts, manager := roles(t, helm(t)), roles(t, helm(t, `rbac.scope="manager"`))
	g.Expect(manager["ClusterRole/orkestra-manager"].rules).To(Equal(roles(t, kustomize(t, "default"))["ClusterRole/orkestra-manager"].rules))
	less := rightsOf(accounts["ClusterRole/orkestra-manager"])
	for right := range rightsOf(manager["ClusterRole/orkestra-manager"]) {
		verb, resource, _ := strings.Cut(right, " ")
		group, plural, _ := strings.Cut(resource, "/")
		child := slices.Contains(childKinds[group], plural)
		taken := child && verb != "get" && verb != "list" && verb != "watch" && verb != "delete" ||
			plural == "customresourcedefinitions" && verb != "get" && verb != "list" && verb != "watch"
		g.Expect(less.Has(right)).To(Equal(!taken), right)
	}
	delete(accounts, "ClusterRole/orkestra-manager")
	delete(manager, "ClusterRole/orkestra-manager")
	g.Expect(accounts).To(Equal(manager), "all other roles are the same")
}

func TestManagerRules(t *testing.T) {
	g := NewWithT(t)
	allowed := managerRights(t)
	for group, resources := range childKinds {
		for _, resource := range resources {
			for _, verb := range childVerbs {
				right := verb + " " + group + "/" + resource
				g.Expect(allowed.Has(right)).To(BeTrue(), right)
			}
			g.Expect(allowed.Has("update "+group+"/"+resource)).To(BeFalse(), "update "+group+"/"+resource)
		}
	}
	for _, right := range []string{
		"list orkestra.orkspace.io/operatorboxes", "patch orkestra.orkspace.io/operatorboxes/status",
		"update orkestra.orkspace.io/operatorboxes/finalizers", "create orkestra.orkspace.io/crdhealths",
		"patch orkestra.orkspace.io/crdhealths/status", "watch apiextensions.k8s.io/customresourcedefinitions",
		"create apiextensions.k8s.io/customresourcedefinitions",
		"create authorization.k8s.io/selfsubjectaccessreviews", "create events.k8s.io/events", "create authentication.k8s.io/selfsubjectreviews",
		"list apps/controllerrevisions", "watch apps/controllerrevisions", "delete apps/controllerrevisions",
	} {
		g.Expect(allowed.Has(right)).To(BeTrue(), right)
	}
	for right := range allowed {
		verb, resource, _ := strings.Cut(right, " ")
		g.Expect(verb).NotTo(BeElementOf("escalate", "bind", "impersonate", "deletecollection"), right)
		if strings.HasPrefix(resource, "admissionregistration.") {
			g.Expect(verb).To(BeElementOf("get", "list", "watch"), right)
		}
		g.Expect(resource).NotTo(Or(HavePrefix("rbac."), HavePrefix("certificates."),
			HavePrefix("coordination."), HavePrefix("/pods"), HavePrefix("/nodes")), right)
	}
}

// managerRights returns what the manager's role allows, as "verb group/resource".
func managerRights(t *testing.T) sets.Set[string] {
	t.Helper()
	return rightsOf(roles(t, kustomize(t, "default"))["ClusterRole/orkestra-manager"])
}

// rightsOf returns what a role allows, as "verb group/resource".
func rightsOf(r role) sets.Set[string] {
	rights := sets.New[string]()
	for _, rule := range r.rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights.Insert(verb + " " + group + "/" + resource)
				}
			}
		}
	}
	return rights
}

var (
	marker      = regexp.MustCompile(`(?m)^\s*// \+kubebuilder:rbac:(.*)$`)
	markerParts = regexp.MustCompile(`^groups=([^,]*),resources=([^,]*),verbs=([^,]*)$`)
)

// TestMarkersCount checks that the manager has the rights of every marker in the code. The generator overlooks a marker that is part of
// the comment of a type.
func TestMarkersCount(t *testing.T) {
	g := NewWithT(t)
	allowed := managerRights(t)
	found := 0
	for _, folder := range []string{"controllers", "engine", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, match := range marker.FindAllStringSubmatch(string(content), -1) {
				found++
				parts := markerParts.FindStringSubmatch(match[1])
				g.Expect(parts).NotTo(BeNil(), "%s: %s", path, match[1])
				group := strings.Trim(parts[1], `"`)
				for resource := range strings.SplitSeq(parts[2], ";") {
					for verb := range strings.SplitSeq(parts[3], ";") {
						right := verb + " " + group + "/" + resource
						if !allowed.Has(right) {
							t.Errorf("%s: %q is not in the role: put an empty line between the marker and what follows", path, right)
						}
					}
				}
			}
			return nil
		})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(found).To(BeNumerically(">", 10))
}

func TestChartAndKustomizeGrantTheSame(t *testing.T) {
	g := NewWithT(t)
	// Only the chart serves the page.
	fromChart, fromKustomize := helm(t, `rbac.scope="manager"`, "web.enabled=false"), kustomize(t, "default")
	chartRoles, kustomizeRoles := roles(t, fromChart), roles(t, fromKustomize)
	g.Expect(keys(chartRoles)).To(Equal(keys(kustomizeRoles)))
	for name, want := range kustomizeRoles {
		got := chartRoles[name]
		g.Expect(got.rules).To(Equal(want.rules), name)
		g.Expect(got.selectors).To(Equal(want.selectors), name)
		g.Expect(aggregations(got)).To(Equal(aggregations(want)), name)
	}
	bindings := []string{"ClusterRoleBinding", "RoleBinding"}
	g.Expect(fromChart.ofKind(bindings...).names()).To(Equal(fromKustomize.ofKind(bindings...).names()))
	expectBound(t, fromChart)
	expectBound(t, fromKustomize)
}

func keys(all map[string]role) []string {
	return sets.List(sets.KeySet(all))
}

// aggregations returns the roles of Kubernetes that a role becomes part of.
func aggregations(r role) []string {
	found := sets.New[string]()
	for label := range r.labels {
		if strings.Contains(label, "/aggregate-to-") {
			found.Insert(label)
		}
	}
	return sets.List(found)
}

// expectBound checks that each binding binds a role that there is to the account of the Deployment, and that every role but those
// for people is bound.
func expectBound(t *testing.T, rendered objects) {
	t.Helper()
	g := NewWithT(t)
	all := roles(t, rendered)
	account := rendered.ofKind("ServiceAccount")[0]
	unbound := sets.KeySet(all)
	for _, object := range rendered.ofKind("ClusterRoleBinding", "RoleBinding") {
		binding := typed[rbacv1.RoleBinding](t, object) // a ClusterRoleBinding has the same fields
		name := binding.RoleRef.Kind + "/" + binding.RoleRef.Name
		g.Expect(all).To(HaveKey(name))
		g.Expect(object.GetKind()).To(Equal(binding.RoleRef.Kind + "Binding"))
		g.Expect(binding.Subjects).To(Equal([]rbacv1.Subject{
			{Kind: "ServiceAccount", Name: account.GetName(), Namespace: account.GetNamespace()},
		}))
		unbound.Delete(name)
	}
	for name := range unbound {
		g.Expect(name).To(Or(HaveSuffix("-viewer"), HaveSuffix("-editor"), HaveSuffix("-metrics-reader"),
			HaveSuffix("-manager-identity"), HaveSuffix("-restorer")))
	}
}

func TestRolesOfPeople(t *testing.T) {
	g := NewWithT(t)
	all := roles(t, kustomize(t, "default"))
	g.Expect(aggregations(all["ClusterRole/orkestra-viewer"])).To(ConsistOf("rbac.authorization.k8s.io/aggregate-to-view"))
	// Boxes, and the rights of the manager, are given on purpose: the admin of a namespace has neither.
	for _, name := range []string{"editor", "manager-identity", "restorer"} {
		g.Expect(aggregations(all["ClusterRole/orkestra-"+name])).To(BeEmpty(), name)
		g.Expect(aggregations(roles(t, helm(t))["ClusterRole/orkestra-"+name])).To(BeEmpty(), name)
	}
	for _, rule := range all["ClusterRole/orkestra-viewer"].rules {
		g.Expect(rule.Verbs).To(HaveEach(BeElementOf("get", "list", "watch")))
	}
	g.Expect(all["ClusterRole/orkestra-aggregate"].selectors).To(ConsistOf("orkestra.orkspace.io/aggregate-to-manager=true"))
	// Rules that are written there would be lost, or would take away those that the cluster fills in.
	for _, rendered := range []objects{helm(t), kustomize(t, "default")} {
		for _, object := range rendered.ofKind("ClusterRole") {
			if object.GetName() == "orkestra-aggregate" {
				g.Expect(object.Object).NotTo(HaveKey("rules"))
			}
		}
	}
}
