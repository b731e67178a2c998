package shape

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/value"
)

// Checker collects what is wrong with one declaration before its templates are rendered.
type Checker struct {
	// Short are the short fields as they are written, Spec is the overlay, or nil.
	Short, Spec map[string]any
	// Yields says of a string what it gives when it is rendered.
	Yields func(string) Yield
	// At is the place of the declaration. What is wrong is said of places below it.
	At *field.Path
	// Found is what is wrong.
	Found field.ErrorList
}

// Tree adds what a shape finds wrong with a tree, below the given field. In an overlay, null and empty values mean something.
func (c *Checker) Tree(below string, s *Shape, tree any, overlay bool) {
	w := walker{templated: c.Yields, overlay: overlay}
	w.value(s, tree)
	for _, e := range w.sorted() {
		e.Path = JoinPath(below, e.Path)
		c.Add(e)
	}
}

// Add adds an error.
func (c *Checker) Add(e *FieldError) {
	c.Found = append(c.Found, e.below(c.At))
}

// AddError adds an error of a function that gives only *FieldError.
func (c *Checker) AddError(err error) {
	var e *FieldError
	if !errors.As(err, &e) {
		e = &FieldError{Got: err.Error()}
	}
	c.Add(e)
}

// Forbid says why a short field may not be there.
func (c *Checker) Forbid(name, why string) {
	c.Found = append(c.Found, field.Forbidden(c.At.Child(name), why))
}

// Missing says of a field that it is missing, and what it should be. Who calls it has looked: it is always found wrong.
func (c *Checker) Missing(name, what string) {
	c.Add(Missing(name, what))
}

// Require asks for a short field, unless the overlay has what it stands for, at the given path below spec. Without a path nothing else
// stands for the field, as in a kind that has no spec.
func (c *Checker) Require(name, what string, overlaid ...string) {
	// Overlaid without a path would give the overlay itself, which is something even where there is none.
	if !c.Has(name) && (len(overlaid) == 0 || c.Overlaid(overlaid...) == nil) {
		c.Missing(name, what)
	}
}

// Has says whether a short field says something: null, "", [] and {} say nothing.
func (c *Checker) Has(name string) bool {
	v := c.Short[name]
	return v != nil && v != "" && !Empty(v)
}

// HasAny says whether one of the short fields says something.
func (c *Checker) HasAny(names ...string) bool {
	return slices.ContainsFunc(names, c.Has)
}

// Exclusive forbids the others where the short field is given.
func (c *Checker) Exclusive(name string, others ...string) {
	if !c.Has(name) {
		return
	}
	for _, other := range others {
		if c.Has(other) {
			c.Forbid(other, contradiction(other, name))
		}
	}
}

// Reference checks a short field that names another declaration, such as workload. The others would be taken from that declaration, so
// they may not be given too.
func (c *Checker) Reference(name string, others ...string) {
	if c.Short[name] == nil {
		return
	}
	for _, other := range others {
		if c.Short[other] != nil || c.Overlaid(other) != nil {
			c.Forbid(other, contradiction(other, name))
		}
	}
}

func contradiction(a, b string) string {
	return fmt.Sprintf("%s and %s contradict each other: give one of them", a, b)
}

// Choice asks for one of the valid texts at a place.
func (c *Checker) Choice(at *field.Path, v any, valid []string) {
	text, isText := v.(string)
	switch {
	case v == nil || isText && text == "":
		c.Found = append(c.Found, field.Required(at, OneOf(valid)))
	case isText && !c.Templated(text) && !slices.Contains(valid, text):
		c.Found = append(c.Found, field.NotSupported(at, text, valid))
	}
}

// Names asks for the names of the entries of a list, which are at the given path in each: they have no default, and must differ, also
// from those that are taken. why says what the names are for.
func (c *Checker) Names(list string, taken map[string]bool, why string, path ...string) {
	entries, _ := c.Short[list].([]any) // a template, or no list, which the shape reports
	for i, v := range entries {
		entry, ok := v.(map[string]any)
		if !ok {
			continue
		}
		at := c.At.Child(list).Index(i).Child(path[0], path[1:]...)
		name := Descend(entry, path...)
		text, isText := name.(string)
		switch {
		case name == nil || text == "" && isText:
			c.Found = append(c.Found, field.Required(at, why))
		case !isText || c.Templated(text):
		case taken[text]:
			c.Found = append(c.Found, field.Duplicate(at, text))
		default:
			taken[text] = true
		}
	}
}

// Overlaid finds what the overlay says at a path. A template on the way may say anything, so it is given as the answer.
func (c *Checker) Overlaid(path ...string) any {
	return Descend(c.Spec, path...)
}

// IsTemplate says whether v is a string with a template in it.
func (c *Checker) IsTemplate(v any) bool {
	text, ok := v.(string)
	return ok && c.Templated(text)
}

// Templated says of a string whether it holds a template, so that its value, and even its type, is not yet known.
func (c *Checker) Templated(text string) bool { return c.Yields(text) != Literal }

// Yield is what a string gives when it is rendered.
type Yield int

// What strings give.
const (
	// Literal gives itself.
	Literal Yield = iota
	// Anything is a template that gives a value of any type.
	Anything
	// Text is a template that always gives a text, because it is more than one action.
	Text
	// AString, ANumber, ABoolean, AList and AMap are templates that are one path, whose schema has the type.
	AString
	ANumber
	ABoolean
	AList
	AMap
)

// examples are values that those templates may give whose types are known.
var examples = map[Yield]any{ANumber: int64(1), ABoolean: true, AList: []any{}, AMap: map[string]any{}}

// YieldOf is what a path gives whose schema has a type; without a type it is anything.
func YieldOf(typeName string) Yield {
	switch typeName {
	case value.TypeString:
		return AString
	case value.TypeInteger, value.TypeNumber:
		return ANumber
	case value.TypeBoolean:
		return ABoolean
	case value.TypeArray:
		return AList
	case value.TypeObject:
		return AMap
	default:
		return Anything
	}
}
