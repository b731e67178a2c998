package boxspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/suggest"
)

// decodeDefinition decodes crd.definition and names the fields that no CRD has. It finds them by encoding what it decoded and comparing
// that with what was written: DisallowUnknownFields has no effect below the schema types that have an UnmarshalJSON of their own, and its
// error does not say where the field is.
func decodeDefinition(raw []byte, spec *apiextensionsv1.CustomResourceDefinitionSpec, at *field.Path) field.ErrorList {
	if err := json.Unmarshal(raw, spec); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return field.ErrorList{field.TypeInvalid(at.Child(wrong.Field), wrong.Value, fmt.Sprintf("want %s", wrong.Type))}
		}
		return field.ErrorList{field.Invalid(at, "", strings.TrimPrefix(err.Error(), "json: "))}
	}
	var written, kept any
	encoded, err := json.Marshal(spec)
	for _, tree := range []struct {
		raw  []byte
		into *any
	}{{raw, &written}, {encoded, &kept}} {
		if err == nil {
			err = json.Unmarshal(tree.raw, tree.into)
		}
	}
	if err != nil {
		return field.ErrorList{field.Invalid(at, "", err.Error())}
	}
	return dropped(written, kept, at)
}

// dropped names what was written and is not there after decoding: no type has such a field. Empty values are no mistake: omitempty
// drops those of known fields as well.
func dropped(written, kept any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch w := written.(type) {
	case map[string]any:
		k, _ := kept.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(w)) {
			if _, known := k[name]; known {
				errs = append(errs, dropped(w[name], k[name], at.Child(name))...)
			} else if !empty(w[name]) {
				errs = append(errs, field.Forbidden(at.Child(name), "unknown field"+suggest.DidYouMean(name, definitionFields())))
			}
		}
	case []any:
		k, _ := kept.([]any)
		for i := range min(len(w), len(k)) {
			errs = append(errs, dropped(w[i], k[i], at.Index(i))...)
		}
	}
	return errs
}

func empty(v any) bool {
	switch t := v.(type) {
	case map[string]any:
		return len(t) == 0
	case []any:
		return len(t) == 0
	default:
		return v == nil || reflect.ValueOf(v).IsZero()
	}
}

// definitionFields are the names of all fields that a CRD's spec has at any depth, to suggest the nearest one.
func definitionFields() []string {
	names := map[string]bool{}
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for f := range t.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names[name] = true
			}
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec]())
	return slices.Collect(maps.Keys(names))
}

// hoisted are fields of a version that the API server's internal type has at the top where all versions agree. Its errors name them there.
var hoisted = map[string]string{
	"spec.validation":               "spec.versions[0].schema",
	"spec.subresources":             "spec.versions[0].subresources",
	"spec.additionalPrinterColumns": "spec.versions[0].additionalPrinterColumns",
	"spec.selectableFields":         "spec.versions[0].selectableFields",
}

// CRDPath is where a field of a CRD stands that errors of the API server name as its internal type does.
func CRDPath(path string) string {
	for from, to := range hoisted {
		if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return to + rest
		}
	}
	return path
}

// DefinitionPath is where a field of a CRD, as the API server names it, stands in a box; ok is false where it stands nowhere.
func DefinitionPath(path string) (in string, ok bool) {
	rest, ok := strings.CutPrefix(CRDPath(path), "spec")
	return "spec.crd.definition" + rest, ok
}
