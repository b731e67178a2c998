package boxspec

import (
	"encoding/json"
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
	return p
}

// With gives the places of both.
func (p Places) With(other Places) Places {
	literal := slices.Concat(p.Literal, other.Literal)
	slices.Sort(literal)
	return Places{Literal: slices.Compact(literal), Templated: p.Templated || other.Templated}
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
