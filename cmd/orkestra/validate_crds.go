package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// crdSet holds the CRDs of the files.
type crdSet struct {
	byName map[string]*apiextensionsv1.CustomResourceDefinition
	files  map[string]string // the file that each of them is from
	wrong  []boxResult       // what can't be used, in the order of the files
}

func newCRDSet() *crdSet {
	return &crdSet{byName: map[string]*apiextensionsv1.CustomResourceDefinition{}, files: map[string]string{}}
}

// add takes a document if it is a CRD.
func (s *crdSet) add(doc document) {
	if !doc.isCRD() {
		return
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if errs := mismatches(doc.content, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](), nil); len(errs) > 0 {
		var wrong []mistake
		for _, e := range errs {
			wrong = append(wrong, doc.mistake(e.Field, message(e)))
		}
		s.fail(doc, wrong...)
		return
	}
	b, err := json.Marshal(doc.content)
	if err == nil {
		err = json.Unmarshal(b, crd)
	}
	name := doc.name()
	known := s.byName[name]
	switch {
	case err != nil:
		s.fail(doc, doc.mistake("", fmt.Sprintf("can't be read: %v", err)))
	case name == "" || name != crd.Spec.Names.Plural+"."+crd.Spec.Group:
		s.fail(doc, doc.mistake("metadata.name", fmt.Sprintf("must be <plural>.<group>: %q", crd.Spec.Names.Plural+"."+crd.Spec.Group)))
	case known != nil && !equality.Semantic.DeepEqual(known.Spec, crd.Spec):
		s.fail(doc, doc.mistake("metadata.name", fmt.Sprintf("another %s of this name is in %s", kindCRD, s.files[name])))
	case known == nil:
		s.byName[name], s.files[name] = crd, doc.file
	}
}

// names are those of all CRDs.
func (s *crdSet) names() []string { return slices.Collect(maps.Keys(s.byName)) }

func (s *crdSet) fail(doc document, wrong ...mistake) {
	r := boxResult{File: doc.file, subject: fmt.Sprintf("%s %q", kindCRD, doc.name())}
	r.add(wrong...)
	s.wrong = append(s.wrong, r)
}

// schema gives the schema of a kind; nil where no file holds its CRD.
func (s *crdSet) schema(kind schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
	for _, crd := range s.byName {
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

// mapper knows the kinds of the CRDs.
func (s *crdSet) mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, crd := range s.byName {
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
