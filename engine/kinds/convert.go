package kinds

import (
	"math"
	"reflect"
)

// Convert turns a rendered JSON tree into what a Go type wants, and gives a new tree: "3" becomes 3 where an integer is
// wanted and 3 becomes "3" where a string is, "true" becomes true, an integral float becomes an integer, quantities and
// integer-or-string values are read from numbers and strings. Times, durations and base64 stay the strings that they are.
// Fields that are null, empty lists and empty string maps are left out: they mean the same as absent ones. The error is the
// *FieldError that is first in the order of paths; its path begins with at. The tree itself is not changed.
func Convert(tree any, into reflect.Type, at string) (any, error) {
	var w walker
	out := w.value(shapeOf(into), tree)
	return out, w.first(at)
}

// walker reads a tree by a shape and collects what is wrong with it.
type walker struct {
	// templated tells strings that are not known yet; nil where everything is rendered.
	templated func(string) bool
	// overlay keeps null and empty values, which mean something to a merge.
	overlay bool
	errs    []*FieldError
}

// value gives what the shape makes of v; what it gives after an error has no meaning.
func (w *walker) value(s *shape, v any) any {
	v = plain(v)
	if text, ok := v.(string); ok && w.templated != nil && w.templated(text) {
		return v
	}
	switch s.form {
	case formObject:
		if in, ok := v.(map[string]any); ok {
			return w.object(s, in)
		}
	case formDictionary:
		if in, ok := v.(map[string]any); ok {
			return w.dictionary(s, in)
		}
	case formList:
		if in, ok := v.([]any); ok {
			return w.list(s, in)
		}
	case formAnything:
		return w.anything(v)
	default:
		if out, ok := scalar(s, v); ok {
			w.choice(s, out)
			return out
		}
	}
	w.fail(&FieldError{Want: s.word(), Got: typeName(v), Value: excerpt(v)})
	return nil
}

func (w *walker) object(s *shape, in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for name, v := range in {
		before := len(w.errs)
		w.member(s, out, name, v)
		w.under(before, name)
	}
	return out
}

func (w *walker) member(s *shape, out map[string]any, name string, v any) {
	m, ok := s.members[name]
	switch {
	case !ok:
		w.fail(unknownField(name, s.names))
	case v == nil && w.overlay:
		out[name] = nil
	case v != nil:
		converted := w.value(m.shape, v)
		w.constant(name, m, v, converted)
		if w.overlay {
			w.mergeKeys(m, plain(v))
			out[name] = converted
		} else if !m.shape.compound() || !empty(converted) {
			out[name] = converted
		}
	}
}

func (w *walker) dictionary(s *shape, in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for key, v := range in {
		if v == nil {
			if w.overlay {
				out[key] = nil
			}
			continue
		}
		before := len(w.errs)
		out[key] = w.value(s.elem, v)
		w.underKey(before, key)
	}
	return out
}

func (w *walker) list(s *shape, in []any) []any {
	out := make([]any, 0, len(in))
	for i, v := range in {
		before := len(w.errs)
		out = append(out, w.value(s.elem, v))
		w.underIndex(before, i)
	}
	return out
}

// anything copies a value whose type is not known. Null stays: only its reader knows what it means.
func (w *walker) anything(v any) any {
	switch v := plain(v).(type) {
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
	w.fail(&FieldError{Want: words[formAnything], Got: typeName(v), Value: excerpt(v)})
	return nil
}

// empty says whether a list or dictionary has nothing in it.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}
