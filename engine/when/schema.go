package when

// What is refused when a condition is compiled, because the schema of its field shows that the comparison can't work.

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// unknown stands for a value that is only known when it is evaluated.
type unknown struct{}

// fit says what the field's schema already rules out: wanted is a normalized literal or unknown{}. The schema has one type.
type fit func(schema *apiextensionsv1.JSONSchemaProps, wanted any, as v1alpha1.ValueType) error

// typed says whether schema says enough to check against. An int-or-string has no type.
func typed(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema != nil && schema.Type != ""
}

func equalFits(schema *apiextensionsv1.JSONSchemaProps, wanted any, as v1alpha1.ValueType) error {
	if as != "" {
		return converts(schema, as)
	}
	if wanted == any(unknown{}) {
		return nil
	}
	ok := true
	switch schema.Type {
	case value.TypeInteger:
		_, ok = parse(asInt, wanted)
	case value.TypeNumber:
		_, ok = parse(asNumber, wanted)
	case value.TypeBoolean:
		_, ok = parse(asBool, wanted)
	case value.TypeString:
		_, ok = value.Decimal(wanted)
	case value.TypeArray:
		_, ok = wanted.([]any)
	case value.TypeObject:
		_, ok = wanted.(map[string]any)
	}
	if !ok {
		return fmt.Errorf("%s can't be converted to %s, the field's type", describe(wanted), schema.Type)
	}
	return nil
}

// orderFits checks the field's type; that the value has an order is checked by its shape. Beside a number, the value must be a number or a
// quantity.
func orderFits(schema *apiextensionsv1.JSONSchemaProps, wanted any, as v1alpha1.ValueType) error {
	if as != "" {
		return converts(schema, as)
	}
	switch schema.Type {
	case value.TypeString:
		return nil
	case value.TypeInteger, value.TypeNumber:
		_, isQuantity := parse(asQuantity, wanted)
		_, isNumber := parse(asNumber, wanted)
		if wanted != any(unknown{}) && !isQuantity && !isNumber {
			return fmt.Errorf("%s can't be compared with the field's type, %s", describe(wanted), schema.Type)
		}
		return nil
	default:
		return fmt.Errorf("the field's type, %s, has no order", schema.Type)
	}
}

// eachFits makes a check of one value a check of the list that a shape made of it.
func eachFits(fits fit) fit {
	return func(schema *apiextensionsv1.JSONSchemaProps, wanted any, as v1alpha1.ValueType) error {
		list, ok := wanted.([]any)
		if !ok {
			return fits(schema, wanted, as)
		}
		for _, item := range list {
			if err := fits(schema, item, as); err != nil {
				return err
			}
		}
		return nil
	}
}

func containsFits(schema *apiextensionsv1.JSONSchemaProps, wanted any, as v1alpha1.ValueType) error {
	if schema.Type != value.TypeArray {
		return textFits(schema, wanted, as)
	}
	if schema.Items == nil || !typed(schema.Items.Schema) {
		return nil
	}
	return equalFits(schema.Items.Schema, wanted, as)
}

func textFits(schema *apiextensionsv1.JSONSchemaProps, wanted any, as v1alpha1.ValueType) error {
	if as == v1alpha1.ValueTypeString {
		return converts(schema, as)
	}
	if schema.Type != value.TypeString {
		return fmt.Errorf("the field's type is %s, not string", schema.Type)
	}
	return equalFits(schema, wanted, "")
}

func ageFits(schema *apiextensionsv1.JSONSchemaProps, _ any, _ v1alpha1.ValueType) error {
	if schema.Type != value.TypeString {
		return fmt.Errorf("the field's type is %s, not an RFC 3339 time", schema.Type)
	}
	return nil
}

// converts says whether values of a schema's type can be converted to a valueType at all.
func converts(schema *apiextensionsv1.JSONSchemaProps, as v1alpha1.ValueType) error {
	ok := false
	switch schema.Type {
	case value.TypeString:
		ok = true
	case value.TypeBoolean:
		ok = as == v1alpha1.ValueTypeBool || as == v1alpha1.ValueTypeString
	case value.TypeInteger, value.TypeNumber:
		ok = as != v1alpha1.ValueTypeBool && as != v1alpha1.ValueTypeTime && as != v1alpha1.ValueTypeDuration
	}
	if !ok {
		return fmt.Errorf("the field's type, %s, can't be converted to %s", schema.Type, as)
	}
	return nil
}
