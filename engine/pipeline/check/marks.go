package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// open are the labels and annotations of Orkestra that boxes may write on their children, as people may: they say of that object alone how
// it is treated, or give rights that its kind grants anyway.
var open = []string{
	v1alpha1.AnnotationPaused, v1alpha1.AnnotationReconcileAt, v1alpha1.AnnotationSkipCleanup, v1alpha1.AnnotationCleanup,
	v1alpha1.AnnotationConfirmAccount, v1alpha1.GroupName + "/aggregate-to-manager",
}

// isMark says whether a label or annotation is one by which Orkestra tells whose an object is, or whom a namespace lets in. No box writes
// one, whatever its account may do: with marks on an object, Orkestra itself would take it for what it is not.
func isMark(key string) bool {
	return strings.HasPrefix(key, v1alpha1.GroupName+"/") && !slices.Contains(open, key)
}

// Marks refuses marks in the metadata of objects within a tree, such as that of a pod template. The metadata of the tree itself is not looked
// at: see OwnLabels and OwnAnnotations.
func Marks(tree map[string]any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		below := at.Child(name)
		switch v := tree[name].(type) {
		case map[string]any:
			if name == "metadata" {
				continue
			}
			if name == "podLabels" || name == "podAnnotations" {
				errs = append(errs, marksAmong(v, below)...)
				continue
			}
			errs = append(errs, marksOf(v, below)...)
		case []any:
			for i := range v {
				if item, ok := v[i].(map[string]any); ok {
					errs = append(errs, marksOf(item, below.Index(i))...)
				}
			}
		}
	}
	return errs
}

// marksOf refuses marks in the metadata of an object, and within it.
func marksOf(object map[string]any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	metadata, _ := object["metadata"].(map[string]any)
	for _, part := range []string{"labels", "annotations"} {
		keys, _ := metadata[part].(map[string]any)
		errs = append(errs, marksAmong(keys, at.Child("metadata", part))...)
	}
	return append(errs, Marks(object, at)...)
}

func marksAmong(written map[string]any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(written)) {
		if isMark(key) {
			errs = append(errs, field.Forbidden(value.Place(at, key), notWritten(key)))
		}
	}
	return errs
}

// notWritten says why a mark is refused.
func notWritten(key string) string {
	if key == v1alpha1.AnnotationAllowFrom {
		return "a box never says whom a namespace lets in: those who may update the namespace say it; remove it"
	}
	return "this is a mark of Orkestra, which no box writes; remove it"
}

// holdsMark says whether marksOf has something to refuse. It is asked of each child in each cycle, so it names no places.
func holdsMark(tree map[string]any) bool {
	for name, v := range tree {
		switch v := v.(type) {
		case map[string]any:
			switch name {
			case "metadata":
				labels, _ := v["labels"].(map[string]any)
				annotations, _ := v["annotations"].(map[string]any)
				if hasMark(labels) || hasMark(annotations) {
					return true
				}
			case "podLabels", "podAnnotations":
				if hasMark(v) {
					return true
				}
			default:
				if holdsMark(v) {
					return true
				}
			}
		case []any:
			holds := func(item any) bool { m, _ := item.(map[string]any); return holdsMark(m) }
			if slices.ContainsFunc(v, holds) {
				return true
			}
		}
	}
	return false
}

func hasMark(written map[string]any) bool {
	for key := range written {
		if isMark(key) {
			return true
		}
	}
	return false
}

// RenderedMarks refuses marks that templates have led to.
func RenderedMarks(obj *unstructured.Unstructured) error {
	if !holdsMark(obj.Object) {
		return nil
	}
	if errs := marksOf(obj.Object, nil); len(errs) > 0 {
		return fmt.Errorf("%s: %s", errs[0].Field, errs[0].Detail)
	}
	return nil
}
