package declare

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// provided compiles what the resources of providers have in common with other declarations. Their kinds are the business of package providers.
func (c *compiler) provided() []*Declaration {
	var out []*Declaration
	for _, name := range slices.Sorted(maps.Keys(c.Spec.Providers)) {
		list, at := c.Spec.Providers[name], field.NewPath("spec", "providers").Child(name)
		for i := range list {
			out = append(out, c.providedBy(&list[i], at.Index(i)))
		}
	}
	c.uniqueIDs(out)
	return out
}

// providedBy compiles one of them.
func (c *compiler) providedBy(in *v1alpha1.ProviderResource, at *field.Path) *Declaration {
	d := &Declaration{ID: in.ID, Explicit: true, Phase: OnReconcile, Where: at.String()}
	d.Optional, d.Adopt, d.Orphan = in.Optional, in.Adopt == v1alpha1.AdoptIfUnowned, in.DeletionPolicy == v1alpha1.ChildOrphan
	e := &entry{c: c, at: at, d: d, Declaration: &v1alpha1.Declaration{CommonFields: v1alpha1.CommonFields{Gate: in.Gate, WhenFalse: in.WhenFalse, ForEach: in.ForEach}, Short: in.Kinds}}
	e.short = e.decodeShort()
	if in.ForEach != nil && in.ForEach.Rollout != nil {
		c.Fail(field.Forbidden(at.Child("forEach", "rollout"), "resources of providers are changed one after another as it is; remove rollout"))
	}
	scope := withoutOwn(e.loop(withoutOwn(c.Scope, in.ID)), in.ID)
	d.Short = c.Tree(withoutOwn(c.contentScope(scope, OnReconcile), in.ID), e.short, at)
	c.gateOf(e, scope, c.gate)
	e.whenFalse()
	d.UsesChildren, d.UsesSecrets = c.Reads(d.paths()), slices.ContainsFunc(d.paths(), c.LeadsToSecret)
	return d
}

// withoutOwn hides the outputs of a resource from itself: they would never come.
func withoutOwn(scope *expr.Scope, id string) *expr.Scope {
	all, err := scope.SchemaAt(expr.Path{compile.RootProviders})
	if err != nil || all == nil {
		return scope
	}
	others := *all
	others.Properties = maps.Clone(all.Properties)
	others.Properties[id] = *roots.Hidden("a resource can't be made of its own outputs: they are there when it is made")
	return scope.WithRoot(compile.RootProviders, &others)
}
