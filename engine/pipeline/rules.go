package pipeline

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
)

// rules derives the rights that the plan needs.
func (c *compiler) rules() {
	crd := c.Env.CRD.Resource
	if crd.Resource == "" {
		return
	}
	reading := []string{"get", "list", "watch"}
	verbs := append(slices.Clone(reading), "patch")
	if c.Spec.CRD.DeletionPolicy == v1alpha1.CRDDelete {
		verbs = append(verbs, "delete") // the resources go before their CRD
	}
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{crd.Group}, Resources: []string{crd.Resource}, Verbs: verbs},
		{APIGroups: []string{crd.Group}, Resources: []string{crd.Resource + "/finalizers"}, Verbs: []string{"update"}},
	}
	if c.Env.CRD.HasStatus {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{crd.Group}, Resources: []string{crd.Resource + "/status"}, Verbs: []string{"patch"}})
	}
	if c.ReachesNamespaces && c.Env.CRD.Namespaced {
		c.Observe(stage.NamespaceKind)
	}
	for _, gvk := range c.ObservedKinds {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{gvk.Group}, Resources: []string{c.Resource(gvk)}, Verbs: reading,
		})
	}
	for _, gvk := range c.plan.ChildKinds {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{gvk.Group}, Resources: []string{c.Resource(gvk)},
			Verbs: append(slices.Clone(reading), "create", "patch", "delete"),
		})
	}
	c.plan.Rules = slices.Concat(rules, c.plan.snapshotRule())
}

// snapshotRule is the right to keep snapshots.
func (p *Plan) snapshotRule() []rbacv1.PolicyRule {
	if p.Rollback == nil {
		return nil
	}
	return []rbacv1.PolicyRule{{
		APIGroups: []string{rollback.Kind.Group}, Resources: []string{"controllerrevisions"},
		Verbs: []string{"get", "list", "watch", "create", "delete"},
	}}
}
