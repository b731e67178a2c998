package kinds

// WithoutEmpty gives short fields without what says nothing: null, empty lists and empty maps, at any depth. An object stays though it
// is empty: that it is there may say something in Kubernetes' types, as with an emptyDir or a selector of all pods. So do the entries
// of lists, and what has no type, such as a manifest. short is not changed.
func (k Kind) WithoutEmpty(short map[string]any) map[string]any {
	out := shapeOf(k.fields).fieldsWithoutEmpty(short)
	if v := short[k.selecting]; v != nil {
		out[k.selecting] = v
	}
	return out
}

func (s *shape) withoutEmpty(v any) any {
	switch in := v.(type) {
	case map[string]any:
		if s.form == formObject || s.form == formDictionary && s.elem.form != formAnything {
			return s.fieldsWithoutEmpty(in)
		}
	case []any:
		if s.form == formList {
			out := make([]any, 0, len(in))
			for _, elem := range in {
				out = append(out, s.elem.withoutEmpty(elem))
			}
			return out
		}
	}
	return v
}

func (s *shape) fieldsWithoutEmpty(in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for name, v := range in {
		below := s.elem
		if m := s.members[name]; m != nil {
			below = m.shape
		}
		if below != nil {
			v = below.withoutEmpty(v)
		}
		if v != nil && (below == nil || !below.compound() || !empty(v)) {
			out[name] = v
		}
	}
	return out
}
