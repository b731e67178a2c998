package kro

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// fieldDefault is the field of a schema that has a default, and the marker of one.
const fieldDefault = "default"

// simple makes OpenAPI schemas of SimpleSchema.
type simple struct {
	types map[string]any // those that the definition gives names to
	// fail says what is wrong at a path.
	fail func(path, message string)

	open  []string // the named types that are being read
	count int      // fields made so far
}

// maxFields is how many fields a schema may have: named types that hold each other several times grow without end.
const maxFields = 2000

// maxNesting is how many lists and maps a type may have inside of each other.
const maxNesting = 16

// anything is the schema of what is not said.
func anything() map[string]any {
	return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
}

// object makes the schema of fields.
func (s *simple) object(at string, fields map[string]any) map[string]any {
	properties, required, complete := map[string]any{}, []any{}, false
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p := s.field(draft.Below(at, name), fields[name])
		properties[name] = p.schema
		_, standard := p.schema[fieldDefault]
		complete = complete || standard
		if p.required {
			required = append(required, name)
		}
	}
	out := map[string]any{fieldType: value.TypeObject, "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	} else if complete {
		// Defaults of fields count only in an object that is there.
		out[fieldDefault] = map[string]any{}
	}
	return out
}

// field makes the schema of one field.
func (s *simple) field(at string, written any) property {
	if s.count++; s.count > maxFields {
		if s.count == maxFields+1 {
			s.fail(at, fmt.Sprintf("the schema has more than %d fields with those of named types", maxFields))
		}
		return property{schema: anything()}
	}
	switch written := written.(type) {
	case map[string]any:
		return property{schema: s.object(at, written)}
	case string:
		kind, markers, err := parseField(written)
		p := property{schema: anything()}
		if err == nil {
			p.schema, err = s.typeOf(at, kind)
		}
		for _, m := range markers {
			if err == nil {
				err = p.mark(m)
			}
		}
		if err != nil {
			s.fail(at, err.Error())
			p.schema = anything()
		}
		return p
	default:
		s.fail(at, "wanted a type of SimpleSchema, such as string, or fields")
		return property{schema: anything()}
	}
}

// typeOf makes the schema of a type.
func (s *simple) typeOf(at, kind string) (map[string]any, error) {
	if strings.Count(kind, "[") > maxNesting {
		return nil, fmt.Errorf("the type has more than %d lists and maps inside of each other", maxNesting)
	}
	element, list := strings.CutPrefix(kind, "[]")
	values, isMap := strings.CutPrefix(kind, "map[string]")
	switch {
	case list:
		items, err := s.typeOf(at, element)
		return map[string]any{fieldType: "array", "items": items}, err
	case isMap:
		of, err := s.typeOf(at, values)
		return map[string]any{fieldType: value.TypeObject, "additionalProperties": of}, err
	}
	switch kind {
	case value.TypeString, value.TypeInteger, value.TypeBoolean, value.TypeNumber:
		return map[string]any{fieldType: kind}, nil
	case "float":
		return map[string]any{fieldType: "number"}, nil
	case value.TypeObject:
		return map[string]any{fieldType: value.TypeObject, "x-kubernetes-preserve-unknown-fields": true}, nil
	}
	return s.named(at, kind)
}

// named makes the schema of a type that the definition gives a name to.
func (s *simple) named(at, kind string) (map[string]any, error) {
	fields, ok := s.types[kind]
	if !ok {
		known := append(slices.Sorted(maps.Keys(s.types)), value.TypeString, value.TypeInteger, value.TypeBoolean, "float", value.TypeObject)
		return nil, fmt.Errorf("the type %q is not known%s", kind, suggest.DidYouMean(kind, known))
	}
	if slices.Contains(s.open, kind) {
		return nil, fmt.Errorf("the type %q holds itself, which no CRD can say: use object", kind)
	}
	s.open = append(s.open, kind)
	defer func() { s.open = s.open[:len(s.open)-1] }()
	p := s.field(at, fields)
	// A field of the type is there when it is written, whatever the fields of the type have as defaults.
	return p.schema, nil
}
