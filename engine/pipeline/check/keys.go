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
)

// Labels refuses keys that no label has, and values, written out without a template, that no label takes.
func Labels[V ~string](labels map[string]V, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for key, value := range labels {
		errs = append(errs, qualifiedName(key, key, "labels", at)...)
		if expr.IsTemplate(string(value)) {
			continue
		}
		if problems := apivalidation.IsValidLabelValue(string(value)); len(problems) > 0 {
			errs = append(errs, field.Invalid(at.Key(key), string(value), strings.Join(problems, "; ")))
		}
	}
	return errs
}

// Annotations refuses keys that no annotation has. Upper and lower case are the same there.
func Annotations[V ~string](annotations map[string]V, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for key := range annotations {
		errs = append(errs, qualifiedName(key, strings.ToLower(key), "annotations", at)...)
	}
	return errs
}

func qualifiedName(key, checked, of string, at *field.Path) field.ErrorList {
	if problems := apivalidation.IsQualifiedName(checked); len(problems) > 0 {
		return field.ErrorList{field.Invalid(at.Key(key), key, fmt.Sprintf("no key of %s: %s", of, strings.Join(problems, "; ")))}
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
		if slices.Contains(own, key) {
			errs = append(errs, field.Forbidden(at.Key(key), "Orkestra sets this itself; remove it"))
		}
	}
	return errs
}

// DataKeys refuses keys that neither a ConfigMap nor a Secret takes. body is the object, or its short fields.
func DataKeys(gvk schema.GroupVersionKind, body map[string]any, at *field.Path) field.ErrorList {
	if gvk.Group != "" || gvk.Kind != "ConfigMap" && gvk.Kind != "Secret" {
		return nil
	}
	var errs field.ErrorList
	for _, part := range []string{"data", "binaryData", "stringData"} {
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
	for key, value := range m {
		text, _ := value.(string)
		out[key] = text
	}
	return out
}
