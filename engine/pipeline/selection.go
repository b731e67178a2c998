package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
)

// Selection says which resources a box reconciles.
type Selection struct {
	include, exclude []string
	labels           labels.Selector
	annotations      boxspec.Annotations
	elders           []Selection // what they select is theirs
}

// Selects says whether a resource is reconciled.
func (s Selection) Selects(resource *unstructured.Unstructured) bool {
	ns := resource.GetNamespace()
	if len(s.include) > 0 && !matchesAny(s.include, ns) || matchesAny(s.exclude, ns) {
		return false
	}
	if s.labels != nil && !s.labels.Matches(labels.Set(resource.GetLabels())) {
		return false
	}
	if !s.annotations.Empty() && !s.annotations.Matches(resource.GetAnnotations()) {
		return false
	}
	return !slices.ContainsFunc(s.elders, func(elder Selection) bool { return elder.Selects(resource) })
}

// Watched says which objects of others are watched: those with the labels, which the API server evaluates, and the annotations, which the
// manager does; nil: all. Of a box's own kind all are watched, since one that leaves the selection is let go.
func (p *Plan) Watched() (labels.Selector, func(annotations map[string]string) bool) {
	switch s := p.Selection; {
	case !p.CRD.OfOthers:
		return nil, nil
	case s.annotations.Empty():
		return s.labels, nil
	default:
		return s.labels, s.annotations.Matches
	}
}

// WatchesSame says whether another plan watches the same objects of the kind.
func (p *Plan) WatchesSame(other *Plan) bool {
	return !p.CRD.OfOthers || p.Selection.annotations.Same(other.Selection.annotations) && labelsOf(p.Selection) == labelsOf(other.Selection)
}

func labelsOf(s Selection) string {
	if s.labels == nil {
		return ""
	}
	return s.labels.String()
}

// Namespaces are the only namespaces that hold selected resources, sorted; nil where a pattern, or no include at all, may select others.
func (s Selection) Namespaces() []string {
	if slices.ContainsFunc(s.include, hasGlob) {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(s.include)))
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		// Patterns were checked when the box was compiled.
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// selection compiles namespaces and selector.
func (c *compiler) selection() {
	at := field.NewPath("spec")
	sel := &c.plan.Selection
	for list, patterns := range map[string][]v1alpha1.ShortString{"include": c.Spec.Namespaces.Include, "exclude": c.Spec.Namespaces.Exclude} {
		for i, p := range patterns {
			where := at.Child("namespaces", list).Index(i)
			if _, err := path.Match(string(p), ""); err != nil {
				c.Fail(field.Invalid(where, p, "not a glob pattern: use *, ? and [a-z]"))
			} else if !hasGlob(string(p)) && len(apivalidation.IsDNS1123Label(string(p))) > 0 {
				c.Fail(field.Invalid(where, p, "not the name of a namespace, nor a pattern of one"))
			}
			if list == "include" {
				sel.include = append(sel.include, string(p))
			} else {
				sel.exclude = append(sel.exclude, string(p))
			}
		}
	}
	if len(sel.include)+len(sel.exclude) > 0 && c.Env.CRD.Name != "" && !c.Env.CRD.Namespaced {
		c.Fail(field.Forbidden(at.Child("namespaces"), fmt.Sprintf("%s is cluster-scoped; select by labels", c.Env.CRD.Name)))
	}
	c.plan.Elders = c.Env.Elders
	c.plan.Notes = append(c.plan.Notes, sel.leaveTo(c.Env.Elders)...)
	wanted, mistakes := selecting(c.Spec.Selector, c.Spec.AnnotationSelector, at)
	c.Fail(mistakes...)
	sel.labels, sel.annotations = wanted.labels, wanted.annotations
}

// selecting compiles what is asked of labels and annotations; nothing is asked where both are nil.
func selecting(selector *metav1.LabelSelector, annotated *v1alpha1.AnnotationSelector, at *field.Path) (s Selection, errs field.ErrorList) {
	s.annotations, errs = boxspec.AnnotationsOf(annotated, at.Child("annotationSelector"))
	if selector == nil {
		return s, errs
	}
	var err error
	if s.labels, err = metav1.LabelSelectorAsSelector(selector); err != nil {
		errs = append(errs, field.Invalid(at.Child("selector"), selector, err.Error()))
	}
	return s, errs
}

// leaveTo leaves to older boxes what they select, whether they run or not: it depends on their specs alone. One whose selectors are
// refused selects nothing.
func (s *Selection) leaveTo(elders []Elder) (notes []string) {
	for _, elder := range elders {
		theirs, mistakes := selecting(elder.Selector, elder.Annotations, nil)
		if len(mistakes)+len(selectsSome(elder.Selector, elder.Annotations, nil)) > 0 {
			continue
		}
		for _, p := range elder.Namespaces.Include {
			theirs.include = append(theirs.include, string(p))
		}
		for _, p := range elder.Namespaces.Exclude {
			theirs.exclude = append(theirs.exclude, string(p))
		}
		s.elders = append(s.elders, theirs)
		notes = append(notes, fmt.Sprintf("objects that OperatorBox %q selects, too, are left to it: it is older", elder.Box))
	}
	return notes
}

// SameElders says whether the plan was made for these elders.
func (p *Plan) SameElders(elders []Elder) bool { return equality.Semantic.DeepEqual(p.Elders, elders) }

func hasGlob(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }
