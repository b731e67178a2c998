// Package shape works on JSON trees (maps, lists and scalars) by the Go type that they are meant for: it converts a tree, says what is wrong
// with it, merges an overlay over it, and gives the OpenAPI schema of the type. It knows no kind and no declaration.
package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// Shape is what a Go type says of the JSON that it reads. It is found by reflection once per type; conversion, checks and merges then read
// the shape alone. A shape never changes once Of has returned it.
type Shape struct {
	// Form of the values.
	Form Form
	// GoType is the type of an object, for the strategic merge.
	GoType reflect.Type
	// Bits is the size of an integer or number.
	Bits int
	// Members are the fields of an object, by JSON name.
	Members map[string]*Member
	// Names are the members' names, sorted.
	Names []string
	// Elem is the shape of a dictionary's values, or of a list's elements.
	Elem *Shape
	// Values are those that a text may have; none: any.
	Values []string
}

// Member is one field of an object.
type Member struct {
	// Shape of the field's values.
	Shape *Shape
	// Text says that the Go type is a plain string, for which "" and absent are the same.
	Text bool
	// MergeKey is the field by which a strategic merge tells the elements of a list apart; empty where it does not.
	MergeKey string
	// In is the struct that declares the field: where a struct inlines another one, that one. fieldRules go by it.
	In reflect.Type
}

// Form is the kind of JSON value that a shape wants.
type Form int

// The forms.
const (
	FormAnything Form = iota
	FormObject
	FormDictionary
	FormList
	FormText
	FormInteger
	FormUnsigned
	FormNumber
	FormBoolean
	FormQuantity
	FormIntOrString
	FormTime
	FormDuration
	FormBytes
)

// words name each form in messages.
var words = map[Form]string{
	FormAnything:    "any JSON value",
	FormObject:      value.TypeObject,
	FormDictionary:  value.TypeObject,
	FormList:        value.TypeArray,
	FormText:        value.TypeString,
	FormInteger:     value.TypeInteger,
	FormUnsigned:    "integer that is not negative",
	FormNumber:      value.TypeNumber,
	FormBoolean:     value.TypeBoolean,
	FormQuantity:    "quantity",
	FormIntOrString: "integer or string",
	FormTime:        "RFC 3339 time",
	FormDuration:    "duration",
	FormBytes:       "base64 string",
}

// quantityExamples show what a quantity looks like: people write 12GB.
const quantityExamples = ", such as 500m, 12G or 12Gi"

// specialForms are the types that read JSON in a way of their own.
var specialForms = map[reflect.Type]Form{
	reflect.TypeFor[resource.Quantity]():  FormQuantity,
	reflect.TypeFor[intstr.IntOrString](): FormIntOrString,
	reflect.TypeFor[metav1.Time]():        FormTime,
	reflect.TypeFor[metav1.MicroTime]():   FormTime,
	reflect.TypeFor[metav1.Duration]():    FormDuration,
}

// shapes holds the shape of every type that was asked for. It fills itself; an entry never changes.
var shapes sync.Map

// Of gives the shape of a type. Safe for concurrent use.
func Of(t reflect.Type) *Shape {
	if s, ok := shapes.Load(t); ok {
		if known, ok := s.(*Shape); ok {
			return known
		}
	}
	s := newShape(t, map[reflect.Type]*Shape{})
	shapes.Store(t, s)
	return s
}

// newShape reads a type. The shapes of seen types are shared, which also ends the descent into recursive types.
func newShape(t reflect.Type, seen map[reflect.Type]*Shape) *Shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := seen[t]; ok {
		return s
	}
	s := &Shape{}
	seen[t] = s
	if f, ok := specialForms[t]; ok {
		s.Form = f
		return s
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return s // its UnmarshalJSON decides, and nothing is known of it: FormAnything
	}
	switch t.Kind() {
	case reflect.Struct:
		s.Form, s.GoType, s.Members = FormObject, t, map[string]*Member{}
		s.addMembers(t, seen)
	case reflect.Map:
		s.Form, s.Elem = FormDictionary, newShape(t.Elem(), seen)
	case reflect.Slice, reflect.Array:
		s.Form, s.Elem = FormList, newShape(t.Elem(), seen)
		if t.Elem().Kind() == reflect.Uint8 {
			s.Form, s.Elem = FormBytes, nil
		}
	default:
		s.Form, s.Bits = scalarForm(t)
		s.Values = enums[t.PkgPath()+"."+t.Name()]
	}
	return s
}

func scalarForm(t reflect.Type) (Form, int) {
	switch t.Kind() {
	case reflect.String:
		return FormText, 0
	case reflect.Bool:
		return FormBoolean, 0
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return FormInteger, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return FormUnsigned, t.Bits()
	case reflect.Float32, reflect.Float64:
		return FormNumber, t.Bits()
	default:
		return FormAnything, 0
	}
}

// addMembers adds the fields of a struct, and those of the structs that it inlines.
func (s *Shape) addMembers(t reflect.Type, seen map[reflect.Type]*Shape) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
			continue
		case name == "" && f.Anonymous:
			inlined := f.Type
			for inlined.Kind() == reflect.Pointer {
				inlined = inlined.Elem()
			}
			s.addMembers(inlined, seen)
			continue
		case name == "":
			name = f.Name
		}
		s.Members[name] = &Member{
			Shape: newShape(f.Type, seen), Text: f.Type.Kind() == reflect.String, MergeKey: f.Tag.Get("patchMergeKey"), In: t,
		}
		s.Names = append(s.Names, name)
	}
	slices.Sort(s.Names)
}

// Compound says whether values of this shape hold other values by name or position.
func (s *Shape) Compound() bool {
	return s.Form == FormDictionary || s.Form == FormList
}

// HasField says whether there is a field that a path of names leads to, through objects and maps only; the error says why not. kind is
// what the shape is of, for the message.
func (s *Shape) HasField(kind string, path []string) error {
	for i, name := range path {
		switch s.Form {
		case FormAnything:
			return nil
		case FormDictionary:
			s = s.Elem
		case FormList:
			return fmt.Errorf("%s is a list, and fields in lists can't be named", joined(path[:i]))
		case FormObject:
			m := s.Members[name]
			if m == nil {
				return fmt.Errorf("a %s has no such field%s", kind, suggest.DidYouMean(name, s.Names))
			}
			s = m.Shape
		default:
			return fmt.Errorf("%s has no fields", joined(path[:i]))
		}
		if s == nil {
			return errors.New("nothing is known of it")
		}
	}
	return nil
}

func joined(path []string) string {
	text := ""
	for _, name := range path {
		text = JoinPath(text, name)
	}
	return text
}
