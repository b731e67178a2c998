package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/value"
)

// Labels refuses keys that no label has, and values, written out without a template, that no label takes.
func Labels[V ~string](labels map[string]V, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for key, text := range labels {
		if expr.IsTemplate(key) {
			continue // refused where it is compiled
		}
		errs = append(errs, qualifiedName(key, key, "labels", at)...)
		if expr.IsTemplate(string(text)) {
			continue
		}
		if problems := apivalidation.IsValidLabelValue(string(text)); len(problems) > 0 {
			errs = append(errs, field.Invalid(value.Place(at, key), string(text), strings.Join(problems, "; ")))
		}
	}
	return errs
}

// Annotations refuses keys that no annotation has. Upper and lower case are the same there.
func Annotations[V ~string](annotations map[string]V, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for key := range annotations {
		if !expr.IsTemplate(key) { // a template is refused where it is compiled
			errs = append(errs, qualifiedName(key, strings.ToLower(key), "annotations", at)...)
		}
	}
	return errs
}

func qualifiedName(key, checked, of string, at *field.Path) field.ErrorList {
	if problems := apivalidation.IsQualifiedName(checked); len(problems) > 0 {
		return field.ErrorList{field.Invalid(value.Place(at, key), key, fmt.Sprintf("no key of %s: %s", of, strings.Join(problems, "; ")))}
	}
	return nil
}

// OwnLabels refuses labels that Orkestra itself sets on every child: what a user writes there would be overwritten.
func OwnLabels[V any](written map[string]V, at *field.Path) field.ErrorList {
	return reserved(written, apply.OwnershipLabels, at)
}

// OwnAnnotations refuses annotations that Orkestra itself sets on every child.
func OwnAnnotations[V any](written map[string]V, at *field.Path) field.ErrorList {
	return reserved(written, apply.OwnershipAnnotations, at)
}

func reserved[V any](written map[string]V, own []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(written)) {
		switch {
		case slices.Contains(own, key):
			errs = append(errs, field.Forbidden(value.Place(at, key), "Orkestra sets this itself; remove it"))
		case isMark(key):
			errs = append(errs, field.Forbidden(value.Place(at, key), notWritten(key)))
		}
	}
	return errs
}

const fieldData = "data"

// DataKeys refuses keys that neither a ConfigMap nor a Secret takes. body is the object, or its short fields.
func DataKeys(gvk schema.GroupVersionKind, body map[string]any, at *field.Path) field.ErrorList {
	if gvk.Group != "" || gvk.Kind != "ConfigMap" && gvk.Kind != "Secret" {
		return nil
	}
	var errs field.ErrorList
	for _, part := range []string{fieldData, "binaryData", "stringData"} {
		data, _ := body[part].(map[string]any)
		for key := range data {
			if problems := apivalidation.IsConfigMapKey(key); len(problems) > 0 && !expr.IsTemplate(key) { // a template as a key is refused where it is compiled
				errs = append(errs, field.Invalid(at.Child(part).Key(key), key, "not a key that a "+gvk.Kind+" takes: "+strings.Join(problems, "; ")))
			}
		}
	}
	return errs
}

// Texts gives the texts of a map that may be anything. Numbers, and templates for the whole map, are empty texts: they are converted when
// they are rendered.
func Texts(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := make(map[string]string, len(m))
	for key, v := range m {
		text, _ := v.(string)
		out[key] = text
	}
	return out
}
