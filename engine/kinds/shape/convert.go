package shape

import (
	"math"
	"reflect"

	"github.com/orkspace/orkestra/engine/value"
)

// Convert turns a rendered JSON tree into what a Go type wants, and gives a new tree: "3" becomes 3 where an integer is
// wanted and 3 becomes "3" where a string is, "true" becomes true, an integral float becomes an integer, quantities and
// integer-or-string values are read from numbers and strings. Times, durations and base64 stay the strings that they are.
// Fields that are null, empty lists and empty string maps are left out: they mean the same as absent ones. The error is the
// *FieldError that is first in the order of paths; its path begins with at. The tree itself is not changed.
func Convert(tree any, into reflect.Type, at string) (any, error) {
	var w walker
	out := w.value(Of(into), tree)
	return out, w.first(at)
}

// Fields is Convert for the fields of an object.
func (s *Shape) Fields(in map[string]any, at string) (map[string]any, error) {
	var w walker
	out := w.object(s, in)
	if err := w.first(at); err != nil {
		return nil, err
	}
	return out, nil
}

// Short is Fields for short fields: those that are empty strings say nothing, and are left out.
func (s *Shape) Short(in map[string]any) (map[string]any, error) {
	out, err := s.Fields(in, "")
	if err != nil {
		return nil, err
	}
	for name, v := range out {
		if v == "" && s.Members[name].Text {
			delete(out, name)
		}
	}
	return out, nil
}

// Copy copies a value whose type is not known, in the form that a JSON decoder would have given it.
func Copy(v any, at string) (any, error) {
	var w walker
	out := w.anything(v)
	return out, w.first(at)
}

// walker converts a tree by a shape and collects what is wrong with it. The zero value converts rendered trees.
type walker struct {
	// templated tells strings that are not known yet; nil where everything is rendered.
	templated func(string) Yield
	// overlay keeps null and empty values: null removes a field in a strategic merge, and an empty list replaces one.
	overlay bool
	errs    []*FieldError
}

// value gives what the shape makes of v; what it gives after an error has no meaning.
func (w *walker) value(s *Shape, v any) any {
	v = Plain(v)
	if text, ok := v.(string); ok && w.templated != nil && w.templated(text) != Literal {
		w.textOnly(s, text)
		w.ofType(s, text)
		return v
	}
	switch s.Form {
	case FormObject:
		if in, ok := v.(map[string]any); ok {
			return w.object(s, in)
		}
	case FormDictionary:
		if in, ok := v.(map[string]any); ok {
			return w.dictionary(s, in)
		}
	case FormList:
		if in, ok := v.([]any); ok {
			return w.list(s, in)
		}
	case FormAnything:
		return w.anything(v)
	default:
		if out, ok := scalar(s, v); ok {
			w.choice(s, out)
			return out
		}
	}
	w.fail(&FieldError{Want: s.word(), Got: value.TypeName(v), Value: Excerpt(v), Hint: value.MisplacedCEL(v)})
	return nil
}

// textOnly reports a template that gives a text where a list or a map is wanted.
func (w *walker) textOnly(s *Shape, text string) {
	if hint := OneAction(words[s.Form]); hint != "" && w.templated(text) == Text {
		w.fail(&FieldError{Want: s.word(), Got: aText, Value: Excerpt(text), Hint: hint})
	}
}

// ofType reports a template that is one path, whose schema says that it never gives what is wanted. A text may give a number, when it is one.
func (w *walker) ofType(s *Shape, text string) {
	yield := w.templated(text)
	example, known := examples[yield]
	fits := true
	switch s.Form {
	case FormAnything:
	case FormObject, FormDictionary:
		fits = yield == AMap || !known && yield != AString
	case FormList:
		fits = yield == AList || !known && yield != AString
	default:
		if known {
			_, fits = scalar(s, example)
		}
	}
	if !fits {
		got := value.TypeString
		if known {
			got = value.TypeName(example)
		}
		w.fail(&FieldError{Want: s.word(), Got: got, Value: Excerpt(text), Hint: ", as its schema says"})
	}
}

