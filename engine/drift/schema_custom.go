package drift

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// The values of x-kubernetes-list-type and x-kubernetes-map-type that say something about the comparison.
const (
	extensionMap    = "map"
	extensionSet    = "set"
	extensionAtomic = "atomic"
)

// customPlace is what is known of a place in a custom kind.
type customPlace struct {
	props *apiextensionsv1.JSONSchemaProps
	// entryOfMap says that the place is the value of a key, not a field.
	entryOfMap bool
	// atomic says that the object around the place is one value to the API server.
	atomic bool
}

func (c customPlace) place() *place {
	p := &place{
		emptyIsSet: c.entryOfMap,
		exact:      c.mapValues() != nil && (c.atomic || c.isAtomic()),
		expand:     c.below,
	}
	if c.props.XIntOrString {
		p.scalar = scalarIntOrString
	}
	if c.props.XListType == nil {
		return p
	}
	switch *c.props.XListType {
	case extensionSet:
		p.list = listAsSet
	case extensionMap:
		p.list, p.keys = listByKeys, c.listKeys()
	default:
	}
	return p
}

func (c customPlace) isAtomic() bool {
	return c.props.XMapType != nil && *c.props.XMapType == extensionAtomic
}

// mapValues gives the schema of a map's values, or nil where this is no map.
func (c customPlace) mapValues() *apiextensionsv1.JSONSchemaProps {
	if c.props.AdditionalProperties == nil {
		return nil
	}
	return c.props.AdditionalProperties.Schema
}

// entries gives the schema of a list's entries, or nil where nothing is known of them.
func (c customPlace) entries() *apiextensionsv1.JSONSchemaProps {
	if c.props.Items == nil {
		return nil
	}
	return c.props.Items.Schema
}

func (c customPlace) listKeys() []listKey {
	var fields map[string]apiextensionsv1.JSONSchemaProps
	if entries := c.entries(); entries != nil {
		fields = entries.Properties
	}
	keys := make([]listKey, 0, len(c.props.XListMapKeys))
	for _, name := range c.props.XListMapKeys {
		key := listKey{name: name}
		if field, ok := fields[name]; ok && field.Default != nil {
			// A default that is no JSON is none: the API server takes no such CRD.
			_ = json.Unmarshal(field.Default.Raw, &key.defaultValue)
		}
		keys = append(keys, key)
	}
	return keys
}

func (c customPlace) below() below {
	out := below{fields: make(map[string]*place, len(c.props.Properties))}
	for name, field := range c.props.Properties {
		out.fields[name] = customPlace{props: &field, atomic: c.isAtomic()}.place()
	}
	if values := c.mapValues(); values != nil {
		out.others = customPlace{props: values, entryOfMap: true, atomic: c.isAtomic()}.place()
	}
	if entries := c.entries(); entries != nil {
		out.element = customPlace{props: entries}.place()
	}
	return out
}
