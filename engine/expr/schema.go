package expr

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// The roots that every template knows.
const (
	rootAPIVersion = "apiVersion"
	rootKind       = "kind"
	rootMetadata   = "metadata"
	rootSpec       = "spec"
	rootStatus     = "status"
	rootBox        = "box"
	rootChildren   = "children"
)

const (
	metaLabels      = "labels"
	metaAnnotations = "annotations"
)

type schema = apiextensionsv1.JSONSchemaProps

// rootSchemas are the schemas of the roots that do not depend on the CRD.
func rootSchemas() map[string]*schema {
	return map[string]*schema{
		rootAPIVersion: {Type: typeString},
		rootKind:       {Type: typeString},
		rootMetadata:   objectMeta(),
		rootBox:        object("name", "revision"),
	}
}

// objectMeta describes metav1.ObjectMeta.
func objectMeta() *schema {
	meta := object("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion",
		"creationTimestamp", "deletionTimestamp")
	text := &schema{Type: typeString}
	texts := &schema{Type: typeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: text}}
	owner := object(rootAPIVersion, rootKind, "name", "uid")
	owner.Properties["controller"] = schema{Type: "boolean"}
	owner.Properties["blockOwnerDeletion"] = schema{Type: "boolean"}
	list := func(items *schema) schema {
		return schema{Type: typeArray, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}
	}
	maps.Copy(meta.Properties, map[string]schema{
		"generation":                 {Type: typeInteger},
		"deletionGracePeriodSeconds": {Type: typeInteger},
		metaLabels:                   *texts,
		metaAnnotations:              *texts,
		"finalizers":                 list(text),
		"ownerReferences":            list(owner),
		"managedFields":              list(&schema{XPreserveUnknownFields: new(true)}),
	})
	return meta
}

// object describes an object whose fields are text.
func object(fields ...string) *schema {
	properties := make(map[string]schema, len(fields))
	for _, f := range fields {
		properties[f] = schema{Type: typeString}
	}
	return &schema{Type: typeObject, Properties: properties}
}

// descend gives the schema of one field, element or key of node; nil means that anything may be there. at is the path of
// node, for messages.
func descend(node *schema, at Path, segment string) (*schema, error) {
	if node == nil {
		return nil, nil // No schema is a legal answer: nothing is known of what is there.
	}
	if p, ok := node.Properties[segment]; ok && segment != anyElement {
		return &p, nil
	}
	if node.XEmbeddedResource {
		if p, ok := rootSchemas()[segment]; ok && segment != rootBox {
			return p, nil
		}
	}
	switch {
	case isOpen(node), segment == anyElement && len(node.Properties) > 0:
		return nil, nil // As above.
	case node.AdditionalProperties != nil:
		return node.AdditionalProperties.Schema, nil
	case node.Type == typeArray:
		return descendList(node, at, segment)
	case len(at) == 1 && at[0] == rootChildren:
		return nil, fmt.Errorf("%s: this box declares no such child%s", at.with(segment),
			didYouMean(segment, slices.Collect(maps.Keys(node.Properties))))
	case node.Type == typeObject, node.Type == "" && !node.XIntOrString:
		return nil, fmt.Errorf("%s: no such field in the CRD's schema%s", at.with(segment),
			didYouMean(segment, slices.Collect(maps.Keys(node.Properties))))
	case node.XIntOrString:
		return nil, fmt.Errorf("%s: %s is an integer or a string, which has no fields", at.with(segment), at)
	default:
		return nil, fmt.Errorf("%s: %s is of type %s, which has no fields", at.with(segment), at, node.Type)
	}
}

// isOpen says whether a node may hold fields that its schema does not name.
func isOpen(node *schema) bool {
	if node.XPreserveUnknownFields != nil && *node.XPreserveUnknownFields {
		return true
	}
	if p := node.AdditionalProperties; p != nil && p.Schema == nil && p.Allows {
		return true
	}
	return node.Type == "" && !node.XIntOrString && len(node.Properties) == 0 &&
		node.AdditionalProperties == nil && node.Items == nil
}

func descendList(node *schema, at Path, segment string) (*schema, error) {
	if _, err := strconv.ParseUint(segment, 10, 31); err != nil && segment != anyElement {
		return nil, fmt.Errorf("%s: %s is a list; take an element of it with index, or range over it", at.with(segment), at)
	}
	if node.Items == nil {
		return nil, nil // The elements may be anything.
	}
	return node.Items.Schema, nil
}

// fold gives the spelling of segment that node knows: itself, or with a small first letter. known is false where the node
// does not tell, so that only the value itself can.
func fold(node *schema, segment string) (spelling string, known bool) {
	if node == nil {
		return segment, false
	}
	if _, ok := node.Properties[segment]; ok {
		return segment, true
	}
	if _, ok := node.Properties[lowerFirst(segment)]; ok {
		return lowerFirst(segment), true
	}
	if isOpen(node) || node.AdditionalProperties != nil || node.XEmbeddedResource || node.Type == typeArray {
		return segment, false
	}
	return lowerFirst(segment), true
}
