package kinds

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// schemas holds the schema of every Go type that was asked for, by its shape: Deployments and Jobs share that of their pods. It fills
// itself; an entry never changes.
var schemas sync.Map

// Schema says what a live object of a built-in kind may hold, or gives nil for a kind that is none. Scalars that may be written in several
// ways (quantities, int-or-string) are unchecked. The caller must not change it. Safe for concurrent use.
func Schema(gvk schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
	t, ok := scheme.Scheme.AllKnownTypes()[gvk]
	if !ok {
		return nil
	}
	s := schemaOf(shapeOf(t), map[*shape]bool{})
	return &s
}

// schemaOf gives the schema of a shape. around are the shapes that this one is inside of: a recursive type is unchecked below itself.
func schemaOf(s *shape, around map[*shape]bool) apiextensionsv1.JSONSchemaProps {
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
	switch s.form {
	case formObject:
		props = apiextensionsv1.JSONSchemaProps{Type: typeObject, Properties: make(map[string]apiextensionsv1.JSONSchemaProps, len(s.members))}
		for name, m := range s.members {
			props.Properties[name] = schemaOf(m.shape, around)
		}
	case formDictionary:
		values := schemaOf(s.elem, around)
		props = apiextensionsv1.JSONSchemaProps{Type: typeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &values}}
	case formList:
		elements := schemaOf(s.elem, around)
		props = apiextensionsv1.JSONSchemaProps{Type: typeArray, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &elements}}
	case formText, formTime, formDuration, formBytes:
		props = apiextensionsv1.JSONSchemaProps{Type: typeString}
	case formInteger, formUnsigned:
		props = apiextensionsv1.JSONSchemaProps{Type: typeInteger}
	case formNumber:
		props = apiextensionsv1.JSONSchemaProps{Type: typeNumber}
	case formBoolean:
		props = apiextensionsv1.JSONSchemaProps{Type: typeBoolean}
	case formAnything, formQuantity, formIntOrString:
	}
	schemas.Store(s, props)
	return props
}

func anything() apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: new(true)}
}
