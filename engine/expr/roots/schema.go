package roots

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// Schema describes what stands somewhere. A nil schema says that nothing is known of it: what is there is not checked.
type Schema = apiextensionsv1.JSONSchemaProps

// rootSchemas are the schemas of the roots that do not depend on the CRD.
func rootSchemas() map[string]*Schema {
	return map[string]*Schema{
		APIVersion: {Type: value.TypeString},
		Kind:       {Type: value.TypeString},
		Metadata:   objectMeta(),
		Box:        object("name", "revision"),
	}
}

// objectMeta describes metav1.ObjectMeta.
func objectMeta() *Schema {
	meta := object("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion",
		"creationTimestamp", "deletionTimestamp")
	text := &Schema{Type: value.TypeString}
	texts := &Schema{Type: value.TypeObject, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: text}}
	owner := object(APIVersion, Kind, "name", "uid")
	owner.Properties["controller"] = Schema{Type: value.TypeBoolean}
	owner.Properties["blockOwnerDeletion"] = Schema{Type: value.TypeBoolean}
	list := func(items *Schema) Schema {
		return Schema{Type: value.TypeArray, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}
	}
	maps.Copy(meta.Properties, map[string]Schema{
		"generation":                 {Type: value.TypeInteger},
		"deletionGracePeriodSeconds": {Type: value.TypeInteger},
		Labels:                       *texts,
		Annotations:                  *texts,
		"finalizers":                 list(text),
		"ownerReferences":            list(owner),
		"managedFields":              list(&Schema{XPreserveUnknownFields: new(true)}),
	})
	return meta
}

// object describes an object whose fields are text.
func object(fields ...string) *Schema {
	properties := make(map[string]Schema, len(fields))
	for _, f := range fields {
		properties[f] = Schema{Type: value.TypeString}
	}
	return &Schema{Type: value.TypeObject, Properties: properties}
}

// Descend gives the schema of one field, element or key of node; nil means that anything may be there. at is the path of
// node, for messages.
func Descend(node *Schema, at value.Path, segment string) (*Schema, error) {
	if node == nil {
		return nil, nil // No Schema is a legal answer: nothing is known of what is there.
	}
	if p, ok := node.Properties[segment]; ok && segment != value.AnyElement {
		if reason, hidden := hiddenReason(&p); hidden {
			return nil, fmt.Errorf("%s: %s", at.With(segment), reason)
		}
		return &p, nil
	}
	if node.XEmbeddedResource {
		if p, ok := rootSchemas()[segment]; ok && segment != Box {
			return p, nil
		}
	}
	switch {
	case IsOpen(node), segment == value.AnyElement && len(node.Properties) > 0:
		return nil, nil // As above.
	case node.AdditionalProperties != nil:
		return node.AdditionalProperties.Schema, nil
	case node.Type == value.TypeArray:
		return descendList(node, at, segment)
	case node.Type == value.TypeObject, node.Type == "" && !node.XIntOrString:
		return nil, fmt.Errorf("%s: %s%s", at.With(segment), unknownName(node, at), instead(node, segment))
	case node.XIntOrString:
		return nil, fmt.Errorf("%s: %s is an integer or a string, which has no fields", at.With(segment), at)
	default:
		return nil, fmt.Errorf("%s: %s is of type %s, which has no fields", at.With(segment), at, node.Type)
	}
}

// mostNames is of how many names all are said: more are better looked up.
const mostNames = 8

// instead says which name may be meant, or else which there are. Objects that are embedded have more than their schema says.
func instead(node *Schema, name string) string {
	names := slices.Sorted(maps.Keys(node.Properties))
	if near := suggest.DidYouMean(name, names); near != "" || node.XEmbeddedResource || len(names) == 0 || len(names) > mostNames {
		return near
	}
	return ", only " + strings.Join(names, ", ")
}

// unknownName says why a name is not there. at is the path of what should have it.
func unknownName(node *Schema, at value.Path) string {
	here := ""
	if len(at) == 1 {
		here = at[0]
	}
	switch {
	case node.ID == ofBox:
		return "there is no such field of a box"
	case here == Children:
		return "this box declares no such child"
	case here == Cross:
		return "this box declares no such cross source"
	case here == External:
		return "this box declares no such external call"
	case here == Values:
		return "this box has no such value"
	case at[0] == Children || at[0] == Cross || at[0] == External || at[0] == Providers || at[0] == Object || at[0] == Values:
		return "there is no such field"
	default:
		return "no such field in the CRD's schema"
	}
}

// ofBox is the id of a schema that is not a CRD's, which has none.
const ofBox = "box"

// OfBox is the schema of fields of a box.
func OfBox(fields map[string]Schema) *Schema {
	return &Schema{ID: ofBox, Type: value.TypeObject, Properties: fields}
}

// Unchecked is the schema of what may be anything.
func Unchecked() *Schema {
	return &Schema{XPreserveUnknownFields: new(true)}
}

// Hidden gives the schema of what is there and may not be read: each path to it is an error that says the reason.
func Hidden(reason string) *Schema {
	return &Schema{Not: Unchecked(), Description: reason}
}

// hiddenReason knows what Hidden made: a schema that nothing fits and that says why.
func hiddenReason(node *Schema) (string, bool) {
	return node.Description, node.Not != nil && node.Type == "" && node.Description != ""
}

// IsOpen says whether a node may hold fields that its schema does not name.
func IsOpen(node *Schema) bool {
	if node.XPreserveUnknownFields != nil && *node.XPreserveUnknownFields {
		return true
	}
	if p := node.AdditionalProperties; p != nil && p.Schema == nil && p.Allows {
		return true
	}
	return node.Type == "" && !node.XIntOrString && len(node.Properties) == 0 &&
		node.AdditionalProperties == nil && node.Items == nil
}

func descendList(node *Schema, at value.Path, segment string) (*Schema, error) {
	if _, err := strconv.ParseUint(segment, 10, 31); err != nil && segment != value.AnyElement {
		return nil, fmt.Errorf("%s: %s is a list; take an element of it with index, or range over it", at.With(segment), at)
	}
	if node.Items == nil {
		return nil, nil // The elements may be anything.
	}
	return node.Items.Schema, nil
}

// Fold gives the spelling of segment that node knows: itself, or with a small first letter. known is false where the node
// does not tell, so that only the value itself can.
func Fold(node *Schema, segment string) (spelling string, known bool) {
	if node == nil {
		return segment, false
	}
	if _, ok := node.Properties[segment]; ok {
		return segment, true
	}
	if _, ok := node.Properties[value.LowerFirst(segment)]; ok {
		return value.LowerFirst(segment), true
	}
	if IsOpen(node) || node.AdditionalProperties != nil || node.XEmbeddedResource || node.Type == value.TypeArray {
		return segment, false
	}
	return value.LowerFirst(segment), true
}
