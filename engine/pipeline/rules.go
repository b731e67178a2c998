package pipeline

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/providers"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
)

// rules are the rights that a plan needs. A box without an account acts as the manager, which reads for it and writes for it; with one, the
// account does what is done in the name of the box, and the manager keeps the caches.
type rules struct {
	manager []v1alpha1.RequiredRule // of the manager, where the box has no account
	account []v1alpha1.RequiredRule // of the account
	later   []v1alpha1.RequiredRule // of the account: what a template decides is reviewed when it is read
	caches  []v1alpha1.RequiredRule // of the manager, beside an account
	feeds   []rbacv1.PolicyRule     // of the manager, which no installation gives it

	selected map[schema.GroupResource]bool // over which the account needs rights where the resources of the box are
}

// Required are the rights of as whom the box acts: the whole of them, as its status shows them.
func (p *Plan) Required() []v1alpha1.RequiredRule {
	if p.Account.IsManager() {
		return p.rules.manager
	}
	return slices.Concat(p.rules.account, p.rules.later)
}

// Needs are the rights that must be there before a box starts.
type Needs struct {
	// Own are of as whom the box acts.
	Own []v1alpha1.RequiredRule
	// Manager are of the manager beside an account, which it must be allowed to act as: where the chart's values name accounts, the others of a
	// namespace are not for boxes.
	Manager []v1alpha1.RequiredRule

	unselected map[schema.GroupResource]bool // over which Own has rights in all namespaces because the box names none
}

// Unselected says whether the account needs a right in all namespaces because spec.namespaces.include does not name those of the resources.
func (n *Needs) Unselected(right access.Right) bool {
	return right.Namespace == "" && n.unselected[schema.GroupResource{Group: right.Group, Resource: right.Resource}]
}

// Needed are the rights that must be there before the box starts.
func (p *Plan) Needed() Needs {
	if p.Account.IsManager() {
		return Needs{Own: p.rules.manager}
	}
	acting := may("", "serviceaccounts", "impersonate")
	acting.ResourceNames = []string{p.Account.Name}
	needs := Needs{Own: p.rules.account, Manager: append(slices.Clone(p.rules.caches), v1alpha1.RequiredRule{PolicyRule: acting, Namespaces: []string{p.Account.Namespace}})}
	if p.CRD.Namespaced && p.Selection.Namespaces() == nil {
		needs.unselected = p.rules.selected
	}
	return needs
}

// Feeds are the rights that the manager needs for this box beside its account, and that it has by no installation (docs/operations/rights.md):
// to list and watch the resources, and kinds without a key; and to let go of both where the account is gone.
func (p *Plan) Feeds() []rbacv1.PolicyRule { return p.rules.feeds }

// Verbs of rules.
const (
	verbGet    = "get"
	verbPatch  = "patch"
	verbDelete = "delete"
	verbCreate = "create"
	verbUpdate = "update"
)

var (
	// watching is what a cache does.
	watching = []string{"list", "watch"}
	reading  = append([]string{verbGet}, watching...)
)

// rights derives the rules of a plan from what the box was compiled to.
type rights struct {
	*compile.Box

	plan *Plan
}

// derive gives the plan its rules.
func (r *rights) derive() {
	if r.Env.CRD.Resource.Resource == "" {
		return
	}
	if r.ReachesNamespaces && r.Env.CRD.Namespaced {
		r.Observe(stage.NamespaceKind)
	}
	snapshots := access.Everywhere(r.plan.snapshotRule()...)
	r.plan.rules = rules{manager: append(access.Everywhere(r.managerRules()...), snapshots...), caches: append(r.cacheRules(), snapshots...)}
	r.plan.rules.feeds = r.feedRules()
	r.accountRules()
}

