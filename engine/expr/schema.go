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
	rootCross      = "cross"
	rootExternal   = "external"
	rootItem       = "item"
	rootIndex      = "index"
	rootKey        = "key"
	rootPrevious   = "previous"
	rootObject     = "object" // in readyWhen of a declaration
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
	owner.Properties["controller"] = schema{Type: typeBoolean}
	owner.Properties["blockOwnerDeletion"] = schema{Type: typeBoolean}
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
		if reason, hidden := hiddenReason(&p); hidden {
			return nil, fmt.Errorf("%s: %s", at.with(segment), reason)
		}
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
	case node.Type == typeObject, node.Type == "" && !node.XIntOrString:
		return nil, fmt.Errorf("%s: %s%s", at.with(segment), unknownName(at),
			didYouMean(segment, slices.Collect(maps.Keys(node.Properties))))
	case node.XIntOrString:
		return nil, fmt.Errorf("%s: %s is an integer or a string, which has no fields", at.with(segment), at)
	default:
		return nil, fmt.Errorf("%s: %s is of type %s, which has no fields", at.with(segment), at, node.Type)
	}
}

// unknownName says why a name is not there. at is the path of what should have it.
func unknownName(at Path) string {
	here := ""
	if len(at) == 1 {
		here = at[0]
	}
	switch {
	case here == rootChildren:
		return "this box declares no such child"
	case here == rootCross:
		return "this box declares no such cross source"
	case here == rootExternal:
		return "this box declares no such external call"
	case at[0] == rootChildren || at[0] == rootCross || at[0] == rootExternal || at[0] == rootObject:
		return "there is no such field"
	default:
		return "no such field in the CRD's schema"
	}
}

// unchecked is the schema of what may be anything.
func unchecked() *schema {
	return &schema{XPreserveUnknownFields: new(true)}
}

// Hidden gives the schema of what is there and may not be read: each path to it is an error that says the reason.
func Hidden(reason string) *apiextensionsv1.JSONSchemaProps {
	return &schema{Not: unchecked(), Description: reason}
}

// hiddenReason knows what Hidden made: a schema that nothing fits and that says why.
func hiddenReason(node *schema) (string, bool) {
	return node.Description, node.Not != nil && node.Type == "" && node.Description != ""
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
