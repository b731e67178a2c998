package katalog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
)

// group translates a group of declarations.
func group(name string) translation {
	return func(e *entry, at string, value any) {
		object, ok := value.(map[string]any)
		if !ok {
			e.o.Fail(draft.Below("spec", name), at, "wanted an object from the plural of a kind to a list of declarations")
			return
		}
		e.set(name, at, e.grouped(draft.Below("spec", name), at, object))
	}
}

// grouped translates the declarations of a group. Conditions of the group stand at each of them here, and calls are no declarations.
func (e *entry) grouped(to, at string, object map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		list, ok := object[key].([]any)
		switch {
		case key == "when" || key == "anyOf":
		case key == "external":
			e.o.Note("spec.external", draft.Below(at, key), "moved to spec.external: calls are made before all groups")
			each(external)(e, draft.Below(at, key), e.calls(draft.Below(at, key), object[key], object))
		case !ok:
			e.o.Fail(to, draft.Below(at, key), "wanted a list of declarations")
		default:
			declared := make([]any, len(list))
			for i := range list {
				declared[i] = e.declaration(draft.Below(to, key), fmt.Sprintf("%s[%d]", draft.Below(at, key), i), list[i], object)
			}
			out[key] = declared
		}
	}
	return out
}

// declaration is the same here, but for a loop that is one text, and what the group says for all.
func (e *entry) declaration(to, at string, value any, group map[string]any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value // the compiler says what is wanted
	}
	out := maps.Clone(object)
	if over := text(out["forEach"]); over != "" {
		out["forEach"] = map[string]any{"field": over}
	}
	e.gate(to, at, out, group)
	return out
}

// calls are those of a group, with what the group says for all of it: they stand outside of it in a box.
func (e *entry) calls(at string, value any, group map[string]any) any {
	list, ok := value.([]any)
	if !ok {
		return value // each says what is wanted
	}
	out := slices.Clone(list)
	for i := range list {
		if call, ok := list[i].(map[string]any); ok {
			gated := maps.Clone(call)
			e.gate("spec.external", fmt.Sprintf("%s[%d]", at, i), gated, group)
			out[i] = gated
		}
	}
	return out
}

// gate adds to an object the conditions of the group that it stands in.
func (e *entry) gate(to, at string, out, group map[string]any) {
	for _, name := range []string{"when", "anyOf"} {
		if one, is := out[name].(map[string]any); is {
			out[name] = []any{one}
		}
	}
	if all := conditions(group["when"]); len(all) > 0 {
		own, _ := out["when"].([]any)
		out["when"] = slices.Concat(all, own)
	}
	if all := conditions(group["anyOf"]); len(all) > 0 && out["anyOf"] != nil {
		e.o.Fail(to, at+".anyOf", "the group has an anyOf, too, and both can't be said at once: write one of them as cel in when")
	} else if len(all) > 0 {
		out["anyOf"] = all
	}
}

// conditions are a list, or one that stands alone.
func conditions(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		return []any{v}
	default:
		return nil
	}
}
