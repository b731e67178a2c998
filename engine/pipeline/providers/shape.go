package providers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// shape says what may be declared of a kind.
type shape struct {
	schema     *apiextensionsv1.JSONSchemaProps
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func newShape(schema *apiextensionsv1.JSONSchemaProps) (*shape, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil); err != nil {
		return nil, fmt.Errorf("converting it: %w", err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("it is not structural: %w", err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, fmt.Errorf("reading it: %w", err)
	}
	return &shape{schema: schema, structural: structural, validator: validator}, nil
}

// fit gives what templates have made as the kind takes it: with the types that it wants, and its defaults.
func (s *shape) fit(rendered map[string]any) (map[string]any, field.ErrorList) {
	fitted, err := value.ToSchema(runtime.DeepCopyJSON(rendered), s.schema)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(nil, nil, err.Error())}
	}
	tree, ok := fitted.(map[string]any)
	if !ok {
		tree = map[string]any{}
	}
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(tree, s.structural)
	structuraldefaulting.Default(tree, s.structural)
	if errs := misfits(tree, s.schema, nil); len(errs) > 0 {
		return nil, errs
	}
	return tree, validation.ValidateCustomResource(nil, tree, s.validator)
}

// misfits says what of a tree can't be right by a schema. What templates give is known only when they run.
func misfits(v any, schema *apiextensionsv1.JSONSchemaProps, at *field.Path) field.ErrorList {
	if schema == nil || v == nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		if schema.Type != value.TypeObject && schema.Type != "" {
			return field.ErrorList{field.Invalid(at, value.TypeName(v), "wanted "+schema.Type)}
		}
		return fieldsOf(v, schema, at)
	case []any:
		if schema.Type != value.TypeArray && schema.Type != "" {
			return field.ErrorList{field.Invalid(at, value.TypeName(v), "wanted "+schema.Type)}
		}
		var errs field.ErrorList
		for i := range v {
			if schema.Items != nil {
				errs = append(errs, misfits(v[i], schema.Items.Schema, at.Index(i))...)
			}
		}
		return errs
	case string:
		if expr.IsTemplate(v) {
			return nil
		}
	}
	return leaf(v, schema, at)
}

func fieldsOf(object map[string]any, schema *apiextensionsv1.JSONSchemaProps, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range schema.Required {
		if object[name] == nil {
			errs = append(errs, field.Required(below(at, name), "the kind needs it"))
		}
	}
	names := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		known, ok := schema.Properties[name]
		switch open := schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields; {
		case ok:
			errs = append(errs, misfits(object[name], &known, below(at, name))...)
		case schema.AdditionalProperties != nil:
			errs = append(errs, misfits(object[name], schema.AdditionalProperties.Schema, below(at, name))...)
		case !open && !expr.IsTemplate(name):
			hint := suggest.DidYouMean(name, names)
			if hint == "" {
				hint = "; there are " + strings.Join(names, ", ")
			}
			errs = append(errs, field.Invalid(below(at, name), name, "unknown field"+hint))
		}
	}
	return errs
}

func below(at *field.Path, name string) *field.Path {
	if at == nil {
		return field.NewPath(name)
	}
	return at.Child(name)
}

// leaf checks a value that no template makes.
func leaf(v any, schema *apiextensionsv1.JSONSchemaProps, at *field.Path) field.ErrorList {
	fitted, err := value.ToSchema(v, schema)
	if err != nil {
		return field.ErrorList{field.Invalid(at, v, err.Error())}
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil); err != nil {
		return nil // newShape has said so
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil
	}
	return validation.ValidateCustomResource(at, fitted, validator)
}
