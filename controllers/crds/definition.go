package crds

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/boxspec"
)

// Admitted says what the API server will say of the CRD that a box defines. The paths are those of the box.
func Admitted(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	for _, e := range Refused(ctx, crd) {
		// Errors of metadata have no place in the box, and are left out: the name is made of group and names.plural, which have errors of
		// their own.
		if path, ok := boxspec.DefinitionPath(e.Field); ok {
			e.Field = path
			errs = append(errs, e)
		}
	}
	return errs
}

// Refused says what the API server will say of a CRD that is made, with the API server's own code. The paths are those of the CRD.
//
// That code panics where selectableFields meet a schema that is missing or wrong, in the API server as well. Then what is said is what is wrong
// with the CRD without them.
func Refused(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	errs, panicked := refused(ctx, crd)
	if panicked == nil {
		return errs
	}
	bare := crd.DeepCopy()
	for i := range bare.Spec.Versions {
		bare.Spec.Versions[i].SelectableFields = nil
	}
	if errs, again := refused(ctx, bare); again == nil && len(errs) > 0 {
		return errs
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), field.OmitValueType{},
		fmt.Sprintf("the code of Kubernetes that checks it panics (%v), and so will the API server", panicked))}
}

func refused(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (errs field.ErrorList, panicked any) {
	defer func() { panicked = recover() }()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	crd = crd.DeepCopy()
	scheme.Default(crd)
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(crd, &internal, nil); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), "", err.Error())}, nil
	}
	for _, e := range validation.ValidateCustomResourceDefinition(ctx, &internal) {
		if strings.HasPrefix(e.Field, "status") {
			continue // the API server writes it
		}
		e.Field = boxspec.CRDPath(e.Field)
		if kind := reflect.ValueOf(e.BadValue).Kind(); kind == reflect.Slice || kind == reflect.Struct || kind == reflect.Map || kind == reflect.Pointer {
			e.BadValue = field.OmitValueType{} // it would be shown as the internal type that nobody has written
		}
		errs = append(errs, e)
	}
	return errs, nil
}
