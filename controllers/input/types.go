package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/suggest"
)

// typeCheck compares a JSON tree with the Go type that it is to be decoded into. Decoding itself ends at the first value that
// does not fit, and does not say where an unknown field of a nested type is.
type typeCheck struct {
	ignoreUnknown bool // fields that the type does not have are no errors
	errs          field.ErrorList
}

// Mismatches gives an error for each value that can't be decoded into t.
func Mismatches(value any, t reflect.Type, at *field.Path) field.ErrorList {
	c := &typeCheck{ignoreUnknown: true}
	c.value(value, t, at)
	return c.errs
}

// TypeErrors gives the same errors, and one for each field that t does not have.
func TypeErrors(value any, t reflect.Type, at *field.Path) field.ErrorList {
	c := &typeCheck{}
	c.value(value, t, at)
	return c.errs
}

func (c *typeCheck) value(value any, t reflect.Type, at *field.Path) {
	if value == nil || len(c.errs) >= maxFindings { // no more are looked at
		return
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if alternative, ok := alternatives(t, value); ok {
		c.value(value, alternative, at)
		return
	}
	custom := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) // such as Quantity
	switch {
	case t == reflect.TypeFor[intstr.IntOrString]():
		c.intOrString(value, at)
	case custom:
		c.leaf(value, t, at)
	case t.Kind() == reflect.Struct:
		c.object(value, t, at)
	case t.Kind() == reflect.Map:
		object, ok := value.(map[string]any)
		c.expect(ok, "object", value, at)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			c.value(object[key], t.Elem(), at.Key(key))
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8: // bytes are text in JSON
		list, ok := value.([]any)
		c.expect(ok, "array", value, at)
		for i, item := range list {
			c.value(item, t.Elem(), at.Index(i))
		}
	default:
		c.leaf(value, t, at)
	}
}

// alternatives resolves the types of CRD schemas that take a schema or something simpler: it gives the type that such a value has.
func alternatives(t reflect.Type, value any) (reflect.Type, bool) {
	_, isList := value.([]any)
	_, isBool := value.(bool)
	schema := reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()
	switch t {
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():
		if isList {
			return reflect.SliceOf(schema), true
		}
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():
		if isBool {
			return reflect.TypeFor[bool](), true
		}
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():
		if isList {
			return reflect.TypeFor[[]string](), true
		}
	default:
		return nil, false
	}
	return schema, true
}

func (c *typeCheck) object(value any, t reflect.Type, at *field.Path) {
	object, ok := value.(map[string]any)
	c.expect(ok, "object", value, at)
	types := fieldTypes(t)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		here := child(at, name)
		if next, known := types[name]; known {
			c.value(object[name], next, here)
		} else if !c.ignoreUnknown {
			c.errs = append(c.errs, field.Forbidden(here, "unknown field"+suggest.DidYouMean(name, slices.Collect(maps.Keys(types)))))
		}
	}
}

// fieldTypes gives the types of a struct's fields by their JSON names.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			maps.Copy(types, fieldTypes(f.Type))
		default:
			types[name] = f.Type
		}
	}
	return types
}

// leaf decodes a single value, or one whose type has a decoder of its own.
func (c *typeCheck) leaf(value any, t reflect.Type, at *field.Path) {
	b, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(b, reflect.New(t).Interface())
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field == "" {
		c.expect(false, jsonName(t), value, at)
		return
	}
	if err != nil {
		c.errs = append(c.errs, field.Invalid(at, value, strings.TrimPrefix(err.Error(), "time: ")))
	}
}

func (c *typeCheck) expect(ok bool, want string, got any, at *field.Path) {
	if !ok {
		c.errs = append(c.errs, field.TypeInvalid(at, jsonName(reflect.TypeOf(got)), "want "+want))
	}
}

// jsonName is the name that JSON schemas have for the values of a type.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Map, reflect.Struct:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.String:
		return "string"
	default:
		return fmt.Sprint(t.Kind())
	}
}
