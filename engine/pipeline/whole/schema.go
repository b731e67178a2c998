package whole

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// FitSchema gives the leaves of a custom kind's manifest the types that its schema wants, as the short forms and the Go types do for built-in
// kinds: a template yields text where the schema may want a number. schemaOf gives the schema of a kind; nil: nothing is known of it, and nothing
// is changed.
func FitSchema(
	d *declare.Declaration, obj *unstructured.Unstructured, schemaOf func(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps,
) error {
	if !d.IsManifest() {
		return nil
	}
	props := schemaOf(obj.GroupVersionKind())
	if props == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(obj.Object)) {
		part, known := props.Properties[name]
		if name == "metadata" || !known {
			continue
		}
		converted, err := value.ToSchema(obj.Object[name], &part)
		if err != nil {
			return stage.NewPermanent(v1alpha1.ReasonTemplateError, unfitAt(d, obj.GetKind(), name, err))
		}
		obj.Object[name] = converted
	}
	return nil
}

// unfitAt says where a manifest does not fit its schema, and what stands there, if that may be shown.
func unfitAt(d *declare.Declaration, kind, name string, err error) error {
	where := PathOfManifest + "." + name
	misfit, ok := errors.AsType[*value.MisfitError](err)
	if !ok {
		return fmt.Errorf("%s: %w", where, err)
	}
	if !d.MayShowAt(where + misfit.At) {
		return fmt.Errorf("%s%s: does not fit the schema of %s; what stands there is not shown, because it is not the resource's own", where, misfit.At, kind)
	}
	return fmt.Errorf("%s%s: %w", where, misfit.At, misfit.Problem)
}
