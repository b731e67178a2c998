package declare

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/when"
)

// provided compiles what the resources of providers have in common with other declarations. Their kinds are the business of package providers.
func (c *compiler) provided() []*Declaration {
	var out []*Declaration
	for _, name := range slices.Sorted(maps.Keys(c.Spec.Providers)) {
		for i := range c.Spec.Providers[name] {
			in, at := &c.Spec.Providers[name][i], field.NewPath("spec", "providers").Child(name).Index(i)
			d := &Declaration{ID: in.ID, Explicit: true, Phase: OnReconcile, Where: at.String()}
			d.Optional, d.Adopt, d.Orphan = in.Optional, in.Adopt == v1alpha1.AdoptIfUnowned, in.DeletionPolicy == v1alpha1.ChildOrphan
			e := &entry{c: c, at: at, d: d, Declaration: &v1alpha1.Declaration{CommonFields: v1alpha1.CommonFields{Gate: in.Gate, WhenFalse: in.WhenFalse, ForEach: in.ForEach}, Short: in.Kinds}}
			e.short = e.decodeShort()
			if in.ForEach != nil && in.ForEach.Rollout != nil {
				c.Fail(field.Forbidden(at.Child("forEach", "rollout"), "resources of providers are changed one after another as it is; remove rollout"))
			}
			scope := withoutOwn(e.loop(withoutOwn(c.Scope, in.ID)), in.ID)
			d.Short = c.Tree(withoutOwn(c.contentScope(scope, OnReconcile), in.ID), e.short, at)
			own, errs := when.CompileGate(e.Gate, scope, at)
			c.Fail(errs...)
			d.Gate = when.Join(c.gate, own)
			d.GateReadsItem = d.Loop != nil && slices.ContainsFunc(own.Paths(), d.Loop.ReadsItem)
			e.whenFalse()
			d.UsesChildren, d.UsesSecrets = c.Reads(d.paths()), slices.ContainsFunc(d.paths(), c.LeadsToSecret)
			out = append(out, d)
		}
	}
	c.uniqueIDs(out)
	return out
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