// managerRules are the rights of a manager that does everything itself.
func (r *rights) managerRules() []rbacv1.PolicyRule {
	rules := r.servedRules()
	for _, gvk := range r.ObservedKinds {
		verbs := slices.Clone(reading)
		if slices.ContainsFunc(r.Patches, func(p compile.OutsideRead) bool { return p.Kind == gvk }) {
			verbs = append(verbs, verbPatch)
		}
		rules = append(rules, may(gvk.Group, r.Resource(gvk), verbs...))
	}
	for _, gvk := range r.plan.ChildKinds {
		rules = append(rules, may(gvk.Group, r.Resource(gvk), append(slices.Clone(reading), verbCreate, verbPatch, verbDelete)...))
	}
	for _, gvk := range r.plan.CodeKinds() {
		rules = append(rules, may(gvk.Group, r.Resource(gvk), codeVerbs...))
	}
	return append(rules, providers.Rights(r.Box)...)
}

// servedRules are the rights over the resources of the box.
func (r *rights) servedRules() []rbacv1.PolicyRule {
	crd := r.Env.CRD.Resource
	verbs := slices.Clone(reading)
	if r.plan.marks {
		verbs = append(verbs, verbPatch)
	}
	if r.Spec.CRD.DeletionPolicy == v1alpha1.CRDDelete {
		verbs = append(verbs, verbDelete) // the resources go before their CRD
	}
	rules := []rbacv1.PolicyRule{may(crd.Group, crd.Resource, verbs...), may(crd.Group, crd.Resource+"/finalizers", "update")}
	if r.Env.CRD.HasStatus {
		rules = append(rules, may(crd.Group, crd.Resource+"/status", verbPatch))
	}
	return append(rules, r.codeRules()...)
}

// cacheRules are the rights of the manager's caches: those of the resources are filled where the box has any, the others are shared by all
// boxes.
func (r *rights) cacheRules() []v1alpha1.RequiredRule {
	crd := r.Env.CRD.Resource
	rules := []v1alpha1.RequiredRule{{PolicyRule: may(crd.Group, crd.Resource, watching...), Namespaces: r.selected()}}
	for _, gvk := range slices.Concat(r.ObservedKinds, r.plan.ChildKinds, r.plan.CodeKinds()) {
		rules = append(rules, access.Everywhere(may(gvk.Group, r.Resource(gvk), watching...))...)
	}
	return rules
}

// feedRules are the rights of the manager over kinds that only this cluster has.
func (r *rights) feedRules() []rbacv1.PolicyRule {
	crd := r.Env.CRD.Resource
	verbs := slices.Clone(reading)
	if r.plan.marks {
		verbs = append(verbs, verbPatch)
	}
	rules := []rbacv1.PolicyRule{may(crd.Group, crd.Resource, verbs...)}
	for _, gvk := range slices.Concat(r.ObservedKinds, r.plan.CodeKinds()) {
		if !inEveryInstallation(gvk) && !slices.Contains(r.plan.ChildKinds, gvk) {
			rules = append(rules, may(gvk.Group, r.Resource(gvk), watching...))
		}
	}
	for _, gvk := range r.plan.ChildKinds {
		if !inEveryInstallation(gvk) {
			rules = append(rules, may(gvk.Group, r.Resource(gvk), append(slices.Clone(reading), verbDelete)...))
		}
	}
	return rules
}

// inEveryInstallation says whether the manager may read a kind, and delete objects of it, wherever it is installed: that holds for the kinds
// with a key, but for those that grant rights.
func inEveryInstallation(gvk schema.GroupVersionKind) bool {
	_, keyed := check.Keyed(gvk)
	return keyed && gvk.Group != rbacv1.GroupName
}

func may(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// snapshotRule is the right to find snapshots. That to write them, in the manager's namespace, is part of every installation.
func (p *Plan) snapshotRule() []rbacv1.PolicyRule {
	if p.Rollback == nil {
		return nil
	}
	return []rbacv1.PolicyRule{may(rollback.Kind.Group, "controllerrevisions", watching...)}
}
