package boxspec

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Definition gives the CRD that a box's crd.definition describes. Every version has a status subresource: without one there
// would be nowhere to say what becomes of a resource.
func Definition(box *v1alpha1.OperatorBox) (*apiextensionsv1.CustomResourceDefinition, field.ErrorList) {
	at := field.NewPath("spec", "crd", "definition")
	in := box.Spec.CRD.Definition
	if in == nil {
		return nil, field.ErrorList{field.Required(at, "")}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
	}
	errs := decodeDefinition(in.Raw, &crd.Spec, at)
	if len(errs) > 0 {
		return nil, errs
	}
	if crd.Spec.Group == "" {
		errs = append(errs, field.Required(at.Child("group"), "the API group of the CRD"))
	}
	if crd.Spec.Names.Plural == "" {
		errs = append(errs, field.Required(at.Child("names", "plural"), "the lower-case plural of the kind"))
	}
	if crd.Spec.Names.Kind == "" {
		errs = append(errs, field.Required(at.Child("names", "kind"), "the kind of the resources"))
	}
	if !slices.Contains([]apiextensionsv1.ResourceScope{apiextensionsv1.NamespaceScoped, apiextensionsv1.ClusterScoped}, crd.Spec.Scope) {
		errs = append(errs, field.NotSupported(at.Child("scope"), string(crd.Spec.Scope), []string{"Namespaced", "Cluster"}))
	}
	errs = append(errs, checkVersions(crd.Spec.Versions, at.Child("versions"))...)
	if len(errs) > 0 {
		return nil, errs
	}
	complete(crd)
	return crd, nil
}

// checkVersions asks for what the API server would miss in the versions of a CRD, with the path in the box instead of that in the CRD.
func checkVersions(versions []apiextensionsv1.CustomResourceDefinitionVersion, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	storage := 0
	for i, v := range versions {
		if v.Name == "" {
			errs = append(errs, field.Required(at.Index(i).Child("name"), "for example v1"))
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			errs = append(errs, field.Required(at.Index(i).Child("schema", "openAPIV3Schema"), "the schema of the resources"))
		}
		if v.Storage {
			storage++
		}
	}
	if storage != 1 {
		errs = append(errs, field.Invalid(at, len(versions), fmt.Sprintf("exactly one version must have storage: true, found %d", storage)))
	}
	return errs
}

// complete fills in what the API server would, and the status subresource.
func complete(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Name = crd.Spec.Names.Plural + "." + crd.Spec.Group
	if crd.Spec.Names.Singular == "" {
		crd.Spec.Names.Singular = strings.ToLower(crd.Spec.Names.Kind)
	}
	if crd.Spec.Names.ListKind == "" {
		crd.Spec.Names.ListKind = crd.Spec.Names.Kind + "List"
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Subresources == nil {
			v.Subresources = &apiextensionsv1.CustomResourceSubresources{}
		}
		if v.Subresources.Status == nil {
			v.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
		}
	}
}
