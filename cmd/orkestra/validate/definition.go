package validate

import (
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/cmd/orkestra/input"
)

// pathDefinition is where a box holds a CRD.
const pathDefinition = "spec.crd.definition"

// definition checks the types and names of the fields of the CRD in a box: the schema of boxes takes any object there.
func definition(content map[string]any) field.ErrorList {
	defined, ok, err := unstructured.NestedMap(content, "spec", "crd", "definition")
	if !ok || err != nil {
		return nil
	}
	return input.TypeErrors(defined, reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec](), field.NewPath("spec", "crd", "definition"))
}
