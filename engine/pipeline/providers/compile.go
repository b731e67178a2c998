// Package providers makes what a box declares outside of the cluster, by the drivers of providers, and deletes it when its declaration, its
// gate or the resource goes. What a resource has made is noted on the resource before the first call, so that nothing is made twice or
// forgotten whatever becomes of the process, or of the box.
package providers

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// Plan is what a box declares of providers, compiled. It is immutable.
type Plan struct {
	entries  []*entry
	registry *provider.Registry
}

// entry is one resource of a provider as a box declares it, compiled.
type entry struct {
	*declare.Declaration

	provider, kind string
	of             *provider.Kind // nil: there is no registry, so that nothing can be called
	shape          *shape
	secret         *outside.Secret // nil: no Secret is read
	token          *v1alpha1.WebIdentity
	endpoint       string
	feeds          bool // children or patches that something waits for read the outputs
}

func (e *entry) source() compile.Outside {
	return compile.Outside{Root: compile.RootProviders, Name: e.ID}
}

// Declared is what a provider makes, as a box declares it.
type Declared struct {
	*declare.Declaration

	// Kind is the provider and its kind, such as aws/bucket.
	Kind string
}

// Declared gives what is declared, in the order in which it is made.
func (p *Plan) Declared() []Declared {
	out := make([]Declared, 0, len(p.entries))
	for _, e := range p.entries {
		out = append(out, Declared{Declaration: e.Declaration, Kind: typeOf(e.provider, e.kind)})
	}
	return out
}

// Compile compiles spec.providers. The plan of a box that declares none takes back what former specs have made. note says what could not be
// checked; empty: all was.
func Compile(b *compile.Box, declared *declare.Set) (plan *Plan, note string) {
	p := &Plan{registry: b.Env.Providers}
	at, next := field.NewPath("spec", "providers"), 0
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Providers)) {
		list := b.Spec.Providers[name]
		known := b.Env.Providers == nil || registered(b, name, at.Child(name))
		for i := range list {
			e := &entry{Declaration: declared.Provided[next], provider: name, endpoint: list[i].Endpoint}
			next++
			e.compile(b, &list[i], at.Child(name).Index(i), known)
			e.feeds = slices.ContainsFunc(slices.Concat(declared.Making(), declared.Patches), func(d *declare.Declaration) bool {
				return !d.Optional && slices.Contains(d.Outside, e.source())
			})
			p.entries = append(p.entries, e)
		}
	}
	if b.Env.Providers == nil && len(p.entries) > 0 {
		note = "spec.providers: which providers the manager has is not known here: their kinds and fields are not checked"
	}
	return p, note
}

// registered reports a provider that is not compiled in.
func registered(b *compile.Box, name string, at *field.Path) bool {
	names := b.Env.Providers.Names()
	if slices.Contains(names, name) {
		return true
	}
	has := "it has none"
	if len(names) > 0 {
		has = "it has " + strings.Join(names, ", ")
	}
	b.Fail(field.Invalid(at, name, fmt.Sprintf("this manager has no provider %q (%s)%s; use the image orkestra-providers, or register it: docs/how-to/providers.md",
		name, has, suggest.DidYouMean(name, names))))
	return false
}

// compile compiles what belongs to a provider alone: the kind, what is declared of it, and how it is asked.
func (e *entry) compile(b *compile.Box, in *v1alpha1.ProviderResource, at *field.Path, known bool) {
	if in.ID == "" {
		b.Fail(field.Required(at.Child("id"), "by it, what was made is told from others"))
	}
	for _, policy := range []struct{ name, given, one, other string }{
		{"deletionPolicy", string(in.DeletionPolicy), string(v1alpha1.ChildDelete), string(v1alpha1.ChildOrphan)},
		{"adopt", string(in.Adopt), string(v1alpha1.AdoptNever), string(v1alpha1.AdoptIfUnowned)},
	} {
		if policy.given != "" {
			b.OneOf(policy.given, []string{policy.one, policy.other}, at.Child(policy.name))
		}
	}
	e.credentials(b, in.Credentials, at.Child("credentials"))
	e.checkEndpoint(b, at.Child("endpoint"))
	paths := e.ownPaths()
	e.UsesChildren = b.Reads(paths) || e.UsesChildren
	e.Outside = append(e.Outside, b.Outside(paths)...)
	e.kindOf(b, in, at, known)
}

