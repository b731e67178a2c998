package input

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CRDs are the CRDs of the files.
type CRDs struct {
	byName map[string]Definition
	names  []string   // of those, in the order of the files
	wrong  []Unusable // in the order of the files
}

// Definition is a CRD of the files.
type Definition struct {
	Document
	// CRD is what the document says.
	CRD *apiextensionsv1.CustomResourceDefinition
}

// Unusable is a document of a CRD that can't be used.
type Unusable struct {
	Document
	// Mistakes are what is wrong with it.
	Mistakes []Mistake
}

// NewCRDs gives an empty set.
func NewCRDs() *CRDs {
	return &CRDs{byName: map[string]Definition{}}
}

// Add takes a document if it is a CRD.
func (s *CRDs) Add(doc Document) {
	if !doc.IsCRD() {
		return
	}
	if wrong := doc.Keys(); len(wrong) > 0 {
		s.Refuse(doc, wrong...)
		return
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if errs := Mismatches(doc.Content, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](), nil); len(errs) > 0 {
		var wrong []Mistake
		for _, e := range errs {
			wrong = append(wrong, doc.Mistake(e.Field, message(e)))
		}
		s.Refuse(doc, wrong...)
		return
	}
	b, err := json.Marshal(doc.Content)
	if err == nil {
		err = json.Unmarshal(b, crd)
	}
	name := doc.Name()
	known, twice := s.byName[name]
	switch {
	case err != nil:
		s.Refuse(doc, doc.Mistake("", fmt.Sprintf("can't be read: %v", err)))
	case name == "" || name != crd.Spec.Names.Plural+"."+crd.Spec.Group:
		s.Refuse(doc, doc.Mistake("metadata.name", fmt.Sprintf("must be <plural>.<group>: %q", crd.Spec.Names.Plural+"."+crd.Spec.Group)))
	case twice && !equality.Semantic.DeepEqual(known.CRD.Spec, crd.Spec):
		s.Refuse(doc, doc.Mistake("metadata.name", fmt.Sprintf("another %s of this name is in %s", KindCRD, known.File)))
	case !twice:
		s.byName[name], s.names = Definition{Document: doc, CRD: crd}, append(s.names, name)
	}
}

// Named gives the CRD of a name; nil where no file holds it.
func (s *CRDs) Named(name string) *apiextensionsv1.CustomResourceDefinition {
	return s.byName[name].CRD
}

// All are the CRDs that can be read, in the order of the files. The API server may refuse them yet.
func (s *CRDs) All() []Definition {
	all := make([]Definition, 0, len(s.names))
	for _, name := range s.names {
		all = append(all, s.byName[name])
	}
	return all
}

// Wrong are the CRDs that can't be used, in the order of the files.
func (s *CRDs) Wrong() []Unusable { return s.wrong }

// Names are those of all CRDs, in the order of the files.
func (s *CRDs) Names() []string { return slices.Clone(s.names) }

// Refuse notes a document that can't be used.
func (s *CRDs) Refuse(doc Document, wrong ...Mistake) {
	s.wrong = append(s.wrong, Unusable{Document: doc, Mistakes: wrong})
}

// Schema gives the schema of a kind; nil where no file holds its CRD.
func (s *CRDs) Schema(kind schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
	for _, d := range s.byName {
		crd := d.CRD
		if crd.Spec.Group != kind.Group || crd.Spec.Names.Kind != kind.Kind {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Name == kind.Version && v.Schema != nil {
				return v.Schema.OpenAPIV3Schema
			}
		}
	}
	return nil
}

// Mapper knows the kinds of the CRDs.
func (s *CRDs) Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, d := range s.byName {
		crd := d.CRD
		scope := meta.RESTScopeRoot
		if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
			scope = meta.RESTScopeNamespace
		}
		for _, v := range crd.Spec.Versions {
			gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
			m.AddSpecific(gv.WithKind(crd.Spec.Names.Kind), gv.WithResource(crd.Spec.Names.Plural), gv.WithResource(crd.Spec.Names.Singular), scope)
		}
	}
	return m
}
