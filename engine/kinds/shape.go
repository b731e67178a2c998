package kinds

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// shape is what a Go type says of the JSON it reads: everything that conversion and merging ask a type, so that
// neither touches reflect. A shape never changes once shapeOf has returned it.
type shape struct {
	form form
	// goType is the type of an object, for the strategic merge.
	goType reflect.Type
	// bits is the size of an integer or number.
	bits int
	// members are the fields of an object, by JSON name.
	members map[string]*member
	// names are the members' names, sorted.
	names []string
	// elem is the shape of a dictionary's values, or of a list's elements.
	elem *shape
	// values are those that a text may have; none: any.
	values []string
}

// member is one field of an object.
type member struct {
	shape *shape
	// text says that the Go type is a plain string, for which "" and absent are the same.
	text bool
	// mergeKey is the field by which a strategic merge tells the elements of a list apart; empty where it does not.
	mergeKey string
	// in is the struct that has the field; a struct that others inline has its own.
	in reflect.Type
}

// form is the sort of JSON value that a shape wants.
type form int

const (
	formAnything form = iota
	formObject
	formDictionary
	formList
	formText
	formInteger
	formUnsigned
	formNumber
	formBoolean
	formQuantity
	formIntOrString
	formTime
	formDuration
	formBytes
)

// typeInteger is the word for whole numbers, which JSON has no type for.
const typeInteger = "integer"

// words name each form in messages.
var words = map[form]string{
	formAnything:    "any JSON value",
	formObject:      typeObject,
	formDictionary:  typeObject,
	formList:        typeArray,
	formText:        typeString,
	formInteger:     typeInteger,
	formUnsigned:    "integer that is not negative",
	formNumber:      typeNumber,
	formBoolean:     typeBoolean,
	formQuantity:    "quantity",
	formIntOrString: "integer or string",
	formTime:        "RFC 3339 time",
	formDuration:    "duration",
	formBytes:       "base64 string",
}

// quantityExamples show what a quantity looks like: people write 12GB.
const quantityExamples = ", such as 500m, 12G or 12Gi"

// specialForms are the types that read JSON in a way of their own.
var specialForms = map[reflect.Type]form{
	reflect.TypeFor[resource.Quantity]():  formQuantity,
	reflect.TypeFor[intstr.IntOrString](): formIntOrString,
	reflect.TypeFor[metav1.Time]():        formTime,
	reflect.TypeFor[metav1.MicroTime]():   formTime,
	reflect.TypeFor[metav1.Duration]():    formDuration,
}

// shapes holds the shape of every type that was asked for. It fills itself; an entry never changes.
var shapes sync.Map

// shapeOf gives the shape of a type. Safe for concurrent use.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		if known, ok := s.(*shape); ok {
			return known
		}
	}
	s := newShape(t, map[reflect.Type]*shape{})
	shapes.Store(t, s)
	return s
}

// newShape reads a type. The shapes of seen types are shared, which also ends the descent into recursive types.
func newShape(t reflect.Type, seen map[reflect.Type]*shape) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := seen[t]; ok {
		return s
	}
	s := &shape{}
	seen[t] = s
	if f, ok := specialForms[t]; ok {
		s.form = f
		return s
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return s
	}
	switch t.Kind() {
	case reflect.Struct:
		s.form, s.goType, s.members = formObject, t, map[string]*member{}
		s.addMembers(t, seen)
	case reflect.Map:
		s.form, s.elem = formDictionary, newShape(t.Elem(), seen)
	case reflect.Slice, reflect.Array:
		s.form, s.elem = formList, newShape(t.Elem(), seen)
		if t.Elem().Kind() == reflect.Uint8 {
			s.form, s.elem = formBytes, nil
		}
	default:
		s.form, s.bits = scalarForm(t)
		s.values = enums[t.PkgPath()+"."+t.Name()]
	}
	return s
}

func scalarForm(t reflect.Type) (form, int) {
	switch t.Kind() {
	case reflect.String:
		return formText, 0
	case reflect.Bool:
		return formBoolean, 0
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return formInteger, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return formUnsigned, t.Bits()
	case reflect.Float32, reflect.Float64:
		return formNumber, t.Bits()
	default:
		return formAnything, 0
	}
}

// addMembers adds the fields of a struct, and those of the structs that it inlines.
func (s *shape) addMembers(t reflect.Type, seen map[reflect.Type]*shape) {
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
		s.members[name] = &member{
			shape: newShape(f.Type, seen), text: f.Type.Kind() == reflect.String, mergeKey: f.Tag.Get("patchMergeKey"), in: t,
		}
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
}

// compound says whether values of this shape hold other values by name or position.
func (s *shape) compound() bool {
	return s.form == formDictionary || s.form == formList
}
