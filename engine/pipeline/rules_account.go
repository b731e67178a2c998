package pipeline

import (
	"encoding/json"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/providers"
)

// accountRules derives what the account of the box must be allowed to do: what is done in the name of the box, and what it is shown of the
// manager's caches.
func (r *rights) accountRules() {
	for _, rule := range r.servedRules() {
		r.needsThere(rule)
	}
	events := may("events.k8s.io", "events", verbCreate, verbPatch)
	if r.Env.CRD.Namespaced {
		r.needsThere(events)
	} else {
		r.needs(events, metav1.NamespaceDefault) // where the events of cluster-scoped objects are
	}
	r.definitionRules()
	for _, gvk := range r.plan.ChildKinds {
		r.childRules(gvk)
	}
	for _, gvk := range r.plan.CodeKinds() {
		rule := may(gvk.Group, r.Resource(gvk), codeVerbs...)
		if check.Scope(gvk, r.Env.Mapper) == meta.RESTScopeNameRoot {
			r.needs(rule)
		} else {
			r.needsThere(rule)
		}
	}
	for _, read := range r.OutsideReads {
		r.readRules(read)
	}
	if hook := r.plan.declared.Hook; hook != nil {
		r.hookRules(hook)
	}
	for _, patch := range r.Patches {
		r.outsideRules(patch, verbGet, verbPatch)
	}
	for _, rule := range providers.Rights(r.Box) {
		r.needsThere(rule)
	}
	r.plan.rules.account = access.Merged(r.plan.rules.account)
	r.plan.rules.later = slices.DeleteFunc(access.Merged(r.plan.rules.later), func(rule v1alpha1.RequiredRule) bool {
		return access.Covers(r.plan.rules.account, &rule)
	})
}

// needs notes a right of the account; without namespaces: in all.
func (r *rights) needs(rule rbacv1.PolicyRule, namespaces ...string) {
	r.plan.rules.account = append(r.plan.rules.account, v1alpha1.RequiredRule{PolicyRule: rule, Namespaces: namespaces})
}

// needsThere notes a right of the account where the resources of the box are.
func (r *rights) needsThere(rule rbacv1.PolicyRule) {
	r.needs(rule, r.selected()...)
	r.there(rule)
}

// there notes that a right is needed where the resources of the box are.
func (r *rights) there(rule rbacv1.PolicyRule) {
	if r.plan.rules.selected == nil {
		r.plan.rules.selected = map[schema.GroupResource]bool{}
	}
	for _, group := range rule.APIGroups {
		for _, name := range rule.Resources {
			resource, _, _ := strings.Cut(name, "/")
			r.plan.rules.selected[schema.GroupResource{Group: group, Resource: resource}] = true
		}
	}
}

// selected are the namespaces of the resources, where the box names them; nil: there may be resources in all, or they are in none.
func (r *rights) selected() []string {
	if !r.Env.CRD.Namespaced {
		return nil
	}
	return r.plan.Selection.Namespaces()
}

// hookRules are the rights to read what code may ask for: objects of its kinds that it has not made. Whether it does is not known. Which Secrets a Go
// function reads is not known either, nor whether it reads any: a right to all of a namespace is not asked for on suspicion. What is missing is named
// when the function asks.
func (r *rights) hookRules(hook *declare.Declaration) {
	served := r.selected()
	for _, gvk := range hook.Kinds {
		r.plan.rules.later = append(r.plan.rules.later, v1alpha1.RequiredRule{PolicyRule: may(gvk.Group, r.Resource(gvk), watching...), Namespaces: served})
	}
}

// definitionRules are the rights over the CRD that the box installs. They are for that one alone: a server-side apply that creates is
// judged by the name.
func (r *rights) definitionRules() {
	if r.Spec.CRD.Definition == nil {
		return
	}
	verbs := []string{verbCreate, verbPatch}
	if r.Spec.CRD.DeletionPolicy == v1alpha1.CRDDelete {
		verbs = append(verbs, verbDelete)
	}
	r.needs(named(may(apiextensionsv1.GroupName, "customresourcedefinitions", verbs...), r.Env.CRD.Name))
}

// childRules are the rights over a kind of children: where the declarations lead to. Objects are read one by one only where an apply has met
// a conflict, or was not answered.
func (r *rights) childRules(gvk schema.GroupVersionKind) {
	var namespaces []string
	root := check.Scope(gvk, r.Env.Mapper) == meta.RESTScopeNameRoot
	all, there := root, false
	for kind, d := range boxspec.Declarations(r.OperatorBox) {
		if kind != gvk {
			continue
		}
		in, everywhere := r.placeOf(boxspec.NamespaceOf(d))
		namespaces, all = append(namespaces, in...), all || everywhere
		there = there || !root && boxspec.NamespaceOf(d) == ""
		if root {
			in = nil // a ClusterRoleBinding gives what it gives in all of them
		}
		r.grantRules(gvk, d, in)
	}
	if hook := r.plan.declared.Hook; hook != nil && slices.Contains(hook.Kinds, gvk) && !root {
		in, everywhere := r.placeOf("") // where the code leads to besides is not known
		namespaces, all, there = append(namespaces, in...), all || everywhere, true
	}
	if all {
		namespaces = nil
	}
	rule := may(gvk.Group, r.Resource(gvk), verbGet, verbCreate, verbPatch, verbDelete)
	r.needs(rule, sorted(namespaces)...)
	if there {
		r.there(rule)
	}
}

