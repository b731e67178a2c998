package kinds

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check says everything that is wrong with the short fields and the spec overlay of a declaration before its templates are
// rendered: unknown fields at any depth, literal values of the wrong type, fields that are missing, and fields that
// contradict each other. The templated function says of a string whether it holds a template, so that its value, and even
// its type, is not yet known; nil means that no string does. The errors stand below at, in an order that is always the same.
func (k Kind) Check(short, spec map[string]any, templated func(string) bool, at *field.Path) field.ErrorList {
	if templated == nil {
		templated = func(string) bool { return false }
	}
	c := &checker{short: short, spec: spec, templated: templated, at: at}
	c.shape("", shapeOf(k.fields), short, false)
	if k.check != nil {
		k.check(c)
	}
	if k.GVK.Empty() || spec == nil {
		return c.errs
	}
	if k.spec == nil {
		c.add(noSpec(k.GVK.Kind))
		return c.errs
	}
	c.shape(nameSpec, shapeOf(k.spec), spec, true)
	return c.errs
}

// checker collects what is wrong with one declaration.
type checker struct {
	short, spec map[string]any
	templated   func(string) bool
	at          *field.Path
	errs        field.ErrorList
}

// shape adds what a shape finds wrong with a tree, below the given field.
func (c *checker) shape(below string, s *shape, tree any, overlay bool) {
	w := walker{templated: c.templated, overlay: overlay}
	w.value(s, tree)
	for _, e := range w.sorted() {
		e.Path = joinPath(below, e.Path)
		c.add(e)
	}
}

func (c *checker) add(e *FieldError) {
	c.errs = append(c.errs, e.below(c.at))
}

// addError adds an error of a function that gives only *FieldError.
func (c *checker) addError(err error) {
	var e *FieldError
	if !errors.As(err, &e) {
		e = &FieldError{Got: err.Error()}
	}
	c.add(e)
}

func (c *checker) forbid(name, why string) {
	c.errs = append(c.errs, field.Forbidden(c.at.Child(name), why))
}

func (c *checker) require(name, what string) {
	c.add(&FieldError{Path: name, Want: what, Got: gotNothing})
}

// requireOr asks for a short field, unless the overlay has what it stands for.
func (c *checker) requireOr(name, what string, overlaid ...string) {
	if !c.has(name) && c.overlaid(overlaid...) == nil {
		c.require(name, what)
	}
}

// has says whether a short field says something: null, "", [] and {} say nothing.
func (c *checker) has(name string) bool {
	v := c.short[name]
	return v != nil && v != "" && !empty(v)
}

// hasAny says whether one of the short fields says something.
func (c *checker) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, c.has)
}

// exclusive forbids others beside name.
func (c *checker) exclusive(name string, others ...string) {
	if !c.has(name) {
		return
	}
	for _, other := range others {
		if c.has(other) {
			c.forbid(other, fmt.Sprintf("%s and %s contradict each other: give one of them", other, name))
		}
	}
}

// reference checks a short field that names another declaration, from which the others would be taken that are given.
func (c *checker) reference(name string, others ...string) {
	if c.short[name] == nil {
		return
	}
	for _, other := range others {
		if c.short[other] != nil || c.overlaid(other) != nil {
			c.forbid(other, fmt.Sprintf("%s and %s contradict each other: give one of them", other, name))
		}
	}
}

// overlaid finds what the overlay says at a path. A template on the way may say anything, so it is given as the answer.
func (c *checker) overlaid(path ...string) any {
	return descend(c.spec, path...)
}

// isTemplate says whether v is a string with a template in it.
func (c *checker) isTemplate(v any) bool {
	text, ok := v.(string)
	return ok && c.templated(text)
}

// descend follows a path into objects, as far as it goes: a value that is no object ends it and is the answer.
func descend(tree map[string]any, path ...string) any {
	var v any = tree
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return v
		}
		v = object[name]
	}
	return v
}
