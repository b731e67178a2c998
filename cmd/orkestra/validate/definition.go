package validate

import (
	"context"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/cmd/orkestra/input"
	"github.com/orkspace/orkestra/engine/boxspec"
)

// pathDefinition is where a box holds a CRD.
const pathDefinition = "spec.crd.definition"

// definition checks what the schema of boxes leaves open: the CRD in a box.
func definition(content map[string]any) field.ErrorList {
	defined, ok, err := unstructured.NestedMap(content, "spec", "crd", "definition")
	if !ok || err != nil {
		return nil
	}
	return input.TypeErrors(defined, reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec](), field.NewPath("spec", "crd", "definition"))
}

// definitionAdmitted says what the API server will say of the CRD that a box defines, with the API server's own code.
func definitionAdmitted(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	crd = crd.DeepCopy()
	scheme.Default(crd)
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(crd, &internal, nil); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "crd", "definition"), "", err.Error())}
	}
	var errs field.ErrorList
	for _, e := range validation.ValidateCustomResourceDefinition(ctx, &internal) {
		// What is wrong with the name is wrong with what it is made of, and a status there is none.
		if path, ok := boxspec.DefinitionPath(e.Field); ok {
			e.Field = path
			errs = append(errs, e)
		}
	}
	return errs
}
