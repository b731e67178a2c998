package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
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
	objects          boxspec.Objects
	elders           []Selection // what they select is theirs
}

// Selects says whether a resource is reconciled.
func (s Selection) Selects(resource *unstructured.Unstructured) bool {
	ns := resource.GetNamespace()
	if len(s.include) > 0 && !matchesAny(s.include, ns) || matchesAny(s.exclude, ns) {
		return false
	}
	return s.objects.Match(resource) && !slices.ContainsFunc(s.elders, func(elder Selection) bool { return elder.Selects(resource) })
}

// Watched says which objects of others are watched: those with the labels, which the API server evaluates, and the annotations, which the
// manager does; nil: all. Of a box's own kind all are watched, since one that leaves the selection is let go.
func (p *Plan) Watched() (labels.Selector, func(annotations map[string]string) bool) {
	switch o := p.Selection.objects; {
	case !p.CRD.OfOthers:
		return nil, nil
	case o.Annotations.Empty():
		return o.Labels, nil
	default:
		return o.Labels, o.Annotations.Matches
	}
}

// WatchesSame says whether another plan watches the same objects of the kind.
func (p *Plan) WatchesSame(other *Plan) bool {
	return !p.CRD.OfOthers || p.Selection.objects.Same(other.Selection.objects)
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
	var mistakes field.ErrorList
	sel.objects, mistakes = boxspec.ObjectsOf(c.Spec.Selector, c.Spec.AnnotationSelector, at)
	c.Fail(mistakes...)
}

// leaveTo leaves to older boxes what they select, whether they run or not: it depends on their specs alone. One whose selectors are
// refused selects nothing.
func (s *Selection) leaveTo(elders []Elder) (notes []string) {
	for _, elder := range elders {
		theirs, ok := selectionOf(elder)
		if !ok {
			continue
		}
		s.elders = append(s.elders, theirs)
		notes = append(notes, fmt.Sprintf("objects that OperatorBox %q selects, too, are left to it: it is older", elder.Box))
	}
	return notes
}

// selectionOf compiles what an elder selects; false: its selectors are refused.
func selectionOf(e Elder) (Selection, bool) {
	objects, mistakes := boxspec.ObjectsOf(e.Selector, e.Annotations, nil)
	if len(mistakes)+len(boxspec.Some(e.Selector, e.Annotations, nil)) > 0 {
		return Selection{}, false
	}
	theirs := Selection{objects: objects}
	for _, p := range e.Namespaces.Include {
		theirs.include = append(theirs.include, string(p))
	}
	for _, p := range e.Namespaces.Exclude {
		theirs.exclude = append(theirs.exclude, string(p))
	}
	return theirs, true
}

// Selects says whether a box over objects of others selects one by its spec, whether it runs or not. Of several, the oldest has it.
func Selects(box Elder, object *unstructured.Unstructured) bool {
	theirs, ok := selectionOf(box)
	return ok && theirs.Selects(object)
}

// SameElders says whether the plan was made for these elders.
func (p *Plan) SameElders(elders []Elder) bool { return equality.Semantic.DeepEqual(p.Elders, elders) }

func hasGlob(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }
