package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
)

// ruleTexts gives rules as people read them.
func ruleTexts(rules []v1alpha1.RequiredRule) []string {
	var out []string
	for _, r := range rules {
		text := strings.Join(r.Verbs, ",") + " " + strings.Join(r.Resources, ",")
		if r.APIGroups[0] != "" {
			text += "." + r.APIGroups[0]
		}
		if len(r.ResourceNames) > 0 {
			text += " named " + strings.Join(r.ResourceNames, ",")
		}
		if len(r.Namespaces) > 0 {
			text += " in " + strings.Join(r.Namespaces, ",")
		}
		out = append(out, text)
	}
	return out
}

const someAccount = "serviceAccountRef: {namespace: team-a, name: shop}\n"

func TestRulesOfAnAccount(t *testing.T) {
	const all, two = "", " in team-a,team-b"
	served := func(in string) []string {
		return []string{
			"get,list,watch,patch websites.demo.example.com" + in, "update websites/finalizers.demo.example.com" + in,
			"patch websites/status.demo.example.com" + in, "create,patch events.events.k8s.io" + in,
		}
	}
	literal := "namespaces: {include: [team-b, team-a]}\n"
	children := func(kind, in string) string { return "get,create,patch,delete " + kind + in }
	for name, tc := range map[string]struct {
		spec  string
		in    string
		rules []string
	}{
		"nothing":                          {"", all, nil},
		"literal namespaces":               {literal, two, nil},
		"a pattern of namespaces":          {`namespaces: {include: ["team-*"]}`, all, nil},
		"children beside the resource":     {literal + `onReconcile: {configmaps: [{name: a}]}`, two, []string{children("configmaps", two)}},
		"children elsewhere":               {literal + `onReconcile: {configmaps: [{name: a}, {name: b, namespace: other}]}`, two, []string{children("configmaps", " in other,team-a,team-b")}},
		"children only elsewhere":          {`onReconcile: {configmaps: [{name: b, namespace: other}]}`, all, []string{children("configmaps", " in other")}},
		"children where a template leads":  {literal + `onReconcile: {configmaps: [{namespace: "{{ .spec.image }}"}]}`, two, []string{children("configmaps", all)}},
		"children that are in no space":    {literal + `onReconcile: {namespaces: [{name: "{{ .metadata.namespace }}-{{ .metadata.name }}"}]}`, two, []string{children("namespaces", all)}},
		"children of a manifest":           {literal + `onDelete: {resources: [{manifest: {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, namespace: other}}}]}`, two, []string{children("daemonsets.apps", " in other")}},
		"a binding":                        {literal + `onReconcile: {rolebindings: [{name: a, roleRef: {kind: ClusterRole, name: view}, subjects: []}]}`, two, []string{"bind clusterroles.rbac.authorization.k8s.io named view" + two, children("rolebindings.rbac.authorization.k8s.io", two)}},
		"a binding in all namespaces":      {literal + `onReconcile: {clusterrolebindings: [{name: "{{ .metadata.namespace }}-{{ .metadata.name }}", roleRef: {kind: ClusterRole, name: view}, subjects: []}]}`, two, []string{"bind clusterroles.rbac.authorization.k8s.io named view" + all, children("clusterrolebindings.rbac.authorization.k8s.io", all)}},
		"a role":                           {literal + `onReconcile: {roles: [{name: a, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]}`, two, []string{"get pods" + two, children("roles.rbac.authorization.k8s.io", two)}},
		"cross by a name":                  {literal + `cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: x}}, {name: b, apiVersion: v1, kind: ConfigMap, selector: {name: "y"}}]`, two, []string{"get configmaps named x,y" + two}},
		"cross by a name elsewhere":        {literal + `cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: x, namespace: other}}]`, two, []string{"get configmaps named x in other"}},
		"cross by a name of a template":    {literal + `cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: "{{ .spec.image }}"}}]`, two, []string{"later: get configmaps" + two}},
		"cross where a template leads":     {literal + `cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: x, namespace: "{{ .spec.image }}"}}]`, two, []string{"later: get configmaps named x"}},
		"cross of what it makes":           {literal + `cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: x}}, {name: b, apiVersion: v1, kind: ConfigMap, selector: {name: "{{ .spec.image }}"}}]` + "\nonReconcile: {configmaps: [{name: a}]}", two, []string{children("configmaps", two)}},
		"cross by labels":                  {literal + `cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: "{{ .spec.image }}"}}}]`, two, []string{"list,watch configmaps" + two}},
		"cross of what is in no namespace": {literal + `cross: [{name: a, apiVersion: v1, kind: Node, selector: {name: x}}]`, two, []string{"get nodes named x"}},
		"cross of another box":             {literal + `cross: [{name: a, box: db, selector: {name: x}}]`, two, []string{"get databases.db.example.com named x" + two}},
		"cross of a box that is not known": {literal + `cross: [{name: a, box: other, selector: {name: x}}]`, two, nil},
		"the Secrets of a call":            {literal + readsQuota + "  auth: {secretRef: {name: s}}\n  caBundle: {name: t, namespace: other}", two, []string{"get secrets named t in other", "get secrets named s" + two}},
		"snapshots are the manager's":      {literal + `rollback: {}`, two, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			db := CRD{Resource: configMapKind.GroupVersion().WithResource("databases"), Namespaced: true}
			db.Resource.Group = "db.example.com"
			env := Env{CRD: websites(t), AllowGrantingKinds: true, BoxCRD: func(box string) *CRD {
				if box == "db" {
					return &db
				}
				return nil
			}}
			plan, errs := Compile(boxOf(t, someAccount+tc.spec), env)
			g.Expect(messages(errs)).To(gomega.BeEmpty())
			own, managers := plan.Needed().Own, plan.Needed().Manager
			got := ruleTexts(own)
			for _, later := range plan.Required()[len(own):] {
				got = append(got, "later: "+ruleTexts([]v1alpha1.RequiredRule{later})[0])
			}
			want := append(served(tc.in), tc.rules...)
			g.Expect(got).To(gomega.Equal(want))
			g.Expect(ruleTexts(managers)).To(gomega.ContainElement("list,watch websites.demo.example.com" + tc.in))
		})
	}
}

// TestRightsThatSpecNamespacesWouldLimit: those over what is where the resources are, as long as the box does not name these namespaces.
func TestRightsThatSpecNamespacesWouldLimit(t *testing.T) {
	const spec = someAccount + `
cross: [{name: node, apiVersion: v1, kind: Node, selector: {name: x}}, {name: quota, apiVersion: v1, kind: ResourceQuota, selector: {name: x, namespace: other}}, {name: s, apiVersion: v1, kind: Service, selector: {name: x}}, {name: theirs, apiVersion: v1, kind: Service, selector: {name: z, namespace: other}}]
onReconcile:
  configmaps: [{name: a}, {id: b, name: b, namespace: "{{ .spec.image }}"}]
  secrets: [{name: a, namespace: "{{ .spec.image }}"}]
  deployments: [{name: a, namespace: other, replicas: 1, image: a}]
`
	unselected := func(plan *Plan) (out []string) {
		needs := plan.Needed()
		for _, right := range access.Rights(plan.Required()) {
			if needs.Unselected(right) {
				out = append(out, right.Resource+right.Namespace)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	g := gomega.NewWithT(t)
	all := []string{"configmaps", "events", "services", "websites"}
	g.Expect(unselected(planOf(t, spec))).To(gomega.Equal(all))
	g.Expect(unselected(planOf(t, spec+`namespaces: {include: ["team-*"]}`))).To(gomega.Equal(all), "no namespace is named")
	g.Expect(unselected(planOf(t, spec+`namespaces: {include: [team-a]}`))).To(gomega.BeEmpty(), "what is left is for what a template decides")
}

func TestRulesBesideAnAccountAreThoseOfTheManagersCaches(t *testing.T) {
	g := gomega.NewWithT(t)
	spec := "rollback: {}\ncross: [{name: a, apiVersion: v1, kind: Secret, selector: {name: x}}]\nonReconcile: {configmaps: [{name: a}]}\n"
	needs := planOf(t, someAccount+spec).Needed()
	own, managers := needs.Own, needs.Manager
	g.Expect(ruleTexts(managers)).To(gomega.Equal([]string{
		"list,watch websites.demo.example.com", "list,watch secrets", "list,watch configmaps", "list,watch controllerrevisions.apps",
		"impersonate serviceaccounts named shop in team-a",
	}))
	g.Expect(ruleTexts(own)).NotTo(gomega.ContainElement(gomega.ContainSubstring("controllerrevisions")))

	alone := planOf(t, spec)
	own, managers = alone.Needed().Own, alone.Needed().Manager
	g.Expect(managers).To(gomega.BeEmpty(), "a manager that does everything is asked once")
	g.Expect(own).To(gomega.Equal(alone.Required()))
	g.Expect(ruleTexts(own)).To(gomega.Equal([]string{
		"get,list,watch,patch websites.demo.example.com", "update websites/finalizers.demo.example.com", "patch websites/status.demo.example.com",
		"get,list,watch secrets", "get,list,watch,create,patch,delete configmaps", "list,watch controllerrevisions.apps",
	}))
	as := alone.As(identity.Account{Namespace: "team-a", Name: "shop"})
	g.Expect(as.Required()).To(gomega.Equal(planOf(t, someAccount+spec).Required()), "a former spec runs as the account of today")
}

func TestRulesOfAnAccountThatInstallsTheCRD(t *testing.T) {
	g := gomega.NewWithT(t)
	box := boxOf(t, someAccount+`crd: {deletionPolicy: Delete, definition: {group: demo.example.com}}`)
	plan, errs := Compile(box, Env{CRD: websites(t)})
	g.Expect(messages(errs)).To(gomega.BeEmpty())
	g.Expect(ruleTexts(plan.Required())).To(gomega.ContainElements(
		"get,list,watch,patch,delete websites.demo.example.com",
		"create,patch,delete customresourcedefinitions.apiextensions.k8s.io named websites.demo.example.com"))
}

// What the manager needs for a box beside its account, where no installation gives it: kinds with a key are left out.
func TestWhatTheManagerIsFedFor(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, someAccount+`
cross:
- {name: a, apiVersion: v1, kind: Secret, selector: {name: x}}
- {name: b, apiVersion: v1, kind: Pod, selector: {name: x}}
onReconcile:
  configmaps: [{name: a}]
  roles: [{name: a, rules: []}]
  resources: [{manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "{{ .metadata.namespace }}-{{ .metadata.name }}"}, value: 7}}]
`)
	var rules []v1alpha1.RequiredRule
	for _, rule := range plan.Feeds() {
		rules = append(rules, v1alpha1.RequiredRule{PolicyRule: rule})
	}
	g.Expect(ruleTexts(rules)).To(gomega.ConsistOf("get,list,watch,patch websites.demo.example.com", "list,watch pods",
		"get,list,watch,delete roles.rbac.authorization.k8s.io", "get,list,watch,delete priorityclasses.scheduling.k8s.io"))
}