func (w *walker) object(s *Shape, in map[string]any) map[string]any {
	if hint := value.MisplacedCEL(in); hint != "" && s.Members["cel"] == nil {
		w.fail(&FieldError{Want: s.word(), Got: anExpression, Hint: hint})
		return nil
	}
	out := make(map[string]any, len(in))
	for name, v := range in {
		before := len(w.errs)
		w.member(s, out, name, v)
		w.under(before, name)
	}
	return out
}

// member converts one field of an object and puts it into out, unless its value means the same as an absent field.
func (w *walker) member(s *Shape, out map[string]any, name string, v any) {
	m, ok := s.Members[name]
	switch {
	case !ok:
		w.fail(unknownField(name, s.Names))
	case v == nil && w.overlay:
		out[name] = nil
	case v != nil:
		converted := w.value(m.Shape, v)
		w.constant(name, m, v, converted)
		if w.overlay {
			w.mergeKeys(m, Plain(v))
			out[name] = converted
		} else if !m.Shape.Compound() || !Empty(converted) {
			out[name] = converted
		}
	}
}

func (w *walker) dictionary(s *Shape, in map[string]any) map[string]any {
	if hint := ExpressionEntry(in); hint != "" && w.templated != nil { // what templates give may be called as it likes
		w.fail(&FieldError{Want: s.word(), Got: anExpression, Hint: hint})
		return nil
	}
	out := make(map[string]any, len(in))
	for key, v := range in {
		if v == nil {
			if w.overlay {
				out[key] = nil
			}
			continue
		}
		before := len(w.errs)
		out[key] = w.value(s.Elem, v)
		w.underKey(before, key)
	}
	return out
}

func (w *walker) list(s *Shape, in []any) []any {
	out := make([]any, 0, len(in))
	for i, v := range in {
		before := len(w.errs)
		out = append(out, w.value(s.Elem, v))
		w.underIndex(before, i)
	}
	return out
}

// anything copies a value whose type is not known. Null stays: only its reader knows what it means.
func (w *walker) anything(v any) any {
	switch v := Plain(v).(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, elem := range v {
			before := len(w.errs)
			out[key] = w.anything(elem)
			w.under(before, key)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for i, elem := range v {
			before := len(w.errs)
			out = append(out, w.anything(elem))
			w.underIndex(before, i)
		}
		return out
	case nil, string, bool, int64:
		return v
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	w.fail(&FieldError{Want: words[FormAnything], Got: value.TypeName(v), Value: Excerpt(v)})
	return nil
}

// Empty says whether a list or dictionary has nothing in it.
func Empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// WithoutEmpty gives the fields of an object without what says nothing: null, empty lists and empty maps, at any depth. An object stays though it
// is empty: that it is there may say something in Kubernetes' types, as with an emptyDir or a selector of all pods. So do the entries
// of lists, and what has no type, such as a manifest. in is not changed.
func (s *Shape) WithoutEmpty(in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for name, v := range in {
		below := s.Elem
		if m := s.Members[name]; m != nil {
			below = m.Shape
		}
		if below != nil {
			v = below.withoutEmpty(v)
		}
		if v != nil && (below == nil || !below.Compound() || !Empty(v)) {
			out[name] = v
		}
	}
	return out
}

// withoutEmpty is WithoutEmpty for a value of any form.
func (s *Shape) withoutEmpty(v any) any {
	switch in := v.(type) {
	case map[string]any:
		if s.Form == FormObject || s.Form == FormDictionary && s.Elem.Form != FormAnything {
			return s.WithoutEmpty(in)
		}
	case []any:
		if s.Form == FormList {
			out := make([]any, 0, len(in))
			for _, elem := range in {
				out = append(out, s.Elem.withoutEmpty(elem))
			}
			return out
		}
	}
	return v
}

// Object gives an object, or nil where v is none.
func Object(v any) map[string]any {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	return object
}

// Descend follows a path into objects, as far as it goes: a value that is no object ends it and is the answer.
func Descend(tree map[string]any, path ...string) any {
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
