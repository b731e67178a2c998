package status

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/orkspace/orkestra/engine/value"
)

// FieldError says that a declared field does not fit the CRD's schema, or what is stored.
type FieldError struct {
	// Path of the field, with status in front.
	Path string
	// Want and Got are types.
	Want, Got string
	// value is a scalar that does not fit. It may come from a Secret, so that Error shows it only after WithValue.
	value any
	shows bool
}

// maxShown is how many characters of a value an error shows.
const maxShown = 64

// Error says where, what was wanted and what was found.
func (e *FieldError) Error() string {
	text := fmt.Sprintf("%s: wanted %s, got %s", e.Path, e.Want, e.Got)
	if !e.shows || e.value == nil {
		return text
	}
	return fmt.Sprintf("%s %q", text, value.Excerpt(fmt.Sprint(e.value), maxShown))
}

// WithValue gives the same error with the value. It is for values that the readers of the error may see.
func (e *FieldError) WithValue() *FieldError {
	shown := *e
	shown.shows = true
	return &shown
}

// Fit gives the value of a declared field as it is written: a copy, converted to the types that the schema wants where its
// spelling allows that. The error is a *FieldError. Null, which takes the field away, always fits.
func (w *Writer) Fit(path []string, value any) (any, error) {
	if value == nil || len(path) == 0 {
		return value, nil
	}
	fitted, problem := fit(value, w.schemaAt(path), pathOf(path))
	if problem != nil {
		return nil, problem
	}
	return fitted, nil
}

// set puts one declared field into the status, or takes it away. A field that does not fit changes nothing.
func (w *Writer) set(tree map[string]any, f Field) error {
	if len(f.Path) == 0 {
		return nil
	}
	remove := f.Remove || f.Value == nil
	var value any
	if !remove {
		var err error
		if value, err = w.Fit(f.Path, f.Value); err != nil {
			return err
		}
	}
	node, err := w.parent(tree, f.Path, remove)
	switch last := f.Path[len(f.Path)-1]; {
	case err != nil:
		return err
	case node == nil:
	case remove:
		delete(node, last)
	default:
		node[last] = value
	}
	return nil
}

// parent leads to the object that holds a field, and makes what is missing on the way there, unless the field is to be
// removed: then nil says that there is nothing to remove.
func (w *Writer) parent(tree map[string]any, path []string, remove bool) (map[string]any, error) {
	if err := w.checkParents(tree, path); err != nil {
		return nil, err
	}
	for _, name := range path[:len(path)-1] {
		next, ok := tree[name].(map[string]any)
		if !ok {
			if remove {
				return nil, nil
			}
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	return tree, nil
}

// checkParents sees that all that leads to a field is an object, or absent.
func (w *Writer) checkParents(tree map[string]any, path []string) error {
	for i := range path[:len(path)-1] {
		name := path[i]
		if s := w.schemaAt(path[:i+1]); !allows(s, value.TypeObject) {
			return &FieldError{Path: pathOf(path[:i+1]), Want: wantedType(s), Got: value.TypeObject}
		}
		next, ok := tree[name].(map[string]any)
		if !ok && tree[name] != nil {
			return &FieldError{Path: pathOf(path[:i+1]), Want: value.TypeObject, Got: value.TypeName(tree[name])}
		}
		tree = next
	}
	return nil
}

func pathOf(p []string) string { return fieldStatus + "." + strings.Join(p, ".") }

// schemaAt is the schema of a path below status; nil where it says nothing.
func (w *Writer) schemaAt(path []string) *structuralschema.Structural {
	if w.schema == nil {
		return nil
	}
	status := w.schema.Properties[fieldStatus]
	s := &status
	for _, name := range path {
		if s = below(s, name); s == nil {
			return nil
		}
	}
	return s
}

// below is the schema of a field, or of a map's values; nil where it says nothing.
func below(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if s == nil {
		return nil
	}
	if field, ok := s.Properties[name]; ok {
		return &field
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// fit copies a value and converts it, and all that is in it, to the types that the schema wants, where its spelling allows
// that.
func fit(v any, s *structuralschema.Structural, path string) (any, *FieldError) {
	switch v := v.(type) {
	case map[string]any:
		return fitObject(v, s, path)
	case []any:
		return fitList(v, s, path)
	}
	clean := copyValue(v)
	if !value.IsJSON(clean) {
		return nil, &FieldError{Path: path, Want: "a JSON value", Got: value.TypeName(v)}
	}
	converted, ok := fitScalar(clean, s)
	if !ok {
		return nil, &FieldError{Path: path, Want: wantedType(s), Got: value.TypeName(v), value: clean}
	}
	return converted, nil
}

// fitObject leaves out what is null: a merge patch can't write null, since it means that the field is to be removed.
func fitObject(object map[string]any, s *structuralschema.Structural, path string) (any, *FieldError) {
	if !allows(s, value.TypeObject) {
		return nil, &FieldError{Path: path, Want: wantedType(s), Got: value.TypeObject}
	}
	out := make(map[string]any, len(object))
	// Sorted, so that of several mistakes the same one is reported each time.
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if object[name] == nil {
			continue
		}
		value, problem := fit(object[name], below(s, name), path+"."+name)
		if problem != nil {
			return nil, problem
		}
		out[validText(name)] = value
	}
	return out, nil
}

func fitList(list []any, s *structuralschema.Structural, path string) (any, *FieldError) {
	if !allows(s, value.TypeArray) {
		return nil, &FieldError{Path: path, Want: wantedType(s), Got: value.TypeArray}
	}
	var entries *structuralschema.Structural
	if s != nil {
		entries = s.Items
	}
	out := make([]any, 0, len(list))
	for i, entry := range list {
		value, problem := fit(entry, entries, path+"["+strconv.Itoa(i)+"]")
		if problem != nil {
			return nil, problem
		}
		out = append(out, value)
	}
	return out, nil
}

func fitScalar(v any, s *structuralschema.Structural) (any, bool) {
	switch {
	case s == nil, v == nil && s.Nullable:
		return v, true
	case s.XIntOrString:
		if _, isText := v.(string); isText {
			return v, true
		}
		return value.Integer(v)
	}
	switch s.Type {
	case "":
		return v, true
	case value.TypeString:
		return value.Text(v)
	case value.TypeInteger:
		return value.Integer(v)
	case value.TypeNumber:
		return value.Number(v)
	case value.TypeBoolean:
		return value.Boolean(v)
	default:
		return nil, false
	}
}

func wantedType(s *structuralschema.Structural) string {
	if s.XIntOrString {
		return value.TypeInteger + " or " + value.TypeString
	}
	return s.Type
}
