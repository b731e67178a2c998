package functions

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/value"
)

func mapFuncs() []row {
	return []row{
		{"dict", "KEY VALUE…", "A new map.", `dict "a" 1 "b" 2`, `{"a":1,"b":2}`, dict, nils | light | counted, ""},
		{"set", "MAP KEY VALUE", "Sets a key of a map that the template has made, and gives the map.", `set (dict "a" 1) "b" 2`, `{"a":1,"b":2}`,
			func(run *Run, m map[string]any, key string, v any) (map[string]any, error) {
				if !run.owns(m) {
					return nil, errNotOwned
				}
				v, err := run.Copy(v) // a map that holds itself would have no end
				if err != nil {
					return nil, err
				}
				m[key] = v
				return m, run.Allocate(budget.BytesOfEntry + len(key))
			}, nils | light | counted, ""},
		{"unset", "MAP KEY", "Removes a key of a map that the template has made, and gives the map.", `unset (dict "a" 1) "a"`, "{}",
			func(run *Run, m map[string]any, key string) (map[string]any, error) {
				if !run.owns(m) {
					return nil, errNotOwned
				}
				delete(m, key)
				return m, nil
			}, light | counted, ""},
		{"hasKey", "MAP KEY", "Whether MAP has KEY. The map may also come last.", `hasKey .spec "image"`, "false", hasKey, lenient | nils | light | counted, ""},
		{"keys", "MAP…", "The keys, sorted.", `keys (dict "b" 1 "a" 2)`, `["a","b"]`,
			func(limits *budget.Budget, all ...map[string]any) ([]any, error) {
				return each(limits, all, func(_ map[string]any, key string) any { return key })
			}, light | counted, ""},
		{"values", "MAP…", "The values, in the order of their keys.", `values (dict "b" 1 "a" 2)`, "[2,1]",
			func(limits *budget.Budget, all ...map[string]any) ([]any, error) {
				return each(limits, all, func(m map[string]any, key string) any { return m[key] })
			}, light | counted, ""},
		{"pluck", "KEY MAP…", "The values that the maps have for KEY.", `pluck "a" (dict "a" 1) (dict "a" 2)`, "[1,2]", pluck, light, ""},
		{"pick", "MAP KEY…", "A new map with only these keys.", `pick (dict "a" 1 "b" 2) "a"`, `{"a":1}`,
			filter(true), light | counted, ""},
		{"omit", "MAP KEY…", "A new map without these keys.", `omit (dict "a" 1 "b" 2) "a"`, `{"b":2}`,
			filter(false), light | counted, ""},
		{"dig", "KEY… DEFAULT MAP", "What stands under the keys, each inside the one before it, or DEFAULT.", `dig "a" "b" 0 (dict "a" (dict "b" 1))`, "1",
			dig, nils | light | counted, ""},
		{"merge", "MAP MAP…", "The maps as one; earlier ones win. A map that the template has made is changed.", `merge (dict "a" 1) (dict "a" 2 "b" 3)`,
			`{"a":1,"b":3}`, mergeWith(false), light | counted, "mustMerge"},
		{"mergeOverwrite", "MAP MAP…", "The same; later ones win.", `mergeOverwrite (dict "a" 1) (dict "a" 2)`, `{"a":2}`,
			mergeWith(true), light | counted, "mustMergeOverwrite"},
	}
}

const errNotOwned = argumentError("the map is not the template's own; take a copy with deepCopy")

func dict(run *Run, pairs ...any) (map[string]any, error) {
	if err := run.AllocateMap(len(pairs)/2 + 1); err != nil {
		return nil, err
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, err := argumentText(run.Budget, pairs[i])
		if err != nil {
			return nil, err
		}
		m[key] = ""
		if i+1 < len(pairs) {
			m[key] = pairs[i+1]
		}
	}
	return run.own(m), nil
}

func hasKey(a, b any) (bool, error) {
	if key, ok := a.(string); ok {
		if _, alsoKey := b.(string); !alsoKey {
			a, b = b, key
		}
	}
	key, ok := b.(string)
	if !ok {
		return false, badArgument("the key must be a string, not a %s", value.TemplateType(b))
	}
	m, _ := a.(map[string]any) // What is absent has no keys.
	_, ok = m[key]
	return ok, nil
}

// each collects something for every key of every map, in order.
func each(limits *budget.Budget, all []map[string]any, what func(m map[string]any, key string) any) ([]any, error) {
	out := []any{}
	for _, m := range all {
		// The sorted keys, and the list that grows by them.
		if err := limits.Allocate(budget.Times(4*budget.BytesOfElement, len(m))); err != nil {
			return nil, err
		}
		if err := limits.Work(budget.Times(sizeOfKeys(m), bits.Len(uint(len(m))))); err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			out = append(out, what(m, key))
		}
	}
	return out, nil
}

func sizeOfKeys(m map[string]any) int {
	size := 0
	for key := range m {
		size += 1 + len(key)
	}
	return size
}

// filter makes a function that keeps these keys, or all others.
func filter(keep bool) func(run *Run, m map[string]any, keys ...string) (map[string]any, error) {
	return func(run *Run, m map[string]any, keys ...string) (map[string]any, error) {
		if err := run.AllocateMap(len(m)); err != nil {
			return nil, err
		}
		if err := run.Work(budget.Times(sizeOfKeys(m), len(keys)+1)); err != nil {
			return nil, err
		}
		c := maps.Clone(m)
		maps.DeleteFunc(c, func(key string, _ any) bool { return slices.Contains(keys, key) != keep })
		return run.own(c), nil
	}
}

// dig takes the default before the map, as Sprig does.
func dig(args ...any) (any, error) {
	if len(args) < 3 {
		return nil, badArgument("needs at least one key, a default and a map")
	}
	n := len(args) - 2
	path := make(value.Path, n)
	for i, key := range args[:n] {
		text, ok := key.(string)
		if !ok {
			return nil, badArgument("the keys must be strings, not a %s", value.TemplateType(key))
		}
		path[i] = text
	}
	if v, _ := value.Walk(args[n+1], path, n); v != nil {
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
func mergeWith(overwrite bool) func(*Run, map[string]any, ...map[string]any) (map[string]any, error) {
	return func(run *Run, to map[string]any, from ...map[string]any) (map[string]any, error) {
		all := from
		if !run.owns(to) {
			all = append([]map[string]any{to}, from...)
			to = run.own(map[string]any{})
		}
		for _, m := range all {
			c, err := run.Copy(m)
			if err != nil {
				return nil, err
			}
			if err := mergeInto(run.Budget, to, c, overwrite); err != nil {
				return nil, err
			}
		}
		return to, nil
	}
}

// mergeInto puts the fields of from into to. What is there counts, even if it is empty.
func mergeInto(limits *budget.Budget, to map[string]any, from any, overwrite bool) error {
	fields, _ := from.(map[string]any) // It is one: callers and the recursion see to it.
	for key, v := range fields {
		old, there := to[key]
		oldMap, isMap := old.(map[string]any)
		_, alsoMap := v.(map[string]any)
		switch {
		case isMap && alsoMap:
			// to may share this map with the data, which must not change.
			if err := limits.AllocateMap(len(oldMap)); err != nil {
				return err
			}
			oldMap = maps.Clone(oldMap)
			if err := mergeInto(limits, oldMap, v, overwrite); err != nil {
				return err
			}
			to[key] = oldMap
		case !there || overwrite:
			to[key] = v
		}
	}
	return nil
}
