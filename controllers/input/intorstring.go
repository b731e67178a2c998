package input

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// wantIntOrString says what a value has to be that may be a number or a text, such as a port or a percentage.
const wantIntOrString = "want integer or string"

// intOrString checks a value by what the Go type of such values holds.
func (c *typeCheck) intOrString(value any, at *field.Path) {
	switch value := value.(type) {
	case string:
	case int64:
		if value < math.MinInt32 || value > math.MaxInt32 {
			c.errs = append(c.errs, field.Invalid(at, value, fmt.Sprintf("want a string, or an integer from %d to %d", math.MinInt32, math.MaxInt32)))
		}
	default:
		c.errs = append(c.errs, field.TypeInvalid(at, jsonName(reflect.TypeOf(value)), wantIntOrString))
	}
}

// oneEach gives one error for each value that is neither an integer nor a string where the schema wants one of them, and for each number that is no
// integer, or too large for one. Of the first, the validator tries both types in turn and says of each that it does not fit; of both, it says so also
// without the path.
func oneEach(errs field.ErrorList, object any, s *structuralschema.Structural) field.ErrorList {
	wrong := misfits(object, s, nil)
	if len(wrong) == 0 {
		return errs
	}
	told := map[string]bool{} // by place: whether the validator has found it, too
	for _, w := range wrong {
		told[pathString(parsePath(w.Field, object))] = false
	}
	errs = slices.DeleteFunc(errs, func(e *field.Error) bool {
		place := pathString(parsePath(placeOf(e), object))
		_, is := told[place]
		if is {
			told[place] = true
		}
		return is
	})
	for _, w := range wrong {
		if told[pathString(parsePath(w.Field, object))] {
			errs = append(errs, w)
		}
	}
	return errs
}

// inDetail finds the path in errors of the validator that have it in their text alone: that no alternative fits, and why the first does not.
var inDetail = regexp.MustCompile(`^"(.+)" must validate at least one schema \(anyOf\)$|^Checked value must be of type .* in (.+)$`)

// placeOf is the path that an error is about.
func placeOf(e *field.Error) string {
	if m := inDetail.FindStringSubmatch(e.Detail); m != nil {
		return m[1] + m[2]
	}
	return e.Field
}

// notWhole gives an error for a number that does not fit into an integer of 32 bits where the schema wants one. Of what is no number, the validator says
// enough.
func notWhole(value any, s *structuralschema.Structural, at *field.Path) field.ErrorList {
	v := s.ValueValidation
	if v == nil || v.Format != "int32" {
		return nil
	}
	least, most := float64(math.MinInt32), float64(math.MaxInt32)
	if v.Minimum != nil {
		least = *v.Minimum
	}
	if v.Maximum != nil {
		most = *v.Maximum
	}
	switch n := value.(type) {
	case int64:
		if n >= math.MinInt32 && n <= math.MaxInt32 {
			return nil
		}
	case float64:
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(at, value, fmt.Sprintf("want a whole number from %.0f to %.0f", least, most))}
}

// misfits gives an error for each value that has to be an integer or a string, and is neither, and for each that is notWhole.
func misfits(value any, s *structuralschema.Structural, at *field.Path) field.ErrorList {
	if s == nil || value == nil {
		return nil
	}
	if s.Type == "integer" {
		return notWhole(value, s, at)
	}
	if s.XIntOrString {
		switch value.(type) {
		case string, int64:
			return nil
		default:
			return field.ErrorList{field.TypeInvalid(at, jsonName(reflect.TypeOf(value)), wantIntOrString)}
		}
	}
	var errs field.ErrorList
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			if len(errs) >= maxFindings { // no more are looked at
				break
			}
			errs = append(errs, misfits(item, s.Items, at.Index(i))...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if len(errs) >= maxFindings {
				break
			}
			if property, known := s.Properties[name]; known {
				errs = append(errs, misfits(value[name], &property, child(at, name))...)
			} else if s.AdditionalProperties != nil {
				errs = append(errs, misfits(value[name], s.AdditionalProperties.Structural, at.Key(name))...)
			}
		}
	}
	return errs
}
