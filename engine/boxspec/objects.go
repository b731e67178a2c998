package boxspec

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Objects are those that a box selects by their labels and annotations. The zero value: all.
type Objects struct {
	// Labels select by labels; nil: all are selected.
	Labels labels.Selector
	// Annotations select by annotations.
	Annotations Annotations
}

// ObjectsOf reads both selectors, of which each may be nil. Each mistake is named with its path below at, the spec.
func ObjectsOf(selector *metav1.LabelSelector, annotated *v1alpha1.AnnotationSelector, at *field.Path) (o Objects, errs field.ErrorList) {
	o.Annotations, errs = AnnotationsOf(annotated, at.Child("annotationSelector"))
	if selector == nil {
		return o, errs
	}
	var err error
	if o.Labels, err = metav1.LabelSelectorAsSelector(selector); err != nil {
		errs = append(errs, field.Invalid(at.Child("selector"), selector, err.Error()))
	}
	return o, errs
}

// Match says whether an object is selected.
func (o Objects) Match(obj *unstructured.Unstructured) bool {
	return (o.Labels == nil || o.Labels.Matches(labels.Set(obj.GetLabels()))) && (o.Annotations.Empty() || o.Annotations.Matches(obj.GetAnnotations()))
}

// Same says whether both select the same, as they are written.
func (o Objects) Same(other Objects) bool {
	return o.labels() == other.labels() && o.Annotations.Same(other.Annotations)
}

func (o Objects) labels() string {
	if o.Labels == nil {
		return ""
	}
	return o.Labels.String()
}

// Some refuses selectors that select all objects of a kind, or nearly all: those without what the objects have in common.
func Some(selector *metav1.LabelSelector, annotated *v1alpha1.AnnotationSelector, at *field.Path) field.ErrorList {
	annotations, _ := AnnotationsOf(annotated, nil) // ObjectsOf says what is wrong with it
	labeled := selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
	switch {
	case !labeled && annotations.Empty():
		return field.ErrorList{field.Required(at.Child("selector"), "with crd.kind, it says which objects are served: give matchLabels or matchExpressions, or an annotationSelector")}
	case !labelsAskForPresence(selector) && !annotations.AsksForPresence():
		where := at.Child("selector")
		if !labeled {
			where = at.Child("annotationSelector")
		}
		return field.ErrorList{field.Invalid(where, "NotIn and DoesNotExist alone", "they select nearly all objects of the kind: add what an object must have, by matchLabels, matchAnnotations, or an expression with In or Exists")}
	}
	return nil
}

// ForCleanup gives the selectors of a box over objects of others that never compiled. Where they are refused, the box has served nothing, and
// selects nothing: it can be deleted, and no more is watched than it may select.
func ForCleanup(spec *v1alpha1.OperatorBoxSpec) (*metav1.LabelSelector, *v1alpha1.AnnotationSelector) {
	_, mistakes := ObjectsOf(spec.Selector, spec.AnnotationSelector, nil)
	if len(mistakes)+len(Some(spec.Selector, spec.AnnotationSelector, nil)) == 0 {
		return spec.Selector, spec.AnnotationSelector
	}
	values := []string{"no-object-has-and-lacks-this"}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: v1alpha1.LabelBox, Operator: metav1.LabelSelectorOpIn, Values: values}, {Key: v1alpha1.LabelBox, Operator: metav1.LabelSelectorOpNotIn, Values: values},
	}}, nil
}

func labelsAskForPresence(s *metav1.LabelSelector) bool {
	return s != nil && (len(s.MatchLabels) > 0 ||
		slices.ContainsFunc(s.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool { return positive(e.Operator) }))
}
