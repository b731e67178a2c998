package shape

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/value"
)

// schemas holds the schema of every Go type that was asked for, by its shape: Deployments and Jobs share that of their pods. It fills
// itself; an entry never changes.
var schemas sync.Map

// Schema gives the OpenAPI schema of what a shape gives. Scalars that may be written in several ways (quantities, int-or-string) are
// unchecked. The caller must not change it. Safe for concurrent use.
func (s *Shape) Schema() *apiextensionsv1.JSONSchemaProps {
	props := schemaOf(s, map[*Shape]bool{})
	return &props
}

// schemaOf gives the schema of a shape. around are the shapes that this one is inside of: an OpenAPI schema can't refer to itself, so a
// recursive type is left unchecked below its first level.
func schemaOf(s *Shape, around map[*Shape]bool) apiextensionsv1.JSONSchemaProps {
	if known, ok := schemas.Load(s); ok {
		if props, ok := known.(apiextensionsv1.JSONSchemaProps); ok {
			return props
		}
	}
	if around[s] {
		return anything()
	}
	around[s] = true
	defer delete(around, s)
	props := anything()
	switch s.Form {
	case FormObject:
		props = apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, Properties: make(map[string]apiextensionsv1.JSONSchemaProps, len(s.Members))}
		for name, m := range s.Members {
			props.Properties[name] = schemaOf(m.Shape, around)
		}
	case FormDictionary:
		values := schemaOf(s.Elem, around)
		// Allows is what a schema that was read from JSON has there: without it, a validator takes each entry for one too many.
		props = apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &values}}
	case FormList:
		elements := schemaOf(s.Elem, around)
		props = apiextensionsv1.JSONSchemaProps{Type: value.TypeArray, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &elements}}
	case FormText, FormTime, FormDuration, FormBytes:
		props = apiextensionsv1.JSONSchemaProps{Type: value.TypeString}
	case FormInteger, FormUnsigned:
		props = apiextensionsv1.JSONSchemaProps{Type: value.TypeInteger}
	case FormNumber:
		props = apiextensionsv1.JSONSchemaProps{Type: value.TypeNumber}
	case FormBoolean:
		props = apiextensionsv1.JSONSchemaProps{Type: value.TypeBoolean}
	case FormAnything, FormQuantity, FormIntOrString:
	}
	schemas.Store(s, props)
	return props
}

func anything() apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: new(true)}
}
