package boxspec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
)

// Places are the namespaces, besides a resource's own, that the declarations of a box lead to.
type Places struct {
	// Literal are those that a declaration names without a template.
	Literal []string
	// Templated says that a template may lead to others.
	Templated bool
	// Accesses are the ways in which providers are asked.
	Accesses []Access
}

// Access is how a provider is asked: where, and with which credentials, as they are written.
type Access struct {
	// Provider that is asked, at the Endpoint.
	Provider, Endpoint string
	// Secret of the credentials, and where it is; empty: none is read.
	Secret, SecretNamespace string
	// ServiceAccount whose token is sent, and the role that it stands for; empty: none is.
	ServiceAccount, RoleARN string
}

// Sends says whether anything is sent that is not known to all, or to another place than the usual one.
func (a Access) Sends() bool { return a.Endpoint != "" || a.Secret != "" || a.ServiceAccount != "" }

// accessOf gives how a resource of a provider is asked for.
func accessOf(name string, in *v1alpha1.ProviderResource) Access {
	a := Access{Provider: name, Endpoint: in.Endpoint}
	if c := in.Credentials; c != nil && c.SecretRef != nil {
		a.Secret, a.SecretNamespace = c.SecretRef.Name, c.SecretRef.Namespace
	}
	if c := in.Credentials; c != nil && c.WebIdentity != nil {
		a.ServiceAccount, a.RoleARN = c.WebIdentity.ServiceAccountName, c.WebIdentity.RoleARN
	}
	return a
}

// Allows says whether one of the specs asks a provider in a way. The name of a Secret that a template makes may be any.
func (p Places) Allows(wanted Access) bool {
	return slices.ContainsFunc(p.Accesses, func(known Access) bool {
		if expr.IsTemplate(known.Secret) && wanted.Secret != "" {
			known.Secret = wanted.Secret
		}
		return known == wanted
	})
}

// PlacesOf gives the places of a spec as it is written: kept revisions need not compile any more.
func PlacesOf(spec *v1alpha1.OperatorBoxSpec) Places {
	var p Places
	if r := spec.Reconciler; r != nil && r.Hooks != nil && len(r.Hooks.Resources) > 0 {
		p.Templated = true // code says where its objects go
	}
	for _, d := range Declarations(&v1alpha1.OperatorBox{Spec: *spec}) {
		switch namespace := NamespaceOf(d); {
		case expr.IsTemplate(namespace):
			p.Templated = true
		case namespace != "" && !slices.Contains(p.Literal, namespace):
			p.Literal = append(p.Literal, namespace)
		}
	}
	for name, list := range spec.Providers {
		for i := range list {
			p.Accesses = append(p.Accesses, accessOf(name, &list[i]))
		}
	}
	return p.With(Places{}) // in one order, whatever that of the maps is
}

// With gives the places of both.
func (p Places) With(other Places) Places {
	literal := slices.Concat(p.Literal, other.Literal)
	slices.Sort(literal)
	accesses := slices.Concat(p.Accesses, other.Accesses)
	slices.SortFunc(accesses, func(a, b Access) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return Places{Literal: slices.Compact(literal), Templated: p.Templated || other.Templated, Accesses: slices.Compact(accesses)}
}

// NamespaceOf is the namespace of a declaration, or of its manifest, as written; empty for the resource's own.
func NamespaceOf(d *v1alpha1.Declaration) string {
	if d.Namespace != "" {
		return d.Namespace
	}
	var manifest struct {
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(d.Short["manifest"].Raw, &manifest); err != nil {
		return "" // there is none, or it is wrong, which is reported elsewhere
	}
	return manifest.Metadata.Namespace
}
