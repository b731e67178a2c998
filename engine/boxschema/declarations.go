package boxschema

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// nameGroup is the definition of a resource group.
const nameGroup = "ResourceGroup"

// The patterns of texts that stand for values of another type. A template may give any value.
const (
	template  = `\{\{`
	whole     = `^[+-]?[0-9]+$|` + template
	decimal   = `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$|` + template
	boolean   = `^(true|false)$|` + template
	quantity  = `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$|` + template
	duration  = `^[+-]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|` + template
	timestamp = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.*(Z|[+-][0-9]{2}:[0-9]{2})$|` + template
	encoded   = `^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$|` + template
)

// group gives the schema of a resource group: its keys, each with the declarations of its kind. from is the CRD's schema of a group.
func (b *builder) group(from node) node {
	if _, known := b.definitions[nameGroup]; known {
		return refer(nameGroup)
	}
	b.definitions[nameGroup] = nil // its declarations have no groups
	list, _ := from[keyAdditional].(node)
	declaration, _ := list[keyItems].(node)
	properties, patterns := node{}, node{}
	for _, key := range kinds.Keys() {
		kind, _ := kinds.Lookup(key)
		b.definitions[key] = b.declaration(kind, declaration)
		entries := node{keyType: "array", keyDescription: kind.Text(), keyItems: refer(key)}
		if most, ok := list["maxItems"]; ok {
			entries["maxItems"] = most
		}
		properties[key], patterns["^"+anyCase(key)+"$"] = entries, entries
	}
	b.definitions[nameGroup] = node{keyType: typeObject, keyProperties: properties, "patternProperties": patterns, keyAdditional: false}
	return refer(nameGroup)
}

// anyCase is a pattern whose letters may be small or large.
func anyCase(of string) string {
	var b strings.Builder
	for _, r := range of {
		if unicode.IsLetter(r) {
			fmt.Fprintf(&b, "[%c%c]", unicode.ToLower(r), unicode.ToUpper(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// declaration gives the schema of the declarations of a kind. from is what the CRD says of all declarations.
func (b *builder) declaration(kind kinds.Kind, from node) node {
	properties := node{}
	var required []any
	for _, f := range kind.ShortFields() {
		properties[f.Name] = b.described(b.ofShape(f.Shape(), f, true), f, nil)
		if f.Required() {
			required = append(required, f.Name)
		}
	}
	common, _ := from[keyProperties].(node)
	for _, f := range kind.CommonFields() {
		below, _ := common[f.Name].(node)
		properties[f.Name] = b.share("declaration."+f.Name, b.described(b.fromCRD(below, f), f, below["default"]))
		if f.Name == "spec" {
			properties[f.Name] = b.described(b.overlay(f), f, nil)
		}
	}
	out := node{keyType: typeObject, keyProperties: properties, keyAdditional: false}
	if len(required) > 0 {
		out[keyRequired] = required
	}
	return out
}

// overlay gives the schema of the spec that is merged over what the short fields make. It is no template as a whole.
func (b *builder) overlay(f kinds.FieldDoc) node {
	out := node{keyType: typeObject}
	if s := f.Shape(); s.Form == shape.FormObject {
		out["allOf"] = []any{b.ofShape(s, f, false)}
	}
	return out
}

// ofShape gives the schema of what stands in a declaration: of any value, a template may stand in its place. f is the field that the values are of, or
// are in. nothing says that null may stand there, which is the same as leaving the field out.
func (b *builder) ofShape(s *shape.Shape, f kinds.FieldDoc, nothing bool) node {
	switch s.Form {
	case shape.FormAnything:
		return node{}
	case shape.FormObject:
		return b.object(s, f)
	case shape.FormDictionary:
		out := orTemplate(typeObject)
		out[keyAdditional] = b.ofShape(s.Elem, f, true)
		return out
	case shape.FormList:
		out := orTemplate("array")
		out[keyItems] = b.ofShape(s.Elem, f, false)
		return out
	default:
		return scalar(s, nothing)
	}
}

// orTemplate is a schema for a map or a list, a template that gives one, or nothing. A keyword says something of values of its type alone, so that
// no alternatives are needed, of which an editor would not know which one is meant.
func orTemplate(of string) node {
	return node{keyType: []any{of, typeString, "null"}, keyPattern: template}
}

// object makes a definition of an object's type. A type may contain itself.
func (b *builder) object(s *shape.Shape, f kinds.FieldDoc) node {
	name := typeName(s.GoType)
	if _, known := b.definitions[name]; known {
		return refer(name)
	}
	out, properties := orTemplate(typeObject), node{}
	out[keyProperties], out[keyAdditional] = properties, false
	b.definitions[name] = out
	docs := map[string]kinds.FieldDoc{}
	for _, below := range f.Fields() {
		docs[below.Name] = below
	}
	for _, field := range slices.Sorted(maps.Keys(s.Members)) {
		member := s.Members[field]
		properties[field] = b.described(b.ofShape(member.Shape, docs[field], true), docs[field], nil)
	}
	return refer(name)
}

// typeName names the definition of a Go type: k8s.core.v1.Container.
func typeName(of reflect.Type) string {
	path := strings.ReplaceAll(strings.TrimPrefix(of.PkgPath(), "k8s.io/"), "/", ".")
	path = strings.TrimPrefix(path, "github.com.orkspace.orkestra.")
	return path + "." + of.Name()
}

// scalar gives the schema of a value that is neither a map nor a list.
func scalar(s *shape.Shape, nothing bool) node {
	out := node{}
	var types []any
	switch s.Form {
	case shape.FormText:
		if len(s.Values) > 0 {
			return choice(s.Values, nothing)
		}
		types = []any{typeString, "number", "boolean"}
	case shape.FormInteger, shape.FormUnsigned:
		types = []any{"integer", typeString}
		out[keyPattern] = whole
		maps.Copy(out, limits(s))
	case shape.FormNumber:
		types, out[keyPattern] = []any{"number", typeString}, decimal
	case shape.FormBoolean:
		types, out[keyPattern] = []any{"boolean", typeString}, boolean
	case shape.FormQuantity:
		types, out[keyPattern] = []any{typeString, "number"}, quantity
	case shape.FormIntOrString:
		types = []any{"integer", typeString}
	case shape.FormTime:
		types, out[keyPattern] = []any{typeString}, timestamp
	case shape.FormDuration:
		types, out[keyPattern] = []any{typeString}, duration
	case shape.FormBytes:
		types, out[keyPattern] = []any{typeString}, encoded
	case shape.FormAnything, shape.FormObject, shape.FormDictionary, shape.FormList: // are no scalars
	}
	if nothing {
		types = append(types, "null")
	}
	out[keyType] = types
	return out
}

// choice is a text that is one of some, or a template. An empty one is the same as leaving the field out.
func choice(values []string, nothing bool) node {
	valid := make([]any, 0, len(values)+2)
	for _, v := range values {
		valid = append(valid, v)
	}
	valid = append(valid, "")
	if nothing {
		valid = append(valid, nil)
	}
	return node{"anyOf": []any{node{"enum": valid}, node{keyType: typeString, keyPattern: template}}}
}

// limits are those of an integer that has less than 64 bits, and of one that is not negative.
func limits(s *shape.Shape) node {
	switch {
	case s.Form == shape.FormUnsigned:
		return node{"minimum": 0}
	case s.Bits < 64:
		most := math.Pow(2, float64(s.Bits-1))
		return node{"minimum": int64(-most), "maximum": int64(most - 1)}
	default:
		return nil
	}
}