// ownPaths is what is read besides what is declared.
func (e *entry) ownPaths() []expr.Path {
	if e.secret == nil {
		return nil
	}
	return e.secret.Name.Paths()
}

// kindOf finds the kind, and checks what is declared against its schema.
func (e *entry) kindOf(b *compile.Box, in *v1alpha1.ProviderResource, at *field.Path, known bool) {
	kinds := slices.Sorted(maps.Keys(in.Kinds))
	if len(kinds) != 1 {
		found := "there is none"
		if len(kinds) > 1 {
			found = "there are " + strings.Join(kinds, ", ")
		}
		b.Fail(field.Invalid(at, in.ID, "wanted exactly one field that names the kind, and holds what is declared of it; "+found))
		return
	}
	e.kind = kinds[0]
	at = at.Child(e.kind)
	if b.Env.Providers == nil || !known {
		return
	}
	all := b.Env.Providers.Get(e.provider).Kinds()
	found, ok := all[e.kind]
	if !ok {
		names := slices.Sorted(maps.Keys(all))
		b.Fail(field.Invalid(at, e.kind, fmt.Sprintf("provider %q has no such kind, and this is no field of a resource; it has %s%s", e.provider, strings.Join(names, ", "), suggest.DidYouMean(e.kind, names))))
		return
	}
	e.of = &found
	var err error
	if e.shape, err = newShape(&found.Schema); err != nil {
		b.Fail(field.InternalError(at, fmt.Errorf("the schema of %s is a mistake of the provider: %w", e.kind, err)))
		return
	}
	raw := in.Kinds[e.kind]
	if tree, ok := b.JSON(&raw, at); ok {
		if b.Written(tree, &found.Schema, at) {
			b.Fail(misfits(tree, &found.Schema, at)...)
		}
	}
	e.identity(b, at)
	e.secretFields(b, in)
	e.checkCredentials(b, in.Credentials, at)
	if e.of.NeedsEndpoint && e.endpoint == "" {
		b.Fail(field.Required(field.NewPath(e.Where).Child("endpoint"), e.kind+" has no public address: say where the service is"))
	}
}

// secretFields notes which Secrets are read for the fields of the kind that name a key of one.
func (e *entry) secretFields(b *compile.Box, in *v1alpha1.ProviderResource) {
	for _, name := range e.of.Secrets {
		var fields map[string]json.RawMessage
		var named v1alpha1.SecretReference
		if json.Unmarshal(in.Kinds[e.kind].Raw, &fields) != nil || json.Unmarshal(fields[name], &named) != nil || named.Name == "" {
			continue // it is not there, or a template gives it
		}
		b.ReadOutside(compile.OutsideRead{Kind: compile.SecretKind, Name: named.Name})
	}
	if len(e.of.Secrets) > 0 {
		b.Observe(compile.SecretKind)
	}
}

// identity refuses what tells the resource from others where it may hold a secret: it is noted on the resource, for all to read.
func (e *entry) identity(b *compile.Box, at *field.Path) {
	if e.Short == nil {
		return
	}
	for _, name := range e.of.Identity {
		if slices.ContainsFunc(e.Short.PathsAt(expr.Path{e.kind, name}), b.LeadsToSecret) {
			b.Fail(field.Forbidden(at.Child(name), "it reads a secret, and what tells the resource from others is noted where all can read it"))
		}
	}
}

// credentials compiles what the provider is asked with.
func (e *entry) credentials(b *compile.Box, in *v1alpha1.ProviderCredentials, at *field.Path) {
	switch {
	case in == nil:
	case (in.SecretRef == nil) == (in.WebIdentity == nil):
		b.Fail(field.Invalid(at, "", "wanted either secretRef or webIdentity"))
	case in.SecretRef != nil:
		e.secret = outside.CompileSecret(b, b.Scope, in.SecretRef, "credentials.secretRef", at.Child("secretRef"))
	default:
		e.webIdentity(b, in.WebIdentity, at.Child("webIdentity"))
	}
}