// placeOf gives the namespaces that a namespace in a box, as written, stands for; everywhere: it may be any.
func (r *rights) placeOf(written string) (namespaces []string, everywhere bool) {
	switch {
	case expr.IsTemplate(written):
		return nil, true
	case written != "":
		return []string{written}, false
	default:
		served := r.selected()
		return served, len(served) == 0
	}
}

// grantRules are the rights that Kubernetes asks of who makes roles and bindings: to bind the role, and to have what a role gives. Only what
// is written out is known beforehand.
func (r *rights) grantRules(gvk schema.GroupVersionKind, d *v1alpha1.Declaration, namespaces []string) {
	if gvk.Group != rbacv1.GroupName {
		return
	}
	var ref rbacv1.RoleRef
	if asWritten(d, "roleRef", &ref) && ref.Name != "" && !expr.IsTemplate(ref.Name) {
		for kind, resource := range map[string]string{"ClusterRole": "clusterroles", "Role": "roles"} {
			if ref.Kind == kind {
				r.needs(named(may(rbacv1.GroupName, resource, "bind"), ref.Name), namespaces...)
			}
		}
	}
	var rules []rbacv1.PolicyRule
	if text, err := json.Marshal(d.Short); err != nil || expr.IsTemplate(string(text)) || !asWritten(d, "rules", &rules) {
		return
	}
	for _, rule := range rules {
		if len(rule.NonResourceURLs) == 0 {
			r.needs(rule, namespaces...)
		}
	}
}

// asWritten reads a field of a declaration, or of its manifest, as it is written. ok is false where it is not there, or has another type.
func asWritten(d *v1alpha1.Declaration, field string, into any) (ok bool) {
	raw := d.Short[field].Raw
	if manifest := d.Short["manifest"].Raw; len(raw) == 0 && len(manifest) > 0 {
		fields := map[string]json.RawMessage{}
		if json.Unmarshal(manifest, &fields) != nil {
			return false
		}
		raw = fields[field]
	}
	return len(raw) > 0 && json.Unmarshal(raw, into) == nil
}

// readRules are the rights to read what the box does not own: one object by its name, or all of a namespace, since labels are no part of a
// right. What a template decides is reviewed when it is read.
func (r *rights) readRules(read compile.OutsideRead) {
	if read.Name != "" {
		r.outsideRules(read, verbGet)
		return
	}
	r.outsideRules(read, watching...)
}

// outsideRules are the rights to do something with what the box does not own.
func (r *rights) outsideRules(read compile.OutsideRead, verbs ...string) {
	group, resource, namespaced := r.servedAs(read)
	if resource == "" {
		return
	}
	var namespaces []string
	later := expr.IsTemplate(read.Name)
	if namespaced {
		namespaces, _ = r.placeOf(read.Namespace)
		later = later || expr.IsTemplate(read.Namespace)
	}
	rule := may(group, resource, verbs...)
	if read.Name != "" && !expr.IsTemplate(read.Name) {
		rule = named(rule, read.Name)
	}
	if namespaced && read.Namespace == "" {
		r.there(rule)
	}
	need := v1alpha1.RequiredRule{PolicyRule: rule, Namespaces: namespaces}
	if later {
		r.plan.rules.later = append(r.plan.rules.later, need)
		return
	}
	r.plan.rules.account = append(r.plan.rules.account, need)
}

// servedAs says how what is read is served; an empty resource: that is not known, and it is reviewed when it is read.
func (r *rights) servedAs(read compile.OutsideRead) (group, resource string, namespaced bool) {
	if read.Box == "" {
		return read.Kind.Group, r.Resource(read.Kind), check.Scope(read.Kind, r.Env.Mapper) != meta.RESTScopeNameRoot
	}
	if r.Env.BoxCRD == nil {
		return "", "", false
	}
	crd := r.Env.BoxCRD(read.Box)
	if crd == nil {
		return "", "", false
	}
	return crd.Resource.Group, crd.Resource.Resource, crd.Namespaced
}

// named limits a rule to one object.
func named(rule rbacv1.PolicyRule, name string) rbacv1.PolicyRule {
	rule.ResourceNames = []string{name}
	return rule
}

// sorted gives names in their order, each once; nil for none.
func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
