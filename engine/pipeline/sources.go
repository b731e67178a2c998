package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/suggest"
)

// defaultSources finds the workload and the Service that defaults are taken from. Where there are several, or none, the
// author must say which.
func (c *compiler) defaultSources(all []*declaration) {
	for _, d := range all {
		switch fields, scalable, needs := d.kind.NeedsWorkload(d.written, d.overlay); {
		case !needs:
		case d.written[kinds.WorkloadRef] != nil && scalable:
			d.workload = c.named(d, all, kinds.WorkloadRef, "Deployment or StatefulSet", func(o *declaration) bool { return o.kind.IsScalable() })
		case d.written[kinds.WorkloadRef] != nil:
			d.workload = c.named(d, all, kinds.WorkloadRef, "Deployment, StatefulSet or DaemonSet", func(o *declaration) bool { return o.kind.IsWorkload() })
		case scalable:
			d.workload = c.onlyOne(d, scalableOf(c.workloads), "scalable workload", kinds.WorkloadRef, fields)
		default:
			d.workload = c.onlyOne(d, c.workloads, "workload", kinds.WorkloadRef, fields)
		}
		switch fields, needs := d.kind.NeedsService(d.written, d.overlay); {
		case !needs:
		case d.written[kinds.ServiceRef] != nil:
			d.service = c.named(d, all, kinds.ServiceRef, "Service", func(o *declaration) bool { return o.kind.Key == keyServices })
		default:
			d.service = c.onlyOne(d, c.services, "Service", kinds.ServiceRef, fields)
		}
	}
	for _, d := range all {
		d.usesSecrets = d.usesSecrets || d.takesSecrets()
	}
}

// takesSecrets says whether a default may come from a Secret, through the declaration that it is taken from.
func (d *declaration) takesSecrets() bool {
	if d.service != nil && (d.service.usesSecrets || d.service.takesSecrets()) {
		return true
	}
	return d.workload != nil && d.workload.usesSecrets
}

// scalableOf gives those workloads that an HPA can scale.
func scalableOf(workloads []*declaration) []*declaration {
	return slices.DeleteFunc(slices.Clone(workloads), func(d *declaration) bool { return !d.kind.IsScalable() })
}

// named finds the declaration that a field of another one names by its id. One of the same group comes first; what
// onCreate and onReconcile declare is there for all.
func (c *compiler) named(d *declaration, all []*declaration, ref, what string, fits func(*declaration) bool) *declaration {
	id, _ := d.written[ref].(string)
	at := field.NewPath(d.where).Child(ref)
	var found *declaration
	var ids []string
	for _, other := range all {
		if other.phase != d.phase && other.phase != stage.StepOnCreate && other.phase != stage.StepOnReconcile {
			continue
		}
		if other.id == id && (found == nil || other.phase == d.phase) {
			found = other
		}
		if fits(other) {
			ids = append(ids, other.id)
		}
	}
	switch {
	case found == nil && expr.IsTemplate(id):
		c.Fail(field.Invalid(at, id, "wanted the id of a declaration, which no template can give"))
	case found == nil:
		c.Fail(field.Invalid(at, id, "no declaration has this id"+suggest.DidYouMean(id, ids)))
	case !fits(found):
		c.Fail(field.Invalid(at, id, fmt.Sprintf("this is the id of a %s declared in %s; wanted that of a %s", found.gvk.Kind, found.where, what)))
	case found.forEach != nil && !sameLoop(d, found):
		c.Fail(field.Invalid(at, id, "this declaration stands for several objects: go over the same items with the same forEach"))
	default:
		return found
	}
	return nil
}

func (c *compiler) onlyOne(d *declaration, candidates []*declaration, what, ref, fields string) *declaration {
	if len(candidates) == 1 {
		if candidates[0].forEach == nil || sameLoop(d, candidates[0]) {
			return candidates[0]
		}
		c.Fail(&field.Error{Type: field.ErrorTypeRequired, Field: d.where, BadValue: "", Detail: fmt.Sprintf(
			"the %s %q stands for several objects: go over the same items with the same forEach, or set %s", what, candidates[0].id, fields)})
		return nil
	}
	detail := fmt.Sprintf("this box declares no %s that %s could be taken from; set it", what, fields)
	if len(candidates) > 1 {
		ids := make([]string, 0, len(candidates))
		for _, other := range candidates {
			ids = append(ids, fmt.Sprintf("%q", other.id))
		}
		detail = fmt.Sprintf("this box declares several %ss (%s); set %s to the id of one, or set %s", what, strings.Join(ids, ", "), ref, fields)
	}
	c.Fail(&field.Error{Type: field.ErrorTypeRequired, Field: d.where, BadValue: "", Detail: detail})
	return nil
}

// childKinds collects the kinds that the plan may make.
func (c *compiler) childKinds(all []*declaration) {
	for _, d := range all {
		if !slices.Contains(c.plan.ChildKinds, d.gvk) {
			c.plan.ChildKinds = append(c.plan.ChildKinds, d.gvk)
		}
	}
	slices.SortFunc(c.plan.ChildKinds, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	if !c.Env.AllKinds {
		return
	}
	for _, kind := range c.plan.ChildKinds {
		if !c.Installed(kind) {
			c.plan.Notes = append(c.plan.Notes, fmt.Sprintf("%s has no kind %s on this API server yet: its children are made when it is installed", kind.GroupVersion(), kind.Kind))
		}
	}
}

// ownerReferences says which children the garbage collector may delete with their owner. A foreground deletion would
// remove them before the clean-up runs, so with onDelete there are none, unless asked for.
func (c *compiler) ownerReferences(live []*declaration) {
	childrenFirst := c.Spec.Deletion != nil && c.Spec.Deletion.ChildrenFirst
	for _, d := range live {
		d.ownerReference = len(c.deleteGroup) == 0 || childrenFirst
	}
}

// sharedName says what is wrong with the name of a cluster-scoped child of a namespaced resource.
func sharedName(d *declaration) string {
	return fmt.Sprintf("%s is cluster-scoped and the resources are not: its name must hold {{ .metadata.namespace }}, or resources of two namespaces would share it", d.gvk.Kind)
}

func readsNamespace(d *declaration) bool {
	if d.name == nil {
		return false
	}
	for _, p := range d.name.Paths() {
		if p.String() == "metadata.namespace" {
			return true
		}
	}
	return false
}

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