// webIdentity checks whose token is asked for: a token gives whoever has it the rights of its account.
func (e *entry) webIdentity(b *compile.Box, in *v1alpha1.WebIdentity, at *field.Path) {
	for name, text := range map[string]string{"serviceAccountName": in.ServiceAccountName, "roleARN": in.RoleARN} {
		switch {
		case text == "":
			b.Fail(field.Required(at.Child(name), "a web identity has both"))
		case expr.IsTemplate(text):
			b.Fail(field.Invalid(at.Child(name), text, "must be literal: a template would let who writes resources choose whose rights they use"))
		}
	}
	if !b.Env.CRD.Namespaced && b.Env.CRD.Name != "" {
		b.Fail(field.Forbidden(at, "the resources are cluster-scoped, and have no namespace for a ServiceAccount to be in; use secretRef"))
	}
	if why := check.TokenGrants(check.Leave{Account: b.Spec.ServiceAccountRef != nil, Flag: b.Env.AllowGrantingKinds}); why != "" {
		b.Fail(field.Forbidden(at, why))
	}
	e.token = in
	b.TokensOf = append(b.TokensOf, in.ServiceAccountName)
}

// checkCredentials compares what is given with what the kind takes.
func (e *entry) checkCredentials(b *compile.Box, in *v1alpha1.ProviderCredentials, at *field.Path) {
	where := field.NewPath(e.Where).Child("credentials")
	switch {
	case in == nil:
		if slices.ContainsFunc(e.of.Credentials, func(k provider.Key) bool { return !k.Optional }) {
			b.Fail(field.Required(where, fmt.Sprintf("%s needs credentials: name a Secret with %s", at, keysOf(e.of))))
		}
	case in.SecretRef != nil && len(e.of.Credentials) == 0:
		b.Fail(field.Forbidden(where.Child("secretRef"), e.kind+" takes no credentials; remove it"))
	case in.WebIdentity != nil && (!e.of.WebIdentity || e.of.Audience == ""):
		b.Fail(field.Forbidden(where.Child("webIdentity"), e.kind+" takes no web identity; use secretRef"))
	}
}

func keysOf(k *provider.Kind) string {
	var out []string
	for _, key := range k.Credentials {
		out = append(out, key.String())
	}
	return strings.Join(out, ", ")
}

// checkEndpoint refuses an endpoint that a template makes, which could lead the credentials anywhere, and one that is no URL.
func (e *entry) checkEndpoint(b *compile.Box, at *field.Path) {
	if e.endpoint == "" {
		return
	}
	if expr.IsTemplate(e.endpoint) {
		b.Fail(field.Invalid(at, e.endpoint, "must be literal: a template could lead the credentials to another host"))
		return
	}
	u, err := url.Parse(e.endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme == "":
		b.Fail(field.Invalid(at, e.endpoint, "wanted a URL with a scheme and a host"))
	case u.User != nil:
		b.Fail(field.Forbidden(at, "credentials stand in a Secret, and not in the endpoint")) // which is not shown
	case u.Scheme == "http" || u.Scheme == "https":
		if err := external.CheckURL(e.endpoint); err != nil {
			b.Fail(field.Invalid(at, e.endpoint, err.Error()))
		}
	}
}

// Rights are the rights to ask for the tokens that providers are sent. Those to read Secrets are among what a box reads.
func Rights(b *compile.Box) []rbacv1.PolicyRule {
	if len(b.TokensOf) == 0 {
		return nil
	}
	names := slices.Compact(slices.Sorted(slices.Values(b.TokensOf)))
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}, ResourceNames: names}}
}

// typeOf is what a resource is called in messages: the provider and the kind.
func typeOf(provider, kind string) string { return provider + "/" + kind }

// shown gives what tells a resource from others, for messages, in the order of the names.
func shown(identity map[string]any) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(identity)) {
		text, ok := value.Text(identity[name])
		if !ok {
			text = fmt.Sprint(identity[name])
		}
		out = append(out, name+" "+text)
	}
	return strings.Join(out, ", ")
}
