package boxspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Annotations say which objects are selected by their annotations. Unlike values of labels, those of annotations may be any text. The zero
// value selects all objects.
type Annotations struct {
	all []v1alpha1.AnnotationExpression
}

// AnnotationsOf reads an annotation selector; nil selects all objects. Each mistake is named with its path below at.
func AnnotationsOf(s *v1alpha1.AnnotationSelector, at *field.Path) (a Annotations, errs field.ErrorList) {
	if s == nil {
		return a, nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchAnnotations)) {
		errs = append(errs, annotationKey(key, at.Child("matchAnnotations").Key(key))...)
		a.all = append(a.all, v1alpha1.AnnotationExpression{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{string(s.MatchAnnotations[key])}})
	}
	for i, e := range s.MatchExpressions {
		where := at.Child("matchExpressions").Index(i)
		errs = append(errs, annotationKey(e.Key, where.Child("key"))...)
		errs = append(errs, expressionValues(e, where)...)
		a.all = append(a.all, e)
	}
	return a, errs
}

// annotationKey checks the key of an annotation that is asked for.
func annotationKey(key string, at *field.Path) (errs field.ErrorList) {
	for _, problem := range validation.IsQualifiedName(strings.ToLower(key)) {
		errs = append(errs, field.Invalid(at, key, problem))
	}
	if key == corev1.LastAppliedConfigAnnotation {
		errs = append(errs, field.Invalid(at, key, "it is kubectl's own copy of the object, which Orkestra does not keep: select by another annotation"))
	}
	return errs
}

// expressionValues checks that an expression has values where its operator compares with some.
func expressionValues(e v1alpha1.AnnotationExpression, at *field.Path) field.ErrorList {
	operators := []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}
	compares := e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn
	switch {
	case !slices.Contains(operators, e.Operator):
		return field.ErrorList{field.NotSupported(at.Child("operator"), e.Operator, operators)}
	case compares && len(e.Values) == 0:
		return field.ErrorList{field.Required(at.Child("values"), fmt.Sprintf("%s compares with values: give one at least", e.Operator))}
	case !compares && len(e.Values) > 0:
		return field.ErrorList{field.Forbidden(at.Child("values"), fmt.Sprintf("%s compares with no value: leave them out, or use In or NotIn", e.Operator))}
	}
	return nil
}

// Empty says whether all objects are selected, because nothing is asked for.
func (a Annotations) Empty() bool { return len(a.all) == 0 }

// Matches says whether an object with these annotations is selected.
func (a Annotations) Matches(annotations map[string]string) bool {
	return !slices.ContainsFunc(a.all, func(e v1alpha1.AnnotationExpression) bool {
		value, has := annotations[e.Key]
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			return !has || !slices.Contains(e.Values, value)
		case metav1.LabelSelectorOpNotIn:
			return has && slices.Contains(e.Values, value)
		case metav1.LabelSelectorOpExists:
			return !has
		case metav1.LabelSelectorOpDoesNotExist:
			return has
		}
		return true // no other operator passes AnnotationsOf
	})
}

// AsksForPresence says whether a requirement holds only for objects that have something: without one, nearly all objects are selected.
func (a Annotations) AsksForPresence() bool {
	return slices.ContainsFunc(a.all, func(e v1alpha1.AnnotationExpression) bool { return positive(e.Operator) })
}

// Same says whether both select the same, as they are written.
func (a Annotations) Same(b Annotations) bool {
	return slices.EqualFunc(a.all, b.all, func(a, b v1alpha1.AnnotationExpression) bool {
		return a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
	})
}

func positive(operator metav1.LabelSelectorOperator) bool {
	return operator != metav1.LabelSelectorOpNotIn && operator != metav1.LabelSelectorOpDoesNotExist
}
