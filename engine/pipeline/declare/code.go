package declare

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// HookID is the id of the declaration that a hook makes its objects by. Templates read them below .children.hook.
const HookID = "hook"

func (c *compiler) hooked() bool { return c.Spec.Reconciler != nil && c.Spec.Reconciler.Hooks != nil }

// byHook compiles the declaration whose objects are said by code, as the items of a loop are said by a field: it has a loop without a field, and
// objects whose kinds are those that the hook lists. nil where the box has no hook.
func (c *compiler) byHook() *Declaration {
	if !c.hooked() {
		return nil
	}
	at := field.NewPath("spec", "reconciler", "hooks")
	manifests, _ := kinds.Lookup("resources") // it is always there
	d := &Declaration{ID: HookID, Explicit: true, Where: at.String(), Phase: OnReconcile, Kind: manifests, Loop: &Loop{}}
	d.Coded, d.Whole, d.UsesChildren = true, true, true
	d.Gate = c.gate
	for i, in := range c.Spec.Reconciler.Hooks.Resources {
		where := at.Child("resources").Index(i)
		gvk, ok := kindOf(c.Box, in, where)
		if ok && d.Kinds.Has(gvk.GroupKind()) {
			c.Fail(field.Duplicate(where, kinds.Listed(gvk)))
		}
		d.Kinds = append(d.Kinds, gvk) // also a mistaken one, so that indices stay those of the list
	}
	e := &entry{Declaration: &v1alpha1.Declaration{}, c: c, at: at, d: d, short: map[string]any{}}
	e.content(c.Scope, c.Scope)
	e.whenFalse()
	e.grants()
	c.written[d] = e.Declaration
	return d
}

// kindOf gives the kind of an entry of resources: without apiVersion, the kind of that name that comes with Kubernetes and has a key.
func kindOf(b *compile.Box, in v1alpha1.HookResource, at *field.Path) (schema.GroupVersionKind, bool) {
	if in.APIVersion == "" {
		gvk, ok := kinds.Named(in.Kind)
		if !ok {
			b.Fail(field.Required(at.Child("apiVersion"), fmt.Sprintf("no kind that comes with a key is called %q: say its group and version, such as example.com/v1", in.Kind)))
		}
		return gvk, ok
	}
	gv, err := schema.ParseGroupVersion(in.APIVersion)
	if err != nil || gv.Version == "" {
		b.Fail(field.Invalid(at.Child("apiVersion"), in.APIVersion, "wanted group/version, such as apps/v1"))
		return schema.GroupVersionKind{}, false
	}
	gvk := gv.WithKind(in.Kind)
	if hint, unknown := kinds.Unknown(gvk); unknown && !b.Installed(gvk) {
		b.Fail(field.Invalid(at.Child("kind"), in.Kind, fmt.Sprintf("%s has no such kind%s", gv, hint)))
		return gvk, false
	}
	return gvk, true
}

// CodeKinds gives the kinds that code lists which makes its objects itself, each once and without that of the box, which it may always read. Kinds
// that grant rights need the same leave as declarations of them.
func CodeKinds(b *compile.Box, listed []v1alpha1.HookResource, at *field.Path) (all []schema.GroupVersionKind) {
	leave := check.Leave{Account: b.Spec.ServiceAccountRef != nil, Flag: b.Env.AllowGrantingKinds}
	for i, in := range listed {
		where := at.Index(i)
		gvk, ok := kindOf(b, in, where)
		switch {
		case !ok:
			continue
		case slices.Contains(all, gvk):
			b.Fail(field.Duplicate(where, kinds.Listed(gvk)))
			continue
		case gvk == b.Env.CRD.Kind:
			continue
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		if why := check.GrantsRights(object, check.Scope(gvk, b.Env.Mapper) == meta.RESTScopeNameRoot, leave); why != "" {
			b.Fail(field.Forbidden(where, why))
		}
		all = append(all, gvk)
	}
	return all
}
