package boxschema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/engine/kinds"
)

// builder turns the schema of the CRD into one for editors. What several places say alike is a definition.
type builder struct {
	definitions node
	err         error // the first one
}

// kept are the keywords of a CRD's schema that mean the same in JSON Schema. The others are Kubernetes' own, or say nothing of JSON: a format
// of int32 says how many bits there are.
var kept = []string{
	"enum", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", keyPattern, keyRequired, keyType,
}

// fromCRD gives the schema of a field of the CRD, without what people read.
func (b *builder) fromCRD(from node, f kinds.FieldDoc) node {
	if f.IsGroup() {
		return b.group(from)
	}
	out := node{}
	for _, keyword := range kept {
		if v, ok := from[keyword]; ok {
			out[keyword] = v
		}
	}
	if pattern, ok := from[keyPattern].(string); ok {
		out[keyPattern] = b.pattern(pattern)
	}
	if from["x-kubernetes-int-or-string"] == true {
		out[keyType] = []any{"integer", typeString}
	}
	if items, ok := from[keyItems].(node); ok {
		out[keyItems] = b.fromCRD(items, f)
	}
	if values, ok := from[keyAdditional].(node); ok {
		out[keyAdditional] = b.fromCRD(values, f)
	}
	if _, ok := from[keyProperties].(node); ok {
		maps.Copy(out, b.properties(from, f))
		return b.share(f.Object(), out)
	}
	return out
}

// pattern gives a pattern of RE2 as that of ECMAScript, which knows no flag for letters of any case.
func (b *builder) pattern(of string) string {
	const flag = "(?i)"
	without := strings.Replace(of, flag, "", 1)
	unknown := without != of && strings.ContainsAny(without, `[\`) || strings.Contains(strings.ReplaceAll(without, "(?:", ""), "(?")
	if unknown && b.err == nil {
		b.err = fmt.Errorf("the pattern %q has no form in ECMAScript that is known here", of)
	}
	if without == of {
		return of
	}
	return anyCase(without)
}

// properties gives the fields of an object of the CRD. It takes no other ones, unless the CRD keeps what it does not know.
func (b *builder) properties(from node, f kinds.FieldDoc) node {
	fields := f.Fields()
	properties := node{}
	all, _ := from[keyProperties].(node)
	for _, name := range slices.Sorted(maps.Keys(all)) { // the first of two objects of one name is the definition
		v := all[name]
		at := slices.IndexFunc(fields, func(f kinds.FieldDoc) bool { return f.Name == name })
		below, isSchema := v.(node)
		if at < 0 || !isSchema {
			continue // a patch takes less of forEach than a declaration does
		}
		properties[name] = b.described(b.fromCRD(below, fields[at]), fields[at], below["default"])
	}
	out := node{keyType: typeObject, keyProperties: properties}
	if required, ok := from[keyRequired]; ok {
		out[keyRequired] = required
	}
	if from["x-kubernetes-preserve-unknown-fields"] != true {
		out[keyAdditional] = false
	}
	return out
}

// share makes a definition of a schema, and gives what refers to it. Where the name is that of another schema, the schema itself is given.
func (b *builder) share(name string, schema node) node {
	if known, ok := b.definitions[name]; ok && !reflect.DeepEqual(known, schema) {
		return schema
	}
	b.definitions[name] = schema
	return refer(name)
}

func refer(name string) node { return node{keyRef: "#/definitions/" + name} }

// described adds what people read of a field. Beside a reference, validators pass over it, and editors show it.
func (b *builder) described(schema node, f kinds.FieldDoc, standard any) node {
	out := maps.Clone(schema)
	text := f.Text
	if f.Default != "" && !f.Required() {
		text += "\n\nDefault: " + f.Default + "."
	}
	if text != "" {
		out[keyDescription] = text
	}
	if standard != nil {
		out["default"] = standard
	}
	if f.Example != "" {
		out["examples"] = []any{b.example(f)}
	}
	return out
}

// example reads the value of the example that a comment gives.
func (b *builder) example(f kinds.FieldDoc) any {
	var example node
	err := yaml.Unmarshal([]byte(f.Example), &example)
	value, ok := example[f.Name]
	if err == nil && !ok {
		err = errors.New("it does not set the field")
	}
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("the example of %s, %q: %w", f.Name, f.Example, err)
	}
	return value
}
