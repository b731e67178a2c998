package validation

import (
	"context"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/input"
)

// definitionResult is the result for a CRD of the files: valid where the API server would take it from kubectl, which asks that fields be known.
func definitionResult(ctx context.Context, d input.Definition) Result {
	found := input.NewFindings(d.Content)
	found.Add(input.FromSchema, input.TypeErrors(d.Content, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](), nil)...)
	found.Add(input.FromSchema, crds.Refused(ctx, d.CRD)...)
	return unusable(input.Unusable{Document: d.Document, Mistakes: found.Mistakes(d.Document)})
}

// definition checks the types and names of the fields of the CRD in a box: the schema of boxes takes any object there.
func definition(content map[string]any) field.ErrorList {
	defined, ok, err := unstructured.NestedMap(content, "spec", "crd", "definition")
	if !ok || err != nil {
		return nil
	}
	return input.TypeErrors(defined, reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec](), field.NewPath("spec", "crd", "definition"))
}
