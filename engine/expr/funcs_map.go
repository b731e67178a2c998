package expr

import (
	"maps"
	"slices"
)

func mapFuncs() []row {
	return []row{
		{"dict", "KEY VALUE…", "A new map.", `dict "a" 1 "b" 2`, `{"a":1,"b":2}`, dict, nils | light, ""},
		{"set", "MAP KEY VALUE", "Sets a key of a map that the template has made, and gives the map.", `set (dict "a" 1) "b" 2`, `{"a":1,"b":2}`,
			func(st *state, m map[string]any, key string, v any) (map[string]any, error) {
				if !st.owns(m) {
					return nil, errNotOwned
				}
				v, err := copyJSON(v, nil, 0) // a map that holds itself would have no end
				m[key] = v
				return m, err
			}, nils, ""},
		{"unset", "MAP KEY", "Removes a key of a map that the template has made, and gives the map.", `unset (dict "a" 1) "a"`, "{}",
			func(st *state, m map[string]any, key string) (map[string]any, error) {
				if !st.owns(m) {
					return nil, errNotOwned
				}
				delete(m, key)
				return m, nil
			}, light, ""},
		{"hasKey", "MAP KEY", "Whether MAP has KEY. The map may also come last.", `hasKey .spec "image"`, "false", hasKey, lenient | nils | light, ""},
		{"keys", "MAP…", "The keys, sorted.", `keys (dict "b" 1 "a" 2)`, `["a","b"]`,
			func(all ...map[string]any) []any {
				return each(all, func(_ map[string]any, key string) any { return key })
			}, light, ""},
		{"values", "MAP…", "The values, in the order of their keys.", `values (dict "b" 1 "a" 2)`, "[2,1]",
			func(all ...map[string]any) []any {
				return each(all, func(m map[string]any, key string) any { return m[key] })
			}, light, ""},
		{"pluck", "KEY MAP…", "The values that the maps have for KEY.", `pluck "a" (dict "a" 1) (dict "a" 2)`, "[1,2]", pluck, light, ""},
		{"pick", "MAP KEY…", "A new map with only these keys.", `pick (dict "a" 1 "b" 2) "a"`, `{"a":1}`,
			func(st *state, m map[string]any, keys ...string) map[string]any { return st.filtered(m, keys, true) }, light, ""},
		{"omit", "MAP KEY…", "A new map without these keys.", `omit (dict "a" 1 "b" 2) "a"`, `{"b":2}`,
			func(st *state, m map[string]any, keys ...string) map[string]any { return st.filtered(m, keys, false) }, light, ""},
		{"dig", "KEY… DEFAULT MAP", "What stands under the keys, each inside the one before it, or DEFAULT.", `dig "a" "b" 0 (dict "a" (dict "b" 1))`, "1",
			dig, nils | light, ""},
		{"merge", "MAP MAP…", "The maps as one; earlier ones win. A map that the template has made is changed.", `merge (dict "a" 1) (dict "a" 2 "b" 3)`,
			`{"a":1,"b":3}`, mergeWith(false), 0, "mustMerge"},
		{"mergeOverwrite", "MAP MAP…", "The same; later ones win.", `mergeOverwrite (dict "a" 1) (dict "a" 2)`, `{"a":2}`,
			mergeWith(true), 0, "mustMergeOverwrite"},
	}
}

const errNotOwned = argumentError("the map is not the template's own; take a copy with deepCopy")

func dict(st *state, pairs ...any) (map[string]any, error) {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, err := toText(pairs[i])
		if err != nil {
			return nil, badArgument("%v", err)
		}
		m[key] = ""
		if i+1 < len(pairs) {
			m[key] = pairs[i+1]
		}
	}
	return st.own(m), nil
}

func hasKey(a, b any) (bool, error) {
	if key, ok := a.(string); ok {
		if _, alsoKey := b.(string); !alsoKey {
			a, b = b, key
		}
	}
	key, ok := b.(string)
	if !ok {
		return false, badArgument("the key must be a string, not a %s", typeName(b))
	}
	m, _ := a.(map[string]any) // What is absent has no keys.
	_, ok = m[key]
	return ok, nil
}

// each collects something for every key of every map, in order.
func each(all []map[string]any, what func(m map[string]any, key string) any) []any {
	out := []any{}
	for _, m := range all {
		for _, key := range sortedKeys(m) {
			out = append(out, what(m, key))
		}
	}
	return out
}

func (st *state) filtered(m map[string]any, keys []string, keep bool) map[string]any {
	c := maps.Clone(m)
	maps.DeleteFunc(c, func(key string, _ any) bool { return slices.Contains(keys, key) != keep })
	return st.own(c)
}

// dig takes the default before the map, as Sprig does.
func dig(args ...any) (any, error) {
	if len(args) < 3 {
		return nil, badArgument("needs at least one key, a default and a map")
	}
	n := len(args) - 2
	path := make(Path, n)
	for i, key := range args[:n] {
		text, ok := key.(string)
		if !ok {
			return nil, badArgument("the keys must be strings, not a %s", typeName(key))
		}
		path[i] = text
	}
	if v, _ := walk(args[n+1], path, n); v != nil {
		return v, nil
	}
	return args[n], nil
}

func pluck(key string, all ...map[string]any) []any {
	out := []any{}
	for _, m := range all {
		if v, ok := m[key]; ok {
			out = append(out, v)
		}
	}
	return out
}

// mergeWith makes a function that never changes a map of the data, and never puts a map into itself.
func mergeWith(overwrite bool) func(*state, map[string]any, ...map[string]any) (map[string]any, error) {
	return func(st *state, to map[string]any, from ...map[string]any) (map[string]any, error) {
		all := from
		if !st.owns(to) {
			all = append([]map[string]any{to}, from...)
			to = st.own(map[string]any{})
		}
		for _, m := range all {
			c, err := copyJSON(m, nil, 0)
			if err != nil {
				return nil, err
			}
			mergeInto(to, c, overwrite)
		}
		return to, nil
	}
}

// mergeInto puts the fields of from into to. What is there counts, even if it is empty.
func mergeInto(to map[string]any, from any, overwrite bool) {
	fields, _ := from.(map[string]any) // It is one: callers and the recursion see to it.
	for key, v := range fields {
		old, there := to[key]
		oldMap, isMap := old.(map[string]any)
		_, alsoMap := v.(map[string]any)
		switch {
		case isMap && alsoMap:
			// to may share this map with the data, which must not change.
			oldMap = maps.Clone(oldMap)
			mergeInto(oldMap, v, overwrite)
			to[key] = oldMap
		case !there || overwrite:
			to[key] = v
		}
	}
}
